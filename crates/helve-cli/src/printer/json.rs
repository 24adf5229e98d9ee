//! JSON for `--json`: the same data, in characters that a terminal does not obey.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use helve_model::text::is_invisible;

/// The text of a value, over several lines and with a line break at its end.
pub(crate) fn render(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut bytes = Vec::new();
    let formatter = Safe(PrettyFormatter::new());
    value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter))?;
    bytes.push(b'\n');
    // serde_json writes UTF-8 only.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The text of a value in one line, with a line break at its end.
pub(crate) fn render_line(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let text = serde_json::to_string(value)?;
    let mut bytes = Vec::with_capacity(text.len() + 1);
    // Writing to memory cannot fail.
    write_escaped(&mut bytes, &text).map_err(serde_json::Error::io)?;
    bytes.push(b'\n');
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Spells hidden characters of strings as `\u001b`, which JSON reads back as the same character.
struct Safe(PrettyFormatter<'static>);

impl Formatter for Safe {
    fn write_string_fragment<W: io::Write + ?Sized>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        write_escaped(writer, fragment)
    }

    /// JSON that was read elsewhere; hidden characters outside of its strings are line breaks and tabs alone.
    fn write_raw_fragment<W: io::Write + ?Sized>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        write_escaped(writer, fragment)
    }

    fn begin_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: io::Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: io::Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

fn write_escaped<W: io::Write + ?Sized>(writer: &mut W, fragment: &str) -> io::Result<()> {
    let must_be_spelt = |character: char| is_invisible(character) && !matches!(character, '\n' | '\r' | '\t');
    let mut rest = fragment;
    while let Some(at) = rest.find(must_be_spelt) {
        let (before, from) = rest.split_at(at);
        writer.write_all(before.as_bytes())?;
        let mut characters = from.chars();
        if let Some(hidden) = characters.next() {
            let mut units = [0; 2];
            for unit in hidden.encode_utf16(&mut units) {
                write!(writer, "\\u{unit:04x}")?;
            }
        }
        rest = characters.as_str();
    }
    writer.write_all(rest.as_bytes())
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
