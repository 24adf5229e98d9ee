//! How each application writes a server: which keys, in which order, with which spelling of the transport.

use std::fmt;
use std::time::Duration;

use helve_model::sandbox::Choice;
use helve_model::{ConfigText, HttpFlavour, ServerSpec, TransportSpec};

use super::{EditError, Step};
use crate::dialect::{Dialect, Shape};
use crate::document::{Node, Value};
use crate::entry::is_address_type;
use crate::field::{Field, Unit};

/// A server as a person asks for it; texts may hold references, in the spelling of the file they go to.
#[derive(Debug, Clone, PartialEq)]
pub struct NewServer {
    /// How it is reached.
    pub transport: NewTransport,
    /// On or off; `None` leaves it.
    pub enabled: Option<bool>,
    /// Only these tools; `None` leaves the list.
    pub tools: Option<Vec<String>>,
    /// Not these tools; `None` leaves the list.
    pub disabled_tools: Option<Vec<String>>,
    /// How long a call may take; `None` leaves it.
    pub call_timeout: Option<Duration>,
    /// The sandbox it runs in; `None` leaves it.
    pub sandbox: Option<Choice>,
}

/// How a new server is reached.
#[derive(Clone, PartialEq)]
pub enum NewTransport {
    /// A program to start.
    Program {
        /// The program.
        command: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// Its variables.
        environment: Vec<(String, String)>,
        /// Where it runs.
        working_directory: Option<String>,
    },
    /// An address to reach.
    Address {
        /// The address.
        url: String,
        /// Headers for every request.
        headers: Vec<(String, String)>,
        /// Which HTTP transport.
        flavour: HttpFlavour,
    },
}

/// A value on its way into a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Written {
    Text(String),
    Flag(bool),
    Integer(i64),
    Float(f64),
    List(Vec<String>),
    Table(Vec<(String, String)>),
}

impl Written {
    /// The pairs of a table.
    pub(super) const fn as_table(&mut self) -> Option<&mut Vec<(String, String)>> {
        match self {
            Self::Table(pairs) => Some(pairs),
            _ => None,
        }
    }
}

/// The keys that say how a server is reached: what an update does not write, it removes.
const TRANSPORT_FIELDS: &[Field] = &[
    Field::Type,
    Field::Command,
    Field::Endpoint,
    Field::Arguments,
    Field::Environment,
    Field::WorkingDirectory,
    Field::Builtin,
    Field::Url,
    Field::StreamableUrl,
    Field::Headers,
];

/// The keys and values of a new entry, in the application's order.
pub(super) fn entry(dialect: Dialect, name: &str, new: &NewServer) -> Result<Vec<(String, Written)>, EditError> {
    let shape = dialect.shape();
    let mut keys: Vec<(String, Written)> = Vec::new();
    if shape.list {
        let key = shape.key_of(Field::Name).unwrap_or("name");
        keys.push((key.to_owned(), Written::Text(name.to_owned())));
    }
    let fields = fields(dialect, new)?;
    let says = |field: Field| fields.iter().any(|(_, other, _)| *other == field);
    for (key, field, value) in demanded(dialect, name) {
        if !says(field) {
            keys.push((key.to_owned(), value));
        }
    }
    keys.extend(fields.into_iter().map(|(key, _, value)| (key.to_owned(), value)));
    Ok(keys)
}

/// What an application wants in every entry, and leaves the entry out without.
fn demanded(dialect: Dialect, name: &str) -> Vec<(&'static str, Field, Written)> {
    match dialect {
        Dialect::Goose => vec![
            ("name", Field::Ignored, Written::Text(name.to_owned())),
            ("enabled", Field::Enabled, Written::Flag(true)),
        ],
        Dialect::Copilot => vec![("tools", Field::Tools, Written::List(vec!["*".to_owned()]))],
        _ => Vec::new(),
    }
}

/// The steps that make an existing entry what was asked for.
pub(super) fn update(dialect: Dialect, new: &NewServer, node: &Node) -> Result<Vec<Step>, EditError> {
    let shape = dialect.shape();
    let wanted = fields(dialect, new)?;
    let mut steps = Vec::new();
    for entry in node.entries() {
        let Some(field) = shape.field_of(&entry.key) else { continue };
        let is_wanted = wanted.iter().any(|(_, other, _)| *other == field);
        let says_how = TRANSPORT_FIELDS.contains(&field) || matches!(field, Field::BuiltinOption(_));
        if says_how && !is_wanted {
            steps.push(Step::Unset(entry.key.clone()));
        }
    }
    for (key, field, value) in wanted {
        // An entry may use another spelling of the same key; it keeps it.
        let existing = node.entries().iter().rev().find(|entry| shape.field_of(&entry.key) == Some(field));
        // Where nobody wrote a type, it goes without saying; only HTTP+SSE has to be said, where no key of its own says it.
        let has_to_be_said = asks_for_sse(new) && dialect != Dialect::Gemini;
        let is_said = existing.is_some() || field != Field::Type || has_to_be_said;
        let key = existing.map_or(key, |entry| entry.key.as_str());
        // Applications have several words for the same way; the one that is there stays.
        let says_it = |node: &Node| {
            let is_address = field == Field::Type && !asks_for_sse(new) && is_address(new);
            value.is(node) || (is_address && node.as_str().is_some_and(is_address_type))
        };
        if is_said && existing.is_none_or(|entry| !says_it(&entry.node)) {
            steps.push(Step::Set(key.to_owned(), value));
        }
    }
    Ok(steps)
}

