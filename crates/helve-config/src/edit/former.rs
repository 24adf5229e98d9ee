//! An entry as it stood in a file once, on its way back into that file: the same keys with the same values. Comments inside of the entry
//! and its layout are the file's of then, and do not come along.

use helve_model::{ConfigText, ServerSpec, TransportSpec};
use serde_json::{Map, Value as Json};

use super::render::Written;
use super::{EditError, find, without_places};
use crate::document::{self, Node, Value};
use crate::environment::Environment;
use crate::reader::{FilePlace, read_text};
use crate::source::Source;

/// An entry as it stood in a file once.
#[derive(Debug, Clone, PartialEq)]
pub struct FormerEntry {
    pub(super) keys: Vec<(String, Written)>,
    /// What it meant.
    spec: Option<ServerSpec>,
}

/// The entry of a server in the text that a file had.
///
/// # Errors
/// It is not there, or says something that cannot be written back.
pub fn former_entry(place: &FilePlace, text: &str, server: &str) -> Result<FormerEntry, EditError> {
    let source = Source::new(&place.path, text);
    let document = document::parse(&source, place.dialect.format_of(&place.path)).map_err(EditError::Broken)?;
    let Some((_, node)) = find(place, &document, server) else {
        return Err(EditError::NoSuchServer { server: server.to_owned(), near: None });
    };
    let written = |entry: &document::TableEntry| Some((entry.key.clone(), written(&entry.node)?));
    let keys: Option<Vec<(String, Written)>> = node.entries().iter().map(written).collect();
    let by_hand = || EditError::ByHand { server: server.to_owned(), line: source.position(node.span.start).0 };
    Ok(FormerEntry { keys: keys.ok_or_else(by_hand)?, spec: meaning(place, text, server) })
}

impl FormerEntry {
    /// The entry as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let texts = |texts: &[String]| texts.iter().cloned().map(Json::String).collect();
        let value = |written: &Written| match written {
            Written::Text(text) => Json::from(text.as_str()),
            Written::Flag(flag) => Json::from(*flag),
            Written::Integer(number) => Json::from(*number),
            Written::Float(number) => Json::from(*number),
            Written::List(list) => texts(list),
            Written::Table(pairs) => {
                Json::Object(pairs.iter().map(|(key, text)| (key.clone(), Json::from(text.as_str()))).collect())
            }
        };
        Json::Object(self.keys.iter().map(|(key, written)| (key.clone(), value(written))).collect::<Map<_, _>>())
            .to_string()
    }

    /// True when a secret is written out in it: it must not stand on a command line, which every user of the machine can read.
    #[must_use]
    pub fn holds_secrets(&self) -> bool {
        let is_hidden = |text: &ConfigText| text.written() == ConfigText::HIDDEN;
        match self.spec.as_ref().map(|spec| &spec.transport) {
            Some(TransportSpec::Stdio(stdio)) => {
                let words = std::iter::once(&stdio.command).chain(&stdio.arguments);
                words.chain(stdio.environment.values()).any(is_hidden)
            }
            Some(TransportSpec::Http(http)) => std::iter::once(&http.url).chain(http.headers.values()).any(is_hidden),
            Some(TransportSpec::Builtin(_)) => false,
            // What nobody could read may be anything.
            None => true,
        }
    }

    /// True when the server means in this text what it meant then.
    #[must_use]
    pub fn arrived(&self, place: &FilePlace, text: &str, server: &str) -> bool {
        meaning(place, text, server) == self.spec
    }
}

/// What a server's entry means, variables aside.
fn meaning(place: &FilePlace, text: &str, server: &str) -> Option<ServerSpec> {
    let content = read_text(place, text, &Environment::new(&place.project));
    let found = content.servers.into_iter().find(|other| other.name.as_str() == server)?;
    found.spec.map(without_places)
}

/// A value as it can be written; `None` for what no edit writes.
fn written(node: &Node) -> Option<Written> {
    let text = |node: &Node| node.as_str().map(str::to_owned);
    match &node.value {
        Value::String(text) => Some(Written::Text(text.clone())),
        Value::Bool(flag) => Some(Written::Flag(*flag)),
        Value::Integer(number) => Some(Written::Integer(*number)),
        Value::Float(number) => Some(Written::Float(*number)),
        Value::Array(elements) => elements.iter().map(text).collect::<Option<_>>().map(Written::List),
        Value::Table(entries) => {
            let pairs = entries.iter().map(|entry| Some((entry.key.clone(), text(&entry.node)?)));
            pairs.collect::<Option<_>>().map(Written::Table)
        }
        Value::Null => None,
    }
}
