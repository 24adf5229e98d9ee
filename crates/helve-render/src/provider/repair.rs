//! Owns the repair of a schema that a strict reader would refuse.

use super::common::say_in;
use crate::schema::document::subschemas_mut;
use crate::schema::json::{Json, Object};
use helve_model::text::folded;

const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// Anthropic: "JSON schema is invalid. It must match JSON Schema draft 2020-12"; the others check less, but check. So
/// older drafts are rewritten, and a keyword whose value makes no sense is dropped.
pub(super) fn repair(object: &mut Object) {
    for keyword in ["exclusiveMinimum", "exclusiveMaximum"] {
        // Draft 4: a flag that makes `minimum` exclusive.
        if let Some(Json::Bool(flag)) = object.get(keyword) {
            let limit = if keyword == "exclusiveMinimum" { "minimum" } else { "maximum" };
            let flag = *flag;
            object.shift_remove(keyword);
            if flag && let Some(value) = object.shift_remove(limit) {
                object.insert(keyword.to_owned(), value);
            }
        }
    }
    if let Some(Json::Array(_)) = object.get("items") {
        // Before 2020-12 `items` could be a list, with the rest in `additionalItems`.
        if let Some(first) = object.shift_remove("items") {
            object.insert("prefixItems".to_owned(), first);
        }
        if let Some(rest) = object.shift_remove("additionalItems") {
            object.insert("items".to_owned(), rest);
        }
    }
    // OpenAPI 3.0.
    if object.shift_remove("nullable") == Some(Json::Bool(true)) {
        allow_null(object);
    }
    if let Some(Json::String(kind)) = object.get("type")
        && !TYPES.contains(&kind.as_str())
    {
        let lower = kind.to_ascii_lowercase();
        let words = format!("Type: {}.", folded(kind, 40));
        if TYPES.contains(&lower.as_str()) {
            object.insert("type".to_owned(), lower.into());
        } else {
            object.shift_remove("type");
            say_in(object, &words);
        }
    }
    object.retain(|keyword, value| is_well_formed(keyword, value));
    for child in subschemas_mut(object) {
        match child {
            Json::Object(child) => repair(child),
            Json::Bool(_) => {}
            // A property that is not a schema says nothing.
            other => *other = Object::new().into(),
        }
    }
}

/// Lets a schema take `null` too.
pub(super) fn allow_null(object: &mut Object) {
    match object.get_mut("type") {
        Some(Json::String(kind)) => {
            let kinds = vec![Json::String(std::mem::take(kind)), "null".into()];
            object.insert("type".to_owned(), Json::Array(kinds));
        }
        Some(Json::Array(kinds)) => {
            if !kinds.contains(&"null".into()) {
                kinds.push("null".into());
            }
        }
        _ => {
            if let Some(Json::Array(either)) = object.get_mut("anyOf") {
                either.push(super::object([("type", Some("null".into()))]).into());
                return;
            }
            let description = object.shift_remove("description");
            let definitions = object.shift_remove("$defs");
            let inner = std::mem::take(object);
            let either = vec![inner.into(), super::object([("type", Some("null".into()))]).into()];
            *object = super::object([
                ("description", description),
                ("anyOf", Some(Json::Array(either))),
                ("$defs", definitions),
            ]);
            return;
        }
    }
    if let Some(Json::Array(values)) = object.get_mut("enum")
        && !values.contains(&Json::Null)
    {
        values.push(Json::Null);
    }
}

fn is_well_formed(keyword: &str, value: &mut Json) -> bool {
    let is_schema = |value: &Json| matches!(value, Json::Object(_) | Json::Bool(_));
    match keyword {
        "type" => match value {
            Json::String(_) => true,
            Json::Array(kinds) => {
                kinds.retain(|kind| kind.as_str().is_some_and(|kind| TYPES.contains(&kind)));
                distinct(kinds);
                !kinds.is_empty()
            }
            _ => false,
        },
        "required" => match value {
            Json::Array(names) => {
                names.retain(|name| name.as_str().is_some());
                distinct(names);
                true
            }
            _ => false,
        },
        "enum" => matches!(value, Json::Array(values) if !values.is_empty()),
        "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => {
            matches!(value, Json::Object(_))
        }
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => matches!(value, Json::Array(items) if !items.is_empty()),
        "not"
        | "if"
        | "then"
        | "else"
        | "items"
        | "contains"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "unevaluatedItems"
        | "propertyNames" => is_schema(value),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            matches!(value, Json::Number(_))
        }
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minContains"
        | "maxContains" => matches!(value, Json::Number(number) if number.is_u64()),
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => matches!(value, Json::Bool(_)),
        "title" | "description" | "format" | "pattern" | "$ref" | "$id" | "$anchor" | "$comment" => {
            matches!(value, Json::String(_))
        }
        "examples" => matches!(value, Json::Array(_)),
        _ => true,
    }
}

fn distinct(values: &mut Vec<Json>) {
    let mut seen: Vec<Json> = Vec::new();
    values.retain(|value| {
        let new = !seen.contains(value);
        if new {
            seen.push(value.clone());
        }
        new
    });
}