const fn asks_for_sse(new: &NewServer) -> bool {
    matches!(&new.transport, NewTransport::Address { flavour: HttpFlavour::Sse, .. })
}

const fn is_address(new: &NewServer) -> bool {
    matches!(&new.transport, NewTransport::Address { .. })
}

/// The key and value that switch a server off.
pub(super) fn switch_key(dialect: Dialect) -> Option<(String, Written)> {
    dialect.shape().keys.iter().find_map(|known| match known.field {
        Field::Enabled => Some((known.key.to_owned(), Written::Flag(false))),
        Field::Disabled => Some((known.key.to_owned(), Written::Flag(true))),
        _ => None,
    })
}

/// True when `spec` is what was asked for.
pub(super) fn is_what_was_asked(spec: &ServerSpec, asked: &NewServer) -> bool {
    let same = |text: &ConfigText, asked: &str| {
        text.written() == asked || (text.written() == ConfigText::HIDDEN && text.expose() == asked)
    };
    let transport = match (&spec.transport, &asked.transport) {
        (TransportSpec::Stdio(stdio), NewTransport::Program { command, arguments, environment, .. }) => {
            same(&stdio.command, command)
                && stdio.arguments.len() == arguments.len()
                && stdio.arguments.iter().zip(arguments).all(|(text, asked)| same(text, asked))
                && environment
                    .iter()
                    .all(|(name, asked)| stdio.environment.get(name).is_some_and(|text| same(text, asked)))
        }
        (TransportSpec::Http(http), NewTransport::Address { url, headers, .. }) => {
            same(&http.url, url)
                && headers.iter().all(|(name, asked)| http.headers.get(name).is_some_and(|text| same(text, asked)))
        }
        _ => false,
    };
    transport && asked.enabled.is_none_or(|enabled| spec.enabled == enabled)
}

