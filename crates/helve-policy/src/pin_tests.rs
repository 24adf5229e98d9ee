//! Every single change of a definition is found; no way of writing the same one is.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use helve_model::json::canonical::number;

/// Definitions with every field of the protocol, every JSON type and every nesting between them.
fn definitions() -> Vec<Value> {
    vec![
        json!({
            "name": "create_issue",
            "title": "Create an issue",
            "description": "Opens an issue in a repository.\nNeeds write access.",
            "inputSchema": {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": {
                    "repository": {"type": "string", "pattern": "^[^/]+/[^/]+$", "description": "owner/name"},
                    "title": {"type": "string", "minLength": 1, "maxLength": 256},
                    "labels": {"type": "array", "items": {"type": "string", "enum": ["bug", "docs", ""]}, "default": []},
                    "weight": {"type": ["number", "null"], "minimum": -1.5, "maximum": 1e3, "multipleOf": 0.25},
                    "draft": {"type": "boolean", "default": false},
                    "anything": {"anyOf": [{"const": null}, {"const": 0}, {"const": {}}, true]}
                },
                "required": ["repository", "title"],
                "additionalProperties": false
            },
            "outputSchema": {"type": "object", "properties": {"number": {"type": "integer", "maximum": 18_446_744_073_709_551_615_u64}}},
            "annotations": {"title": "Issue", "readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": true},
            "icons": [{"src": "https://example.org/icon.png", "sizes": ["48x48"]}],
            "execution": {"taskSupport": "optional"},
            "x-unknown": [[], {}, [[1]], ""]
        }),
        json!({"name": "", "inputSchema": {}}),
        json!({"name": "prompt", "arguments": [{"name": "a", "required": true}, {"name": "b"}]}),
        json!("Instructions of a server."),
    ]
}

/// Every value that differs from `value` in exactly one place.
fn single_mutations(value: &Value) -> Vec<Value> {
    let mut mutations = Vec::new();
    // Another value of the same type, and a value of another type.
    match value {
        Value::Null => mutations.extend([json!(false), json!("null"), json!(0)]),
        Value::Bool(flag) => mutations.extend([json!(!flag), json!(flag.to_string()), Value::Null]),
        Value::Number(number) => {
            let digits = number.to_string();
            let float = number.as_f64().unwrap();
            mutations.extend([json!(digits), Value::Null, json!(float * 2.0 + 1.0), json!(-float - 0.125)]);
        }
        Value::String(text) => {
            mutations.extend([json!(format!("{text} ")), json!(format!("\u{200b}{text}")), json!([text]), Value::Null]);
            for (position, character) in text.char_indices() {
                let mut shorter = text.clone();
                shorter.remove(position);
                let mut other = shorter.clone();
                other.insert(position, if character == 'x' { 'y' } else { 'x' });
                mutations.extend([json!(shorter), json!(other)]);
            }
        }
        Value::Array(elements) => {
            mutations.push(json!(elements.len()));
            for index in 0..=elements.len() {
                let mut longer = elements.clone();
                longer.insert(index, json!("new"));
                mutations.push(Value::Array(longer));
            }
            for index in 0..elements.len() {
                let mut shorter = elements.clone();
                shorter.remove(index);
                mutations.push(Value::Array(shorter));
                for inner in single_mutations(&elements[index]) {
                    let mut other = elements.clone();
                    other[index] = inner;
                    mutations.push(Value::Array(other));
                }
                if index > 0 && elements[index] != elements[index - 1] {
                    let mut swapped = elements.clone();
                    swapped.swap(index, index - 1);
                    mutations.push(Value::Array(swapped));
                }
            }
        }
        Value::Object(members) => {
            mutations.push(json!([]));
            for added in [Value::Null, json!({}), json!("new")] {
                let mut larger = members.clone();
                larger.insert("new".to_owned(), added);
                mutations.push(Value::Object(larger));
            }
            for (key, member) in members {
                let mut smaller = members.clone();
                smaller.remove(key);
                let mut renamed = smaller.clone();
                renamed.insert(format!("{key}_"), member.clone());
                mutations.extend([Value::Object(smaller), Value::Object(renamed)]);
                for inner in single_mutations(member) {
                    let mut other = members.clone();
                    other.insert(key.clone(), inner);
                    mutations.push(Value::Object(other));
                }
            }
        }
    }
    mutations
}

