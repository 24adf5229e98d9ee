//! Owns how a value of someone else is put into a sentence: quoted, cut to length, with everything that does not show
//! made visible. Servers and models write these values; a terminal and a model read them.

use std::fmt::Write as _;

use super::is_visible;

/// Characters of a value shown in a message.
pub const SHOWN_CHARACTERS: usize = 60;

/// Line breaks of a text of several lines; those beyond are spaces, so that nothing is pushed out of sight.
const MAX_LINE_BREAKS: usize = 30;

/// A string in double quotes, escaped as in JSON, cut to `limit` characters.
pub fn quoted(text: &str, limit: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(limit) + 2);
    shown.push('"');
    let mut characters = text.chars();
    for character in characters.by_ref().take(limit) {
        push_escaped(&mut shown, character);
    }
    shown.push('"');
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// A name in backquotes, for property names inside a sentence.
pub fn named(name: &str) -> String {
    let mut shown = String::with_capacity(name.len() + 2);
    shown.push('`');
    for character in name.chars().take(SHOWN_CHARACTERS) {
        if character == '`' {
            shown.push('\'');
        } else if is_visible(character) {
            shown.push(character);
        } else {
            push_code_point(&mut shown, character);
        }
    }
    shown.push('`');
    shown
}

/// One line of a description: white space folded, hidden characters shown, cut to `limit` characters.
pub fn folded(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
            length += 1;
        }
        for character in word.chars() {
            if length >= limit {
                line.push('…');
                return line;
            }
            if is_visible(character) {
                line.push(character);
            } else {
                push_code_point(&mut line, character);
            }
            length += 1;
        }
    }
    line
}

/// A text of several lines: tabs made spaces, hidden characters shown, cut to `limit` characters.
pub fn several_lines(text: &str, limit: usize) -> String {
    let mut shown = String::new();
    let text = text.trim().replace("\r\n", "\n");
    let mut characters = text.chars();
    let mut breaks = 0;
    for character in characters.by_ref().take(limit) {
        match character {
            '\t' => shown.push(' '),
            '\n' if breaks == MAX_LINE_BREAKS => shown.push(' '),
            '\n' => {
                breaks += 1;
                shown.push('\n');
            }
            plain if is_visible(plain) => shown.push(plain),
            hidden => push_code_point(&mut shown, hidden),
        }
    }
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// `1 item`, `2 items`.
pub fn counted(count: usize, singular: &str, plural: &str) -> String {
    format!("{count} {}", if count == 1 { singular } else { plural })
}

/// `a`, `a or b`, `a, b or c`.
pub fn alternatives<S: AsRef<str>>(words: &[S]) -> String {
    match words {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} or {}", first.join(", "), last.as_ref())
        }
    }
}

fn push_escaped(shown: &mut String, character: char) {
    match character {
        '"' => shown.push_str("\\\""),
        '\\' => shown.push_str("\\\\"),
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        plain if is_visible(plain) => shown.push(plain),
        hidden => {
            let mut units = [0; 2];
            for unit in hidden.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        }
    }
}

fn push_code_point(shown: &mut String, character: char) {
    let _ = write!(shown, "<U+{:04X}>", u32::from(character));
}
