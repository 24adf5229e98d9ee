//! Reads one file: finds its servers, hands each to [`crate::entry`], and lets the dialect read what else is there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use helve_model::{Action, Layer, Origin, Rule, ServerName};

use crate::diagnostic::{Code, Diagnostic, nearest, quoted};
use crate::dialect::{Dialect, Shape};
use crate::document::{self, Entry, Node, Value};
use crate::entry;
use crate::environment::Environment;
use crate::field::{Field, Unit};
use crate::interpolate::Scope;
use crate::secret;
use crate::server::{Blocker, ConfiguredServer, Input, Switch};
use crate::settings::{Setting, SettingsPatch};
use crate::source::{Source, Span};
use crate::trust::Trust;

/// Every key under which some application keeps its servers.
pub(crate) const ROOTS: &[&[&str]] = &[
    &["mcpServers"],
    &["servers"],
    &["mcp_servers"],
    &["context_servers"],
    &["mcp", "servers"],
    &["mcp"],
    &["extensions"],
];

/// A hint lists the known keys when there are no more than this.
const MAX_LISTED_KEYS: usize = 10;

/// A file to read, and what its place says about it.
#[derive(Debug, Clone)]
pub struct FilePlace {
    /// Its name.
    pub path: PathBuf,
    /// The application it belongs to.
    pub application: &'static str,
    /// Its dialect.
    pub dialect: Dialect,
    /// Its layer.
    pub layer: Layer,
    /// The project the person stands in.
    pub project: PathBuf,
}

/// Everything one file says.
#[derive(Debug)]
pub struct FileContent {
    /// The file.
    pub place: FilePlace,
    /// Its text, if it could be read.
    pub source: Source,
    /// Its servers, in the order of the file.
    pub servers: Vec<ConfiguredServer>,
    /// Its settings.
    pub settings: SettingsPatch,
    /// Its rules.
    pub rules: Vec<Rule>,
    /// The values it wants to ask for.
    pub inputs: Vec<Input>,
    /// What is wrong with it; what is wrong with a server is with the server.
    pub diagnostics: Vec<Diagnostic>,
    pub(crate) switches: Vec<Switch>,
}

/// Reads a text as the content of `place`.
#[must_use]
pub fn read_text(place: &FilePlace, text: &str, environment: &Environment) -> FileContent {
    let mut source = Source::new(&place.path, text);
    let mut content = FileContent {
        place: place.clone(),
        source: source.clone(),
        servers: Vec::new(),
        settings: SettingsPatch::default(),
        rules: Vec::new(),
        inputs: Vec::new(),
        diagnostics: Vec::new(),
        switches: Vec::new(),
    };
    let root = match document::parse(&source, place.dialect.format_of(&place.path)) {
        Ok(root) => root,
        Err(diagnostic) => {
            content.diagnostics.push(*diagnostic);
            return content;
        }
    };
    source.hide(secret::places(&root));
    let directory = place.path.parent().map_or_else(|| environment.working_directory.clone(), Path::to_path_buf);
    let scope = Scope {
        environment,
        beside: std::collections::BTreeMap::new(),
        workspace: place.project.clone(),
        directory,
        inputs: Vec::new(),
    };
    let mut reader = FileReader { source, place, shape: place.dialect.shape(), scope, content };
    if root.is_table() {
        (reader.shape.read)(&mut reader, &root);
    } else if root.value != Value::Null {
        reader.problem(wrong_type("the file", "a table", &root), root.span);
    }
    reader.content
}

/// Reads a file that holds nothing but servers.
pub(crate) fn servers_only(reader: &mut FileReader<'_>, root: &Node) {
    reader.servers(root);
}

/// A file while it is being read.
pub(crate) struct FileReader<'a> {
    pub(crate) source: Source,
    pub(crate) place: &'a FilePlace,
    pub(crate) shape: &'static Shape,
    pub(crate) scope: Scope<'a>,
    pub(crate) content: FileContent,
}

