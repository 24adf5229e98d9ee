//! Every key of the published JSON Schema of `helve.toml` asks again when it changes, or stands in a table that says why it
//! decides nothing (S5).

use std::collections::BTreeMap;

use helve_config::trust::TrustHash;
use serde_json::{Value, json};

use crate::trust::Project;

const SCHEMA: &str = include_str!("../../../../schemas/helve.schema.json");

/// Keys that ask nobody, each with the reason.
const DECIDES_NOTHING: &[(&str, &str)] = &[
    ("settings.unlisted", "never taken from a project"),
    ("settings.unlisted_tokens", "never taken from a project"),
    ("rules.by", "who may answer: a mistake in a rule that allows, which then denies; a rule that asks needs no trust"),
    ("rules.who", "a project cannot allow something to somebody: the rule is left out"),
    ("$schema", "it is for editors"),
    ("servers.enabled", "off narrows; who never trusted a server is asked once it is on"),
    ("servers.description", "it is for people, and no server or agent is told"),
    ("inputs.type", "which widget an editor shows; the answers to choose from are in `options`"),
    ("environment", "a project cannot say which of the person's variables a server gets: it is refused"),
    ("hubs", "a project cannot join a hub for the person: it is refused"),
    ("settings.sandbox", "a project cannot say how projects are confined: it is refused"),
    ("settings.notify", "a project cannot say who hears of calls that wait: it is refused"),
    ("settings.vault_key", "a project cannot say which program prints the key of the vault: it is refused"),
    ("settings.code", "a project cannot say which Python runs programs: it is refused"),
    ("settings.sampling.command", "a project cannot say which program answers for a model: it is refused"),
];

/// Servers of each transport, and built-in ones: a key asks again in at least one of them.
const SERVERS: &[&[(&str, &str)]] = &[
    &[("command", "\"run\""), ("args", "[\"${input:one}\"]")],
    &[("url", "\"https://example.com\"")],
    &[("builtin", "\"sqlite\""), ("database", "\"data.db\"")],
    &[("builtin", "\"filesystem\"")],
];

/// One `helve.toml`: tables by name, each with keys and their TOML.
#[derive(Clone, Default)]
struct Document(BTreeMap<&'static str, BTreeMap<String, String>>);

impl Document {
    fn new(server: &[(&str, &str)]) -> Self {
        let mut document = Self::default();
        for (key, value) in server {
            document.set("servers", key, value);
        }
        document.set("rules", "tool", "\"s/*\"");
        document.set("rules", "action", "\"allow\"");
        document.set("inputs", "id", "\"one\"");
        document.set("settings", "watch", "true");
        document
    }

    fn set(&mut self, table: &'static str, key: &str, value: &str) {
        self.0.entry(table).or_default().insert(key.to_owned(), value.to_owned());
    }

    fn with(&self, table: &'static str, key: &str, value: &str) -> Self {
        let mut other = self.clone();
        other.set(table, key, value);
        other
    }

    fn to_toml(&self) -> String {
        let heading = |table: &str| match table {
            "" => String::new(),
            "servers" => "[servers.s]\n".to_owned(),
            "rules" | "inputs" => format!("[[{table}]]\n"),
            table => format!("[{table}]\n"),
        };
        let body = |keys: &BTreeMap<String, String>| {
            keys.iter().map(|(key, value)| format!("{key:?} = {value}\n")).collect::<String>()
        };
        self.0.iter().map(|(table, keys)| heading(table) + &body(keys)).collect()
    }
}

/// Values that a key may have, as TOML: at least two, each another one.
fn values(schema: &Value, key: &str, schema_root: &Value) -> Vec<String> {
    match key {
        "url" => return vec!["\"https://a.example.com\"".to_owned(), "\"https://b.example.com\"".to_owned()],
        "private_idle" => return vec!["\"45s\"".to_owned(), "\"10m\"".to_owned(), "\"never\"".to_owned()],
        "who" => return vec!["\"token:a\"".to_owned(), "\"token:b\"".to_owned()],
        "env_file" => return vec!["\"one.env\"".to_owned(), "\"two.env\"".to_owned()],
        _ => {}
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let pointer = reference.trim_start_matches('#');
        return values(schema_root.pointer(pointer).expect("a definition"), key, schema_root);
    }
    if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
        return choices.iter().flat_map(|choice| values(choice, key, schema_root)).collect();
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return words.iter().map(ToString::to_string).collect();
    }
    let text = |value: Value| value.to_string();
    match schema["type"].as_str().unwrap_or_else(|| panic!("{key} has no type: {schema}")) {
        "string" => vec![text(json!("one")), text(json!("two"))],
        "boolean" => vec!["true".to_owned(), "false".to_owned()],
        "integer" | "number" => vec!["11".to_owned(), "12".to_owned()],
        "array" => values(&schema["items"], key, schema_root).iter().map(|value| format!("[{value}]")).collect(),
        "object" => match schema.get("properties").and_then(Value::as_object) {
            Some(keys) => keys
                .iter()
                .flat_map(|(key, schema)| {
                    values(schema, key, schema_root).into_iter().map(move |value| format!("{{ {key} = {value} }}"))
                })
                .collect(),
            None => vec!["{ X = \"one\" }".to_owned(), "{ X = \"two\" }".to_owned(), "{ Y = \"one\" }".to_owned()],
        },
        other => panic!("{key} is of type {other}"),
    }
}

