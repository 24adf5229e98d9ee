//! What is wrong with a configuration: where, what was written there, and what to do about it.
//!
//! [`Diagnostic`] prints as one line; [`Diagnostic::render`] adds the line of the file with a caret under the mistake.
//! Both may be shown on a terminal whatever the file holds: control and direction characters are made visible.

use std::fmt::{self, Write as _};

use helve_model::text::{is_invisible, nearest};
use helve_model::{Origin, ServerName};

use crate::source::{Source, Span};

/// Longer lines are cut around the caret.
const EXCERPT_WIDTH: usize = 120;

/// Longer names and values are cut when they are quoted in a message.
const QUOTE_WIDTH: usize = 80;

/// One problem in a configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Which kind of problem it is, for branching.
    pub code: Code,
    /// What happened, in one line.
    pub message: String,
    /// Where.
    pub origin: Origin,
    /// The server it is about.
    pub server: Option<ServerName>,
    /// What to do about it.
    pub hints: Vec<String>,
    excerpt: Option<Excerpt>,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know.
    Note,
    /// It works, perhaps not as meant.
    Warning,
    /// A file or a server cannot be used.
    Error,
}

/// Which kind of problem it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// A named file does not exist.
    MissingFile,
    /// A file cannot be read or written.
    Unreadable,
    /// The text is not JSON, TOML or YAML.
    Syntax,
    /// No dialect fits.
    UnknownDialect,
    /// A value has the wrong type.
    WrongType,
    /// A value has the right type and no meaning.
    BadValue,
    /// A key that means nothing.
    UnknownKey,
    /// The servers stand under a key the owning application does not read.
    WrongRoot,
    /// Two servers share a name in one file.
    DuplicateServer,
    /// A server is both started and reached.
    CommandAndUrl,
    /// A server's command is empty.
    EmptyCommand,
    /// A server says neither how it is started nor where it is reached.
    NoTransport,
    /// A server has no name.
    NoName,
    /// A variable is not set.
    UnsetVariable,
    /// A value has to be asked for.
    NeedsInput,
    /// A reference cannot be filled in.
    BadReference,
    /// helve cannot do what the file asks.
    Unsupported,
    /// There is more of something than is read.
    TooMany,
    /// One server hides another.
    Shadowed,
    /// A project's server or rule that nobody has trusted yet.
    Untrusted,
}

/// The line a problem stands in.
#[derive(Debug, Clone, PartialEq)]
struct Excerpt {
    line: String,
    /// Characters before the caret.
    indent: usize,
    /// How many characters are underlined.
    width: usize,
}

impl Diagnostic {
    pub(crate) fn new(severity: Severity, code: Code, message: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            message: message.into().chars().map(visible).collect(),
            origin: Origin::Program,
            server: None,
            hints: Vec::new(),
            excerpt: None,
        }
    }

    pub(crate) fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    pub(crate) fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    pub(crate) fn note(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message)
    }

    /// The same problem, found at `span` of `source`.
    #[must_use]
    pub(crate) fn at(mut self, source: &Source, span: Span) -> Self {
        self.origin = source.origin(span.start);
        self.excerpt = Some(excerpt(source, span));
        self
    }

    #[must_use]
    pub(crate) fn in_file(mut self, path: &std::path::Path) -> Self {
        self.origin = Origin::File { path: path.into(), line: 1, column: 1 };
        self
    }

    #[must_use]
    pub(crate) fn for_server(mut self, server: &ServerName) -> Self {
        self.server = Some(server.clone());
        self
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into().chars().map(visible).collect());
        self
    }

    /// The whole problem for a person: message, place, line with caret, hints. Ends with a line break.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = format!("{}: {}\n", self.severity, self.message);
        let gutter = match &self.origin {
            Origin::File { line, .. } => line.to_string().len(),
            Origin::BuiltIn | Origin::CommandLine | Origin::Program => 1,
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:gutter$}--> {}", "", shown_origin(&self.origin));
        if let (Some(excerpt), Origin::File { line, .. }) = (&self.excerpt, &self.origin) {
            let _ = writeln!(text, "{:gutter$} |", "");
            let _ = writeln!(text, "{line} | {}", excerpt.line);
            let _ =
                writeln!(text, "{:gutter$} | {:indent$}{}", "", "", "^".repeat(excerpt.width), indent = excerpt.indent);
        }
        for hint in &self.hints {
            let _ = writeln!(text, "{:gutter$} = help: {hint}", "");
        }
        text
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}: {}", shown_origin(&self.origin), self.severity, self.message)
    }
}

impl std::error::Error for Diagnostic {}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// `text` in backquotes, safe for a terminal and not too long.
pub(crate) fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(QUOTE_WIDTH).map(visible).collect();
    if text.chars().nth(QUOTE_WIDTH).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// What to write instead of a word that is none of these.
pub(crate) fn one_of<'words>(wrong: &str, words: impl Iterator<Item = &'words str> + Clone) -> String {
    match nearest(wrong, words.clone()) {
        Some(near) => format!("did you mean {}?", quoted(near)),
        None => format!("it is one of {}", words.map(quoted).collect::<Vec<_>>().join(", ")),
    }
}

fn shown_origin(origin: &Origin) -> String {
    origin.to_string().chars().map(visible).collect()
}

/// Never goes through more of a line than it shows: a file may be one line.
fn excerpt(source: &Source, span: Span) -> Excerpt {
    let (start, line) = source.line_at(span.start);
    let caret = line.floor_char_boundary(span.start.saturating_sub(start));
    let before = source.characters(start, start + caret);
    let inside = source.characters(span.start, span.end.min(start + line.len()));

    let length = source.characters(start, start + line.len());
    let skipped = if length > EXCERPT_WIDTH { before.saturating_sub(EXCERPT_WIDTH / 2) } else { 0 };
    let (head, _) = line.split_at_checked(caret).unwrap_or((line, ""));
    let from = match before - skipped {
        0 => caret,
        back => head.char_indices().rev().nth(back - 1).map_or(0, |(offset, _)| offset),
    };
    let shown_character = |(offset, character): (usize, char)| match character {
        '"' | '\'' => character,
        _ if source.is_hidden(start + from + offset) => '•',
        _ => visible(character),
    };
    let characters = line.get(from..).unwrap_or_default().char_indices().take(EXCERPT_WIDTH).map(shown_character);
    let mut shown: String = if skipped > 0 { "…".to_owned() } else { String::new() };
    shown.extend(characters);
    if length > skipped + EXCERPT_WIDTH {
        shown.push('…');
    }
    let indent = before - skipped + usize::from(skipped > 0);
    let width = inside.clamp(1, EXCERPT_WIDTH);
    Excerpt { line: shown, indent, width }
}

/// One visible character for any character, so that carets stay in place and a file cannot steer the terminal.
fn visible(character: char) -> char {
    match character {
        '\t' => ' ',
        hidden if is_invisible(hidden) => char::REPLACEMENT_CHARACTER,
        other => other,
    }
}
