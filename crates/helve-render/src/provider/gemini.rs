//! Owns Gemini's rules for function declarations, in both of its schema languages.
//!
//! `parameters` is a protocol buffer with the fields of [`FIELDS`]: any other name fails the whole request ("Unknown
//! name "const" at 'tools[0].function_declarations[5]…': Cannot find field"). `parametersJsonSchema` takes JSON Schema,
//! of which "only the following properties are supported": [`KEYWORDS`].

use super::inline::{self, References};
use super::{Provider, Said, Work, common, object};
use crate::schema::json::{Json, Object};
use crate::tool_text::ToolText;
use helve_model::text::{counted, folded};

/// The fields of `Schema` (ai.google.dev, "Schema").
const FIELDS: [&str; 20] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "items",
    "minItems",
    "maxItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "anyOf",
    "default",
    "minimum",
    "maximum",
];
/// What `parametersJsonSchema` supports (documented at `responseJsonSchema`, with the same list).
const KEYWORDS: [&str; 18] = [
    "$defs",
    "$ref",
    "$anchor",
    "type",
    "format",
    "title",
    "description",
    "enum",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "anyOf",
    "properties",
    "additionalProperties",
    "required",
];
/// Dropped without a word: they describe, or the rewriting has used them.
const SILENT: [&str; 12] = [
    "$schema",
    "$id",
    "$comment",
    "$anchor",
    "$defs",
    "definitions",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "title",
];
pub(super) fn tool(work: &mut Work, name: &str, entry: &ToolText<'_>, schema: Json, said: &mut Said) -> Json {
    let top = common::plain_top(&schema, &["enum", "not", "const"], said);
    let is_subset = work.provider == Provider::Gemini;
    let root = Json::Object(top);
    let mut parameters = if is_subset { subset(&root) } else { json_schema(&root) };
    // "Parameter names must start with a letter or an underscore and must only contain chars a-z, A-Z, 0-9, or
    // underscores with a maximum length of 64."
    work.rename_properties(&mut parameters, |name| {
        name.len() <= 64
            && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    });
    // "parameters.properties: should be non-empty for OBJECT type"; "for a function with no parameters, this can be
    // left unset".
    let is_empty = parameters.get("properties").and_then(Json::as_object).is_none_or(Object::is_empty);
    let parameters = (!is_empty).then(|| Json::Object(parameters));
    // "description: Required."
    let description = work.description(entry, std::mem::take(said), None).unwrap_or_else(|| name.to_owned());
    object([
        ("name", Some(name.into())),
        ("description", Some(description.into())),
        (if is_subset { "parameters" } else { "parametersJsonSchema" }, parameters),
    ])
    .into()
}

/// The schema in the fields that exist. `$ref` and `allOf` do not, so they are written out first.
fn subset(root: &Json) -> Object {
    let mut written = fields(inline::written_out(root, References::WrittenOut));
    written.shift_remove("nullable");
    written.insert("type".to_owned(), "object".into());
    written
}

fn schema(schema: Json) -> Object {
    match schema {
        Json::Object(object) => fields(object),
        _ => anything(),
    }
}

fn fields(mut object: Object) -> Object {
    values(&mut object);
    let mut nullable = take_types(&mut object);
    if let Some(Json::Array(choices)) = object.shift_remove("anyOf").or_else(|| object.shift_remove("oneOf")) {
        let count = choices.len();
        let choices: Vec<Json> = choices.into_iter().filter(|choice| !is_null(choice)).collect();
        nullable |= choices.len() < count;
        return alternatives(object, distinct(choices.into_iter().map(schema)), nullable);
    }
    let kind = object.get("type").and_then(Json::as_str).unwrap_or_default().to_owned();
    properties(&mut object);
    if kind == "array" {
        items(&mut object);
    } else {
        object.shift_remove("items");
    }
    formats(&mut object);
    keep_fields(&mut object);
    if kind.is_empty() {
        let description = object.shift_remove("description");
        return with_description(anything(), description);
    }
    if nullable {
        object.insert("nullable".to_owned(), true.into());
    }
    object
}

fn properties(object: &mut Object) {
    match object.shift_remove("properties") {
        Some(Json::Object(named)) if !named.is_empty() => {
            let named: Object = named.into_iter().map(|(name, property)| (name, schema(property).into())).collect();
            // "required[0]: property is not defined".
            if let Some(Json::Array(required)) = object.get_mut("required") {
                required.retain(|name| name.as_str().is_some_and(|name| named.contains_key(name)));
            }
            object.insert("properties".to_owned(), named.into());
        }
        _ => {
            object.shift_remove("required");
        }
    }
    if object.get("required").and_then(Json::as_array).is_some_and(<[Json]>::is_empty) {
        object.shift_remove("required");
    }
    if matches!(object.get("additionalProperties"), Some(Json::Object(values)) if !values.is_empty()) {
        common::say_instead(object, "additionalProperties");
    }
}

