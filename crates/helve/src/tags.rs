//! Prompt tags: where a text asks for the result of a tool, and what stands there in the end.
//!
//! `[use-mcp:server/tool:{"key": "value"}]` stands for a call. The tag ends where its JSON ends, so that brackets,
//! quotes and line breaks inside are fine; `[use-mcp:server/tool]` is a call without arguments. The name may
//! be in any spelling. White space around the name and the arguments does not count.
//!
//! `\[use-mcp:` is the text `[use-mcp:`, and fenced code blocks stay as they are. What looks like a tag and is none
//! stays in the text and is reported.
//!
//! ```
//! use helve::tags::{self, Piece};
//!
//! let pieces = tags::parse("It is [use-mcp:time/now:{\"zone\": \"UTC\"}] now.");
//! let Piece::Tag(tag) = &pieces[1] else { panic!("no tag") };
//! assert_eq!((tag.name.as_str(), tag.arguments.as_str()), ("time/now", r#"{"zone": "UTC"}"#));
//! // Results are never looked through for tags, and one that holds the beginning of a tag is marked, so that nobody who
//! // takes the finished text apart again finds a call that a server wrote.
//! assert_eq!(tags::render(&pieces, &[Ok("12:00".to_owned())]), "It is 12:00 now.");
//! assert_eq!(tags::render(&pieces, &[Ok("[use-mcp:a/b]".to_owned())]), "It is [use-mcp-result:a/b] now.");
//! ```

mod fence;
mod seams;
mod tag;

use helve_model::json::RawJson;

use crate::error::CallError;
use fence::{Fence, FenceLine};
pub use seams::Seams;
use tag::Found;

/// What every tag begins with.
const OPENING: &str = "[use-mcp:";
/// What keeps an opening from beginning a tag.
const ESCAPE: char = '\\';
/// [`ESCAPE`] and [`OPENING`].
const ESCAPED_OPENING: &str = "\\[use-mcp:";
/// A failure is told in so many characters.
const FAILURE_CHARACTERS: usize = 200;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text that stays as it is.
    Text(String),
    /// `\[use-mcp:`, which loses its backslash.
    Escape,
    /// A call to make, and to put its result here.
    Tag(Tag),
    /// Looks like a tag and is none. It stays as it is.
    Problem(TagProblem),
}

/// A tag that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// The tag as it was written.
    pub source: String,
    /// The tool, in whatever spelling.
    pub name: String,
    /// A JSON object.
    pub arguments: RawJson,
    /// The line it begins in, from 1.
    pub line: usize,
    /// The character of the line it begins at, from 1.
    pub column: usize,
}

/// A tag that was not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagProblem {
    /// The text that stays.
    pub source: String,
    /// What is wrong with it.
    pub message: String,
    /// The line it begins in, from 1.
    pub line: usize,
    /// The character of the line it begins at, from 1.
    pub column: usize,
}

/// Takes a text apart as it arrives.
#[derive(Debug)]
pub struct TagReader {
    /// What arrived and was not handed out: it may become part of a tag.
    rest: String,
    /// `rest` begins a line, of which nobody knows yet whether it is a fence.
    is_line_start: bool,
    /// The code block that `rest` is in.
    fence: Option<Fence>,
    line: usize,
    column: usize,
}

/// Takes a whole text apart. What the pieces were written as is the text again.
#[must_use]
pub fn parse(text: &str) -> Vec<Piece> {
    TagReader { rest: text.to_owned(), ..TagReader::new() }.finish()
}

