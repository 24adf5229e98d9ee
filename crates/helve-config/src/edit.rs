//! Changing a file that belongs to a person: one server is added, changed, switched or removed, and every comment,
//! every other key and the order of everything stay as they are.
//!
//! Whatever the format, the result is read again before it is handed out: the server must have become what was asked
//! for and no other server may have changed. What cannot be edited safely is refused with the line to edit by hand.

mod carry;
mod former;
mod hubs;
mod json;
mod masking;
mod render;
mod rules;
mod toml;
mod typed;
mod write;
mod written;
mod yaml;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use helve_model::text::nearest;
use helve_model::{HttpFlavour, ServerKey, ServerSpec};

use crate::diagnostic::{Diagnostic, quoted};
use crate::dialect::{Dialect, KeySpelling};
use crate::document::{self, Format, Node};
use crate::environment::Environment;
use crate::field::Field;
use crate::reader::{FilePlace, ROOTS, read_text};
use crate::source::Source;

pub use carry::{CarriedServer, LiteralSecret, carry};
pub use former::{FormerEntry, former_entry};
pub use hubs::{HubChange, edit_hub, edit_hub_text};
pub use masking::mask_secrets;
pub use render::{NewServer, NewTransport};
pub use rules::{NewRule, RuleChange, edit_rules, edit_rules_text, find_rule};
pub use typed::{Snippet, Typed, read_typed};
pub use write::{Edited, edit_file, restore_file};
pub use written::{WrittenServer, written_server};

use render::Written;

/// What to do with a server.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Add it; there must be none of that name.
    Add(NewServer),
    /// Make it this; keys that [`NewServer`] does not speak of stay.
    Update(NewServer),
    /// Switch it on.
    Enable,
    /// Switch it off.
    Disable,
    /// Switch off a server that another file configures, by an entry that says nothing else; in helve's own file only.
    SwitchOff,
    /// Add a server that another file configures; in helve's own file only.
    Carry(Box<CarriedServer>),
    /// Add it as it stood in this file once.
    PutBack(Box<FormerEntry>),
    /// Take these keys out of its entry, however the file spells them.
    Clear(Vec<ServerKey>),
    /// Remove it.
    Remove,
}

/// Why a file was not changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum EditError {
    /// The file is broken; it has to be repaired first.
    Broken(Box<Diagnostic>),
    /// There is no such server in the file.
    NoSuchServer {
        /// The name that was asked for.
        server: String,
        /// The name that was probably meant.
        near: Option<String>,
    },
    /// There is a server of that name already.
    Exists(String),
    /// The application cannot have such a server.
    NotPossible(String),
    /// The file is written in a way that cannot be changed without touching something else.
    ByHand {
        /// The server.
        server: String,
        /// The line to look at.
        line: u32,
    },
    /// The rules are written in a way that cannot be changed without touching something else.
    RulesByHand {
        /// The line of the first of them.
        line: u32,
    },
    /// Somebody else changed the file meanwhile.
    ChangedMeanwhile(PathBuf),
    /// The file cannot be read or written.
    File(std::io::Error),
}

/// One step of a change, in terms of the file's keys.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Set(String, Written),
    Unset(String),
}

/// What to do with the entry at a [`Spot`].
#[derive(Debug, Clone, PartialEq)]
enum Action {
    Insert(Vec<(String, Written)>),
    Modify(Vec<Step>),
    Remove,
}

/// Where a server's entry is, or will be.
#[derive(Debug, Clone, PartialEq)]
struct Spot {
    /// The keys that lead to the servers.
    root: Vec<String>,
    /// The servers are a list, and this key holds their names.
    name_key: Option<&'static str>,
    name: String,
}

