//! Owns what all providers need done to a schema first: read it, take out what leads nowhere, and make its top a plain
//! object with properties.

use super::{Said, object, repair};
use crate::schema::document::{Document, Target, subschemas_mut};
use crate::schema::json::{self, Json, Object, push_pointer};
use crate::schema::limits::SCHEMA_CAPS;
use helve_model::text::{alternatives, folded, named};

/// Schemas at the top that are merged into one: a `$ref`, what it leads to, its `allOf`, …
const MAX_MERGED: usize = 64;
/// Characters of a constraint said in words.
const SAID_CHARACTERS: usize = 200;

/// Reads a schema and repairs what would make a strict reader refuse it.
pub(super) fn readable(text: &str) -> Result<Json, String> {
    let mut schema = json::parse(text, SCHEMA_CAPS).map_err(|problem| problem.to_string())?;
    let Json::Object(object) = &mut schema else { return Err("a schema must be a JSON object".to_owned()) };
    // The draft is 2020-12 from here on, and a name of its own is of no use to a provider.
    object.shift_remove("$schema");
    repair::repair(object);
    without_strangers(&mut schema);
    Ok(schema)
}

/// A reference to what is not here would fail at the provider; its name is all that is known of it.
fn without_strangers(schema: &mut Json) {
    let document = Document::new(schema);
    let mut strangers: Vec<String> = Vec::new();
    let mut waiting = vec![&*schema];
    while let Some(schema) = waiting.pop() {
        waiting.extend(crate::schema::document::subschemas(schema).iter().map(|child| child.schema));
        if let Some(reference) = schema.text("$ref")
            && !matches!(document.resolve(schema, reference), Target::Inside(_))
        {
            strangers.push(reference.to_owned());
        }
    }
    let Json::Object(object) = schema else { return };
    if strangers.is_empty() {
        return;
    }
    each(object, &mut |schema| {
        if schema.get("$ref").and_then(Json::as_str).is_some_and(|text| strangers.iter().any(|known| known == text)) {
            say_instead(schema, "$ref");
        }
    });
}

/// The schema of a tool that takes whatever it is given.
pub(super) fn any_object() -> Json {
    object([("type", Some("object".into())), ("properties", Some(Object::new().into()))]).into()
}

/// Adds a sentence to a description.
pub(super) fn say(schema: &mut Json, words: &str) {
    let Json::Object(object) = schema else { return };
    say_in(object, words);
}

pub(super) fn say_in(object: &mut Object, words: &str) {
    let text = match object.get("description").and_then(Json::as_str).map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) if text.ends_with(['.', '!', '?', ')']) => format!("{text} {words}"),
        Some(text) => format!("{text}. {words}"),
        None => words.to_owned(),
    };
    object.insert("description".to_owned(), text.into());
}

/// Says a keyword in words and takes it out.
pub(super) fn say_instead(object: &mut Object, keyword: &str) {
    if let Some(value) = object.shift_remove(keyword) {
        say_in(object, &constraint(keyword, &value));
    }
}

/// A constraint in words.
pub(super) fn constraint(keyword: &str, value: &Json) -> String {
    let shown = folded(&value.to_text(), SAID_CHARACTERS);
    match keyword {
        "const" => format!("Always {shown}."),
        "enum" => format!("One of {}.", shown.trim_start_matches('[').trim_end_matches(']')),
        "format" => format!("Format: {}.", shown.trim_matches('"')),
        "default" => format!("Default: {shown}."),
        "exclusiveMinimum" => format!("More than {shown}."),
        "exclusiveMaximum" => format!("Less than {shown}."),
        "multipleOf" => format!("A multiple of {shown}."),
        "uniqueItems" => "No item twice.".to_owned(),
        "$ref" => format!("As in {}.", shown.trim_matches('"')),
        keyword => format!("{keyword}: {shown}."),
    }
}

/// The schema a reference leads to; nothing for one that leads out, nowhere or to itself.
pub(super) fn target_of<'a>(document: &Document<'a>, schema: &'a Json) -> Option<&'a Json> {
    match document.resolve(schema, schema.text("$ref")?) {
        Target::Inside(target) if !std::ptr::eq(target, schema) => Some(target),
        Target::Inside(_) | Target::MetaSchema | Target::Elsewhere | Target::Nowhere => None,
    }
}

/// Makes the top of a schema a plain object: no `$ref`, no alternatives, none of the `banned` keywords. What cannot be
/// kept is said in words.
pub(super) fn plain_top(root: &Json, banned: &[&str], said: &mut Said) -> Object {
    let document = Document::new(root);
    let mut top = Object::new();
    let mut choices: Vec<Vec<&Object>> = Vec::new();
    let mut waiting = vec![root];
    let mut merged = 0;
    while let Some(schema) = waiting.pop() {
        merged += 1;
        let Json::Object(parts) = schema else { continue };
        if merged > MAX_MERGED {
            break;
        }
        for (keyword, value) in parts {
            match keyword.as_str() {
                "$ref" => waiting.extend(target_of(&document, schema)),
                "allOf" => waiting.extend(value.as_array().unwrap_or_default().iter().rev()),
                "anyOf" | "oneOf" => {
                    let list = value.as_array().unwrap_or_default().iter().take(MAX_MERGED);
                    let followed = list.map(|choice| target_of(&document, choice).unwrap_or(choice));
                    choices.push(followed.filter_map(Json::as_object).collect());
                }
                keyword if banned.contains(&keyword) => said.say(constraint(keyword, value)),
                _ => add(&mut top, keyword, value),
            }
        }
    }
    for choice in choices.iter().filter(|choice| !choice.is_empty()) {
        merge_choice(&mut top, choice, said);
    }
    top.insert("type".to_owned(), "object".into());
    if !matches!(top.get("properties"), Some(Json::Object(_))) {
        top.insert("properties".to_owned(), Object::new().into());
    }
    drop_unused(&mut top);
    in_order(top)
}

