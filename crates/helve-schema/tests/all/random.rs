//! Any JSON at all as a schema, and the forms that whatever is shown must keep.

use helve_render::{Style, ToolText, documented, signature, statement};
use helve_schema::{ArgumentLimits, LazyValidator};
use proptest::prelude::*;
use serde_json::Value;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_json_is_a_schema_that_is_answered(schema in json(), arguments in json()) {
        let validator = LazyValidator::new(schema.to_string());
        let arguments = arguments.to_string();
        let verdict = validator.check("tool", &arguments, ArgumentLimits::default());
        prop_assert_eq!(verdict, validator.check("tool", &arguments, ArgumentLimits::default()));
    }

    #[test]
    fn any_schema_has_signatures(properties in prop::collection::btree_map("\\PC{0,12}", json(), 0..6), name in "\\PC{0,12}") {
        let schema = serde_json::json!({"type": "object", "properties": properties, "required": ["a"]}).to_string();
        let entry = ToolText { description: Some(&name), ..ToolText::new(&name, &schema) };
        for tokens in [5, 50, 500] {
            check_python(&statement(Style::Python, &signature(&entry, Style::Python, tokens)), &schema);
            check_typescript(&statement(Style::TypeScript, &signature(&entry, Style::TypeScript, tokens)), &schema);
            check_typescript(&documented(&entry, Style::TypeScript, tokens), &schema);
        }
    }
}

/// JSON with the words of schemas in it.
pub(crate) fn json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("type"),
        Just("properties"),
        Just("items"),
        Just("anyOf"),
        Just("allOf"),
        Just("$ref"),
        Just("enum"),
        Just("const"),
        Just("required"),
        Just("not"),
        Just("$defs"),
        Just("pattern"),
        Just("default"),
        Just("prefixItems"),
        Just("additionalProperties"),
        Just("nullable"),
        Just("description"),
        Just("a"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop_oneof![Just("string"), Just("object"), Just("array"), Just("integer"), Just("#"), Just("#/$defs/a")]
            .prop_map(Value::from),
        "\\PC{0,10}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(word.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A one-line Python statement whose quotes end, whose brackets close in order, and whose names are names.
pub(crate) fn check_python(statement: &str, schema: &str) {
    let bare = bare(statement, "", schema);
    check_form(&bare, "def ", statement, schema);
    assert!(!statement.contains('\n'), "{statement}\n{schema}");
}

/// A TypeScript declaration with the same virtues; comments may hold anything but their own end.
pub(crate) fn check_typescript(statement: &str, schema: &str) {
    let bare = bare(statement, "/*", schema);
    check_form(bare.trim_start(), "declare function ", statement, schema);
}

/// The code alone: strings emptied, comments gone.
fn bare(text: &str, comment: &str, schema: &str) -> String {
    let mut bare = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if !comment.is_empty() && rest.starts_with(comment) {
            let (_, after) = rest.split_once("*/").unwrap_or_else(|| panic!("an open comment in {text}\n{schema}"));
            rest = after;
            continue;
        }
        bare.push(character);
        rest = rest.strip_prefix(character).unwrap_or_default();
        if character == '"' {
            rest = after_string(rest).unwrap_or_else(|| panic!("an open string in {text}\n{schema}"));
            bare.push('"');
        }
    }
    bare
}

fn after_string(text: &str) -> Option<&str> {
    let mut characters = text.chars();
    loop {
        match characters.next()? {
            '\\' => {
                characters.next()?;
            }
            '"' => return Some(characters.as_str()),
            '\n' => return None,
            _ => {}
        }
    }
}

fn check_form(bare: &str, keyword: &str, statement: &str, schema: &str) {
    check_brackets(bare, statement, schema);
    let name = bare.strip_prefix(keyword).and_then(|rest| rest.split('(').next());
    let name = name.unwrap_or_else(|| panic!("no function: {statement}\n{schema}"));
    assert!(is_name(name) && !["class", "def", "from", "None"].contains(&name), "{statement}");
    assert!(bare.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '), "{bare}\n{statement}\n{schema}");
}

fn check_brackets(bare: &str, statement: &str, schema: &str) {
    let mut open = Vec::new();
    for character in bare.chars() {
        match character {
            '(' | '[' | '{' => open.push(character),
            ')' | ']' | '}' => {
                let expected = match character {
                    ')' => '(',
                    ']' => '[',
                    _ => '{',
                };
                assert_eq!(open.pop(), Some(expected), "{statement}\n{schema}");
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "{statement}\n{schema}");
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
