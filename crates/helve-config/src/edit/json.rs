//! Edits of JSON with comments, by way of `jsonc-parser`'s concrete syntax tree.

use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstRootNode};

use super::render::Written;
use super::{Action, Spot, Step};
use crate::document::Node;
use crate::document::json::OPTIONS;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The text after the action; `None` when its parts are not where they should be.
pub(super) fn apply(text: &str, spot: &Spot, action: &Action) -> Option<String> {
    let body = text.trim_start_matches(BYTE_ORDER_MARK);
    let mark = text.strip_suffix(body).unwrap_or_default();
    let is_new = body.trim().is_empty();
    let root = CstRootNode::parse(if is_new { "{}\n" } else { body }, &OPTIONS).ok()?;
    let mut object = root.object_value_or_create()?;
    let (last, path) = spot.root.split_last()?;
    for key in path {
        object = child(&object, key)?;
    }
    match spot.name_key {
        None => by_name(&child(&object, last)?, spot, action)?,
        Some(name_key) => {
            let array = match object.get(last) {
                Some(property) => property.array_value()?,
                None => object.array_value_or_create(last)?,
            };
            by_position(&array, name_key, spot, action)?;
        }
    }
    Some(format!("{mark}{root}"))
}

/// Adds keys to an entry that stands on one line, so that it stays on one line; `None` for anything else.
pub(super) fn inline(text: &str, node: &Node, action: &Action) -> Option<String> {
    let Action::Modify(steps) = action else { return None };
    let close = node.span.end.checked_sub(1)?;
    let body = text.get(node.span.start..close)?;
    if body.contains('\n') || node.entries().is_empty() {
        return None;
    }
    let mut added = String::new();
    for step in steps {
        let Step::Set(key, written) = step else { return None };
        let is_small = matches!(written, Written::Flag(_) | Written::Integer(_) | Written::Text(_));
        if !is_small || node.entry(key).is_some() {
            return None;
        }
        let value = match written {
            Written::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
            Written::Flag(flag) => flag.to_string(),
            Written::Integer(number) => number.to_string(),
            Written::Float(_) | Written::List(_) | Written::Table(_) => return None,
        };
        added.push_str(&format!(", {}: {value}", serde_json::Value::from(key.as_str())));
    }
    // Behind the last value: a trailing comma and blanks before the brace stay what they are.
    let last = node.entries().last()?.node.span.end;
    Some(format!("{}{added}{}", text.get(..last)?, text.get(last..)?))
}

/// The object behind `key`, made if there is none; `None` when something else is there.
fn child(object: &CstObject, key: &str) -> Option<CstObject> {
    match object.get(key) {
        Some(property) => property.object_value(),
        None => {
            let created = object.object_value_or_create(key)?;
            created.ensure_multiline();
            Some(created)
        }
    }
}

fn by_name(servers: &CstObject, spot: &Spot, action: &Action) -> Option<()> {
    match action {
        Action::Insert(keys) => {
            servers.ensure_multiline();
            servers.append(&spot.name, entry(keys));
        }
        Action::Modify(steps) => modify(&servers.get(&spot.name)?.object_value()?, steps),
        Action::Remove => servers.get(&spot.name)?.remove(),
    }
    Some(())
}

fn by_position(servers: &CstArray, name_key: &str, spot: &Spot, action: &Action) -> Option<()> {
    if let Action::Insert(keys) = action {
        servers.ensure_multiline();
        servers.append(entry(keys));
        return Some(());
    }
    let element = servers.elements().into_iter().rev().find(|element| {
        let name = element.as_object().and_then(|object| object.get(name_key)).and_then(|property| property.value());
        name.and_then(|value| value.as_string_lit()).and_then(|text| text.decoded_value().ok()).as_deref()
            == Some(spot.name.as_str())
    })?;
    match action {
        Action::Modify(steps) => modify(&element.as_object()?, steps),
        Action::Remove | Action::Insert(_) => element.remove(),
    }
    Some(())
}

fn modify(object: &CstObject, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Set(key, written) => match object.get(key) {
                Some(property) => property.set_value(value(written)),
                None => {
                    object.append(key, value(written));
                }
            },
            Step::Unset(key) => {
                if let Some(property) = object.get(key) {
                    property.remove();
                }
            }
        }
    }
}

fn entry(keys: &[(String, Written)]) -> CstInputValue {
    CstInputValue::Object(keys.iter().map(|(key, written)| (key.clone(), value(written))).collect())
}

fn value(written: &Written) -> CstInputValue {
    match written {
        Written::Text(text) => CstInputValue::String(text.clone()),
        Written::Flag(flag) => CstInputValue::Bool(*flag),
        Written::Integer(number) => CstInputValue::Number(number.to_string()),
        Written::Float(number) => CstInputValue::Number(number.to_string()),
        Written::List(texts) => CstInputValue::Array(texts.iter().cloned().map(CstInputValue::String).collect()),
        Written::Table(texts) => CstInputValue::Object(
            texts.iter().map(|(key, text)| (key.clone(), CstInputValue::String(text.clone()))).collect(),
        ),
    }
}
