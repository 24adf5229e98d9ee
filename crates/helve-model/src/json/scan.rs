//! Finds the members of an object, or the elements of an array, without parsing what is inside them.
//!
//! A value is skipped in blocks of 64 bytes: four bit masks (quotes, backslashes, opening and closing brackets) tell
//! the nesting depth at the end of a block, so that a large payload is crossed at several gigabytes per second.
//! What is skipped is checked for two things only: strings end, and brackets balance. That is enough to say where a
//! value ends; whether it is JSON is for the parser that opens it. A value that nests deeper than [`MAX_DEPTH`] is
//! found all the same, and marked: nobody could open it, but what stands beside it can still be read.

use std::borrow::Cow;
use std::fmt;

use super::block::skip_container;
use super::letters::letters;

/// How deep a value may nest. serde_json refuses to open deeper ones, so nothing could read them anyway.
pub const MAX_DEPTH: u32 = 127;

/// Strings up to this length are looked through here: a call of the fast search costs as much.
const NEAR_BYTES: usize = 128;

/// A member of an object: its key between the quotes, escapes and all, and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<'text> {
    /// The key as written, without quotes.
    pub raw_key: &'text str,
    /// The value as written, without surrounding white space.
    pub value: &'text str,
    /// The value nests deeper than [`MAX_DEPTH`].
    pub too_deep: bool,
    /// Nothing in the key means more than itself.
    has_plain_key: bool,
    /// The same of the contents of a value that is a string.
    has_plain_value: bool,
}

/// Why a text has no members or elements to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanError {
    /// What is wrong.
    pub problem: ScanProblem,
    /// The byte at which it was noticed.
    pub at: usize,
}

/// What is wrong with a scanned text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanProblem {
    /// The text is not an object (or no array) at all.
    WrongKind,
    /// It ends in the middle.
    Truncated,
    /// Something stands where a key, a colon, a comma or a value should be.
    Unexpected,
    /// Something follows after the end.
    Trailing,
}

/// The members of the object that `text` is, in their order, duplicates included.
///
/// # Errors
/// When `text` does not begin an object. Everything later is reported by the iterator, which then ends.
pub fn members(text: &str) -> Result<Members<'_>, ScanError> {
    let cursor = Cursor::open(text, b'{')?;
    Ok(Members { cursor, state: State::Start })
}

/// The elements of the array that `text` is.
///
/// # Errors
/// When `text` does not begin an array. Everything later is reported by the iterator, which then ends.
pub fn elements(text: &str) -> Result<Elements<'_>, ScanError> {
    let cursor = Cursor::open(text, b'[')?;
    Ok(Elements { cursor, state: State::Start })
}

/// Iterator over the members of an object.
#[derive(Debug)]
pub struct Members<'text> {
    cursor: Cursor<'text>,
    state: State,
}

/// Iterator over the elements of an array.
#[derive(Debug)]
pub struct Elements<'text> {
    cursor: Cursor<'text>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Within,
    Done,
}

impl<'text> Member<'text> {
    /// A member whose key means itself, and whose value everybody can open.
    pub(super) const fn plain(raw_key: &'text str, value: &'text str) -> Self {
        Self { raw_key, value, too_deep: false, has_plain_key: true, has_plain_value: false }
    }

    /// Compares the key, reading escapes where it has any.
    #[must_use]
    pub fn key_is(&self, key: &str) -> bool {
        self.key().is_some_and(|unescaped| unescaped == key)
    }

    /// The key with its escapes read; `None` when they are broken.
    #[must_use]
    #[inline]
    pub fn key(&self) -> Option<Cow<'text, str>> {
        if self.has_plain_key { Some(Cow::Borrowed(self.raw_key)) } else { unescaped(self.raw_key).map(Cow::Owned) }
    }

    /// The text that the value is, where that was seen in passing: a short string without escapes. Any other value is for
    /// whoever opens it.
    #[must_use]
    #[inline]
    pub fn plain_text(&self) -> Option<&'text str> {
        if self.has_plain_value { self.value.get(1..self.value.len().checked_sub(1)?) } else { None }
    }
}

impl<'text> Iterator for Members<'text> {
    type Item = Result<Member<'text>, ScanError>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        next_item(&mut self.cursor, &mut self.state, b'}', |cursor| cursor.member())
    }
}

impl<'text> Iterator for Elements<'text> {
    type Item = Result<&'text str, ScanError>;

    fn next(&mut self) -> Option<Self::Item> {
        next_item(&mut self.cursor, &mut self.state, b']', |cursor| cursor.value().map(|value| value.text))
    }
}

// Always inlined, as `Members::next` and `Cursor::member` are: a loop over members is spared what a call and its result cost.
#[inline(always)]
fn next_item<'text, T>(
    cursor: &mut Cursor<'text>,
    state: &mut State,
    close: u8,
    read: impl FnOnce(&mut Cursor<'text>) -> Result<T, ScanError>,
) -> Option<Result<T, ScanError>> {
    let before = std::mem::replace(state, State::Done);
    if before == State::Done {
        return None;
    }
    cursor.skip_white_space();
    match cursor.peek() {
        Some(byte) if byte == close => {
            cursor.at += 1;
            cursor.skip_white_space();
            return cursor.peek().map(|_| Err(cursor.problem(ScanProblem::Trailing)));
        }
        Some(b',') if before == State::Within => {
            cursor.at += 1;
            cursor.skip_white_space();
        }
        Some(_) if before == State::Start => {}
        Some(_) => return Some(Err(cursor.problem(ScanProblem::Unexpected))),
        None => return Some(Err(cursor.problem(ScanProblem::Truncated))),
    }
    let item = read(cursor);
    if item.is_ok() {
        *state = State::Within;
    }
    Some(item)
}

