//! A server's entry as its file has it, for a form: what can be changed there, and the keys that stay as they are.

use std::time::Duration;

use helve_model::HttpFlavour;
use helve_model::sandbox::Choice;

use super::render::{NewServer, NewTransport};
use super::{find, switch_state};
use crate::dialect::Dialect;
use crate::document::{self, Node, Value};
use crate::field::{Field, Unit};
use crate::reader::FilePlace;
use crate::source::Source;

/// An entry as it is written: references are references, and secrets that are written out are in it.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenServer {
    /// What a [`super::Change::Update`] of nothing would write.
    pub server: NewServer,
    /// Keys that no [`NewServer`] speaks of.
    pub other_keys: Vec<String>,
}

/// The entry of a server, if it is a program or an address.
#[must_use]
pub fn written_server(place: &FilePlace, text: &str, server: &str) -> Option<WrittenServer> {
    let source = Source::new(&place.path, text);
    let document = document::parse(&source, place.dialect.format_of(&place.path)).ok()?;
    let (_, node) = find(place, &document, server)?;
    let shape = place.dialect.shape();
    let mut entry = Entry::default();
    let mut other_keys = Vec::new();
    for key in node.entries() {
        let is_taken = shape.field_of(&key.key).is_some_and(|field| entry.take(place.dialect, field, &key.node));
        if !is_taken {
            other_keys.push(key.key.clone());
        }
    }
    let transport = entry.transport()?;
    let server = NewServer {
        transport,
        enabled: switch_state(place.dialect, node),
        tools: entry.tools,
        disabled_tools: entry.disabled_tools,
        call_timeout: entry.call_timeout,
        sandbox: entry.sandbox,
    };
    Some(WrittenServer { server, other_keys })
}

#[derive(Default)]
struct Entry {
    command: Vec<String>,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    working_directory: Option<String>,
    url: Option<String>,
    headers: Vec<(String, String)>,
    is_sse: bool,
    tools: Option<Vec<String>>,
    disabled_tools: Option<Vec<String>>,
    call_timeout: Option<Duration>,
    sandbox: Option<Choice>,
}

impl Entry {
    /// Takes the value of a key; false where a form could not give it back.
    fn take(&mut self, dialect: Dialect, field: Field, node: &Node) -> bool {
        match field {
            Field::Name | Field::Enabled | Field::Disabled => true,
            Field::Type => {
                self.is_sse = node.as_str() == Some("sse");
                true
            }
            Field::Command => words(node).map(|words| self.command = words).is_some(),
            Field::Endpoint => {
                let text = node.as_str().unwrap_or_default();
                if text.contains("://") {
                    self.url = Some(text.to_owned());
                    return true;
                }
                shell_words::split(text).map(|words| self.command = words).is_ok()
            }
            Field::Arguments => words(node).map(|words| self.arguments = words).is_some(),
            Field::Environment => pairs(node).map(|pairs| self.environment = pairs).is_some(),
            Field::WorkingDirectory => text(node).map(|text| self.working_directory = Some(text)).is_some(),
            Field::Url | Field::StreamableUrl => {
                // Gemini has a key of its own for Streamable HTTP; its other one means HTTP+SSE.
                self.is_sse |= field == Field::Url && dialect == Dialect::Gemini;
                text(node).map(|text| self.url = Some(text)).is_some()
            }
            Field::Headers => pairs(node).map(|pairs| self.headers = pairs).is_some(),
            Field::Tools => words(node).map(|words| self.tools = Some(words)).is_some(),
            Field::DisabledTools => words(node).map(|words| self.disabled_tools = Some(words)).is_some(),
            Field::CallTimeout(unit) => duration(node, unit).map(|time| self.call_timeout = Some(time)).is_some(),
            Field::Sandbox => {
                let choice = node.as_str().and_then(|word| word.parse().ok());
                self.sandbox = choice;
                choice.is_some()
            }
            _ => false,
        }
    }

    fn transport(&mut self) -> Option<NewTransport> {
        if let Some(url) = self.url.take() {
            let flavour = if self.is_sse { HttpFlavour::Sse } else { HttpFlavour::Auto };
            return Some(NewTransport::Address { url, headers: std::mem::take(&mut self.headers), flavour });
        }
        let mut line = std::mem::take(&mut self.command).into_iter();
        let command = line.next()?;
        Some(NewTransport::Program {
            command,
            arguments: line.chain(std::mem::take(&mut self.arguments)).collect(),
            environment: std::mem::take(&mut self.environment),
            working_directory: self.working_directory.take(),
        })
    }
}

fn text(node: &Node) -> Option<String> {
    match &node.value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn words(node: &Node) -> Option<Vec<String>> {
    if node.is_array() { node.elements().iter().map(text).collect() } else { Some(vec![text(node)?]) }
}

fn pairs(node: &Node) -> Option<Vec<(String, String)>> {
    if !node.is_table() {
        return None;
    }
    node.entries().iter().map(|entry| Some((entry.key.clone(), text(&entry.node)?))).collect()
}

fn duration(node: &Node, unit: Unit) -> Option<Duration> {
    let number = match node.value {
        Value::Integer(number) => Duration::from_secs(u64::try_from(number).ok()?),
        Value::Float(number) => Duration::try_from_secs_f64(number).ok()?,
        _ => return None,
    };
    Some(if unit == Unit::Seconds { number } else { number / 1_000 })
}