type Fields = Vec<(&'static str, Field, Written)>;

fn fields(dialect: Dialect, new: &NewServer) -> Result<Fields, EditError> {
    let shape = dialect.shape();
    let mut fields: Fields = Vec::new();
    match &new.transport {
        NewTransport::Program { command, arguments, environment, working_directory } => {
            transport_type(shape, 0, &mut fields);
            program(dialect, command, arguments, &mut fields)?;
            if !environment.is_empty() {
                put(shape, Field::Environment, Written::Table(environment.clone()), &mut fields)?;
            }
            if let Some(directory) = working_directory {
                put(shape, Field::WorkingDirectory, Written::Text(directory.clone()), &mut fields)?;
            }
        }
        NewTransport::Address { url, headers, flavour } => {
            address(dialect, url, *flavour, &mut fields)?;
            if !headers.is_empty() {
                put(shape, Field::Headers, Written::Table(headers.clone()), &mut fields)?;
            }
        }
    }
    if let Some(enabled) = new.enabled {
        match switch_field(shape) {
            Some((key, Field::Disabled)) => fields.push((key, Field::Disabled, Written::Flag(!enabled))),
            Some((key, field)) => fields.push((key, field, Written::Flag(enabled))),
            None => return Err(cannot(shape, "be switched off in its file")),
        }
    }
    if let Some(tools) = &new.tools {
        put(shape, Field::Tools, Written::List(tools.clone()), &mut fields)?;
    }
    if let Some(tools) = &new.disabled_tools {
        put(shape, Field::DisabledTools, Written::List(tools.clone()), &mut fields)?;
    }
    if let Some(timeout) = new.call_timeout {
        let (key, field, unit) = shape
            .keys
            .iter()
            .find_map(|known| match known.field {
                Field::CallTimeout(unit) => Some((known.key, known.field, unit)),
                _ => None,
            })
            .ok_or_else(|| cannot(shape, "have a time-out for calls"))?;
        fields.push((key, field, timeout_value(timeout, unit)));
    }
    if let Some(choice) = new.sandbox {
        put(shape, Field::Sandbox, Written::Text(choice.to_string()), &mut fields)?;
    }
    Ok(fields)
}

fn switch_field(shape: &Shape) -> Option<(&'static str, Field)> {
    let is_switch = |field: Field| matches!(field, Field::Enabled | Field::Disabled);
    shape.keys.iter().find(|known| is_switch(known.field)).map(|known| (known.key, known.field))
}

fn program(dialect: Dialect, command: &str, arguments: &[String], fields: &mut Fields) -> Result<(), EditError> {
    let shape = dialect.shape();
    let whole = || std::iter::once(command).chain(arguments.iter().map(String::as_str));
    if let Some(key) = shape.key_of(Field::Endpoint) {
        fields.push((key, Field::Endpoint, Written::Text(shell_words::join(whole()))));
        return Ok(());
    }
    if dialect == Dialect::Opencode {
        let list = whole().map(str::to_owned).collect();
        return put(shape, Field::Command, Written::List(list), fields);
    }
    put(shape, Field::Command, Written::Text(command.to_owned()), fields)?;
    if arguments.is_empty() { Ok(()) } else { put(shape, Field::Arguments, Written::List(arguments.to_vec()), fields) }
}

fn address(dialect: Dialect, url: &str, flavour: HttpFlavour, fields: &mut Fields) -> Result<(), EditError> {
    let shape = dialect.shape();
    let wants_sse = flavour == HttpFlavour::Sse;
    match dialect {
        Dialect::ClaudeDesktop | Dialect::Loom => {
            return Err(cannot(shape, "reach an address; it only starts programs"));
        }
        Dialect::Codex if wants_sse => return Err(cannot(shape, "reach a server over HTTP+SSE")),
        Dialect::Gemini if !wants_sse => {
            return put(shape, Field::StreamableUrl, Written::Text(url.to_owned()), fields);
        }
        _ => {}
    }
    // In helve's own file an address without a type is tried both ways, which is what `Auto` means.
    if dialect != Dialect::Helve || flavour != HttpFlavour::Auto {
        transport_type(shape, if wants_sse { 2 } else { 1 }, fields);
    }
    let field = if shape.key_of(Field::Endpoint).is_some() { Field::Endpoint } else { Field::Url };
    put(shape, field, Written::Text(url.to_owned()), fields)
}

fn transport_type(shape: &Shape, which: usize, fields: &mut Fields) {
    if let (Some(key), Some(word)) = (shape.key_of(Field::Type), shape.written_types.get(which))
        && !word.is_empty()
    {
        fields.push((key, Field::Type, Written::Text((*word).to_owned())));
    }
}

fn put(shape: &Shape, field: Field, value: Written, fields: &mut Fields) -> Result<(), EditError> {
    let what = match field {
        Field::Environment => "give a server variables",
        Field::WorkingDirectory => "choose a server's directory",
        Field::Tools | Field::DisabledTools => "choose a server's tools",
        _ => "have such a server",
    };
    let key = shape.key_of(field).ok_or_else(|| cannot(shape, what))?;
    fields.push((key, field, value));
    Ok(())
}

fn cannot(shape: &Shape, what: &str) -> EditError {
    EditError::NotPossible(format!("{} cannot {what}", shape.title))
}

pub(super) fn timeout_value(timeout: Duration, unit: Unit) -> Written {
    match unit {
        Unit::Seconds if timeout.subsec_nanos() == 0 => {
            Written::Integer(i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX))
        }
        Unit::Seconds => Written::Float(timeout.as_secs_f64()),
        Unit::Milliseconds | Unit::MillisecondsFromOneSecond => {
            Written::Integer(i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX))
        }
    }
}

impl fmt::Debug for NewTransport {
    /// Names of variables and headers without their values, which may be secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, String)]| pairs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        match self {
            Self::Program { command, arguments, environment, working_directory } => formatter
                .debug_struct("Program")
                .field("command", command)
                .field("arguments", arguments)
                .field("environment", &names(environment))
                .field("working_directory", working_directory)
                .finish(),
            Self::Address { url, headers, flavour } => formatter
                .debug_struct("Address")
                .field("url", url)
                .field("headers", &names(headers))
                .field("flavour", flavour)
                .finish(),
        }
    }
}

impl Written {
    /// True when the file says exactly this already.
    fn is(&self, node: &Node) -> bool {
        match (self, &node.value) {
            (Self::Text(text), Value::String(other)) => text == other,
            (Self::Flag(flag), Value::Bool(other)) => flag == other,
            (Self::Integer(number), Value::Integer(other)) => number == other,
            (Self::List(list), Value::Array(elements)) => {
                list.len() == elements.len()
                    && list.iter().zip(elements).all(|(text, node)| node.as_str() == Some(text))
            }
            (Self::Table(table), Value::Table(entries)) => {
                table.len() == entries.len()
                    && table
                        .iter()
                        .zip(entries)
                        .all(|((key, text), entry)| *key == entry.key && entry.node.as_str() == Some(text))
            }
            _ => false,
        }
    }
}
