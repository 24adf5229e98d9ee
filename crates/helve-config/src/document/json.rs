//! JSON as people write it: with comments, trailing commas and a byte order mark.

use jsonc_parser::ast;
use jsonc_parser::common::{Range, Ranged as _};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{Format, MAX_DEPTH, Node, TableEntry, Value, syntax};
use crate::diagnostic::Diagnostic;
use crate::source::{Source, Span};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// What is forgiven: comments and trailing commas. Everything else is a mistake the person wants to hear about.
pub(crate) const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn parse(source: &Source) -> Result<Node, Box<Diagnostic>> {
    let text = source.text().trim_start_matches(BYTE_ORDER_MARK);
    let shift = source.text().len() - text.len();
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).map_err(|error| {
        let range = error.range();
        syntax(source, Format::Json, Span::new(shift + range.start, shift + range.end), &error.kind().to_string())
    })?;
    match parsed.value {
        Some(value) => convert(value, shift, 0).map_err(|range| {
            let span = Span::new(shift + range.start, shift + range.start);
            syntax(source, Format::Json, span, "values are nested too deeply")
        }),
        None => Ok(Node::new(Value::Table(Vec::new()), shift, source.text().len())),
    }
}

fn convert(value: ast::Value<'_>, shift: usize, depth: usize) -> Result<Node, Range> {
    let range = value.range();
    if depth > MAX_DEPTH {
        return Err(range);
    }
    let value = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
        ast::Value::StringLit(literal) => Value::String(literal.value.into_owned()),
        ast::Value::NumberLit(literal) => match literal.value.parse::<i64>() {
            Ok(integer) => Value::Integer(integer),
            Err(_) => Value::Float(literal.value.parse().unwrap_or(f64::NAN)),
        },
        ast::Value::Array(array) => Value::Array(
            array.elements.into_iter().map(|element| convert(element, shift, depth + 1)).collect::<Result<_, _>>()?,
        ),
        ast::Value::Object(object) => Value::Table(
            object
                .properties
                .into_iter()
                .map(|property| {
                    let key_range = property.name.range();
                    Ok(TableEntry {
                        key_span: Span::new(shift + key_range.start, shift + key_range.end),
                        key: property.name.into_string(),
                        node: convert(property.value, shift, depth + 1)?,
                        merged: false,
                    })
                })
                .collect::<Result<_, Range>>()?,
        ),
    };
    Ok(Node::new(value, shift + range.start, shift + range.end))
}