/// A value as it is crossed.
struct Value<'text> {
    text: &'text str,
    too_deep: bool,
    /// A short string in which nothing means more than itself.
    is_plain: bool,
}

#[derive(Debug)]
struct Cursor<'text> {
    text: &'text str,
    at: usize,
}

impl<'text> Cursor<'text> {
    fn open(text: &'text str, opening: u8) -> Result<Self, ScanError> {
        let mut cursor = Self { text, at: 0 };
        cursor.skip_white_space();
        if cursor.peek() == Some(opening) {
            cursor.at += 1;
            Ok(cursor)
        } else {
            Err(cursor.problem(ScanProblem::WrongKind))
        }
    }

    #[inline]
    fn bytes(&self) -> &'text [u8] {
        self.text.as_bytes()
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    #[inline]
    fn problem(&self, problem: ScanProblem) -> ScanError {
        ScanError { problem, at: self.at }
    }

    #[inline]
    fn skip_white_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Result<(), ScanError> {
        match self.peek() {
            Some(found) if found == byte => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(self.problem(ScanProblem::Unexpected)),
            None => Err(self.problem(ScanProblem::Truncated)),
        }
    }

    /// Crosses the string that begins here; says whether it is short and nothing in it means more than itself.
    #[inline]
    fn skip_string(&mut self) -> Result<bool, ScanError> {
        self.expect(b'"')?;
        let (end, is_plain) = string_end(self.bytes(), self.at).ok_or(self.problem(ScanProblem::Truncated))?;
        self.at = end + 1;
        Ok(is_plain)
    }

    /// The member that begins here.
    #[inline(always)]
    fn member(&mut self) -> Result<Member<'text>, ScanError> {
        let start = self.at + 1;
        let has_plain_key = self.skip_string()?;
        let raw_key = self.slice(start, self.at - 1)?;
        self.skip_white_space();
        self.expect(b':')?;
        self.skip_white_space();
        let Value { text, too_deep, is_plain } = self.value()?;
        Ok(Member { raw_key, value: text, too_deep, has_plain_key, has_plain_value: is_plain })
    }

    /// The value that begins here.
    #[inline]
    fn value(&mut self) -> Result<Value<'text>, ScanError> {
        if self.peek() != Some(b'"') {
            return self.other_value();
        }
        let start = self.at;
        let is_plain = self.skip_string()?;
        Ok(Value { text: self.slice(start, self.at)?, too_deep: false, is_plain })
    }

    /// The value that begins here and is not a string.
    fn other_value(&mut self) -> Result<Value<'text>, ScanError> {
        let start = self.at;
        let mut too_deep = false;
        match self.peek() {
            Some(b'{' | b'[') => {
                let container = skip_container(self.bytes(), start)
                    .ok_or(ScanError { problem: ScanProblem::Truncated, at: start })?;
                self.at = container.end;
                too_deep = container.too_deep;
            }
            Some(_) => {
                let rest = self.bytes().get(start..).unwrap_or_default();
                let length = rest.iter().position(|byte| ends_scalar(*byte)).unwrap_or(rest.len());
                if length == 0 {
                    return Err(self.problem(ScanProblem::Unexpected));
                }
                self.at = start + length;
            }
            None => return Err(self.problem(ScanProblem::Truncated)),
        }
        Ok(Value { text: self.slice(start, self.at)?, too_deep, is_plain: false })
    }

    #[inline]
    fn slice(&self, start: usize, end: usize) -> Result<&'text str, ScanError> {
        // Both ends stand beside ASCII bytes, so they are character boundaries.
        self.text.get(start..end).ok_or(ScanError { problem: ScanProblem::Unexpected, at: start })
    }
}

#[cold]
fn unescaped(raw: &str) -> Option<String> {
    serde_json::from_str(&format!("\"{raw}\"")).ok()
}

fn ends_scalar(byte: u8) -> bool {
    matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'[' | b'{' | b':')
}

/// The position of the quote that ends the string whose contents begin at `start`, and whether they are short and plain.
#[inline]
fn string_end(bytes: &[u8], start: usize) -> Option<(usize, bool)> {
    let rest = bytes.get(start..)?;
    let at = start + letters(rest.get(..NEAR_BYTES).unwrap_or(rest));
    if bytes.get(at) == Some(&b'"') { Some((at, true)) } else { far_string_end(bytes, at).map(|at| (at, false)) }
}

/// The same for a string that is long, or in which something means more than itself.
fn far_string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

impl fmt::Display for ScanError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = match self.problem {
            ScanProblem::WrongKind => "another kind of value than expected",
            ScanProblem::Truncated => "ends in the middle",
            ScanProblem::Unexpected => "broken syntax",
            ScanProblem::Trailing => "something follows after the end",
        };
        write!(formatter, "{problem} at byte {}", self.at)
    }
}

impl std::error::Error for ScanError {}
