//! Where one tag ends, what it asks for, and what is wrong with it if it is none.

use helve_model::json::RawJson;
use serde_json::value::RawValue;

use super::{ESCAPED_OPENING, Ends, OPENING};

/// A longer tag is none.
const MAX_TAG_BYTES: usize = 1 << 20;
/// A longer name is none.
const MAX_NAME_BYTES: usize = 1_024;

/// What begins at an opening.
#[derive(Debug)]
pub(super) enum Found {
    /// It depends on what follows.
    Unsure,
    Tag {
        length: usize,
        name: String,
        arguments: RawJson,
    },
    /// No tag. So many bytes are not looked through for other tags.
    Problem {
        length: usize,
        message: String,
    },
}

/// Why there is no tag.
enum Miss {
    /// The text is over before the tag is.
    Ended,
    /// Something is wrong at this byte.
    Wrong { at: usize, message: String },
    /// Something is wrong at this byte of the arguments, which begin at `start`.
    WrongArguments { start: usize, at: usize, message: String },
}

/// Where brackets that need not be JSON come to an end.
enum Extent {
    Closed(usize),
    /// They do not before the next tag.
    Open,
    /// The text is over before that.
    Ended,
}

/// Reads the tag that `text` begins with.
pub(super) fn find(text: &str, ends: Ends) -> Found {
    let window = text.get(..text.floor_char_boundary(MAX_TAG_BYTES)).unwrap_or(text);
    let is_cut = window.len() < text.len();
    let is_all = is_cut || ends == Ends::Here;
    let (at, message) = match read(window) {
        Ok(found) => return found,
        Err(Miss::Ended) if !is_all => return Found::Unsure,
        Err(Miss::Ended) if is_cut => (OPENING.len(), format!("the tag is longer than {MAX_TAG_BYTES} bytes")),
        Err(Miss::Ended) => (OPENING.len(), "the tag does not end: a `]` is missing".to_owned()),
        Err(Miss::Wrong { at, message }) => (at, message),
        Err(Miss::WrongArguments { start, at, message }) => match extent(window, start) {
            // What the arguments quote is not a tag, though they are broken.
            Extent::Closed(end) => (end.max(at), message),
            Extent::Ended if !is_all => return Found::Unsure,
            Extent::Ended | Extent::Open => (at, message),
        },
    };
    match problem_end(window, at) {
        Some(length) => Found::Problem { length, message },
        None if is_all => Found::Problem { length: window.trim_end_matches('\\').len(), message },
        None => Found::Unsure,
    }
}

fn read(text: &str) -> Result<Found, Miss> {
    let (name, mut at) = read_name(text)?;
    let mut arguments = RawJson::empty_object();
    if text.as_bytes().get(at) == Some(&b'{') {
        let (read, end) = read_arguments(text, at)?;
        arguments = read;
        at = skip_white_space(text, end);
    }
    match text.as_bytes().get(at) {
        Some(b']') => Ok(Found::Tag { length: at + 1, name, arguments }),
        Some(_) => Err(wrong(at, "the tag goes on after its arguments: a `]` is missing")),
        None => Err(Miss::Ended),
    }
}

/// The name, and where the arguments or the closing bracket stand.
fn read_name(text: &str) -> Result<(String, usize), Miss> {
    let start = OPENING.len();
    let bytes = text.as_bytes();
    let mut at = start;
    let end = loop {
        let next = text.get(at..).and_then(|rest| rest.find([']', ':', '\n', '[', '{', '}', '"']));
        at += next.ok_or(Miss::Ended)?;
        match bytes.get(at) {
            Some(b']') => break at,
            // A colon is part of some names: only what follows it tells.
            Some(b':') => {
                let after = skip_white_space(text, at + 1);
                match bytes.get(after) {
                    Some(b'{' | b']') => break at,
                    Some(b'[' | b'"') => return Err(wrong(after, "the arguments are not a JSON object")),
                    Some(_) => at += 1,
                    None => return Err(Miss::Ended),
                }
            }
            Some(b'{') => return Err(wrong(at, "a `:` is missing between the name and the arguments")),
            Some(b'\n') => return Err(wrong(at, "the name does not end in its line")),
            _ => return Err(wrong(at, "a tool's name is expected: `[use-mcp:server/tool]`")),
        }
    };
    let name = text.get(start..end).unwrap_or_default().trim();
    if name.is_empty() {
        return Err(wrong(end, "no tool is named: `[use-mcp:server/tool]`"));
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(wrong(end, "the name is too long"));
    }
    let after = if bytes.get(end) == Some(&b':') { skip_white_space(text, end + 1) } else { end };
    Ok((name.to_owned(), after))
}

/// The object that begins at `start`, and where it ends.
fn read_arguments(text: &str, start: usize) -> Result<(RawJson, usize), Miss> {
    let rest = text.get(start..).unwrap_or_default();
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
    match values.next() {
        Some(Ok(arguments)) => Ok((RawJson::assembled(arguments.get().to_owned()), start + values.byte_offset())),
        Some(Err(error)) if !error.is_eof() => {
            let at = start + offset_of(rest, error.line(), error.column());
            let text = error.to_string();
            // Where it is wrong is told once, for the tag.
            let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
            Err(Miss::WrongArguments { start, at, message: format!("the arguments are not valid JSON: {reason}") })
        }
        Some(Err(_)) | None => Err(Miss::Ended),
    }
}

/// Where the bracket that stands at `start` is closed. Strings are crossed, up to the end of their line.
fn extent(text: &str, start: usize) -> Extent {
    let mut characters = text.get(start..).unwrap_or_default().char_indices();
    let (mut depth, mut is_in_string) = (0_usize, false);
    while let Some((offset, character)) = characters.next() {
        match character {
            '\n' => is_in_string = false,
            '"' => is_in_string = !is_in_string,
            '\\' if is_in_string => {
                characters.next();
            }
            _ if is_in_string => {}
            '[' if text.get(start + offset..).is_some_and(|rest| rest.starts_with(OPENING)) => return Extent::Open,
            '{' | '[' => depth += 1,
            '}' | ']' if depth <= 1 => return Extent::Closed(start + offset + 1),
            '}' | ']' => depth -= 1,
            _ => {}
        }
    }
    Extent::Ended
}

/// How much of a broken tag stays together: up to its bracket, as far as that can be told, and no further than its
/// line or the next opening. `None` when the text is over before that.
fn problem_end(text: &str, wrong_at: usize) -> Option<usize> {
    let wrong_at = text.floor_char_boundary(wrong_at.max(OPENING.len()));
    let rest = text.get(wrong_at..).unwrap_or_default();
    let mut at = 0;
    loop {
        at += rest.get(at..)?.find([']', '\n', '[', '\\'])?;
        let here = rest.get(at..).unwrap_or_default();
        if here.starts_with(']') {
            return Some(wrong_at + at + 1);
        }
        if here.starts_with('\n') || here.starts_with(OPENING) || here.starts_with(ESCAPED_OPENING) {
            return Some(wrong_at + at);
        }
        if OPENING.starts_with(here) || ESCAPED_OPENING.starts_with(here) {
            return None;
        }
        at += 1;
    }
}

/// The byte at a line and column as serde_json counts them.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let line_start = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>();
    // The column is that of the byte at fault, from 1; 0 is the line break before.
    (line_start + column).saturating_sub(1).min(text.len())
}

fn skip_white_space(text: &str, start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    start + rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len()
}

fn wrong(at: usize, message: &str) -> Miss {
    Miss::Wrong { at, message: message.to_owned() }
}