/// The text of a file after a change.
///
/// # Errors
/// Why the change was refused; the file is as it was.
pub fn edit_text(place: &FilePlace, text: &str, server: &str, change: &Change) -> Result<String, EditError> {
    let shape = place.dialect.shape();
    if shape.roots.is_empty() {
        return Err(EditError::NotPossible(format!("{} holds no servers", shape.title)));
    }
    let format = place.dialect.format_of(&place.path);
    let source = Source::new(&place.path, text);
    let document = document::parse(&source, format).map_err(EditError::Broken)?;
    let spot = find(place, &document, server);
    let action = match (&spot, change) {
        (Some(_), Change::Add(_) | Change::Carry(_) | Change::PutBack(_)) => {
            return Err(EditError::Exists(server.to_owned()));
        }
        (None, Change::SwitchOff | Change::Carry(_)) if place.dialect != Dialect::Helve => {
            let reason = format!("only helve's own file can do that, not one of {}", shape.title);
            return Err(EditError::NotPossible(reason));
        }
        (None, Change::SwitchOff) => Action::Insert(render::switch_key(place.dialect).into_iter().collect()),
        (None, Change::Carry(carried)) => Action::Insert(carried.keys.clone()),
        (None, Change::PutBack(former)) => Action::Insert(former.keys.clone()),
        (None, Change::Add(new)) => Action::Insert(render::entry(place.dialect, server, new)?),
        (Some((_, node)), Change::Update(new)) => Action::Modify(render::update(place.dialect, new, node)?),
        (Some((_, node)), Change::Enable) => Action::Modify(switch(place.dialect, node, true)),
        (Some((_, node)), Change::Disable | Change::SwitchOff) => Action::Modify(switch(place.dialect, node, false)),
        (Some((_, node)), Change::Clear(keys)) => Action::Modify(cleared(place.dialect, node, keys)),
        (Some(_), Change::Remove) => Action::Remove,
        (None, _) => {
            let names = server_names(place, &document);
            let near = nearest(server, names.iter().map(String::as_str)).map(str::to_owned);
            return Err(EditError::NoSuchServer { server: server.to_owned(), near });
        }
    };
    if action == Action::Modify(Vec::new()) {
        return Ok(text.to_owned());
    }
    let line = spot.as_ref().map_or(1, |(_, node)| source.position(node.span.start).0);
    let inline =
        spot.as_ref().filter(|_| format == Format::Json).and_then(|(_, node)| json::inline(text, node, &action));
    let spot = spot.map_or_else(|| new_spot(place, &document, server), |(spot, _)| spot);
    let edited = match format {
        Format::Json => inline.or_else(|| json::apply(text, &spot, &action)),
        Format::Toml => toml::apply(text, &spot, &action),
        Format::Yaml => yaml::apply(&source, &document, &spot, &action),
    };
    match edited {
        Some(edited) if is_as_asked(place, text, &edited, server, change) => Ok(edited),
        _ => Err(EditError::ByHand { server: server.to_owned(), line }),
    }
}

/// How an entry spells a key: as it does where it has it, else as its dialect usually does.
#[must_use]
pub fn spelled_key(place: &FilePlace, text: &str, server: &str, key: ServerKey) -> Option<KeySpelling> {
    let usual = || place.dialect.spellings(key).next();
    let source = Source::new(&place.path, text);
    let Ok(document) = document::parse(&source, place.dialect.format_of(&place.path)) else { return usual() };
    let Some((_, node)) = find(place, &document, server) else { return usual() };
    place.dialect.spellings(key).find(|spelling| node.get(spelling.key).is_some()).or_else(usual)
}

/// The steps that take keys out of an entry.
fn cleared(dialect: Dialect, node: &Node, keys: &[ServerKey]) -> Vec<Step> {
    let spellings = keys.iter().flat_map(|key| dialect.spellings(*key));
    spellings.filter(|known| node.get(known.key).is_some()).map(|known| Step::Unset(known.key.to_owned())).collect()
}

/// Whether an entry says that it is on, or off.
fn switch_state(dialect: Dialect, node: &Node) -> Option<bool> {
    let shape = dialect.shape();
    node.entries().iter().find_map(|entry| match (shape.field_of(&entry.key)?, &entry.node.value) {
        (Field::Enabled, document::Value::Bool(flag)) => Some(*flag),
        (Field::Disabled, document::Value::Bool(flag)) => Some(!*flag),
        _ => None,
    })
}

