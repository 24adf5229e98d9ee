//! The committed JSON Schema is the one the code makes, and it knows what the example uses.

use helve_config::document::{Format, Node, Value, parse};
use helve_config::{Source, schema};

const COMMITTED: &str = include_str!("../../../../schemas/helve.schema.json");
const EXAMPLE: &str = include_str!("../../../../examples/config/helve.toml");

#[test]
fn the_committed_schema_is_current() {
    let committed: serde_json::Value = serde_json::from_str(COMMITTED).expect("the committed schema is JSON");
    assert!(
        committed == schema::helve_toml(),
        "run `cargo run -p helve-config --example schema > schemas/helve.schema.json`"
    );
}

/// Every key of `node` is a property of the schema at `pointer`.
fn check(schema: &serde_json::Value, pointer: &str, node: &Node) {
    let schema_node = schema.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}"));
    for entry in node.entries() {
        assert!(schema_node["properties"].get(&entry.key).is_some(), "{pointer} lacks {}", entry.key);
    }
}

#[test]
fn the_schema_knows_every_key_of_the_example() {
    let schema = schema::helve_toml();
    let root = parse(&Source::new("helve.toml", EXAMPLE), Format::Toml).expect("the example parses");
    check(&schema, "", &root);
    check(&schema, "/$defs/settings", root.get("settings").expect("settings"));
    for server in root.get("servers").expect("servers").entries() {
        check(&schema, "/$defs/server", &server.node);
    }
    for (key, pointer) in [("rules", "/$defs/rule"), ("inputs", "/$defs/input")] {
        for element in root.get(key).expect("a list").elements() {
            check(&schema, pointer, element);
        }
    }
    let names = root.at(&["settings", "import"]).expect("import");
    let known = schema.pointer("/$defs/settings/properties/import/oneOf/1/items/enum").expect("names");
    for name in names.elements() {
        let Value::String(name) = &name.value else { panic!("a name") };
        assert!(known.as_array().expect("a list").iter().any(|other| other == name), "{name}");
    }
}

#[test]
fn the_defaults_of_the_schema_are_the_defaults() {
    let schema = schema::helve_toml();
    let default =
        |key: &str| schema.pointer(&format!("/$defs/settings/properties/{key}/default")).cloned().expect("a default");
    let settings = helve_config::Settings::default();
    assert_eq!(default("timeout_seconds"), settings.call_timeout.value.as_secs());
    assert_eq!(default("startup_timeout_seconds"), settings.startup_timeout.value.as_secs());
    assert_eq!(default("max_retries"), settings.max_retries.value);
    assert_eq!(default("cache_tool_schemas"), settings.cache_tool_schemas.value);
    assert_eq!(default("schema_cache_ttl_seconds"), settings.schema_cache_ttl.value.as_secs());
    assert_eq!(default("readonly"), settings.readonly.value);
    assert_eq!(default("sandbox"), settings.sandbox.value.as_str());
    let sampling = |key: &str| default(&format!("sampling/oneOf/0/properties/{key}"));
    assert_eq!(sampling("calls"), settings.sampling_calls.value);
    assert_eq!(sampling("tokens"), settings.sampling_tokens.value);
    assert_eq!(sampling("concurrent"), settings.sampling_concurrent.value);
    assert_eq!(sampling("timeout_seconds"), settings.sampling_timeout.value.as_secs());
}
