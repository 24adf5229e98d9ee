//! Text of others as people may see it: which characters cannot be seen or steer what shows them, and how they are
//! written out instead. The one set of them; no other crate holds its own.
//!
//! Names, descriptions, files and results come from strangers. A character that moves a cursor, turns the direction of
//! writing or takes no room makes one text look like another one.

mod nearest;
mod quote;

use std::borrow::Cow;

pub use nearest::nearest;
pub use quote::{SHOWN_CHARACTERS, alternatives, counted, folded, named, quoted, several_lines};

/// The selector that has the symbol before it drawn as a picture, as most people type it. More than one hides something.
pub const PICTURE_SELECTOR: char = '\u{fe0f}';

/// True for a character that steers, turns or hides: controls, format characters, separators of lines and paragraphs,
/// everything that Unicode lets a renderer ignore, and what is not a character at all.
#[must_use]
pub const fn is_invisible(character: char) -> bool {
    matches!(character,
        // Controls: escape sequences begin with them.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        // Soft hyphen, joiners, direction marks, fillers.
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        // Mongolian selectors and the vowel separator.
        | '\u{180b}'..='\u{180f}'
        // Characters without width, marks of direction.
        | '\u{200b}'..='\u{200f}'
        // Line and paragraph separators; embeddings and overrides of direction.
        | '\u{2028}'..='\u{202e}'
        // Word joiner, invisible operators, isolates.
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        // No characters.
        | '\u{fdd0}'..='\u{fdef}'
        // Variation selectors: sixteen of them, of which any number may follow a letter.
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}'
        // Annotations.
        | '\u{fff0}'..='\u{fffb}'
        // Controls of hieroglyphs, shorthand and music.
        | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        // Tags, a whole alphabet that nobody sees, and 240 more variation selectors.
        | '\u{e0000}'..='\u{e0fff}')
        // The last two of each plane are not characters.
        || character as u32 & 0xfffe == 0xfffe
}

/// True for a character that shows, and cannot turn the text around it.
#[must_use]
pub const fn is_visible(character: char) -> bool {
    !is_invisible(character)
}

/// True for a character that ends a line, or that a terminal obeys.
#[must_use]
pub fn breaks_lines(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

/// `text` as lines: line feeds and tabs stay, every other invisible character is written out, as in `\u{1b}`.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    written_out(text, |character| matches!(character, '\n' | '\t') || !is_invisible(character))
}

/// `text` as one line: line feeds and tabs are written out too.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    written_out(text, |character| !is_invisible(character))
}

/// The first `characters` of `text` as one line, with `…` where something is left out.
#[must_use]
pub fn cut(text: &str, characters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(characters) {
        None => one_line(text),
        Some((end, _)) => {
            let mut shown = one_line(text.get(..end).unwrap_or_default()).into_owned();
            shown.push('…');
            Cow::Owned(shown)
        }
    }
}

/// Splits off the beginning of a text that is nothing but letters, digits and signs of ASCII: it hides nothing, and every
/// terminal shows it one column wide for each byte. Most of what servers say is such text as a whole.
#[must_use]
pub fn split_plain(text: &str) -> (&str, &str) {
    let (words, _) = text.as_bytes().as_chunks::<8>();
    let plain = words.iter().take_while(|word| is_plain(u64::from_ne_bytes(**word))).count() * 8;
    let rest = text.bytes().skip(plain).take_while(|byte| matches!(byte, b' '..=b'~')).count();
    text.split_at_checked(plain + rest).unwrap_or(("", text))
}

/// True when all eight bytes are `' '..='~'`, found without looking at them one by one: ten thousand descriptions go by.
const fn is_plain(word: u64) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH_BITS: u64 = u64::from_ne_bytes([0x80; 8]);
    let below_blank = word.wrapping_sub(ONES * b' ' as u64) & !word;
    let deleted = word ^ (ONES * 0x7f);
    let is_deleted = deleted.wrapping_sub(ONES) & !deleted;
    (word | below_blank | is_deleted) & HIGH_BITS == 0
}

fn written_out(text: &str, may_pass: impl Fn(char) -> bool) -> Cow<'_, str> {
    if split_plain(text).1.chars().all(&may_pass) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            passing if may_pass(passing) => shown.push(passing),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            other => shown.extend(other.escape_unicode()),
        }
    }
    Cow::Owned(shown)
}

/// JSON text in characters that a terminal does not obey: invisible ones are spelled as `\\u001b`, which reads back as the
/// same character. Line breaks and tabs stay: in JSON they stand between values alone.
#[must_use]
pub fn escape_invisible_json(text: &str) -> Cow<'_, str> {
    let must_be_spelled = |character: char| is_invisible(character) && !matches!(character, '\n' | '\r' | '\t');
    if !text.contains(must_be_spelled) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for character in text.chars() {
        if must_be_spelled(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