impl FileReader<'_> {
    /// Reads the servers from where the dialect keeps them, or from where people put them by mistake.
    pub(crate) fn servers(&mut self, root: &Node) {
        let own = self.shape.roots.iter().find_map(|path| root.at(path));
        if let Some(node) = own {
            self.server_collection(node, false);
        }
        if !self.shape.only_servers {
            return;
        }
        for path in ROOTS {
            if self.shape.roots.contains(path) {
                continue;
            }
            let (Some(node), Some(entry)) = (root.at(path), path.first().and_then(|key| root.entry(key))) else {
                continue;
            };
            if !(node.is_table() || node.is_array()) || (*path == ["mcp"] && node.get("servers").is_some()) {
                continue;
            }
            let expected = self.shape.roots.first().map(|path| path.join(".")).unwrap_or_default();
            let message =
                format!("the servers of this file belong under {}, not {}", quoted(&expected), quoted(&path.join(".")));
            let hint = match self.place.dialect {
                Dialect::Helve => "helve reads them all the same".to_owned(),
                _ => format!("helve reads them all the same, {} does not", self.shape.title),
            };
            self.report(Diagnostic::warning(Code::WrongRoot, message).hint(hint), entry.key_span);
            self.server_collection(node, own.is_some());
        }
    }

    /// Reads a table of servers by name, or a list of servers that name themselves.
    ///
    /// With `only_new`, names that were read before are left alone.
    pub(crate) fn server_collection(&mut self, node: &Node, only_new: bool) {
        match &node.value {
            Value::Table(entries) => {
                for entry in entries {
                    self.server(&entry.key, entry.key_span, &entry.node, only_new);
                }
            }
            Value::Array(elements) => {
                for element in elements {
                    match self.own_name(element) {
                        Some((name, span)) => self.server(&name, span, element, only_new),
                        None => {
                            let span = Span::new(element.span.start, element.span.start);
                            let message = format!("a server needs {}", quoted("name"));
                            self.report(Diagnostic::error(Code::NoName, message), span);
                        }
                    }
                }
            }
            Value::Null => {}
            _ => self.problem(wrong_type("the list of servers", "a table", node), node.span),
        }
    }

    fn own_name(&self, node: &Node) -> Option<(String, Span)> {
        let key = self.shape.key_of(Field::Name).unwrap_or("name");
        let name = node.get(key)?;
        let text = name.as_str()?;
        (!text.is_empty()).then(|| (text.to_owned(), name.span))
    }

    fn server(&mut self, name: &str, name_span: Span, node: &Node, only_new: bool) {
        let Ok(name) = ServerName::new(name) else {
            let message = "a server's name must not be empty";
            self.report(Diagnostic::error(Code::NoName, message), name_span);
            return;
        };
        if let Some(index) = self.content.servers.iter().position(|server| server.name == name) {
            if only_new {
                return;
            }
            let first = self.content.servers.remove(index);
            let message = format!("server {} is configured twice in this file", quoted(name.as_str()));
            let hint = match &first.origin {
                Origin::File { line, .. } => format!("the one in line {line} is not used; remove one of them"),
                other => format!("the one from {other} is not used"),
            };
            let diagnostic = Diagnostic::error(Code::DuplicateServer, message).for_server(&name).hint(hint);
            self.report(diagnostic, name_span);
        }
        if let Some(server) = entry::read(self, name, name_span, node) {
            self.content.servers.push(server);
        }
    }

    /// An empty shell for a server of this file.
    pub(crate) fn blank(&self, name: ServerName, name_span: Span) -> ConfiguredServer {
        ConfiguredServer {
            name,
            application: self.place.application,
            dialect: self.place.dialect,
            layer: self.place.layer,
            origin: self.source.origin(name_span.start),
            is_local: false,
            spec: None,
            blockers: Vec::new(),
            disabled_by: None,
            rules: Vec::new(),
            variables: Vec::new(),
            trust: Trust::Own,
            trust_hash: None,
            diagnostics: Vec::new(),
        }
    }

    pub(crate) fn report(&mut self, diagnostic: Diagnostic, span: Span) {
        let diagnostic = diagnostic.at(&self.source, span);
        self.content.diagnostics.push(diagnostic);
    }

    fn problem(&mut self, message: String, span: Span) {
        self.report(Diagnostic::error(Code::WrongType, message), span);
    }

    /// Reports every key of `node` that is not in `known`.
    pub(crate) fn unknown_keys(&mut self, node: &Node, known: &[&str]) {
        for entry in node.entries() {
            if !known.contains(&entry.key.as_str()) {
                let diagnostic = unknown_key(&entry.key, known.iter().copied());
                self.report(diagnostic, entry.key_span);
            }
        }
    }

    pub(crate) fn setting<T>(&self, entry: &Entry, value: T) -> Option<Setting<T>> {
        Some(Setting { value, origin: self.source.origin(entry.key_span.start), layer: self.place.layer })
    }

    pub(crate) fn bool(&mut self, entry: &Entry) -> Option<bool> {
        if let Value::Bool(flag) = entry.node.value {
            return Some(flag);
        }
        self.problem(wrong_type(&quoted(&entry.key), "true or false", &entry.node), entry.node.span);
        None
    }

    pub(crate) fn string(&mut self, entry: &Entry) -> Option<String> {
        if let Some(text) = entry.node.as_str() {
            return Some(text.to_owned());
        }
        self.problem(wrong_type(&quoted(&entry.key), "a string", &entry.node), entry.node.span);
        None
    }

    pub(crate) fn strings(&mut self, entry: &Entry) -> Vec<(String, Span)> {
        if !entry.node.is_array() {
            self.problem(wrong_type(&quoted(&entry.key), "a list of strings", &entry.node), entry.node.span);
        }
        let mut strings = Vec::new();
        for element in entry.node.elements() {
            match element.as_str() {
                Some(text) => strings.push((text.to_owned(), element.span)),
                None => {
                    let what = format!("each element of {}", quoted(&entry.key));
                    self.problem(wrong_type(&what, "a string", element), element.span);
                }
            }
        }
        strings
    }

    pub(crate) fn count(&mut self, entry: &Entry) -> Option<u32> {
        if let Value::Integer(number) = entry.node.value
            && let Ok(number) = u32::try_from(number)
        {
            return Some(number);
        }
        self.problem(wrong_type(&quoted(&entry.key), "a whole number from 0", &entry.node), entry.node.span);
        None
    }

    pub(crate) fn seconds(&mut self, entry: &Entry) -> Option<Duration> {
        let duration = duration(&entry.node, Unit::Seconds);
        if duration.is_none() {
            let message = wrong_type(&quoted(&entry.key), "a number of seconds above 0", &entry.node);
            self.problem(message, entry.node.span);
        }
        duration
    }

    /// A rule that an application writes as a tool pattern in a list of its own.
    pub(crate) fn rule(&self, tool: &str, action: Action, span: Span) -> Rule {
        Rule {
            tool: tool.to_owned(),
            pattern: None,
            risk: None,
            kind: None,
            action,
            origin: self.source.origin(span.start),
            layer: self.place.layer,
        }
    }
}