/// The steps that switch an entry on or off.
fn switch(dialect: Dialect, node: &Node, on: bool) -> Vec<Step> {
    let shape = dialect.shape();
    let steps: Vec<Step> = node
        .entries()
        .iter()
        .filter_map(|entry| match shape.field_of(&entry.key) {
            Some(Field::Enabled) => Some(Step::Set(entry.key.clone(), Written::Flag(on))),
            Some(Field::Disabled) => Some(Step::Set(entry.key.clone(), Written::Flag(!on))),
            _ => None,
        })
        .collect();
    if on || !steps.is_empty() {
        return steps;
    }
    render::switch_key(dialect).into_iter().map(|(key, value)| Step::Set(key, value)).collect()
}

/// Every place of the file where servers may be, the likeliest first.
fn roots(place: &FilePlace) -> Vec<Vec<String>> {
    let shape = place.dialect.shape();
    let owned = |path: &[&str]| path.iter().map(|key| (*key).to_owned()).collect();
    let mut roots: Vec<Vec<String>> = Vec::new();
    if place.dialect == Dialect::ClaudeCode {
        let project = place.project.to_string_lossy().into_owned();
        roots.push(vec!["projects".to_owned(), project, "mcpServers".to_owned()]);
    }
    roots.extend(shape.roots.iter().map(|path| owned(path)));
    if shape.only_servers {
        roots.extend(ROOTS.iter().map(|path| owned(path)).filter(|path| !shape.roots.iter().any(|own| own == path)));
    }
    roots
}

fn at<'node>(document: &'node Node, root: &[String]) -> Option<&'node Node> {
    root.iter().try_fold(document, |node, key| node.get(key))
}

fn find<'node>(place: &FilePlace, document: &'node Node, server: &str) -> Option<(Spot, &'node Node)> {
    let name_key = place.dialect.shape().key_of(Field::Name).unwrap_or("name");
    for root in roots(place) {
        let Some(servers) = at(document, &root) else { continue };
        let name = server.to_owned();
        if servers.is_array() {
            let named = |node: &&Node| node.get(name_key).and_then(Node::as_str) == Some(server);
            if let Some(node) = servers.elements().iter().rev().find(named) {
                return Some((Spot { root, name_key: Some(name_key), name }, node));
            }
        } else if let Some(node) = servers.get(server) {
            return Some((Spot { root, name_key: None, name }, node));
        }
    }
    None
}

/// Where a new server goes: to the others, or to where the application looks first.
fn new_spot(place: &FilePlace, document: &Node, server: &str) -> Spot {
    let shape = place.dialect.shape();
    let name_key = shape.key_of(Field::Name).unwrap_or("name");
    let candidates: Vec<Vec<String>> =
        shape.roots.iter().map(|path| path.iter().map(|key| (*key).to_owned()).collect()).collect();
    let existing = candidates.iter().find(|root| at(document, root).is_some());
    let root = match (existing, place.dialect) {
        (Some(root), _) => root.clone(),
        // opencode looks for `mcp.servers` first and writes `mcp`.
        (None, Dialect::Opencode) => vec!["mcp".to_owned()],
        (None, _) => candidates.into_iter().next().unwrap_or_default(),
    };
    let is_list = at(document, &root).map_or(shape.list, |node| node.is_array() || (!node.is_table() && shape.list));
    Spot { root, name_key: is_list.then_some(name_key), name: server.to_owned() }
}

fn server_names(place: &FilePlace, document: &Node) -> Vec<String> {
    let name_key = place.dialect.shape().key_of(Field::Name).unwrap_or("name");
    let mut names = Vec::new();
    for root in roots(place) {
        let Some(servers) = at(document, &root) else { continue };
        names.extend(servers.entries().iter().map(|entry| entry.key.clone()));
        names.extend(servers.elements().iter().filter_map(|node| node.get(name_key)?.as_str().map(str::to_owned)));
    }
    names
}

