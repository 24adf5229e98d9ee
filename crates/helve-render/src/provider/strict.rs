//! Owns the translation of a schema into OpenAI's strict subset, and whether there is one.
//!
//! The rules, from OpenAI's guide on Structured Outputs, "Supported schemas": every property is required, every object
//! closed; what may be left out takes `null` instead; `allOf`, `not`, `dependentRequired`, `dependentSchemas`, `if`,
//! `then` and `else` are not supported, nor is a root that is not an object; up to 5,000 properties and ten levels;
//! 120,000 characters of names and values; 1,000 enum values.

use super::{common, repair};
use crate::schema::document::Document;
use crate::schema::json::{Json, Object};

const MAX_PROPERTIES: usize = 5_000;
const MAX_LEVELS: usize = 10;
const MAX_CHARACTERS: usize = 120_000;
const MAX_ENUM_VALUES: usize = 1_000;

/// What a strict schema may consist of; anything else is said in words. `default`, `minLength` and `maxLength` are
/// refused by the interface ("'default' is not permitted").
const KEPT: [&str; 17] = [
    "type",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "$ref",
    "$defs",
    "definitions",
    "pattern",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
];
const KEPT_TOO: [&str; 4] = ["exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"];
/// The formats the guide lists.
const FORMATS: [&str; 9] = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
/// Annotations: nothing is lost with them.
const SILENT: [&str; 9] =
    ["title", "examples", "example", "$comment", "$schema", "$id", "$anchor", "deprecated", "readOnly"];

/// The schema in the strict subset, or why there is none.
pub(super) fn strict(schema: &Object) -> Result<Object, &'static str> {
    let mut counted = Counted::default();
    let mut schema = schema.clone();
    convert(&mut schema, 1, &mut counted)?;
    if counted.properties > MAX_PROPERTIES {
        return Err("it has too many properties");
    }
    if counted.characters > MAX_CHARACTERS || counted.enum_values > MAX_ENUM_VALUES {
        return Err("its names and enum values are too many");
    }
    Ok(schema)
}

/// Takes back what strictness made the model say: `null` for a property that may be left out and cannot be null.
pub(super) fn without_nulls(arguments: &mut Json, schema: &Json) {
    let document = Document::new(schema);
    drop_nulls(arguments, &document, schema, 0);
}

#[derive(Default)]
struct Counted {
    properties: usize,
    characters: usize,
    enum_values: usize,
}

fn convert(object: &mut Object, level: usize, counted: &mut Counted) -> Result<(), &'static str> {
    if level > MAX_LEVELS {
        return Err("it nests too deep");
    }
    if let Some(either) = object.shift_remove("oneOf") {
        if object.contains_key("anyOf") {
            return Err("it has alternatives of two kinds");
        }
        object.insert("anyOf".to_owned(), either);
    }
    if let Some(Json::Array(all)) = object.get("allOf") {
        // What generators write around a reference to describe it.
        let [Json::Object(only)] = all.as_slice() else { return Err("it combines schemas with allOf") };
        let only = only.clone();
        object.shift_remove("allOf");
        for (keyword, value) in only {
            object.entry(keyword).or_insert(value);
        }
    }
    if object.contains_key("$ref") {
        // "$ref cannot have keywords {'description'}".
        object.retain(|keyword, _| matches!(keyword.as_str(), "$ref" | "$defs" | "definitions"));
    }
    if let Some(Json::String(format)) = object.get("format")
        && !FORMATS.contains(&format.as_str())
    {
        common::say_instead(object, "format");
    }
    let extra: Vec<String> = object
        .keys()
        .filter(|keyword| !KEPT.contains(&keyword.as_str()) && !KEPT_TOO.contains(&keyword.as_str()))
        .cloned()
        .collect();
    for keyword in extra {
        match keyword.as_str() {
            silent if SILENT.contains(&silent) => {
                object.shift_remove(silent);
            }
            "patternProperties" | "unevaluatedProperties" => return Err("it has objects with free keys"),
            "prefixItems" => return Err("it has tuples"),
            keyword => common::say_instead(object, keyword),
        }
    }
    if let Some(Json::Array(values)) = object.get("enum") {
        counted.enum_values += values.len();
        counted.characters += values.iter().map(|value| value.to_text().len()).sum::<usize>();
    }
    if is_object(object) {
        close(object, counted)?;
    }
    for keyword in ["properties", "$defs", "definitions"] {
        let Some(Json::Object(named)) = object.get_mut(keyword) else { continue };
        for (name, schema) in named {
            counted.characters += name.len();
            if keyword == "properties" {
                counted.properties += 1;
            }
            inner(schema, if keyword == "properties" { level + 1 } else { 1 }, counted)?;
        }
    }
    if let Some(Json::Array(either)) = object.get_mut("anyOf") {
        either.iter_mut().try_for_each(|schema| inner(schema, level, counted))?;
    }
    let is_array = match object.get("type") {
        Some(Json::Array(kinds)) => kinds.contains(&"array".into()),
        kind => kind == Some(&"array".into()),
    };
    match object.get_mut("items") {
        Some(items) => inner(items, level + 1, counted)?,
        None if is_array => return Err("it has lists of anything"),
        None => {}
    }
    let says_something = ["type", "enum", "const", "anyOf", "$ref"].iter().any(|keyword| object.contains_key(*keyword));
    if says_something { Ok(()) } else { Err("it has values of any type") }
}