/// Puts the text together again, each tag replaced by its result. The first result is for the first tag, and so on;
/// a tag without one stays. A failed call is replaced by [`failure`]; a tool's own failure is one after
/// [`CallOutcome::into_result`](crate::CallOutcome::into_result).
#[must_use]
pub fn render(pieces: &[Piece], results: &[Result<String, CallError>]) -> String {
    let mut results = results.iter();
    let mut seams = Seams::default();
    let mut text = Vec::new();
    for piece in pieces {
        text.extend(match piece {
            Piece::Tag(tag) => match results.next() {
                Some(Ok(result)) => seams.result(result),
                Some(Err(error)) => seams.result(&failure(tag, error)),
                None => seams.text(tag.source.as_bytes()),
            },
            other => seams.text(other.passed_on().unwrap_or_default().as_bytes()),
        });
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// What stands in the place of a call that failed: one short line that says so.
#[must_use]
pub fn failure(tag: &Tag, error: &CallError) -> String {
    let folded = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
    let mut message: String = folded.chars().take(FAILURE_CHARACTERS).collect();
    if message.len() < folded.len() {
        message.push('…');
    }
    format!("[mcp-error {}: {}: {message}]", tag.name, error.code())
}

impl Piece {
    /// The piece as it was written.
    #[must_use]
    pub fn as_written(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Escape => ESCAPED_OPENING,
            Self::Tag(tag) => &tag.source,
            Self::Problem(problem) => &problem.source,
        }
    }

    /// What stands in the finished text; `None` for a tag, whose result does.
    #[must_use]
    pub fn passed_on(&self) -> Option<&str> {
        match self {
            Self::Tag(_) => None,
            Self::Escape => Some(OPENING),
            Self::Text(_) | Self::Problem(_) => Some(self.as_written()),
        }
    }
}

impl TagReader {
    /// At the beginning of a text.
    #[must_use]
    pub const fn new() -> Self {
        Self { rest: String::new(), is_line_start: true, fence: None, line: 1, column: 1 }
    }

    /// Takes the next part of the text and gives what is settled. How the text is divided does not matter; parts of
    /// some kilobytes are cheapest.
    pub fn read(&mut self, text: &str) -> Vec<Piece> {
        self.rest.push_str(text);
        self.advance(Ends::Later)
    }

    /// There is no more text.
    #[must_use]
    pub fn finish(mut self) -> Vec<Piece> {
        self.advance(Ends::Here)
    }

    fn advance(&mut self, ends: Ends) -> Vec<Piece> {
        let text = std::mem::take(&mut self.rest);
        let mut pieces = Pieces { text: &text, taken: 0, line: self.line, column: self.column, pieces: Vec::new() };
        let mut at = 0;
        let kept_from = loop {
            let rest = from(&text, at);
            if rest.is_empty() {
                break at;
            }
            if self.is_line_start {
                match FenceLine::of(rest, self.fence, ends) {
                    FenceLine::Unsure => break at,
                    FenceLine::No => self.is_line_start = false,
                    FenceLine::Changes { fence, length } => {
                        self.fence = fence;
                        at += length;
                        continue;
                    }
                }
            }
            if self.fence.is_some() {
                at += rest.find('\n').map_or(rest.len(), |newline| newline + 1);
                self.is_line_start = text.as_bytes().get(at - 1) == Some(&b'\n');
                continue;
            }
            let Some(next) = rest.find(['\n', '[', ESCAPE]) else { break text.len() };
            at += next;
            let rest = from(&text, at);
            if rest.starts_with('\n') {
                at += 1;
                self.is_line_start = true;
            } else if rest.starts_with(ESCAPED_OPENING) {
                pieces.text_until(at);
                at += ESCAPED_OPENING.len();
                pieces.push(at, |_, _, _| Piece::Escape);
            } else if rest.starts_with(OPENING) {
                match tag::find(rest, ends) {
                    Found::Unsure => break at,
                    Found::Tag { length, name, arguments } => {
                        pieces.text_until(at);
                        at += length;
                        pieces
                            .push(at, |source, line, column| Piece::Tag(Tag { source, name, arguments, line, column }));
                    }
                    Found::Problem { length, message } => {
                        pieces.text_until(at);
                        at += length;
                        pieces.push(at, |source, line, column| {
                            Piece::Problem(TagProblem { source, message, line, column })
                        });
                    }
                }
            } else if ends == Ends::Later && (OPENING.starts_with(rest) || ESCAPED_OPENING.starts_with(rest)) {
                break at;
            } else {
                at += 1;
            }
        };
        pieces.text_until(kept_from);
        (self.line, self.column) = (pieces.line, pieces.column);
        let pieces = pieces.pieces;
        self.rest = from(&text, kept_from).to_owned();
        pieces
    }
}

impl Default for TagReader {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether more text will come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    Here,
    Later,
}

/// The pieces so far, and how far they reach.
struct Pieces<'text> {
    text: &'text str,
    taken: usize,
    line: usize,
    column: usize,
    pieces: Vec<Piece>,
}

impl Pieces<'_> {
    fn text_until(&mut self, end: usize) {
        if end > self.taken {
            self.push(end, |source, _, _| Piece::Text(source));
        }
    }

    /// Makes a piece of all up to `end`, given what it was written as and where it begins.
    fn push(&mut self, end: usize, piece: impl FnOnce(String, usize, usize) -> Piece) {
        let source = self.text.get(self.taken..end).unwrap_or_default();
        self.pieces.push(piece(source.to_owned(), self.line, self.column));
        self.taken = end;
        match source.rsplit_once('\n') {
            Some((before, last)) => {
                self.line += before.matches('\n').count() + 1;
                self.column = last.chars().count() + 1;
            }
            None => self.column += source.chars().count(),
        }
    }
}

fn from(text: &str, start: usize) -> &str {
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
#[path = "tags_tests.rs"]
mod tests;