#[test]
fn every_single_change_is_found() {
    let mut count = 0;
    for definition in definitions() {
        let text = definition.to_string();
        let hash = DefinitionHash::of(&text);
        for mutation in single_mutations(&definition) {
            let changed = mutation.to_string();
            assert_ne!(DefinitionHash::of(&changed), hash, "missed: {changed}");
            assert!(!diff(&text, &changed).is_empty(), "no words for: {changed}");
            count += 1;
        }
    }
    assert!(count > 1_000, "{count} mutations");
}

#[test]
fn what_servers_count_in_meta_is_no_change() {
    let old = r#"{"name":"a","_meta":{"served":1}}"#;
    let new = r#"{"name":"a","_meta":{"served":2}}"#;
    assert_eq!(DefinitionHash::of(old), DefinitionHash::of(new));
    assert_eq!(diff(old, new), vec![]);
    // Only at the top: inside a schema it is a name like any other.
    let (old, new) = (r#"{"inputSchema":{"_meta":1}}"#, r#"{"inputSchema":{"_meta":2}}"#);
    assert_ne!(DefinitionHash::of(old), DefinitionHash::of(new));
}

/// Writes a value with keys in any order, numbers and strings in any spelling, and white space anywhere.
fn respell(value: &Value, choice: &mut impl FnMut(usize) -> usize) -> String {
    let space = |choice: &mut dyn FnMut(usize) -> usize| ["", " ", "\n\t"][choice(3)];
    match value {
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Number(number) => respell_number(&number.to_string(), choice),
        Value::String(text) => respell_string(text, choice),
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(|element| respell(element, choice)).collect();
            let separator = format!("{},{}", space(choice), space(choice));
            format!("[{}{}{}]", space(choice), elements.join(&separator), space(choice))
        }
        Value::Object(members) => {
            let mut left: Map<String, Value> = members.clone();
            let mut written = Vec::new();
            while !left.is_empty() {
                let key = left.keys().nth(choice(left.len())).unwrap().clone();
                let member = left.remove(&key).unwrap();
                let gap = space(choice);
                written.push(format!("{}{gap}:{gap}{}", respell_string(&key, choice), respell(&member, choice)));
            }
            format!("{{{}{}{}}}", space(choice), written.join(","), space(choice))
        }
    }
}

fn respell_number(digits: &str, choice: &mut impl FnMut(usize) -> usize) -> String {
    let whole = !digits.contains(['.', 'e', 'E']);
    match choice(5) {
        0 if whole => format!("{digits}.000"),
        1 if whole && digits != "0" => format!("{digits}0E-1"),
        2 if whole => format!("{digits}e+00"),
        3 if digits.contains('.') && !digits.contains(['e', 'E']) => format!("{digits}00"),
        4 if !digits.contains(['e', 'E']) => format!("{digits}e0"),
        _ => digits.to_owned(),
    }
}

fn respell_string(text: &str, choice: &mut impl FnMut(usize) -> usize) -> String {
    let mut written = String::from("\"");
    for character in text.chars() {
        if choice(4) == 0 {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                written.push_str(&format!("\\u{unit:04X}"));
            }
        } else {
            let quoted = serde_json::to_string(&character).unwrap();
            written.push_str(quoted.trim_start_matches('"').strip_suffix('"').unwrap_or("\\\""));
        }
    }
    written.push('"');
    written
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_500))]

    #[test]
    fn no_spelling_is_a_false_alarm(mut seed in any::<u64>()) {
        for definition in definitions() {
            let respelled = respell(&definition, &mut |bound| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 33) as usize % bound
            });
            let text = definition.to_string();
            prop_assert_eq!(serde_json::from_str::<Value>(&respelled).is_ok(), true, "the test wrote: {}", respelled);
            prop_assert_eq!(DefinitionHash::of(&text), DefinitionHash::of(&respelled), "{}", respelled);
            prop_assert_eq!(diff(&text, &respelled), vec![]);
        }
    }

    #[test]
    fn any_two_texts_differ_by_hash_exactly_when_they_differ_in_words(left in "[\\[\\]{}\":,a0 e.-]{0,12}", right in "[\\[\\]{}\":,a0 e.-]{0,12}") {
        prop_assert_eq!(DefinitionHash::of(&left) == DefinitionHash::of(&right), diff(&left, &right).is_empty());
    }

    #[test]
    fn numbers_have_one_spelling(mantissa in -1_000_000_i64..1_000_000, exponent in -60_i64..60, shift in 0_i64..8) {
        let plain = format!("{mantissa}e{exponent}");
        let shifted = format!("{mantissa}{}e{}", "0".repeat(shift as usize), exponent - shift);
        let canonical = number(&plain).unwrap();
        prop_assert_eq!(&number(&shifted).unwrap(), &canonical);
        prop_assert_eq!(&number(&canonical).unwrap(), &canonical);
        prop_assert_eq!(canonical.parse::<f64>().unwrap(), plain.parse::<f64>().unwrap());
    }
}

