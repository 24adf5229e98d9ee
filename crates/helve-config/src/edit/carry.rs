//! Carrying a server from any application's file into helve's own: the same server, in helve's words.
//!
//! References are respelt (`{env:TOKEN}` becomes `${TOKEN}`), everything else is taken from what was understood. To
//! find out what a text refers to, the entry is read with a mark for the value of every variable it names; the result
//! is read again with the same marks and has to mean the same.

use std::collections::BTreeMap;
use std::path::Path;

use helve_model::sandbox::Profile;
use helve_model::{
    ConfigText, HttpFlavour, Layer, Listed, RecordedBodies, SandboxSpec, ServerSpec, StdioSpec, TransportSpec,
};
use secrecy::{ExposeSecret as _, SecretString};

use super::EditError;
use super::render::{Written, timeout_value};
use crate::allowance::Allowance;
use crate::diagnostic::quoted;
use crate::dialect::Dialect;
use crate::environment::{Environment, variable};
use crate::field::Unit;
use crate::interpolate::{self, Place, Scope, Unset};
use crate::reader::{FilePlace, read_text};
use crate::secret::is_secret_header;
use crate::server::{Blocker, ConfiguredServer};

/// A server on its way from one file to another.
#[derive(Debug, Clone, PartialEq)]
pub struct CarriedServer {
    pub(super) keys: Vec<(String, Written)>,
    expected: ServerSpec,
    marks: Marks,
    /// A secret is written out in the file it comes from, and will be in the one it goes to.
    pub holds_secrets: bool,
    /// Those that stand in its variables and headers.
    literals: Vec<LiteralSecret>,
    /// What does not come along, in words.
    pub left_behind: Vec<String>,
}

/// A secret that an entry has written out, in a variable or a header.
#[derive(Clone)]
pub struct LiteralSecret {
    /// The variable or header.
    pub name: String,
    /// What stands before the secret itself, as `Bearer ` does.
    scheme: String,
    value: SecretString,
    /// Which table it stands in.
    table: &'static str,
}

impl LiteralSecret {
    /// The secret itself.
    #[must_use]
    pub const fn value(&self) -> &SecretString {
        &self.value
    }

    fn new(table: &'static str, name: &str, text: &str) -> Self {
        // `Bearer xyz` and its like: of a header the last word is the secret.
        let split = text.rsplit_once(' ').filter(|(scheme, _)| table == "headers" && !scheme.contains(' '));
        let (scheme, value) = split.map_or((String::new(), text), |(scheme, value)| (format!("{scheme} "), value));
        Self { name: name.to_owned(), scheme, value: SecretString::from(value.to_owned()), table }
    }
}

impl PartialEq for LiteralSecret {
    fn eq(&self, other: &Self) -> bool {
        let parts = |secret: &Self| (secret.name.clone(), secret.scheme.clone(), secret.table);
        parts(self) == parts(other) && self.value.expose_secret() == other.value.expose_secret()
    }
}

impl std::fmt::Debug for LiteralSecret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LiteralSecret").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Takes a server out of the text of a file.
///
/// # Errors
/// The server is not there, has mistakes, or cannot be said in helve's words.
pub fn carry(
    place: &FilePlace,
    text: &str,
    server: &str,
    environment: &Environment,
) -> Result<CarriedServer, EditError> {
    let found = find(place, text, server, environment)?;
    let marks = Marks::new(&found.variables, environment);
    let found = find(place, text, server, &marks.environment)?;
    let Some(spec) = &found.spec else { return Err(EditError::NotPossible(mistake(&found))) };
    if let Some(blocker) = found.blockers.first() {
        return Err(EditError::NotPossible(hindrance(blocker, &found)));
    }
    let mut carrier = Carrier {
        place,
        marks: &marks,
        holds_secrets: false,
        literals: Vec::new(),
        left_behind: Vec::new(),
        keys: Vec::new(),
    };
    match &spec.transport {
        TransportSpec::Stdio(stdio) => carrier.program(stdio)?,
        TransportSpec::Http(http) => {
            if http.flavour != HttpFlavour::Auto {
                let word = if http.flavour == HttpFlavour::Sse { "sse" } else { "streamable-http" };
                carrier.put("type", Written::Text(word.to_owned()));
            }
            let url = carrier.text("url", &http.url)?;
            carrier.put("url", Written::Text(url));
            let headers = carrier.table("headers", &http.headers)?;
            carrier.put_table("headers", headers);
        }
        TransportSpec::Builtin(_) => {
            return Err(EditError::NotPossible("a built-in server is configured in helve's own file".to_owned()));
        }
    }
    carrier.rest(spec);
    if !found.rules.is_empty() {
        carrier.left_behind.push("tools approved for good".to_owned());
    }
    let Carrier { keys, holds_secrets, literals, left_behind, .. } = carrier;
    Ok(CarriedServer { keys, expected: spec.clone(), marks, holds_secrets, literals, left_behind })
}

