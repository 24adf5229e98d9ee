//! A configuration file as a tree of values that know where they were written, whatever the file's format.
//!
//! The dialects are written once, against [`Node`]; only this module knows JSON from TOML from YAML.

pub(crate) mod json;
mod toml;
mod yaml;

use std::path::Path;

use crate::allowance::Allowance;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Source, Span};

/// Deeper nesting is refused: no configuration needs it, and it costs stack.
pub(crate) const MAX_DEPTH: usize = 100;

/// More values than this are refused; YAML aliases can make millions out of a few lines.
pub(crate) const MAX_NODES: usize = 100_000;

/// Aliases that bring more bytes of text than this together are refused.
pub(crate) const MAX_ALIASED_BYTES: usize = 4 * 1024 * 1024;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// JSON, with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// One value and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it is.
    pub value: Value,
    /// Where it was written; for an alias, where the value itself was written.
    pub span: Span,
    /// The place of the YAML alias that brought the value here.
    pub alias: Option<Span>,
}

/// What a [`Node`] is.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// A text.
    String(String),
    /// A list.
    Array(Vec<Node>),
    /// Keys and values, in the order of the file; a key may occur twice.
    Table(Vec<TableEntry>),
}

/// One key of a table with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct TableEntry {
    /// The key.
    pub key: String,
    /// Where the key was written.
    pub key_span: Span,
    /// The value.
    pub node: Node,
    /// It came in through a YAML merge key, so it is written elsewhere.
    pub merged: bool,
}

/// Reads the text of a file.
///
/// # Errors
/// What is wrong with it, and where.
pub fn parse(source: &Source, format: Format) -> Result<Node, Box<Diagnostic>> {
    match format {
        Format::Json => json::parse(source),
        Format::Toml => toml::parse(source),
        Format::Yaml => yaml::parse(source),
    }
}

/// The same for a file that shares what it may hold with others: the number of its values is known before any is made.
pub(crate) fn parse_within(source: &Source, format: Format, allowance: &Allowance) -> Result<Node, Box<Diagnostic>> {
    let max = allowance.marks();
    let mut weight: usize = 0;
    let beyond = source.text().bytes().position(|byte| {
        weight = weight.saturating_add(format.weight(byte));
        weight > max
    });
    if let Some(beyond) = beyond {
        let message = "the files of this project hold more values than are read";
        let diagnostic = Diagnostic::error(Code::TooMany, message).hint("make it smaller, or move it away");
        allowance.take_marks(max);
        return Err(Box::new(diagnostic.at(source, Span::new(beyond, beyond))));
    }
    allowance.take_marks(weight);
    parse(source, format)
}

impl Format {
    /// What a character costs that stands between values: there is at least one for each value. They may stand elsewhere
    /// too. A dot of TOML makes a table, which takes several times as much as any other value.
    const fn weight(self, byte: u8) -> usize {
        match (self, byte) {
            (Self::Toml, b'.') => 4,
            (Self::Json, b',' | b':' | b'[' | b'{')
            | (Self::Toml, b',' | b'=' | b'[' | b'{' | b'\n')
            | (Self::Yaml, b',' | b':' | b'[' | b'{' | b'-' | b'?' | b'&' | b'*' | b'\n') => 1,
            _ => 0,
        }
    }

    /// The format that a file name promises; JSON when it promises nothing.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => Self::Toml,
            Some("yaml" | "yml") => Self::Yaml,
            _ => Self::Json,
        }
    }

    /// What people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
        }
    }
}

impl Node {
    pub(crate) const fn new(value: Value, start: usize, end: usize) -> Self {
        Self { value, span: Span::new(start, end), alias: None }
    }

    /// The value behind `key`; the last one when the key occurs twice, as every application does it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// The entry of `key`; the last one when the key occurs twice.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&TableEntry> {
        self.entries().iter().rev().find(|entry| entry.key == key)
    }

    /// The value at the end of a chain of keys.
    #[must_use]
    pub fn at(&self, keys: &[&str]) -> Option<&Self> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The entries of a table; none of anything else.
    #[must_use]
    pub fn entries(&self) -> &[TableEntry] {
        if let Value::Table(entries) = &self.value { entries } else { &[] }
    }

    /// The elements of a list; none of anything else.
    #[must_use]
    pub fn elements(&self) -> &[Self] {
        if let Value::Array(elements) = &self.value { elements } else { &[] }
    }

    /// The text, when it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Value::String(text) = &self.value { Some(text) } else { None }
    }

    /// True for a table.
    #[must_use]
    pub const fn is_table(&self) -> bool {
        matches!(self.value, Value::Table(_))
    }

    /// True for a list.
    #[must_use]
    pub const fn is_array(&self) -> bool {
        matches!(self.value, Value::Array(_))
    }

    /// What people call such a value.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Integer(_) | Value::Float(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

/// The diagnostic for a file that is not what its format demands.
fn syntax(source: &Source, format: Format, span: Span, message: &str) -> Box<Diagnostic> {
    let mut words = message.trim().trim_end_matches('.').replace(['\n', '\r'], " ");
    if words.get(1..2).is_some_and(|second| second.chars().all(char::is_lowercase)) {
        words = words.chars().take(1).flat_map(char::to_lowercase).chain(words.chars().skip(1)).collect();
    }
    Box::new(Diagnostic::error(Code::Syntax, format!("this is not {}: {words}", format.name())).at(source, span))
}