/// "items: missing field".
fn items(object: &mut Object) {
    let items = match (object.shift_remove("prefixItems"), object.shift_remove("items")) {
        (Some(Json::Array(first)), _) => {
            common::say_in(
                object,
                &format!("A list that begins with {}.", counted(first.len(), "fixed item", "fixed items")),
            );
            alternatives(Object::new(), distinct(first.into_iter().map(schema)), false)
        }
        (_, Some(items)) => schema(items),
        (_, None) => anything(),
    };
    object.insert("items".to_owned(), items.into());
}

fn distinct(schemas: impl Iterator<Item = Object>) -> Vec<Object> {
    let mut distinct: Vec<Object> = Vec::new();
    schemas.for_each(|schema| {
        if !distinct.contains(&schema) {
            distinct.push(schema);
        }
    });
    distinct
}

/// `const` and `enum`: "enum only allowed for STRING type", and "enum[0]: cannot be empty".
fn values(object: &mut Object) {
    match object.shift_remove("const") {
        Some(Json::String(text)) if !text.is_empty() => {
            object.insert("enum".to_owned(), Json::Array(vec![text.into()]));
        }
        Some(value) => {
            common::say_in(object, &common::constraint("const", &value));
            object.entry("type".to_owned()).or_insert_with(|| kind_of(&value).into());
            object.shift_remove("enum");
        }
        None => {}
    }
    let Some(Json::Array(values)) = object.get("enum").cloned() else { return };
    let texts: Vec<Json> =
        values.iter().filter(|value| value.as_str().is_some_and(|text| !text.is_empty())).cloned().collect();
    let has_null = values.contains(&Json::Null);
    if texts.len() + usize::from(has_null) == values.len() && !texts.is_empty() {
        object.insert("type".to_owned(), if has_null { kinds(&["string", "null"]) } else { "string".into() });
        object.insert("enum".to_owned(), Json::Array(texts));
        return;
    }
    common::say_instead(object, "enum");
    if !object.contains_key("type") {
        let mut names: Vec<&str> = values.iter().map(kind_of).collect();
        names.sort_unstable();
        names.dedup();
        if names.contains(&"number") {
            names.retain(|name| *name != "integer");
        }
        object.insert("type".to_owned(), kinds(&names));
    }
}

fn kind_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(number) if number.is_f64() => "number",
        Json::Number(_) => "integer",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn kinds(names: &[&str]) -> Json {
    Json::Array(names.iter().map(|name| Json::from(*name)).collect())
}

/// `type` is one word: a list fails ("Proto field is not repeating, cannot start list"). `null` becomes `nullable`,
/// several kinds become `anyOf`. Tells whether `null` was among them.
fn take_types(object: &mut Object) -> bool {
    if !object.contains_key("type") {
        let guess = if object.contains_key("properties") || object.contains_key("additionalProperties") {
            Some("object")
        } else if object.contains_key("items") || object.contains_key("prefixItems") {
            Some("array")
        } else {
            None
        };
        if let Some(guess) = guess {
            object.insert("type".to_owned(), guess.into());
        }
        return false;
    }
    let Some(Json::Array(kinds)) = object.get("type").cloned() else {
        let is_null = object.get("type") == Some(&"null".into());
        if is_null {
            object.insert("type".to_owned(), "string".into());
        }
        return is_null;
    };
    let nullable = kinds.contains(&"null".into());
    let kinds: Vec<Json> = kinds.into_iter().filter(|kind| *kind != "null".into()).collect();
    match kinds.as_slice() {
        [] => {
            object.insert("type".to_owned(), "string".into());
        }
        [kind] => {
            object.insert("type".to_owned(), kind.clone());
        }
        several => {
            object.shift_remove("type");
            let choices = several.iter().map(|kind| {
                let mut choice = self::object([("type", Some(kind.clone()))]);
                for keyword in ["items", "properties", "required"] {
                    let belongs = kind.as_str() == Some(if keyword == "items" { "array" } else { "object" });
                    if let Some(value) = object.get(keyword).filter(|_| belongs) {
                        choice.insert(keyword.to_owned(), value.clone());
                    }
                }
                Json::Object(choice)
            });
            let choices = choices.collect();
            for keyword in ["items", "properties", "required", "prefixItems"] {
                object.shift_remove(keyword);
            }
            object.entry("anyOf".to_owned()).or_insert(Json::Array(choices));
        }
    }
    nullable
}