impl CarriedServer {
    /// The secrets that are written out in its variables and headers.
    pub fn literal_secrets(&self) -> impl Iterator<Item = &LiteralSecret> {
        self.literals.iter().filter(|literal| !literal.table.is_empty())
    }

    /// In the place of each secret that is written out in a variable or a header the entry refers to one that is kept
    /// elsewhere, by the name that `kept_as` has for it.
    pub fn refer_to_secrets(&mut self, mut kept_as: impl FnMut(&LiteralSecret) -> String) {
        let (elsewhere, literals) = std::mem::take(&mut self.literals).into_iter().partition(|it| it.table.is_empty());
        self.literals = elsewhere;
        let literals: Vec<LiteralSecret> = literals;
        for literal in literals {
            let texts = match (&mut self.expected.transport, literal.table) {
                (TransportSpec::Stdio(stdio), "env") => &mut stdio.environment,
                (TransportSpec::Http(http), "headers") => &mut http.headers,
                _ => continue,
            };
            let reference = format!("{}${{secret:{}}}", literal.scheme, kept_as(&literal));
            if let Some(text) = texts.get_mut(&literal.name) {
                *text = ConfigText::literal(reference.clone());
            }
            let tables = self.keys.iter_mut().filter(|(key, _)| key == literal.table);
            for pair in tables.filter_map(|(_, written)| written.as_table()).flatten() {
                if pair.0 == literal.name {
                    pair.1.clone_from(&reference);
                }
            }
        }
        self.holds_secrets = !self.literals.is_empty();
    }

    /// The server arrives switched off.
    pub fn switch_off(&mut self) {
        if self.expected.enabled {
            self.expected.enabled = false;
            self.keys.push(("enabled".to_owned(), Written::Flag(false)));
        }
    }

    /// True when the server that was written means what the one that was read meant.
    pub(super) fn arrived(&self, place: &FilePlace, text: &str, server: &str) -> bool {
        let Ok(found) = find(place, text, server, &self.marks.environment) else { return false };
        let Some(spec) = found.spec.filter(|_| found.blockers.is_empty()) else { return false };
        let same_transport = match (&spec.transport, &self.expected.transport) {
            (TransportSpec::Stdio(new), TransportSpec::Stdio(old)) => {
                let values = |stdio: &StdioSpec| -> BTreeMap<String, String> {
                    let own = stdio.environment.iter().filter(|(name, _)| *name != variable::CLAUDE_PROJECT_DIR);
                    own.map(|(name, text)| (name.clone(), text.expose().to_owned())).collect()
                };
                let line = |stdio: &StdioSpec| -> Vec<String> {
                    let words = std::iter::once(&stdio.command).chain(&stdio.arguments);
                    words.map(|text| text.expose().to_owned()).collect()
                };
                values(new) == values(old) && line(new) == line(old)
            }
            (TransportSpec::Http(new), TransportSpec::Http(old)) => {
                let values = |headers: &indexmap::IndexMap<String, ConfigText>| -> BTreeMap<String, String> {
                    headers.iter().map(|(name, text)| (name.clone(), text.expose().to_owned())).collect()
                };
                new.url.expose() == old.url.expose()
                    && new.flavour == old.flavour
                    && values(&new.headers) == values(&old.headers)
            }
            _ => false,
        };
        let globs = |listed: &[Listed]| listed.iter().map(|item| item.glob.clone()).collect::<Vec<_>>();
        let (new, old) = (&spec.access, &self.expected.access);
        same_transport
            && new.tools.as_deref().map(globs) == old.tools.as_deref().map(globs)
            && new.write_tools.as_deref().map(globs) == old.write_tools.as_deref().map(globs)
            && globs(&new.disabled_tools) == globs(&old.disabled_tools)
            && new.readonly == old.readonly
            && new.trust_annotations == old.trust_annotations
            && spec.enabled == self.expected.enabled
    }
}