/// True when some change of the key, in some document, is another question, in every value of it.
fn asks_again(project: &Project, table: &'static str, key: &str, schema: &Value, root: &Value) -> bool {
    let values = values(schema, key, root);
    assert!(values.len() >= 2, "{table}.{key}: {values:?}");
    SERVERS.iter().any(|server| {
        let document = Document::new(server);
        let hashes: Vec<Vec<TrustHash>> =
            values.iter().map(|value| project.hashes(&document.with(table, key, value).to_toml())).collect();
        hashes.iter().enumerate().any(|(index, one)| hashes.iter().skip(index + 1).any(|other| one != other))
    })
}

#[test]
fn s5_every_key_of_the_schema_asks_again_or_decides_nothing() {
    let project = Project::new();
    project.write("one.env", "A=1");
    project.write("two.env", "A=1");
    let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
    let definition = |pointer: &str| schema.pointer(pointer).and_then(Value::as_object).expect("keys").clone();
    let mut keys: Vec<(&'static str, String, String, Value)> = Vec::new();
    for (key, value) in definition("/properties") {
        match key.as_str() {
            "servers" | "rules" | "inputs" | "settings" => {}
            _ => keys.push(("", key.clone(), key, value)),
        }
    }
    for (table, pointer) in [
        ("servers", "/$defs/server/properties"),
        ("rules", "/$defs/rule/properties"),
        ("inputs", "/$defs/input/properties"),
        ("settings", "/$defs/settings/properties"),
    ] {
        keys.extend(definition(pointer).into_iter().map(|(key, value)| (table, format!("{table}.{key}"), key, value)));
    }
    // Tables inside are gone through key by key.
    let sampling = definition("/$defs/settings/properties/sampling/oneOf/0/properties");
    let inner =
        sampling.into_iter().map(|(key, value)| ("settings.sampling", format!("settings.sampling.{key}"), key, value));
    keys.extend(inner.collect::<Vec<_>>());
    let oauth = definition("/$defs/server/properties/oauth/oneOf/1/properties");
    let inner = oauth.into_iter().map(|(key, value)| ("servers.s.oauth", format!("servers.oauth.{key}"), key, value));
    keys.extend(inner.collect::<Vec<_>>());
    let sandbox = definition("/$defs/server/properties/sandbox/oneOf/1/properties");
    let inner =
        sandbox.into_iter().map(|(key, value)| ("servers.s.sandbox", format!("servers.sandbox.{key}"), key, value));
    keys.extend(inner.collect::<Vec<_>>());
    assert!(keys.len() > 60, "{}", keys.len());

    let mut excused: Vec<&str> = Vec::new();
    for (table, name, key, schema_of_key) in &keys {
        let asks = asks_again(&project, table, key, schema_of_key, &schema);
        match DECIDES_NOTHING.iter().find(|(excused, _)| excused == name) {
            Some((excuse, because)) => {
                assert!(!asks, "{name} asks again, although: {because}");
                excused.push(excuse);
            }
            None => assert!(asks, "{name} changes and nobody is asked: decide, in trust/parts.rs or in this table"),
        }
    }
    assert_eq!(excused.len(), DECIDES_NOTHING.len(), "the table has a key that the schema does not have: {excused:?}");
}
