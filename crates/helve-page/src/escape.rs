//! Owns how text gets into a page: as text, never as markup, with the characters that hide or steer written out.
//!
//! Templates get [`Visible`] for every expression. What is edited is the exception: it has to come back as it was, so it is
//! written by [`exactly`].

use std::fmt::{self, Write};

use askama::filters::Escaper;
use helve_model::text::{PICTURE_SELECTOR, is_invisible};

/// Escapes markup and writes hidden characters out, as in `\u{202e}`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Visible;

impl Escaper for Visible {
    fn write_escaped_str<W: Write>(&self, mut destination: W, text: &str) -> fmt::Result {
        each(text, |part| match part {
            Part::Shown(character) => write_character(&mut destination, character),
            Part::Hidden(character) => write!(destination, "{}", character.escape_unicode()),
        })
    }
}

/// A text as HTML in which hidden characters are marked as such.
pub(crate) fn marked(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 16);
    let _: fmt::Result = each(text, |part| match part {
        Part::Shown(character) => write_character(&mut html, character),
        Part::Hidden(character) => write!(html, "<mark>{}</mark>", character.escape_unicode()),
    });
    html
}

/// The same without marks, for attributes.
pub(crate) fn visible(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 16);
    let _: fmt::Result = Visible.write_escaped_str(&mut html, text);
    html
}

/// A text as it is, markup escaped: for what comes back by a form.
pub(crate) fn exactly(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        let _: fmt::Result = write_character(&mut html, character);
    }
    html
}

enum Part {
    Shown(char),
    Hidden(char),
}

fn each(text: &str, mut write: impl FnMut(Part) -> fmt::Result) -> fmt::Result {
    let mut before = ' ';
    for character in text.chars() {
        // The one selector that people type themselves: it makes a picture of the symbol before it.
        let is_picture = character == PICTURE_SELECTOR && !before.is_ascii() && !is_invisible(before);
        let is_shown = is_picture || matches!(character, '\n' | '\t') || !is_invisible(character);
        write(if is_shown { Part::Shown(character) } else { Part::Hidden(character) })?;
        before = character;
    }
    Ok(())
}

fn write_character(destination: &mut impl Write, character: char) -> fmt::Result {
    match character {
        '&' => destination.write_str("&amp;"),
        '<' => destination.write_str("&lt;"),
        '>' => destination.write_str("&gt;"),
        '"' => destination.write_str("&#34;"),
        '\'' => destination.write_str("&#39;"),
        other => destination.write_char(other),
    }
}