/// A value for every variable that cannot be mistaken for anything else.
#[derive(Debug, Clone)]
struct Marks {
    environment: Environment,
    by_mark: Vec<(String, String)>,
}

impl Marks {
    fn new(variables: &[String], environment: &Environment) -> Self {
        // An address, so that it may stand where an address is wanted.
        let mark = |(index, name): (usize, &String)| (format!("https://mark-{index}.invalid/"), name.clone());
        let by_mark: Vec<(String, String)> = variables.iter().enumerate().map(mark).collect();
        let values = by_mark.iter().map(|(mark, name)| (name.clone(), mark.clone()));
        Self { environment: environment.clone().with_variables(values), by_mark }
    }

    /// `value` with references where the marks are, and nothing else that would read as one.
    fn respell(&self, value: &str) -> String {
        self.respell_as(value, |name| format!("${{{name}}}"))
    }

    /// The same for a text that is empty where a variable is not set.
    fn respell_with_empty_default(&self, value: &str) -> String {
        self.respell_as(value, |name| format!("${{{name}:-}}"))
    }

    fn respell_as(&self, value: &str, reference: impl Fn(&str) -> String) -> String {
        let escaped = value.replace("${", "$${");
        self.by_mark.iter().fold(escaped, |text, (mark, name)| text.replace(mark.as_str(), &reference(name)))
    }
}

impl PartialEq for Marks {
    fn eq(&self, other: &Self) -> bool {
        self.by_mark == other.by_mark
    }
}

struct Carrier<'a> {
    place: &'a FilePlace,
    marks: &'a Marks,
    holds_secrets: bool,
    /// Secrets that are written out; those outside of variables and headers have no table.
    literals: Vec<LiteralSecret>,
    left_behind: Vec<String>,
    keys: Vec<(String, Written)>,
}

