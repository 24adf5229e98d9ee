//! Owns the text a template makes of values: what is joined by what, and which characters are encoded.

use std::fmt::Write as _;

use super::{
    Expression, FillProblem, MAX_URI_BYTES, Modifier, Operator, Part, TemplateValue, TemplateValues, Variable,
};

pub(super) fn expand(parts: &[Part], values: &TemplateValues) -> Result<String, FillProblem> {
    let mut uri = String::new();
    for part in parts {
        match part {
            Part::Literal(text) => push_encoded(&mut uri, text, Kept::Reserved),
            Part::Expression(expression) => push_expression(&mut uri, expression, values)?,
        }
        if uri.len() > MAX_URI_BYTES {
            return Err(FillProblem::TooLong { limit: MAX_URI_BYTES });
        }
    }
    Ok(uri)
}

/// Which characters stand as they are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// Letters, digits, `-`, `.`, `_`, `~`.
    Unreserved,
    /// Those, the reserved ones, and what is encoded already.
    Reserved,
}

fn push_expression(uri: &mut String, expression: &Expression, values: &TemplateValues) -> Result<(), FillProblem> {
    let operator = expression.operator;
    let mut before = operator.first();
    for variable in &expression.variables {
        let Some(value) = values.get(&variable.name).filter(|value| !value.is_nothing()) else { continue };
        uri.push_str(before);
        before = operator.separator();
        push_value(uri, operator, variable, value)?;
    }
    Ok(())
}

fn push_value(
    uri: &mut String,
    operator: Operator,
    variable: &Variable,
    value: &TemplateValue,
) -> Result<(), FillProblem> {
    let kept = if operator.keeps_reserved() { Kept::Reserved } else { Kept::Unreserved };
    match (value, variable.modifier) {
        (TemplateValue::Text(text), modifier) => {
            let text = match modifier {
                Modifier::Prefix(length) => {
                    text.char_indices().nth(length).map_or(text.as_str(), |(end, _)| before(text, end))
                }
                Modifier::None | Modifier::Explode => text,
            };
            push_name(uri, operator, &variable.name, text.is_empty());
            push_encoded(uri, text, kept);
        }
        (TemplateValue::List(_) | TemplateValue::Map(_), Modifier::Prefix(_)) => {
            return Err(FillProblem::PrefixOfMany(variable.name.clone()));
        }
        (TemplateValue::List(items), Modifier::None) => {
            push_name(uri, operator, &variable.name, false);
            push_joined(uri, items.iter().map(String::as_str), ",", kept);
        }
        (TemplateValue::List(items), Modifier::Explode) => {
            for (index, item) in items.iter().enumerate() {
                uri.push_str(if index > 0 { operator.separator() } else { "" });
                push_name(uri, operator, &variable.name, item.is_empty());
                push_encoded(uri, item, kept);
            }
        }
        (TemplateValue::Map(members), Modifier::None) => {
            push_name(uri, operator, &variable.name, false);
            push_joined(uri, members.iter().flat_map(|(key, value)| [key.as_str(), value.as_str()]), ",", kept);
        }
        (TemplateValue::Map(members), Modifier::Explode) => {
            for (index, (key, value)) in members.iter().enumerate() {
                uri.push_str(if index > 0 { operator.separator() } else { "" });
                push_encoded(uri, key, kept);
                // The RFC drops the sign after a name alone for parameters, and only there.
                uri.push_str(if value.is_empty() && operator == Operator::Parameter { "" } else { "=" });
                push_encoded(uri, value, kept);
            }
        }
    }
    Ok(())
}

fn push_name(uri: &mut String, operator: Operator, name: &str, is_empty: bool) {
    if operator.is_named() {
        push_encoded(uri, name, Kept::Reserved);
        uri.push_str(if is_empty && operator == Operator::Parameter { "" } else { "=" });
    }
}

fn push_joined<'a>(uri: &mut String, texts: impl Iterator<Item = &'a str>, separator: &str, kept: Kept) {
    for (index, text) in texts.enumerate() {
        uri.push_str(if index > 0 { separator } else { "" });
        push_encoded(uri, text, kept);
    }
}

fn push_encoded(uri: &mut String, text: &str, kept: Kept) {
    let bytes = text.as_bytes();
    for (index, &byte) in bytes.iter().enumerate() {
        let stands = match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => true,
            b':' | b'/' | b'?' | b'#' | b'[' | b']' | b'@' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+'
            | b',' | b';' | b'=' => kept == Kept::Reserved,
            b'%' => {
                let is_digit = |offset: usize| bytes.get(index + offset).is_some_and(u8::is_ascii_hexdigit);
                kept == Kept::Reserved && is_digit(1) && is_digit(2)
            }
            _ => false,
        };
        if stands {
            uri.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
}

fn before(text: &str, end: usize) -> &str {
    text.split_at_checked(end).map_or(text, |(before, _)| before)
}