fn is_null(choice: &Json) -> bool {
    choice.get("type") == Some(&"null".into()) || choice.get("const") == Some(&Json::Null)
}

/// "When using any_of, it must be the only field set" (Vertex): everything else moves into the alternatives.
fn alternatives(mut around: Object, choices: Vec<Object>, nullable: bool) -> Object {
    let description = around.shift_remove("description");
    let mut choices: Vec<Object> = choices
        .into_iter()
        .map(|choice| {
            let mut choice = with_description(choice, description.clone());
            if nullable && !choice.contains_key("anyOf") {
                choice.insert("nullable".to_owned(), true.into());
            }
            choice
        })
        .collect();
    match choices.len() {
        0 => with_description(anything(), description),
        1 => choices.remove(0),
        _ => object([("anyOf", Some(Json::Array(choices.into_iter().map(Json::Object).collect())))]),
    }
}

fn with_description(mut schema: Object, description: Option<Json>) -> Object {
    match (schema.get("description"), description) {
        (_, None) => {}
        (None, Some(description)) if !schema.contains_key("anyOf") => {
            schema.insert("description".to_owned(), description);
        }
        (None, Some(description)) => {
            if let Some(Json::Array(choices)) = schema.get_mut("anyOf") {
                for choice in choices {
                    if let Json::Object(choice) = choice {
                        choice.entry("description".to_owned()).or_insert(description.clone());
                    }
                }
            }
        }
        (Some(own), Some(description)) => {
            if let (Some(own), Some(outer)) = (own.as_str(), description.as_str())
                && own != outer
            {
                let both = format!("{} ({})", outer.trim(), folded(own, 300));
                schema.insert("description".to_owned(), both.into());
            }
        }
    }
    schema
}

/// "type: must be specified when not using one_of, any_of or all_of fields".
fn anything() -> Object {
    let choices = ["string", "number", "boolean"].map(|kind| Json::Object(object([("type", Some(kind.into()))])));
    object([("anyOf", Some(Json::Array(choices.to_vec())))])
}

/// "format: only 'enum' and 'date-time' are supported for STRING type"; numbers have float, double, int32 and int64.
fn formats(object: &mut Object) {
    let supported: &[&str] = match object.get("type").and_then(Json::as_str) {
        Some("string") => &["date-time"],
        Some("number") => &["float", "double"],
        Some("integer") => &["int32", "int64"],
        _ => &[],
    };
    if let Some(Json::String(format)) = object.get("format")
        && !supported.contains(&format.as_str())
    {
        common::say_instead(object, "format");
    }
}

fn keep_fields(object: &mut Object) {
    let extra: Vec<String> = object.keys().filter(|keyword| !FIELDS.contains(&keyword.as_str())).cloned().collect();
    for keyword in extra {
        match keyword.as_str() {
            "additionalProperties" | "unevaluatedProperties" => {
                object.shift_remove(&keyword);
            }
            silent if SILENT.contains(&silent) => {
                object.shift_remove(silent);
            }
            keyword => common::say_instead(object, keyword),
        }
    }
}

/// JSON Schema, cut to what Gemini supports.
fn json_schema(root: &Json) -> Object {
    // "If $ref is set on a sub-schema, no other properties, except for those starting as a $, may be set."
    let mut object = inline::written_out(root, References::KeptAlone);
    common::each(&mut object, &mut |schema| {
        match schema.shift_remove("const") {
            // "enum (for strings and numbers)".
            Some(value @ (Json::String(_) | Json::Number(_))) => {
                schema.insert("enum".to_owned(), Json::Array(vec![value]));
            }
            Some(value) => common::say_in(schema, &common::constraint("const", &value)),
            None => {}
        }
        let is_plain = |value: &Json| matches!(value, Json::String(_) | Json::Number(_));
        if schema.get("enum").and_then(Json::as_array).is_some_and(|values| !values.iter().all(is_plain)) {
            common::say_instead(schema, "enum");
        }
        // "oneOf (interpreted the same as anyOf)".
        if let Some(either) = schema.shift_remove("oneOf") {
            schema.entry("anyOf".to_owned()).or_insert(either);
        }
        let extra: Vec<String> =
            schema.keys().filter(|keyword| !KEYWORDS.contains(&keyword.as_str())).cloned().collect();
        for keyword in extra {
            if SILENT.contains(&keyword.as_str()) {
                schema.shift_remove(&keyword);
            } else {
                common::say_instead(schema, &keyword);
            }
        }
    });
    object
}