impl Carrier<'_> {
    fn put(&mut self, key: &str, value: Written) {
        self.keys.push((key.to_owned(), value));
    }

    fn put_table(&mut self, key: &str, table: Vec<(String, String)>) {
        if !table.is_empty() {
            self.put(key, Written::Table(table));
        }
    }

    fn program(&mut self, stdio: &StdioSpec) -> Result<(), EditError> {
        let command = self.text("command", &stdio.command)?;
        self.put("command", Written::Text(command));
        let mut arguments = Vec::with_capacity(stdio.arguments.len());
        for argument in &stdio.arguments {
            arguments.push(self.text("arguments", argument)?);
        }
        if !arguments.is_empty() {
            self.put("args", Written::List(arguments));
        }
        let mut own = indexmap::IndexMap::new();
        let mut passed = Vec::new();
        let mut files: Vec<String> = Vec::new();
        for (name, text) in &stdio.environment {
            if name == variable::CLAUDE_PROJECT_DIR && !text.is_expanded() {
                continue;
            }
            if let Some(file) = environment_file(name, text) {
                if !files.contains(&file) {
                    files.push(file);
                }
            } else if self.place.dialect == Dialect::Codex && text.written() == format!("${{{name}}}") {
                passed.push(name.clone());
            } else {
                own.insert(name.clone(), text.clone());
            }
        }
        let environment = self.table("environment", &own)?;
        self.put_table("env", environment);
        if let Some(file) = files.into_iter().next() {
            self.put("env_file", Written::Text(file));
        }
        if !passed.is_empty() {
            self.put("pass_env", Written::List(passed));
        }
        if let Some(directory) = &stdio.working_directory {
            let directory = self.directory(directory);
            self.put("cwd", Written::Text(directory));
        }
        Ok(())
    }

    /// Where the project is, is said so: the same entry then works in every project.
    fn directory(&self, directory: &Path) -> String {
        if directory == self.place.project {
            return "${workspaceFolder}".to_owned();
        }
        self.marks.respell(&directory.to_string_lossy())
    }

    fn table(
        &mut self,
        field: &str,
        texts: &indexmap::IndexMap<String, ConfigText>,
    ) -> Result<Vec<(String, String)>, EditError> {
        let mut table = Vec::with_capacity(texts.len());
        for (name, text) in texts {
            let before = self.literals.len();
            table.push((name.clone(), self.text(field, text)?));
            // What was noted as standing somewhere stands here.
            if self.literals.len() > before {
                self.literals.truncate(before);
                let table = match field {
                    // Every header is treated as a secret; the version of an API need not be sealed all the same.
                    "headers" if !is_secret_header(name) => "",
                    "headers" => "headers",
                    _ => "env",
                };
                self.literals.push(LiteralSecret::new(table, name, text.expose()));
            }
        }
        Ok(table)
    }

    /// Does the application take an empty text for a variable that is not set?
    fn becomes_empty(&self, field: &str) -> bool {
        match self.place.dialect.shape().syntax.unset {
            Unset::BecomesEmpty => true,
            Unset::EmptyInEnvironment => field == "environment",
            Unset::Blocks | Unset::StaysLiteral => false,
        }
    }

    /// A text in helve's spelling.
    fn text(&mut self, field: &str, text: &ConfigText) -> Result<String, EditError> {
        let written = text.written();
        if written == ConfigText::HIDDEN {
            self.holds_secrets = true;
            self.literals.push(LiteralSecret::new("", field, text.expose()));
            return Ok(self.marks.respell(text.expose()));
        }
        if !text.late_references().is_empty() {
            return Ok(written.to_owned());
        }
        let allowance = Allowance::of(self.place.layer);
        let scope = Scope {
            environment: &self.marks.environment,
            allowance: &allowance,
            file: self.place.path.clone(),
            beside: BTreeMap::new(),
            beside_file: None,
            workspace: self.place.project.clone(),
            directory: self.place.path.parent().map_or_else(|| self.place.project.clone(), Path::to_path_buf),
            inputs: Vec::new(),
            is_project: self.place.layer == Layer::Project,
        };
        let as_written = interpolate::expand(written, &interpolate::OWN, &scope, Place::Elsewhere);
        let becomes_empty = self.becomes_empty(field) && !written.contains(":-");
        if !becomes_empty && as_written.problems.is_empty() && as_written.into_value() == text.expose() {
            return Ok(written.to_owned());
        }
        if written.contains("{file:") {
            let message = format!("its {field} refer to a file as {} in a way helve has no word for", quoted(written));
            return Err(EditError::NotPossible(message));
        }
        if written.contains(":-") {
            self.left_behind.push(format!("the default in {}", quoted(written)));
        }
        Ok(if becomes_empty {
            self.marks.respell_with_empty_default(text.expose())
        } else {
            self.marks.respell(text.expose())
        })
    }

    /// Everything but the transport.
    fn rest(&mut self, spec: &ServerSpec) {
        for (key, said) in [
            ("inherit_env", spec.inherit_environment),
            ("required", spec.required),
            ("lazy", spec.lazy),
            ("one_at_a_time", spec.one_at_a_time),
            ("trust_annotations", spec.access.trust_annotations),
        ] {
            if said {
                self.put(key, Written::Flag(true));
            }
        }
        if !spec.enabled {
            self.put("enabled", Written::Flag(false));
        }
        if spec.leaves_results {
            self.put("redact", Written::Flag(false));
        }
        if spec.record != RecordedBodies::None {
            self.put("record", Written::Text(spec.record.word().to_owned()));
        }
        if let Some(shared) = spec.shared {
            self.put("shared", Written::Flag(shared));
        }
        if let Some(idle) = spec.private_idle {
            self.put("private_idle", Written::Text(idle.to_string()));
        }
        if let Some(readonly) = spec.access.readonly {
            self.put("readonly", Written::Flag(readonly));
        }
        if let Some(version) = &spec.protocol_version {
            self.put("protocol_version", Written::Text(version.clone()));
        }
        if let Some(timeout) = spec.startup_timeout {
            self.put("startup_timeout_seconds", timeout_value(timeout, Unit::Seconds));
        }
        if let Some(timeout) = spec.call_timeout {
            self.put("timeout_seconds", timeout_value(timeout, Unit::Seconds));
        }
        if let Some(retries) = spec.max_retries {
            self.put("max_retries", Written::Integer(retries.into()));
        }
        if let Some(validation) = spec.validation {
            self.put("validate", Written::Text(validation.word().to_owned()));
        }
        let globs = |listed: &[Listed]| Written::List(listed.iter().map(|item| item.glob.clone()).collect());
        if let Some(tools) = &spec.access.tools {
            self.put("tools", globs(tools));
        }
        if let Some(tools) = &spec.access.write_tools {
            self.put("write_tools", globs(tools));
        }
        if !spec.access.disabled_tools.is_empty() {
            self.put("disabled_tools", globs(&spec.access.disabled_tools));
        }
        if let Some(sandbox) = spec.sandbox.as_ref().filter(|sandbox| !sandbox.is_default) {
            // A narrower one is written where the table has no word here: never a wider one.
            if *sandbox == SandboxSpec::new(sandbox.profile) {
                self.put("sandbox", Written::Text(sandbox.profile.to_string()));
            } else {
                self.put("sandbox", Written::Text(Profile::Strict.to_string()));
                self.left_behind.push("what it adds to its sandbox".to_owned());
            }
        }
        if spec.oauth.is_some() {
            self.left_behind.push("what it says about signing in".to_owned());
        }
    }
}

