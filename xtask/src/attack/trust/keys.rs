//! Owns the walk through the published JSON Schema of `helve.toml`: every key is changed after trust, and asks again or is
//! known to decide nothing.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

use super::{Figure, named, trust, waiting};
use crate::attack::arena::{Arena, Place};

const SCHEMA: &str = include_str!("../../../../schemas/helve.schema.json");

/// Keys that ask nobody: for editors and people, a switch that narrows, and what a project cannot say at all.
const DECIDES_NOTHING: &[&str] = &[
    "$schema",
    "rules.by",
    "rules.who",
    "servers.enabled",
    "servers.description",
    "inputs.type",
    "environment",
    "hubs",
    "settings.code",
    "settings.sampling.command",
    "settings.sandbox",
    "settings.notify",
    "settings.vault_key",
    "settings.unlisted",
    "settings.unlisted_tokens",
];

/// Servers of each transport, and built-in ones.
const SERVERS: &[&[(&str, &str)]] = &[
    &[("command", "\"run\""), ("args", "[\"${input:one}\"]")],
    &[("url", "\"https://example.com\"")],
    &[("builtin", "\"sqlite\""), ("database", "\"data.db\"")],
    &[("builtin", "\"filesystem\"")],
];

/// A key: its table in the file, its name, and what the schema says of it.
struct Key {
    table: &'static str,
    name: String,
    key: String,
    schema: Value,
}

pub(super) fn run(arena: &Arena) -> Result<Vec<Figure>> {
    let schema: Value = serde_json::from_str(SCHEMA)?;
    let keys = keys(&schema)?;
    let (deciding, others): (Vec<&Key>, Vec<&Key>) =
        keys.iter().partition(|key| !DECIDES_NOTHING.contains(&key.name.as_str()));
    let mut missed = Vec::new();
    for key in &deciding {
        if !asks_again(arena, key, &schema)? {
            missed.push(key.name.clone());
        }
    }
    let mut alarms = 0;
    for key in &others {
        alarms += usize::from(asks_again(arena, key, &schema)?);
    }
    let found = deciding.len() - missed.len();
    let mut figures = vec![
        Figure::all_of("keys of the schema that ask again", deciding.len(), found),
        Figure::none_of("keys that decide nothing and ask", others.len(), alarms),
    ];
    figures.extend(named("a key that nobody was asked about", &missed));
    Ok(figures)
}

fn keys(schema: &Value) -> Result<Vec<Key>> {
    let table = |pointer: &str| -> Result<Map<String, Value>> {
        Ok(schema.pointer(pointer).and_then(Value::as_object).context("a table of keys")?.clone())
    };
    let tables = [
        ("", "", "/properties"),
        ("servers.s", "servers", "/$defs/server/properties"),
        ("servers.s.oauth", "servers.oauth", "/$defs/server/properties/oauth/oneOf/1/properties"),
        ("rules", "rules", "/$defs/rule/properties"),
        ("inputs", "inputs", "/$defs/input/properties"),
        ("settings", "settings", "/$defs/settings/properties"),
        ("settings.sampling", "settings.sampling", "/$defs/settings/properties/sampling/oneOf/0/properties"),
    ];
    let mut keys = Vec::new();
    for (place, prefix, pointer) in tables {
        for (key, schema) in table(pointer)? {
            if prefix.is_empty() && ["servers", "rules", "inputs", "settings"].contains(&key.as_str()) {
                continue;
            }
            let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            keys.push(Key { table: place, name, key, schema });
        }
    }
    Ok(keys)
}

/// Trusts a file with one value of the key, changes it to another, and sees whether somebody is asked.
fn asks_again(arena: &Arena, key: &Key, schema: &Value) -> Result<bool> {
    let values = values(&key.schema, &key.key, schema);
    for server in SERVERS {
        let mut document = document(server);
        let place = arena.place()?;
        place.write("project/one.env", "A=1")?.write("project/two.env", "A=1")?;
        let mut set = |place: &Place, value: &str| -> Result<()> {
            document.entry(key.table).or_default().insert(key.key.clone(), value.to_owned());
            place.write("project/helve.toml", &to_toml(&document))?;
            Ok(())
        };
        let (Some(first), Some(last)) = (values.first(), values.last()) else { return Ok(false) };
        set(&place, first)?;
        trust(&place)?;
        set(&place, last)?;
        if waiting(&place)? > 0 {
            return Ok(true);
        }
        // Keys of rules and settings do not depend on the transport.
        if !matches!(key.table, "servers.s" | "servers.s.oauth" | "inputs") {
            break;
        }
    }
    Ok(false)
}

type Document = BTreeMap<&'static str, BTreeMap<String, String>>;

fn document(server: &[(&str, &str)]) -> Document {
    let mut document = Document::new();
    let mut set = |table: &'static str, key: &str, value: &str| {
        document.entry(table).or_default().insert(key.to_owned(), value.to_owned());
    };
    server.iter().for_each(|(key, value)| set("servers.s", key, value));
    set("rules", "tool", "\"s/*\"");
    set("rules", "action", "\"allow\"");
    set("inputs", "id", "\"one\"");
    set("settings", "watch", "true");
    document
}

fn to_toml(document: &Document) -> String {
    let heading = |table: &str| match table {
        "" => String::new(),
        "rules" | "inputs" => format!("[[{table}]]\n"),
        table => format!("[{table}]\n"),
    };
    let line = |(key, value): (&String, &String)| format!("{key:?} = {value}\n");
    document.iter().map(|(table, keys)| heading(table) + &keys.iter().map(line).collect::<String>()).collect()
}

/// Values that a key may have, as TOML.
fn values(schema: &Value, key: &str, root: &Value) -> Vec<String> {
    match key {
        "url" => return vec!["\"https://a.example.com\"".to_owned(), "\"https://b.example.com\"".to_owned()],
        "private_idle" => return vec!["\"45s\"".to_owned(), "\"10m\"".to_owned(), "\"never\"".to_owned()],
        "who" => return vec!["\"token:a\"".to_owned(), "\"token:b\"".to_owned()],
        "env_file" => return vec!["\"one.env\"".to_owned(), "\"two.env\"".to_owned()],
        _ => {}
    }
    if let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
        return root.pointer(pointer.trim_start_matches('#')).map(|found| values(found, key, root)).unwrap_or_default();
    }
    if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
        return choices.iter().flat_map(|choice| values(choice, key, root)).collect();
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return words.iter().map(ToString::to_string).collect();
    }
    match schema["type"].as_str().unwrap_or_default() {
        "boolean" => vec!["true".to_owned(), "false".to_owned()],
        "integer" | "number" => vec!["11".to_owned(), "12".to_owned()],
        "array" => values(&schema["items"], key, root).iter().map(|value| format!("[{value}]")).collect(),
        "object" => match schema.get("properties").and_then(Value::as_object) {
            Some(keys) => {
                let inner = |(key, schema): (&String, &Value)| {
                    let value = values(schema, key, root).into_iter().next().unwrap_or_default();
                    format!("{{ {key} = {value} }}")
                };
                keys.iter().map(inner).collect()
            }
            None => vec!["{ X = \"one\" }".to_owned(), "{ X = \"two\" }".to_owned()],
        },
        _ => vec![json!("one").to_string(), json!("two").to_string()],
    }
}