/// Reads the file before and after: the server is what it should be, all others are what they were.
fn is_as_asked(place: &FilePlace, before: &str, after: &str, server: &str, change: &Change) -> bool {
    // Only what is written matters: without variables, both readings lack the same ones.
    let environment = Environment::new(&place.project);
    let read = |text: &str| read_text(place, text, &environment);
    let (old, new) = (read(before), read(after));
    let is_broken = |content: &crate::reader::FileContent| {
        content.diagnostics.iter().any(|diagnostic| diagnostic.code == crate::diagnostic::Code::Syntax)
    };
    if is_broken(&new) {
        return false;
    }
    let others = |content: &crate::reader::FileContent| -> Vec<(String, Option<ServerSpec>)> {
        let others = content.servers.iter().filter(|other| other.name.as_str() != server);
        others.map(|other| (other.name.to_string(), other.spec.clone().map(without_places))).collect()
    };
    let rules = |content: &crate::reader::FileContent| -> Vec<String> {
        content
            .rules
            .iter()
            .map(|rule| format!("{} {} {:?} {:?}", rule.tool, rule.action, rule.pattern, rule.who))
            .collect()
    };
    if others(&old) != others(&new) || rules(&old) != rules(&new) {
        return false;
    }
    let found = new.servers.iter().find(|other| other.name.as_str() == server);
    match change {
        // Behind a server for this directory, one for everywhere may come to light.
        Change::Remove => found.is_none_or(|found| {
            let removed = old.servers.iter().find(|other| other.name.as_str() == server);
            removed.is_some_and(|removed| removed.is_local && !found.is_local)
        }),
        Change::Enable => found.is_some_and(|server| server.disabled_by.is_none()),
        Change::Carry(carried) => carried.arrived(place, after, server),
        Change::PutBack(former) => former.arrived(place, after, server),
        Change::Clear(_) => found.is_some(),
        Change::Disable | Change::SwitchOff => found.is_some_and(|server| server.disabled_by.is_some()),
        Change::Add(asked) | Change::Update(asked) => {
            let spec = found.and_then(|server| server.spec.as_ref());
            spec.is_some_and(|spec| render::is_what_was_asked(spec, asked))
        }
    }
}

/// A spec without origins, which move when lines are added.
fn without_places(mut spec: ServerSpec) -> ServerSpec {
    let nowhere = helve_model::Origin::Program;
    spec.origin = nowhere.clone();
    let access = &mut spec.access;
    for listed in access.tools.iter_mut().chain(&mut access.write_tools).flatten().chain(&mut access.disabled_tools) {
        listed.origin = nowhere.clone();
    }
    spec
}

impl NewServer {
    /// A program with its arguments.
    pub fn program<Text: Into<String>>(command: impl Into<String>, arguments: impl IntoIterator<Item = Text>) -> Self {
        let transport = NewTransport::Program {
            command: command.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: Vec::new(),
            working_directory: None,
        };
        Self::new(transport)
    }

    /// A server at an address.
    pub fn address(url: impl Into<String>) -> Self {
        Self::new(NewTransport::Address { url: url.into(), headers: Vec::new(), flavour: HttpFlavour::Auto })
    }

    const fn new(transport: NewTransport) -> Self {
        Self { transport, enabled: None, tools: None, disabled_tools: None, call_timeout: None, sandbox: None }
    }

    /// The same with a time-out for calls.
    #[must_use]
    pub const fn with_call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = Some(timeout);
        self
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(diagnostic) => write!(formatter, "the file has to be repaired first: {diagnostic}"),
            Self::NoSuchServer { server, near: Some(near) } => {
                write!(formatter, "there is no server {} in this file; did you mean {}?", quoted(server), quoted(near))
            }
            Self::NoSuchServer { server, near: None } => {
                write!(formatter, "there is no server {} in this file", quoted(server))
            }
            Self::Exists(server) => write!(formatter, "there is a server {} in this file already", quoted(server)),
            Self::NotPossible(reason) => formatter.write_str(reason),
            Self::ByHand { server, line } => write!(
                formatter,
                "server {} cannot be changed without touching something else; edit line {line} by hand",
                quoted(server)
            ),
            Self::RulesByHand { line } => write!(
                formatter,
                "its rules, from line {line}, cannot be changed without touching something else; edit them by hand"
            ),
            Self::ChangedMeanwhile(path) => {
                write!(formatter, "{} was changed by somebody else meanwhile; nothing was written", path.display())
            }
            Self::File(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for EditError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File(error) => Some(error),
            _ => None,
        }
    }
}