/// Takes out definitions that nothing refers to any more: they cost tokens and say nothing.
fn drop_unused(top: &mut Object) {
    loop {
        let mut used: Vec<String> = Vec::new();
        collect_references(top, &mut used);
        used.sort_unstable();
        used.dedup();
        let is_used = |keyword: &str, name: &str| {
            let mut pointer = format!("#/{keyword}");
            push_pointer(&mut pointer, name);
            // Anything but a pointer to a definition may mean any of them.
            used.iter().any(|text| {
                let other = !text.starts_with("#/$defs/") && !text.starts_with("#/definitions/");
                other || text.contains('%') || *text == pointer || text.starts_with(&format!("{pointer}/"))
            })
        };
        let mut dropped = false;
        for keyword in ["$defs", "definitions"] {
            let Some(Json::Object(named)) = top.get_mut(keyword) else { continue };
            let before = named.len();
            named.retain(|name, _| is_used(keyword, name));
            dropped |= named.len() < before;
            if named.is_empty() {
                top.shift_remove(keyword);
            }
        }
        if !dropped {
            break;
        }
    }
}

fn collect_references(object: &Object, found: &mut Vec<String>) {
    for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
        found.extend(object.get(keyword).and_then(Json::as_str).map(str::to_owned));
    }
    for value in object.values() {
        match value {
            Json::Object(inner) => collect_references(inner, found),
            Json::Array(items) => {
                items.iter().filter_map(Json::as_object).for_each(|inner| collect_references(inner, found));
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }
}

/// Runs over every schema inside one, the inner ones first.
pub(super) fn each(object: &mut Object, change: &mut impl FnMut(&mut Object)) {
    for child in subschemas_mut(object) {
        if let Json::Object(child) = child {
            each(child, change);
        }
    }
    change(object);
}

/// Adds a keyword of one more schema that holds at the same time.
fn add(top: &mut Object, keyword: &str, value: &Json) {
    match (keyword, value, top.get_mut(keyword)) {
        ("properties" | "$defs" | "definitions", Json::Object(more), Some(Json::Object(known))) => {
            for (name, schema) in more {
                match known.get_mut(name) {
                    Some(same) if same == schema => {}
                    Some(other) if keyword == "properties" => {
                        let both = vec![other.clone(), schema.clone()];
                        *other = object([("allOf", Some(Json::Array(both)))]).into();
                    }
                    Some(_) => {}
                    None => {
                        known.insert(name.clone(), schema.clone());
                    }
                }
            }
        }
        ("required", Json::Array(more), Some(Json::Array(known))) => {
            for name in more {
                if !known.contains(name) {
                    known.push(name.clone());
                }
            }
        }
        (_, _, Some(_)) => {}
        (_, value, None) => {
            top.insert(keyword.to_owned(), value.clone());
        }
    }
}

/// Adds alternatives: all their properties, required only where each requires it.
fn merge_choice(top: &mut Object, choice: &[&Object], said: &mut Said) {
    let mut properties = match top.shift_remove("properties") {
        Some(Json::Object(properties)) => properties,
        _ => Object::new(),
    };
    let own: Vec<String> = properties.keys().cloned().collect();
    for (name, schema) in choice.iter().filter_map(|alternative| alternative.get("properties")?.as_object()).flatten() {
        match properties.get_mut(name) {
            None => {
                properties.insert(name.clone(), schema.clone());
            }
            Some(known) if known == schema || own.contains(name) => {}
            Some(known) => {
                let mut either = match known.get("anyOf").and_then(Json::as_array) {
                    Some(either) => either.to_vec(),
                    None => vec![known.clone()],
                };
                if !either.contains(schema) {
                    either.push(schema.clone());
                }
                *known = object([("anyOf", Some(Json::Array(either)))]).into();
            }
        }
    }
    top.insert("properties".to_owned(), properties.into());

    let lists: Vec<Vec<&str>> = choice.iter().map(|alternative| required(alternative)).collect();
    let mut always = required(top).into_iter().map(str::to_owned).collect::<Vec<_>>();
    if let Some((first, rest)) = lists.split_first() {
        let common = first.iter().filter(|name| rest.iter().all(|list| list.contains(name)));
        for name in common {
            if !always.iter().any(|known| known == name) {
                always.push((*name).to_owned());
            }
        }
    }
    let sets: Vec<String> = lists
        .iter()
        .map(|list| {
            let names: Vec<String> =
                list.iter().filter(|name| !always.iter().any(|known| known == *name)).map(|name| named(name)).collect();
            names.join(" with ")
        })
        .filter(|names| !names.is_empty())
        .collect();
    if sets.len() > 1 {
        said.say(format!("Give {}.", folded(&alternatives(&sets), SAID_CHARACTERS)));
    }
    if !always.is_empty() {
        top.insert("required".to_owned(), Json::Array(always.into_iter().map(Json::String).collect()));
    }
    for alternative in choice {
        for keyword in ["$defs", "definitions"] {
            if let Some(value) = alternative.get(keyword) {
                add(top, keyword, value);
            }
        }
    }
}

fn required(object: &Object) -> Vec<&str> {
    object.get("required").and_then(Json::as_array).unwrap_or_default().iter().filter_map(Json::as_str).collect()
}

/// The members of the top in one order, however they came together.
fn in_order(mut top: Object) -> Object {
    let mut ordered = Object::with_capacity(top.len());
    for keyword in ["type", "description", "properties", "required"] {
        if let Some(value) = top.shift_remove(keyword) {
            ordered.insert(keyword.to_owned(), value);
        }
    }
    ordered.extend(top);
    ordered
}
