//! How foreign text is shown: nothing invisible, nothing that moves a terminal, nothing endless.

/// How many characters of a foreign text a message shows.
pub(crate) const SHOWN_CHARACTERS: usize = 120;

/// `text` with everything that cannot be seen written out as `\u{…}`.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        push_printable(&mut shown, character);
    }
    shown
}

/// Like [`printable`], cut to [`SHOWN_CHARACTERS`] characters from `start` on, with `…` where something was left out.
pub(crate) fn excerpt(text: &str, start: usize) -> String {
    let mut shown = String::new();
    if start > 0 {
        shown.push('…');
    }
    let mut characters = text.chars().skip(start);
    for character in characters.by_ref().take(SHOWN_CHARACTERS) {
        push_printable(&mut shown, character);
    }
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

fn push_printable(shown: &mut String, character: char) {
    let variation_selector = matches!(character, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}');
    if matches!(character, '"' | '\'' | '\\') {
        shown.push(character);
    } else if variation_selector {
        shown.extend(character.escape_unicode());
    } else {
        // Combining marks are legal text and only escaped at the beginning of a string: put something before them.
        let mut buffer = [b'a'; 5];
        let length = character.encode_utf8(&mut buffer[1..]).len();
        let text = std::str::from_utf8(&buffer[..=length]).unwrap_or_default();
        shown.extend(text.escape_debug().skip(1));
    }
}
