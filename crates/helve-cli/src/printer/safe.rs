//! Which characters of a text may reach a terminal. Everything helve prints goes through here.
//!
//! Names, descriptions and results come from servers and from files of strangers. A character that steers a terminal,
//! turns the direction of writing or cannot be seen is shown as `\u{1b}`, never obeyed.

use std::borrow::Cow;

/// `text` as one line: line breaks and tabs are shown too.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |character| !is_hidden(character))
}

/// `text` as lines: line feeds and tabs stay.
pub(crate) fn block(text: &str) -> Cow<'_, str> {
    escaped(text, |character| matches!(character, '\n' | '\t') || !is_hidden(character))
}

/// Splits off the beginning of a text that is nothing but letters, digits and signs of ASCII: it hides nothing, and every
/// terminal shows it one column wide for each byte. Most of what servers say is such text as a whole.
pub(crate) fn split_plain(text: &str) -> (&str, &str) {
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

/// True for a character that steers, turns or hides.
pub(crate) const fn is_hidden(character: char) -> bool {
    matches!(character,
        '\0'..='\u{1f}'
        | '\u{7f}'..='\u{9f}'
        // Soft hyphen, joiners, direction marks, fillers: all invisible.
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        // Invisible shorthand controls and musical controls.
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        // Tags and the selectors beside them: a whole alphabet that nobody sees.
        | '\u{e0000}'..='\u{e0fff}')
}

fn escaped(text: &str, may_pass: impl Fn(char) -> bool) -> Cow<'_, str> {
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

#[cfg(test)]
#[path = "safe_tests.rs"]
mod tests;
