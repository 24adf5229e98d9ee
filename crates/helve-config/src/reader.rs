//! Reads one file: finds its servers, hands each to [`crate::entry`], and lets the dialect read what else is there.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use helve_model::text::breaks_lines;
use helve_model::text::nearest;
use helve_model::{Action, Layer, Origin, Rule, ServerName};

use crate::allowance::{Allowance, MAX_PROJECT_SERVERS};
use crate::diagnostic::{Code, Diagnostic, Severity, quoted};
use crate::dialect::{Dialect, Shape};
use crate::document::{self, Node, TableEntry, Value};
use crate::entry;
use crate::environment::{Environment, variable};
use crate::field::{Field, Unit};
use crate::grants::Grant;
use crate::hub::ConfiguredHub;
use crate::interpolate::Scope;
use crate::secret;
use crate::server::{AsWritten, Blocker, ConfiguredServer, Input, Switch};
use crate::settings::{Setting, SettingsPatch};
use crate::source::{Source, Span};
use crate::trust::ServerTrust;

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

/// Names are shown and sent with every call.
const MAX_NAME: usize = 256;

/// A hint lists the known keys when there are no more than this.
const MAX_LISTED_KEYS: usize = 10;

/// More problems of one file are counted, not shown.
const MAX_PROBLEMS: usize = 50;

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
    /// The hubs it joins.
    pub hubs: Vec<ConfiguredHub>,
    pub(crate) switches: Vec<Switch>,
    pub(crate) grants: Vec<Grant>,
}

/// Reads a text as the content of `place`.
#[must_use]
pub fn read_text(place: &FilePlace, text: &str, environment: &Environment) -> FileContent {
    read_within(place, text, environment, &Allowance::of(place.layer))
}