#[test]
fn numbers_are_decimals_not_floats() {
    let spell = |text| number(text).unwrap_or_else(|| "none".to_owned());
    insta::assert_snapshot!(spell("1.50e1"), @"15");
    insta::assert_snapshot!(spell("-0.0"), @"0");
    insta::assert_snapshot!(spell("1e-3"), @"0.001");
    insta::assert_snapshot!(spell("123.456"), @"123.456");
    insta::assert_snapshot!(spell("-5E+400"), @"-5e400");
    insta::assert_snapshot!(spell("18446744073709551617"), @"18446744073709551617");
    for broken in ["", "-", "01", "1.", ".5", "1e", "1e+", "+1", "0x1", "1 ", "NaN", "1e99999999999999999999"] {
        assert_eq!(number(broken), None, "{broken}");
    }
    assert_ne!(DefinitionHash::of("18446744073709551616"), DefinitionHash::of("18446744073709551617"));
}

#[test]
fn duplicate_keys_hide_nothing() {
    let pinned = DefinitionHash::of(r#"{"description":"good"}"#);
    assert_ne!(DefinitionHash::of(r#"{"description":"evil","description":"good"}"#), pinned);
    assert_ne!(DefinitionHash::of(r#"{"description":"good","description":"good"}"#), pinned);
    assert_ne!(DefinitionHash::of(r#"{"a":1,"a":2}"#), DefinitionHash::of(r#"{"a":2,"a":1}"#),);
}

#[test]
fn a_hash_reads_back() {
    let hash = DefinitionHash::of("{}");
    assert_eq!(DefinitionHash::parse(&hash.to_string()), Some(hash));
    assert_eq!(DefinitionHash::parse("abc"), None);
    assert_eq!(DefinitionHash::parse(&"g".repeat(64)), None);
    // Stored approvals rely on it: a change of this value is a change of format.
    insta::assert_snapshot!(hash, @"d1bee048353928cbeee62da47f306a5f46546802a1f847473feed410f72c6e38");
}

#[test]
fn changes_in_words() {
    let old = json!({
        "name": "read",
        "description": format!("{}Reads a file.", "A long introduction. ".repeat(10)),
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["path"]},
        "outputSchema": {"properties": {"text": {"type": "string"}}},
        "annotations": {"readOnlyHint": true},
        "icons": [{"src": "a.png"}]
    });
    let new = json!({
        "name": "read",
        "title": "Read",
        "description": format!("{}Sends a file away.\u{202e}\u{1b}[2J", "A long introduction. ".repeat(10)),
        "inputSchema": {"type": "object", "properties": {"path": {"type": ["string", "null"]}, "to": {"type": "string"}}, "required": ["path", "to"]},
        "outputSchema": {"properties": {"text": {"type": "number"}, "sent": true}},
        "annotations": {"readOnlyHint": false, "openWorldHint": true},
        "icons": [{"src": "b.png"}]
    });
    let words: Vec<String> = diff(&old.to_string(), &new.to_string()).iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(words.join("\n"), @r#"
    the server's claim `openWorldHint` was added: true
    the server's claim `readOnlyHint` changed from true to false
    the description changed from … long introduction. Reads a file." to … long introduction. Sends a file away.\u{202e}\u{1b}[2J"
    `icons.0.src` changed from "a.png" to "b.png"
    parameter `limit` was removed; it was {"type": "integer"}
    `type` of parameter `path` changed from "string" to ["string", "null"]
    parameter `to` was added: {"type": "string"}
    entry 1 of the required parameters was added: "to"
    result field `sent` was added: true
    `type` of result field `text` changed from "string" to "number"
    the title was added: "Read"
    "#);
    insta::assert_snapshot!(diff("{}", "[]")[0], @"the definition changed from {} to []");
}