fn find(place: &FilePlace, text: &str, server: &str, environment: &Environment) -> Result<ConfiguredServer, EditError> {
    let mut content = read_text(place, text, environment);
    let position = content.servers.iter().position(|found| found.name.as_str() == server);
    match position {
        Some(position) => Ok(content.servers.swap_remove(position)),
        None => match content.diagnostics.into_iter().find(|found| found.code == crate::diagnostic::Code::Syntax) {
            Some(broken) => Err(EditError::Broken(Box::new(broken))),
            None => Err(EditError::NoSuchServer { server: server.to_owned(), near: None }),
        },
    }
}

/// The file that a variable of an environment comes from: the reader writes `${key:file:name}` for it.
fn environment_file(name: &str, text: &ConfigText) -> Option<String> {
    let inside = text.written().strip_prefix("${")?.strip_suffix('}')?;
    let (key, rest) = inside.split_once(':')?;
    let file = rest.strip_suffix(name)?.strip_suffix(':')?;
    matches!(key, "envFile" | "env_file").then(|| file.to_owned())
}

/// The first mistake of an entry.
fn mistake(server: &ConfiguredServer) -> String {
    let first = server.diagnostics.iter().max_by_key(|diagnostic| diagnostic.severity);
    first.map_or_else(|| "it is not a server, only a switch".to_owned(), |diagnostic| diagnostic.message.clone())
}

fn hindrance(blocker: &Blocker, server: &ConfiguredServer) -> String {
    match blocker {
        Blocker::Invalid => mistake(server),
        Blocker::NeedsInput { id, .. } => {
            format!("it asks for the value {}; carry that question over by hand", quoted(id))
        }
        Blocker::Unsupported(what) => what.clone(),
        // With a mark for every variable, what is still missing is not a variable that could be named.
        Blocker::UnsetVariable { variable, .. } => format!("{variable} is not set"),
    }
}