/// The same, where the file shares what it may take with other files.
pub(crate) fn read_within(
    place: &FilePlace,
    text: &str,
    environment: &Environment,
    allowance: &Allowance,
) -> FileContent {
    let mut source = Source::new(&place.path, text);
    let mut content = FileContent {
        place: place.clone(),
        source: source.clone(),
        servers: Vec::new(),
        settings: SettingsPatch::default(),
        rules: Vec::new(),
        inputs: Vec::new(),
        diagnostics: Vec::new(),
        hubs: Vec::new(),
        switches: Vec::new(),
        grants: Vec::new(),
    };
    let root = match document::parse_within(&source, place.dialect.format_of(&place.path), allowance) {
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
        beside_file: None,
        workspace: place.project.clone(),
        directory,
        allowance,
        file: place.path.clone(),
        inputs: Vec::new(),
        is_project: place.layer == Layer::Project,
    };
    let mut reader = FileReader { source, place, shape: place.dialect.shape(), scope, content, names: HashMap::new() };
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
    /// Where the server of a name is in `content`.
    names: HashMap<ServerName, usize>,
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
                    if !self.take_server(entry.key_span) {
                        return;
                    }
                    self.server(&entry.key, entry.key_span, &entry.node, only_new);
                }
            }
            Value::Array(elements) => {
                for element in elements {
                    if !self.take_server(Span::new(element.span.start, element.span.start)) {
                        return;
                    }
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

    /// Says once that there are too many, where the first of them stands.
    fn take_server(&mut self, span: Span) -> bool {
        let is_left = self.scope.allowance.take_server();
        if !is_left {
            let message = format!(
                "the files of this project configure more than {MAX_PROJECT_SERVERS} servers; the rest is not read"
            );
            let hint = "remove those you do not need, or configure them in a file of your own";
            self.report(Diagnostic::error(Code::TooMany, message).hint(hint), span);
        }
        is_left
    }

    fn own_name(&self, node: &Node) -> Option<(String, Span)> {
        let key = self.shape.key_of(Field::Name).unwrap_or("name");
        let name = node.get(key)?;
        let text = name.as_str()?;
        (!text.is_empty()).then(|| (text.to_owned(), name.span))
    }

    fn server(&mut self, name: &str, name_span: Span, node: &Node, only_new: bool) {
        if let Some(what) = unusable_name(name) {
            let diagnostic = Diagnostic::error(Code::NoName, format!("a server's name must not {what}"));
            self.report(diagnostic.hint("give it a name of letters, digits, `-`, `_` and `.`"), name_span);
            return;
        }
        let Ok(name) = ServerName::new(name) else {
            let message = "a server's name must not be empty";
            self.report(Diagnostic::error(Code::NoName, message), name_span);
            return;
        };
        let first = self.names.get(&name).copied();
        if let Some(first) = first.and_then(|index| self.content.servers.get(index)) {
            if only_new {
                return;
            }
            let message = format!("server {} is configured twice in this file", quoted(name.as_str()));
            let hint = match &first.origin {
                Origin::File { line, .. } => format!("the one in line {line} is not used; remove one of them"),
                other => format!("the one from {other} is not used"),
            };
            let diagnostic = Diagnostic::error(Code::DuplicateServer, message).for_server(&name).hint(hint);
            self.report(diagnostic, name_span);
        }
        let server = entry::read(self, name, name_span, node);
        match (server, first.and_then(|index| self.content.servers.get_mut(index))) {
            (Some(server), Some(first)) => *first = server,
            (Some(server), None) => {
                self.names.insert(server.name.clone(), self.content.servers.len());
                self.content.servers.push(server);
            }
            (None, _) => {}
        }
    }

    /// The servers that were read so far; what is read from here on starts anew.
    pub(crate) fn take_servers(&mut self) -> Vec<ConfiguredServer> {
        self.names.clear();
        std::mem::take(&mut self.content.servers)
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
            trust: ServerTrust::Own,
            trust_hash: None,
            chosen_sandbox: None,
            files: Vec::new(),
            as_written: AsWritten {
                search_path: self.scope.environment.variable(variable::PATH).map(ToOwned::to_owned),
                ..AsWritten::default()
            },
            diagnostics: Vec::new(),
        }
    }

    pub(crate) fn report(&mut self, diagnostic: Diagnostic, span: Span) {
        add_problem(&mut self.content.diagnostics, MAX_PROBLEMS, diagnostic, &self.source, span);
    }

    fn problem(&mut self, message: String, span: Span) {
        self.report(Diagnostic::error(Code::WrongType, message), span);
    }

    /// Reports every key of `node` that is not in `known`.
    pub(crate) fn unknown_keys(&mut self, node: &Node, known: &[&str]) {
        self.unknown_keys_with_limits(node, known, &[]);
    }

    /// The same; a key that was likely meant to be one of `limits` is an error: a misspelt limit must not mean no limit.
    pub(crate) fn unknown_keys_with_limits(&mut self, node: &Node, known: &[&str], limits: &[&str]) {
        for entry in node.entries() {
            if !known.contains(&entry.key.as_str()) {
                if self.content.diagnostics.len() > MAX_PROBLEMS {
                    // The rest is not looked at, so nobody knows what it would have limited.
                    self.content.diagnostics.iter_mut().rev().take(1).for_each(|rest| rest.severity = Severity::Error);
                    return;
                }
                let mut diagnostic = unknown_key(&entry.key, known.iter().copied());
                if nearest(&entry.key, known.iter().copied()).is_some_and(|near| limits.contains(&near)) {
                    diagnostic.severity = Severity::Error;
                }
                self.report(diagnostic, entry.key_span);
            }
        }
    }

    pub(crate) fn setting<T>(&self, entry: &TableEntry, value: T) -> Option<Setting<T>> {
        Some(Setting { value, origin: self.source.origin(entry.key_span.start), layer: self.place.layer })
    }

    pub(crate) fn bool(&mut self, entry: &TableEntry) -> Option<bool> {
        if let Value::Bool(flag) = entry.node.value {
            return Some(flag);
        }
        self.problem(wrong_type(&quoted(&entry.key), "true or false", &entry.node), entry.node.span);
        None
    }

    pub(crate) fn string(&mut self, entry: &TableEntry) -> Option<String> {
        if let Some(text) = entry.node.as_str() {
            return Some(text.to_owned());
        }
        self.problem(wrong_type(&quoted(&entry.key), "a string", &entry.node), entry.node.span);
        None
    }

    pub(crate) fn strings(&mut self, entry: &TableEntry) -> Vec<(String, Span)> {
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

    pub(crate) fn count(&mut self, entry: &TableEntry) -> Option<u32> {
        if let Value::Integer(number) = entry.node.value
            && let Ok(number) = u32::try_from(number)
        {
            return Some(number);
        }
        self.problem(wrong_type(&quoted(&entry.key), "a whole number from 0", &entry.node), entry.node.span);
        None
    }

    pub(crate) fn seconds(&mut self, entry: &TableEntry) -> Option<Duration> {
        let duration = duration(&entry.node, Unit::Seconds);
        if duration.is_none() {
            let message = wrong_type(&quoted(&entry.key), "a number of seconds above 0", &entry.node);
            self.problem(message, entry.node.span);
        }
        duration
    }

    /// A rule that an application writes as a tool pattern in a list of its own.
    pub(crate) fn rule(&self, tool: &str, action: Action, span: Span) -> Rule {
        Rule::new(tool, action, self.source.origin(span.start), self.place.layer)
    }
}

/// Adds a problem. After `max` of them one sentence stands for the rest, and it is as bad as the worst of them: an error
/// that nobody sees must stop what it would have stopped.
pub(crate) fn add_problem(
    problems: &mut Vec<Diagnostic>,
    max: usize,
    diagnostic: Diagnostic,
    source: &Source,
    span: Span,
) {
    if problems.len() < max {
        problems.push(diagnostic.at(source, span));
        return;
    }
    if problems.len() == max {
        let mut rest = Diagnostic::note(Code::TooMany, "there are more problems than are shown here").at(source, span);
        rest.server.clone_from(&diagnostic.server);
        problems.push(rest.hint("repair those above first"));
    }
    if let Some(rest) = problems.last_mut() {
        rest.severity = rest.severity.max(diagnostic.severity);
    }
}

/// What keeps a name from being one: it is printed, in the middle of sentences and lists.
pub(crate) fn unusable_name(name: &str) -> Option<&'static str> {
    if name.chars().any(breaks_lines) {
        return Some("hold line breaks or control characters");
    }
    (name.len() > MAX_NAME).then_some("be longer than 256 bytes")
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
