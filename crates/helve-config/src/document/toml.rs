//! TOML, by way of `toml_edit`.

use toml_edit::{Document, Item, Value as TomlValue};

use super::{Format, Node, TableEntry, Value, syntax};
use crate::diagnostic::Diagnostic;
use crate::source::{Source, Span};

pub(super) fn parse(source: &Source) -> Result<Node, Box<Diagnostic>> {
    let document = Document::parse(source.text()).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let word = source.text().get(span.clone()).unwrap_or_default();
        let is_word = word.starts_with(|first: char| first.is_alphabetic()) && !word.contains(char::is_whitespace);
        // The parser takes a bare word for a misspelt number; people forget quotation marks.
        let message = if is_word && error.message().starts_with("invalid") {
            "a text needs quotation marks"
        } else {
            error.message()
        };
        syntax(source, Format::Toml, Span::new(span.start, span.end), message)
    })?;
    let mut root = table(document.as_table(), Span::new(0, source.text().len()));
    root.span = Span::new(0, source.text().len());
    Ok(root)
}

fn item(item: &Item, key_span: Span) -> Node {
    match item {
        Item::None => Node { value: Value::Null, span: key_span, alias: None },
        Item::Value(inner) => value(inner, key_span),
        Item::Table(inner) => table(inner, key_span),
        Item::ArrayOfTables(tables) => {
            let elements: Vec<Node> = tables.iter().map(|inner| table(inner, key_span)).collect();
            let span = match (elements.first(), elements.last()) {
                (Some(first), Some(last)) => Span::new(first.span.start, last.span.end),
                _ => key_span,
            };
            Node { value: Value::Array(elements), span, alias: None }
        }
    }
}

fn table(table: &toml_edit::Table, fallback: Span) -> Node {
    let entries = table
        .iter()
        .map(|(name, inner)| {
            let key_span = table.key(name).and_then(toml_edit::Key::span);
            entry(name, key_span, fallback, |span| item(inner, span))
        })
        .collect();
    Node { value: Value::Table(entries), span: span_or(table.span(), fallback), alias: None }
}

fn value(value: &TomlValue, fallback: Span) -> Node {
    let converted = match value {
        TomlValue::String(text) => Value::String(text.value().clone()),
        TomlValue::Integer(number) => Value::Integer(*number.value()),
        TomlValue::Float(number) => Value::Float(*number.value()),
        TomlValue::Boolean(flag) => Value::Bool(*flag.value()),
        TomlValue::Datetime(moment) => Value::String(moment.value().to_string()),
        TomlValue::Array(array) => Value::Array(array.iter().map(|element| self::value(element, fallback)).collect()),
        TomlValue::InlineTable(table) => Value::Table(
            table
                .iter()
                .map(|(name, inner)| {
                    let key_span = table.key(name).and_then(toml_edit::Key::span);
                    entry(name, key_span, fallback, |span| self::value(inner, span))
                })
                .collect(),
        ),
    };
    Node { value: converted, span: span_or(value.span(), fallback), alias: None }
}

fn entry(
    name: &str,
    key_span: Option<std::ops::Range<usize>>,
    fallback: Span,
    convert: impl FnOnce(Span) -> Node,
) -> TableEntry {
    let key_span = span_or(key_span, fallback);
    TableEntry { key: name.to_owned(), key_span, node: convert(key_span), merged: false }
}

/// Tables that exist only through a dotted name (`[servers.github]` makes `servers`) have no place of their own.
fn span_or(span: Option<std::ops::Range<usize>>, fallback: Span) -> Span {
    span.map_or(fallback, |range| Span::new(range.start, range.end))
}