/// The one sentence about a value of the wrong type.
pub(crate) fn wrong_type(what: &str, expected: &str, node: &Node) -> String {
    match node.value {
        Value::Integer(_) | Value::Float(_) if expected.contains("number") => format!("{what} must be {expected}"),
        _ => format!("{what} must be {expected}, not {}", node.kind()),
    }
}

pub(crate) fn unknown_key<'known>(key: &str, known: impl IntoIterator<Item = &'known str> + Clone) -> Diagnostic {
    let diagnostic = Diagnostic::warning(Code::UnknownKey, format!("unknown key {}", quoted(key)));
    match nearest(key, known.clone()) {
        Some(near) => diagnostic.hint(format!("did you mean {}?", quoted(near))),
        None => {
            let names: Vec<String> = known.into_iter().map(quoted).collect();
            if names.len() > MAX_LISTED_KEYS {
                return diagnostic;
            }
            diagnostic.hint(format!("known keys are {}", names.join(", ")))
        }
    }
}

/// A time-out; `None` when it is not a number above 0.
pub(crate) fn duration(node: &Node, unit: Unit) -> Option<Duration> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a time-out that loses a nanosecond after 100 days is the same time-out"
    )]
    let number = match node.value {
        Value::Integer(number) => number as f64,
        Value::Float(number) => number,
        _ => return None,
    };
    let seconds = match unit {
        Unit::Seconds => number,
        Unit::Milliseconds | Unit::MillisecondsFromOneSecond => number / 1_000.0,
    };
    Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero())
}

/// An entry whose mistakes keep it from running.
pub(crate) fn block(server: &mut ConfiguredServer) {
    if !server.blockers.contains(&Blocker::Invalid) {
        server.blockers.push(Blocker::Invalid);
    }
}
