//! Typed access to the keys of one server's entry; whatever is wrong is noted with the server and never lost.

use std::path::PathBuf;
use std::time::Duration;

use helve_model::{ConfigText, Listed, Origin};

use crate::diagnostic::{Code, Diagnostic, one_of, quoted};
use crate::document::{Node, TableEntry, Value};
use crate::environment::input_variable;
use crate::field::{Field, Unit};
use crate::interpolate::{Expansion, Place, Problem, expand};
use crate::reader::{FileReader, add_problem, block, duration, wrong_type};
use crate::server::{Blocker, ConfiguredServer};
use crate::source::Span;

/// Time-outs above this are mistakes: somebody wrote milliseconds where seconds are meant.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 3_600);

/// More problems of one server are counted, not shown.
pub(super) const MAX_PROBLEMS: usize = 20;

/// What a text costs beside its bytes.
const TEXT_COST: usize = 200;

/// What may be shown of a text without references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Secrecy {
    Open,
    /// A secret by its place; hidden when it is written out.
    Secret,
}

/// One server's entry while it is being read.
pub(super) struct Values<'a, 'file> {
    pub(super) file: &'a FileReader<'file>,
    pub(super) node: &'a Node,
    pub(super) server: ConfiguredServer,
}

impl<'a> Values<'a, '_> {
    /// The entry with this meaning; the last in the file wins.
    pub(super) fn find(&self, field: Field) -> Option<&'a TableEntry> {
        self.node.entries().iter().rev().find(|entry| self.file.shape.field_of(&entry.key) == Some(field))
    }

    /// The entry whose meaning satisfies `accepts`.
    pub(super) fn find_by<T>(&self, accepts: impl Fn(Field) -> Option<T>) -> Option<(&'a TableEntry, T)> {
        self.node.entries().iter().rev().find_map(|entry| {
            let found = accepts(self.file.shape.field_of(&entry.key)?)?;
            Some((entry, found))
        })
    }

    pub(super) fn origin(&self, span: Span) -> Origin {
        self.file.source.origin(span.start)
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic, span: Span) {
        let diagnostic = diagnostic.for_server(&self.server.name);
        add_problem(&mut self.server.diagnostics, MAX_PROBLEMS, diagnostic, &self.file.source, span);
    }

    /// A mistake that keeps the server from running.
    pub(super) fn invalid(&mut self, diagnostic: Diagnostic, span: Span) {
        self.report(diagnostic, span);
        block(&mut self.server);
    }

    fn wrong_type(&mut self, what: &str, expected: &str, node: &Node) {
        self.invalid(Diagnostic::error(Code::WrongType, wrong_type(what, expected, node)), node.span);
    }

    pub(super) fn bool(&mut self, field: Field) -> Option<bool> {
        let entry = self.find(field)?;
        if let Value::Bool(flag) = entry.node.value {
            return Some(flag);
        }
        self.wrong_type(&quoted(&entry.key), "true or false", &entry.node);
        None
    }

    pub(super) fn string(&mut self, field: Field) -> Option<(&'a str, &'a TableEntry)> {
        let entry = self.find(field)?;
        if entry.node.value == Value::Null {
            return None;
        }
        match entry.node.as_str() {
            Some(text) => Some((text, entry)),
            None => {
                self.wrong_type(&quoted(&entry.key), "a string", &entry.node);
                None
            }
        }
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(&mut self, field: Field, words: &[(&str, T)]) -> Option<T> {
        let (text, entry) = self.string(field)?;
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*meaning);
        }
        let message = format!("{} cannot be {}", quoted(&entry.key), quoted(text));
        let hint = one_of(text, words.iter().map(|(word, _)| *word));
        self.invalid(Diagnostic::error(Code::BadValue, message).hint(hint), entry.node.span);
        None
    }

    pub(super) fn count(&mut self, field: Field) -> Option<u32> {
        let entry = self.find(field)?;
        if let Value::Integer(number) = entry.node.value
            && let Ok(number) = u32::try_from(number)
        {
            return Some(number);
        }
        self.wrong_type(&quoted(&entry.key), "a whole number from 0", &entry.node);
        None
    }

    pub(super) fn timeout(&mut self, unit_of: impl Fn(Field) -> Option<Unit>) -> Option<Duration> {
        let (entry, unit) = self.find_by(unit_of)?;
        let Some(found) = duration(&entry.node, unit) else {
            if entry.node.value != Value::Null {
                self.wrong_type(&quoted(&entry.key), "a number above 0", &entry.node);
            }
            return None;
        };
        if unit == Unit::MillisecondsFromOneSecond && found < Duration::from_secs(1) {
            let message = format!("{} counts milliseconds; less than 1000 is ignored", quoted(&entry.key));
            self.report(Diagnostic::warning(Code::BadValue, message), entry.node.span);
            return None;
        }
        if unit == Unit::Seconds && found > LONGEST_TIMEOUT {
            let message = format!("{} counts seconds; this is more than a week", quoted(&entry.key));
            self.report(Diagnostic::warning(Code::BadValue, message), entry.node.span);
        }
        Some(found)
    }

    /// A text with its references filled in; problems become blockers or warnings.
    pub(super) fn text(&mut self, field: &str, text: &str, span: Span, place: Place, secrecy: Secrecy) -> ConfigText {
        let expansion = expand(text, self.file.shape.syntax, &self.file.scope, place);
        self.expansion_problems(field, &expansion, span);
        self.charge(field, text.len().saturating_add(expansion.len()), span);
        if secrecy == Secrecy::Secret && !expansion.has_references() {
            return ConfigText::hidden(text);
        }
        expansion.into_text(text)
    }

    /// Counts a text; a server whose text is beyond what a project may hold does not run.
    pub(super) fn charge(&mut self, field: &str, bytes: usize, span: Span) {
        if !self.file.scope.allowance.take_text(bytes.saturating_add(TEXT_COST)) {
            self.expansion_problem(field, &Problem::TooMuch, span);
        }
    }

    fn expansion_problems(&mut self, field: &str, expansion: &Expansion, span: Span) {
        for variable in &expansion.variables {
            if !self.server.variables.contains(variable) {
                self.server.variables.push(variable.clone());
            }
        }
        for file in &expansion.files {
            if !self.server.as_written.files.contains(file) {
                self.server.as_written.files.push(file.clone());
            }
        }
        self.server.as_written.inputs.extend_from_slice(&expansion.inputs);
        for problem in &expansion.problems {
            self.expansion_problem(field, problem, span);
        }
    }

    pub(super) fn expansion_problem(&mut self, field: &str, problem: &Problem, span: Span) {
        let name = quoted(self.server.name.as_str());
        let origin = self.origin(span);
        let field_shown = quoted(field);
        match problem {
            Problem::Unset(variable) => {
                let message =
                    format!("server {name} is off: {field_shown} needs the variable {variable}, which is not set");
                let hint = match self.file.shape.syntax.forms {
                    [] => format!("set {variable}"),
                    _ => format!("set {variable}, or give it a default: `${{{variable}:-…}}`"),
                };
                self.report(Diagnostic::error(Code::UnsetVariable, message).hint(hint), span);
                let field = field.to_owned();
                self.server.blockers.push(Blocker::UnsetVariable { variable: variable.clone(), field, origin });
            }
            Problem::Kept(variable) => {
                let title = self.file.shape.title;
                let message = format!("{field_shown} names the variable {variable}, which is not set");
                let hint = format!("{title} passes the text on as it is written, and so does helve; set {variable}");
                self.report(Diagnostic::warning(Code::UnsetVariable, message).hint(hint), span);
            }
            Problem::Emptied(variable) => {
                let title = self.file.shape.title;
                let message = format!("{field_shown} names the variable {variable}, which is not set");
                let hint = format!("{title} uses an empty text instead, and so does helve; set {variable}");
                self.report(Diagnostic::warning(Code::UnsetVariable, message).hint(hint), span);
            }
            Problem::NeedsInput(id) => {
                let message =
                    format!("server {name} is off: {field_shown} needs an answer to the input {}", quoted(id));
                let hint = format!("run helve at a terminal, where it asks, or set {}", input_variable(id));
                self.report(Diagnostic::error(Code::NeedsInput, message).hint(hint), span);
                self.server.blockers.push(Blocker::NeedsInput { id: id.clone(), field: field.to_owned(), origin });
            }
            Problem::UndeclaredInput(id) => {
                let message = format!("{field_shown} refers to the input {}, which is not declared", quoted(id));
                let hint = "declare it under `inputs`".to_owned();
                self.invalid(Diagnostic::error(Code::BadReference, message).hint(hint), span);
            }
            Problem::File(path, reason) => {
                let path = quoted(&path.to_string_lossy());
                let message = format!("{field_shown} refers to the file {path}: {reason}");
                self.invalid(Diagnostic::error(Code::BadReference, message), span);
            }
            Problem::TooMuch => {
                let message = format!(
                    "{field_shown} is not read: the values of this project's files are too long, or refer to too much"
                );
                self.invalid(Diagnostic::error(Code::TooMany, message).hint("make the file smaller"), span);
            }
            Problem::Unterminated => {
                let message = format!("{field_shown} has a `${{` without a `}}`");
                self.invalid(Diagnostic::error(Code::BadReference, message), span);
            }
            Problem::NotForProjects(reference) => {
                let message = format!("{field_shown} holds {}, which only a file of your own may", quoted(reference));
                let hint = "write the entry into a file of your own, or use ${secret:NAME}";
                self.invalid(Diagnostic::error(Code::BadReference, message).hint(hint), span);
            }
            Problem::Unknown(reference) => {
                let message = format!("{field_shown} holds {}, which means nothing here", quoted(reference));
                let hint = "known are ${VAR}, ${VAR:-default}, ${env:VAR}, ${file:path}, ${input:id}, ${secret:NAME}, ${cmd:PROGRAM}, ${workspaceFolder} and ${userHome}; \
                            write $${ for a literal ${";
                self.invalid(Diagnostic::error(Code::BadReference, message).hint(hint), span);
            }
        }
    }

    /// The text of a scalar. Numbers and flags are what was written: `1.10` stays `1.10`.
    fn scalar(&self, node: &Node) -> Option<String> {
        match &node.value {
            Value::String(text) => Some(text.clone()),
            Value::Bool(_) | Value::Integer(_) | Value::Float(_) => {
                self.file.source.text().get(node.span.start..node.span.end).map(|text| text.trim().to_owned())
            }
            Value::Null | Value::Array(_) | Value::Table(_) => None,
        }
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, entry: &TableEntry) -> Vec<ConfigText> {
        let nodes = match &entry.node.value {
            Value::Array(elements) => elements.as_slice(),
            Value::Null => &[],
            _ => {
                self.wrong_type(&quoted(&entry.key), "a list of strings", &entry.node);
                &[]
            }
        };
        let mut texts = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            let field = format!("{}[{index}]", entry.key);
            if !self.file.scope.allowance.has_text() {
                self.charge(&field, 0, node.span);
                break;
            }
            match self.scalar(node) {
                Some(text) => texts.push(self.text(&field, &text, node.span, Place::Elsewhere, Secrecy::Open)),
                None => self.wrong_type(&quoted(&field), "a string", node),
            }
        }
        texts
    }

    /// A table of texts, with their names and places.
    pub(super) fn text_table(
        &mut self,
        entry: &TableEntry,
        place: Place,
        secrecy_of: impl Fn(&str) -> Secrecy,
    ) -> Vec<(String, ConfigText)> {
        if entry.node.value == Value::Null {
            return Vec::new();
        }
        if !entry.node.is_table() {
            self.wrong_type(&quoted(&entry.key), "a table of strings", &entry.node);
        }
        let mut texts = Vec::new();
        for inner in entry.node.entries() {
            let field = format!("{}.{}", entry.key, inner.key);
            if !self.file.scope.allowance.has_text() {
                self.charge(&field, 0, inner.key_span);
                break;
            }
            match self.scalar(&inner.node) {
                Some(text) => {
                    let text = self.text(&field, &text, inner.node.span, place, secrecy_of(&inner.key));
                    texts.push((inner.key.clone(), text));
                }
                None => self.wrong_type(&quoted(&field), "a string", &inner.node),
            }
        }
        texts
    }

    /// A list of plain names with their places.
    pub(super) fn names(&mut self, entry: &TableEntry) -> Vec<(String, Span)> {
        if entry.node.value == Value::Null {
            return Vec::new();
        }
        if !entry.node.is_array() {
            self.wrong_type(&quoted(&entry.key), "a list of strings", &entry.node);
        }
        let mut names = Vec::new();
        for (index, node) in entry.node.elements().iter().enumerate() {
            match node.as_str() {
                Some(text) => names.push((text.to_owned(), node.span)),
                // Codex writes `{ name = "TOKEN", source = "local" }` where a name would do.
                None => match node.get("name").and_then(Node::as_str) {
                    Some(text) => names.push((text.to_owned(), node.span)),
                    None => self.wrong_type(&quoted(&format!("{}[{index}]", entry.key)), "a string", node),
                },
            }
        }
        names
    }

    pub(super) fn listed(&mut self, entry: &TableEntry) -> Vec<Listed> {
        self.names(entry).into_iter().map(|(glob, span)| Listed { glob, origin: self.origin(span) }).collect()
    }

    /// A path, relative ones below `base`. Its references are filled in for good: a directory is not a secret.
    pub(super) fn path(&mut self, field: Field, base: &std::path::Path) -> Option<PathBuf> {
        let (text, entry) = self.string(field)?;
        if text.is_empty() {
            return None;
        }
        let text = self.text(&entry.key, text, entry.node.span, Place::Elsewhere, Secrecy::Open);
        Some(base.join(self.file.scope.environment.expand_home(text.expose())))
    }
}