fn inner(schema: &mut Json, level: usize, counted: &mut Counted) -> Result<(), &'static str> {
    match schema {
        Json::Object(object) => convert(object, level, counted),
        _ => Err("it has values of any type"),
    }
}

fn is_object(object: &Object) -> bool {
    match object.get("type") {
        Some(Json::String(kind)) => kind == "object",
        Some(Json::Array(kinds)) => kinds.contains(&"object".into()),
        _ => object.contains_key("properties"),
    }
}

/// Every property required, nothing beside them.
fn close(object: &mut Object, counted: &Counted) -> Result<(), &'static str> {
    match object.get("additionalProperties") {
        None | Some(Json::Bool(false)) => {}
        Some(_) => return Err("it has objects with free keys"),
    }
    let is_root = counted.properties == 0;
    let required: Vec<Json> = object.get("required").and_then(Json::as_array).unwrap_or_default().to_vec();
    let names: Vec<String> = match object.get_mut("properties") {
        Some(Json::Object(properties)) if is_root || !properties.is_empty() => {
            for (name, schema) in properties.iter_mut() {
                if !required.iter().any(|required| required.as_str() == Some(name))
                    && let Json::Object(schema) = schema
                {
                    repair::allow_null(schema);
                }
            }
            properties.keys().cloned().collect()
        }
        _ => return Err("it has objects with free keys"),
    };
    object.insert("required".to_owned(), Json::Array(names.into_iter().map(Json::String).collect()));
    object.insert("additionalProperties".to_owned(), false.into());
    Ok(())
}

fn drop_nulls<'a>(value: &mut Json, document: &Document<'a>, schema: &'a Json, depth: usize) {
    if depth > MAX_LEVELS * 2 {
        return;
    }
    match value {
        Json::Array(items) => {
            if let Some(item_schema) = followed(document, schema).get("items") {
                items.iter_mut().for_each(|item| drop_nulls(item, document, item_schema, depth + 1));
            }
        }
        Json::Object(members) => {
            let schema = object_schema(document, schema);
            let required = schema.get("required").and_then(Json::as_array).unwrap_or_default();
            let Some(properties) = schema.get("properties").and_then(Json::as_object) else { return };
            members.retain(|name, value| {
                let Some(property) = properties.get(name) else { return true };
                let is_optional = !required.iter().any(|required| required.as_str() == Some(name));
                if *value == Json::Null && is_optional && !takes_null(document, property) {
                    return false;
                }
                drop_nulls(value, document, property, depth + 1);
                true
            });
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

fn followed<'a>(document: &Document<'a>, schema: &'a Json) -> &'a Json {
    let schema = match schema.get("allOf").and_then(Json::as_array) {
        Some([only]) => only,
        _ => schema,
    };
    common::target_of(document, schema).unwrap_or(schema)
}

/// The schema that names the members: the one itself, or its first alternative that is an object.
fn object_schema<'a>(document: &Document<'a>, schema: &'a Json) -> &'a Json {
    let schema = followed(document, schema);
    if schema.get("properties").is_some() {
        return schema;
    }
    let either = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Json::as_array).unwrap_or_default();
    let either = either.iter().map(|choice| followed(document, choice));
    either.into_iter().find(|choice| choice.get("properties").is_some()).unwrap_or(schema)
}

fn takes_null<'a>(document: &Document<'a>, schema: &'a Json) -> bool {
    crate::schema::types::admits(&crate::schema::types::read_at(document, schema), &Json::Null)
}
