//! One file as it was read: its text, and how a byte offset becomes a line and a column.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use helve_model::Origin;

/// Characters are counted once for each block of so many bytes.
const BLOCK: usize = 4 * 1024;

/// A piece of a file's text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last.
    pub end: usize,
}

/// A file's text together with the name it is known by.
#[derive(Clone)]
pub struct Source {
    path: Arc<Path>,
    text: Arc<str>,
    /// Shared, as the text is: a file may have as many lines as bytes.
    line_starts: Arc<[usize]>,
    /// How many characters begin before each block of the text.
    blocks: Arc<[usize]>,
    hidden: Vec<Span>,
}

impl Span {
    /// The text between `start` and `end`.
    #[must_use]
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// True when `other` lies inside.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

impl Source {
    /// `text` as the content of `path`.
    pub fn new(path: impl AsRef<Path>, text: impl AsRef<str>) -> Self {
        let text: Arc<str> = Arc::from(text.as_ref());
        let line_starts = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(index, _)| index + 1))
            .collect();
        let counts = text.as_bytes().chunks(BLOCK).scan(0, |count, block| {
            let before = *count;
            *count += beginnings(block);
            Some(before)
        });
        let blocks = counts.collect();
        Self { path: Arc::from(path.as_ref()), text, line_starts, blocks, hidden: Vec::new() }
    }

    /// The same with pieces that must not be shown.
    pub(crate) fn hide(&mut self, mut hidden: Vec<Span>) {
        hidden.sort_unstable_by_key(|span| span.start);
        self.hidden = hidden;
    }

    /// True when the character at `offset` must not be shown.
    pub(crate) fn is_hidden(&self, offset: usize) -> bool {
        // Values do not overlap, so the last one that starts before is the only one it can be in.
        let behind = self.hidden.partition_point(|span| span.start <= offset);
        behind.checked_sub(1).and_then(|index| self.hidden.get(index)).is_some_and(|span| offset < span.end)
    }

    /// The file's name.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where the byte at `offset` stands.
    #[must_use]
    pub fn origin(&self, offset: usize) -> Origin {
        let (line, column) = self.position(offset);
        Origin::File { path: Arc::clone(&self.path), line, column }
    }

    /// Line and column of the byte at `offset`, both from 1, the column in characters.
    #[must_use]
    pub fn position(&self, offset: usize) -> (u32, u32) {
        let offset = self.floor(offset);
        let line = self.line_of(offset);
        let start = self.line_starts.get(line).copied().unwrap_or(0);
        let column = self.characters(start, offset);
        (saturate(line + 1), saturate(column + 1))
    }

    /// The line that holds the byte at `offset`, without its line break, and where it starts.
    #[must_use]
    pub fn line_at(&self, offset: usize) -> (usize, &str) {
        let line = self.line_of(self.floor(offset));
        let start = self.line_starts.get(line).copied().unwrap_or(0);
        let end = self.line_starts.get(line + 1).copied().unwrap_or(self.text.len());
        (start, self.text.get(start..end).unwrap_or("").trim_end_matches(['\n', '\r']))
    }

    /// How many characters begin in a piece of the text. Takes no longer the longer a line is.
    pub(crate) fn characters(&self, start: usize, end: usize) -> usize {
        self.characters_before(end).saturating_sub(self.characters_before(start))
    }

    fn characters_before(&self, offset: usize) -> usize {
        let offset = offset.min(self.text.len());
        let block = offset / BLOCK;
        let Some(before) = self.blocks.get(block) else {
            // Behind the last block, which is full.
            let last = self.blocks.last().copied().unwrap_or_default();
            let start = self.blocks.len().saturating_sub(1) * BLOCK;
            return last + beginnings(self.text.as_bytes().get(start..offset).unwrap_or_default());
        };
        before + beginnings(self.text.as_bytes().get(block * BLOCK..offset).unwrap_or_default())
    }

    fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// The nearest character boundary at or before `offset`.
    fn floor(&self, offset: usize) -> usize {
        self.text.floor_char_boundary(offset.min(self.text.len()))
    }
}

impl fmt::Debug for Source {
    /// Without the text: it may hold secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Source({}, {} bytes)", self.path.display(), self.text.len())
    }
}

fn saturate(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// How many characters begin in a piece of UTF-8.
fn beginnings(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte & 0xc0) != 0x80).count()
}
