//! What the screen that tries a tool shows.

use helve_schema::FilledForm;

use super::{Decision, Failure, Tree};

/// Trying a tool. At `/servers/NAME/tools/TOOL`; posts the fields of the form and `do` = `call`, or what the buttons of
/// the form itself ask for (`helve_schema::ToolForm::fill` reads them); live at `/live/try/ID`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TryTool {
    /// Its server.
    pub server: String,
    /// Its name.
    pub tool: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it does, in the server's words.
    pub description: Option<String>,
    /// How much harm it could do: `low`, `medium`, `high`.
    pub risk: String,
    /// What would be decided about the call.
    pub decision: Decision,
    /// The form, as far as it is filled in.
    pub form: FilledForm,
    /// The same as a line for a shell.
    pub call_line: String,
    /// What came of it.
    pub outcome: TryOutcome,
}

/// What came of a try.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum TryOutcome {
    /// Nothing was called yet.
    #[default]
    None,
    /// The arguments do not fit.
    Invalid {
        /// What is wrong, one sentence each.
        problems: Vec<String>,
    },
    /// A rule asks: the person says yes or no to these arguments. Posts `do` = `yes` with the same fields and `question`.
    Ask {
        /// Names the question.
        question: String,
        /// The arguments it is about.
        arguments: Tree,
    },
    /// It runs. Live at `/live/try/ID`.
    Running {
        /// What the live topic is called.
        id: String,
        /// How far it is.
        progress: Progress,
    },
    /// It was refused, or broke.
    Failed(Failure),
    /// It answered.
    Done(CallResult),
}

/// How far a call is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// How much is done.
    pub done: f64,
    /// Of how much, if known.
    pub total: Option<f64>,
    /// What the server says.
    pub message: Option<String>,
}

/// What a tool answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallResult {
    /// The tool says that it failed.
    pub is_error: bool,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// Bytes of the answer.
    pub bytes: u64,
    /// The parts of the answer.
    pub parts: Vec<ResultPart>,
    /// The id of its record.
    pub call: Option<String>,
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ResultPart {
    /// A text, cut if it is very long.
    Text {
        /// The text.
        text: String,
        /// Characters that are left out.
        left_out: u64,
    },
    /// JSON.
    Json(Tree),
    /// A picture. Shown only if it is a PNG, JPEG, GIF or WebP of a size that a page can hold.
    Image {
        /// As the server says.
        media_type: String,
        /// In base64.
        data: String,
    },
    /// Something that is not shown: a sound, a resource.
    Other {
        /// As in `audio/wav, 12 KB`, `resource file:///a.txt`.
        said: String,
    },
}
