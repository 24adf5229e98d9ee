//! The document model: values and their places, in all three formats.

use helve_config::Source;
use helve_config::document::{Format, Node, Value, parse};

fn at(text: &str, format: Format, path: &[&str]) -> (Value, (u32, u32)) {
    let source = Source::new("file", text);
    let root = parse(&source, format).expect("it parses");
    let node: &Node = root.at(path).expect("it is there");
    (node.value.clone(), source.position(node.span.start))
}

fn string(text: &str) -> Value {
    Value::String(text.to_owned())
}

#[test]
fn places_count_characters_not_bytes() {
    assert_eq!(at("{\"ä\": \"🦀\", \"b\": 1}", Format::Json, &["b"]), (Value::Integer(1), (1, 17)));
    assert_eq!(at("ä: 🦀\nb: x\n", Format::Yaml, &["b"]), (string("x"), (2, 4)));
    assert_eq!(at("\"ä\" = '🦀'\r\nb = 1\r\n", Format::Toml, &["b"]), (Value::Integer(1), (2, 5)));
}

#[test]
fn a_byte_order_mark_comments_and_trailing_commas_are_forgiven_in_json() {
    assert_eq!(at("\u{feff}{ // x\n \"a\": [1,], /* y */ }", Format::Json, &["a"]).1, (2, 7));
    assert!(parse(&Source::new("file", ""), Format::Json).expect("empty").entries().is_empty());
    assert!(parse(&Source::new("file", "{'a': 1}"), Format::Json).is_err());
    assert!(parse(&Source::new("file", "{\"a\": 1 \"b\": 2}"), Format::Json).is_err());
}

#[test]
fn yaml_means_what_its_core_schema_says() {
    let text = "a: no\nb: 0x1F\nc: 1.10\nd: ~\ne: \"1\"\nf: !!str 2\ng: 1e3\nh: 99999999999999999999\ni: .inf\nj: -\n";
    for (key, value) in [
        ("a", string("no")),
        ("b", Value::Integer(31)),
        ("c", Value::Float(1.1)),
        ("d", Value::Null),
        ("e", string("1")),
        ("f", string("2")),
        ("g", Value::Float(1000.0)),
        ("h", Value::Float(1e20)),
        ("i", string(".inf")),
    ] {
        assert_eq!(at(text.trim_end_matches("j: -\n"), Format::Yaml, &[key]).0, value, "{key}");
    }
}

#[test]
fn anchors_aliases_and_merge_keys_work_wherever_they_stand() {
    let text = "\
one: &one {a: 1, b: 1}
two: &two
  b: 2
  c: 2
late:
  b: own
  <<: *one
early:
  <<: [*one, *two]
  a: own
copy: *two
";
    assert_eq!(at(text, Format::Yaml, &["late", "a"]), (Value::Integer(1), (1, 15)));
    assert_eq!(at(text, Format::Yaml, &["late", "b"]), (string("own"), (6, 6)));
    assert_eq!(at(text, Format::Yaml, &["early", "a"]).0, string("own"));
    assert_eq!(at(text, Format::Yaml, &["early", "b"]).0, Value::Integer(1), "the first of several wins");
    assert_eq!(at(text, Format::Yaml, &["early", "c"]).0, Value::Integer(2));
    assert_eq!(at(text, Format::Yaml, &["copy", "c"]), (Value::Integer(2), (4, 6)));
}

#[test]
fn tables_of_toml_are_one_however_they_are_written() {
    let text = "servers.a.command = 'x'\n[servers.b]\ncommand = 'y'\n[[list]]\nname = 'z'\n";
    assert_eq!(at(text, Format::Toml, &["servers", "a", "command"]), (string("x"), (1, 21)));
    assert_eq!(at(text, Format::Toml, &["servers", "b", "command"]), (string("y"), (3, 11)));
    let root = parse(&Source::new("file", text), Format::Toml).expect("it parses");
    assert_eq!(root.at(&["list"]).expect("there").elements().len(), 1);
}

#[test]
fn only_the_first_yaml_document_counts_and_deep_nesting_is_refused() {
    assert_eq!(at("a: 1\n---\na: 2\n", Format::Yaml, &["a"]).0, Value::Integer(1));
    for (format, text) in [
        (Format::Json, format!("{}1{}", "[".repeat(200), "]".repeat(200))),
        (Format::Yaml, "[".repeat(150) + &"]".repeat(150)),
    ] {
        let error = parse(&Source::new("file", text), format).expect_err("too deep");
        assert!(error.message.contains("nested too deeply"), "{error}");
    }
}
