//! Owns the messages between host and worker: one JSON value per line. What the worker writes is a stranger's.

use helve_model::json::{ObjectWriter, RawJson};
use serde::Deserialize;

/// A message of the worker's.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Frame {
    Plan(Plan),
    Call(CallFrame),
    Cancel(Numbered),
    Find(Find),
    Describe(Describe),
    Names(Names),
    Print(String),
    Done(Done),
    Failed(Failed),
}

/// What a program is going to do, as far as it can be seen.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Plan {
    pub(crate) calls: Vec<Site>,
    /// Line, module, names.
    pub(crate) imports: Vec<(u32, String, Vec<String>)>,
    /// Line, kind, name.
    pub(crate) problems: Vec<(u32, String, String)>,
}

/// Where a tool is called: line, column (which only orders them), server, tool, how many arguments by position (-1: it is not called here), names of
/// the others, whether there may be more, whether it may run several times.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Site(
    pub(crate) u32,
    pub(crate) serde::de::IgnoredAny,
    pub(crate) String,
    pub(crate) String,
    pub(crate) i64,
    pub(crate) Vec<String>,
    pub(crate) bool,
    pub(crate) bool,
);

#[derive(Debug, Deserialize)]
pub(crate) struct CallFrame {
    pub(crate) id: u64,
    pub(crate) server: String,
    pub(crate) tool: String,
    pub(crate) args: RawJson,
    /// Arguments by position.
    #[serde(default = "nothing_by_position")]
    pub(crate) positional: RawJson,
    /// The text that an argument was parsed from, by name or position.
    #[serde(default = "RawJson::empty_object")]
    pub(crate) texts: RawJson,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Numbered {
    pub(crate) id: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Find {
    pub(crate) id: u64,
    pub(crate) queries: Vec<String>,
    pub(crate) limit: i64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Describe {
    pub(crate) id: u64,
    pub(crate) name: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Names {
    pub(crate) id: u64,
    pub(crate) server: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Done {
    pub(crate) value: RawJson,
    pub(crate) notes: Vec<String>,
    pub(crate) attachments: Vec<usize>,
    pub(crate) printed: u64,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Failed {
    pub(crate) r#type: String,
    pub(crate) message: String,
    /// Line and function, the innermost last.
    pub(crate) at: Vec<(u32, String)>,
    #[serde(default)]
    pub(crate) line: Option<String>,
    #[serde(default)]
    pub(crate) code: Option<String>,
}

fn nothing_by_position() -> RawJson {
    RawJson::from_static("[]")
}

/// The program, and whether another one follows.
pub(crate) fn start(source: &str, print_bytes: usize, keep: bool) -> String {
    let start = ObjectWriter::new().text("source", source).number("prints", print_bytes as u64).flag("keep", keep);
    line(start)
}

pub(crate) fn go() -> String {
    line(ObjectWriter::new().flag("go", true))
}

pub(crate) fn stop() -> String {
    line(ObjectWriter::new().flag("go", false))
}

pub(crate) fn warm(modules: &[&str]) -> String {
    line(ObjectWriter::new().array("warm", modules.iter().map(|module| helve_model::json::quoted(module))))
}

pub(crate) fn answer(id: u64) -> ObjectWriter {
    ObjectWriter::new().number("id", id)
}

pub(crate) fn error(
    id: u64,
    code: &str,
    message: &str,
    at: (Option<&str>, Option<&str>),
    data: Option<&RawJson>,
) -> String {
    let error = ObjectWriter::new()
        .text("code", code)
        .text("message", message)
        .optional_text("server", at.0)
        .optional_text("tool", at.1)
        .optional("data", data);
    line(answer(id).object("error", error))
}

/// One line: JSON text has no line ends of its own, unless a server wrote them between its values.
pub(crate) fn line(object: ObjectWriter) -> String {
    let mut text = object.into_text();
    if text.contains(['\n', '\r']) {
        text = text.replace(['\n', '\r'], " ");
    }
    text.push('\n');
    text
}
