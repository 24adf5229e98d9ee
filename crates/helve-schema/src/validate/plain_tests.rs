//! The short way never says yes where the whole validator says anything else, and says yes to what is common.

use proptest::prelude::*;

use super::*;
use crate::validate::compile::State;
use crate::validate::{ArgumentVerdict, LazyValidator};

fn plain(schema: &str) -> Option<Plain> {
    Plain::read(schema)
}

fn accepts(schema: &str, arguments: &str) -> bool {
    plain(schema).unwrap().accepts(arguments, ArgumentLimits::default())
}

const SEARCH: &str = r#"{"type": "object", "required": ["query"], "additionalProperties": false, "properties": {
    "query": {"type": "string", "minLength": 2, "maxLength": 5, "description": "what"},
    "count": {"type": "integer", "minimum": 1, "maximum": 50},
    "mode": {"enum": ["fast", "thorough"]},
    "deep": {"type": ["boolean", "null"]},
    "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
    "point": {"type": "object", "properties": {"x": {"type": "number"}}},
    "pattern": {"type": "string", "pattern": "^a"}}}"#;

#[test]
fn what_is_common_is_accepted() {
    for arguments in [
        r#"{"query":"rust"}"#,
        r#" { "query" : "größe" , "count" : 50 } "#,
        r#"{"query":"rust","mode":"fast","deep":null,"tags":["a","b"],"point":{"x":-3}}"#,
        r#"{"tags":[],"deep":true,"query":"ab","point":{}}"#,
    ] {
        assert!(accepts(SEARCH, arguments), "{arguments}");
    }
    assert!(accepts("{}", "{}"));
}

#[test]
fn whatever_else_is_left_to_the_whole_validator() {
    for arguments in [
        "",
        "[]",
        "{}",
        r#"{"query":"rust"} x"#,
        r#"{"query":"rust""#,
        r#"{"query":"rust",}"#,
        r#"{"query":"r"}"#,
        r#"{"query":"größer"}"#,
        r#"{"query":"a\u0062"}"#,
        "{\"query\":\"a\nb\"}",
        r#"{"query":"rust","query":"rust"}"#,
        r#"{"query":"rust","other":1}"#,
        r#"{"query":"rust","count":0}"#,
        r#"{"query":"rust","count":51}"#,
        r#"{"query":"rust","count":05}"#,
        r#"{"query":"rust","count":-}"#,
        r#"{"query":"rust","count":5.0}"#,
        r#"{"query":"rust","count":"5"}"#,
        r#"{"query":"rust","mode":"quick"}"#,
        r#"{"query":"rust","tags":["a","b","c"]}"#,
        r#"{"query":"rust","tags":[1]}"#,
        r#"{"query":"rust","tags":["a",]}"#,
        r#"{"query":"rust","deep":nul}"#,
        r#"{"query":"rust","pattern":"abc"}"#,
    ] {
        assert!(!accepts(SEARCH, arguments), "{arguments}");
    }
}

#[test]
fn a_keyword_that_is_not_known_is_never_passed_over() {
    for schema in [
        r##"{"$ref":"#/$defs/a","$defs":{"a":{}}}"##,
        r#"{"minProperties":1}"#,
        r#"{"required":["a"]}"#,
        r#"{"enum":[1]}"#,
        r#"{"minimum":0.5}"#,
        r#"{"type":"any"}"#,
        r#"{"exclusiveMinimum":true,"minimum":1}"#,
    ] {
        assert_eq!(plain(schema), None, "{schema}");
    }
}

#[test]
fn limits_count_here_too() {
    let nested = plain(r#"{"properties":{"a":{"properties":{"b":{"type":"string"}}}}}"#).unwrap();
    let limits = ArgumentLimits { bytes: 100, values: 100, depth: 2 };
    let arguments = r#"{"a":{"b":"x"}}"#;
    assert!(nested.accepts(arguments, limits));
    assert!(!nested.accepts(arguments, ArgumentLimits { depth: 1, ..limits }));
    assert!(!nested.accepts(arguments, ArgumentLimits { bytes: arguments.len() - 1, ..limits }));
    assert!(!nested.accepts(arguments, ArgumentLimits { values: 2, ..limits }));
}

/// Few names and few values, so that schemas and arguments often meet.
fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "ü", "a b", ""]).prop_map(str::to_owned)
}

fn schema() -> impl Strategy<Value = String> {
    let types = prop::sample::select(vec![
        r#""type":"string""#,
        r#""type":"integer""#,
        r#""type":"number""#,
        r#""type":"boolean""#,
        r#""type":["string","null"]"#,
        r#""type":["string","string"]"#,
        r#""type":[]"#,
        r#""title":"any""#,
        r#""$schema":"http://json-schema.org/draft-04/schema#""#,
        r#""$schema":"http://json-schema.org/draft-07/schema#""#,
    ]);
    let bounds = prop::sample::select(vec![
        "",
        r#","minLength":2"#,
        r#","maxLength":1"#,
        r#","minimum":1,"maximum":3"#,
        r#","minItems":1"#,
        r#","maxItems":1"#,
        r#","enum":["a","ü"]"#,
        r#","pattern":"^a""#,
        r#","uniqueItems":true"#,
        r#","exclusiveMaximum":3"#,
        r#","format":"date""#,
        r#","additionalProperties":false"#,
        r#","additionalProperties":{"type":"string"}"#,
        r#","not":{"type":"string"}"#,
        r#","default":null,"description":"x""#,
        r#","description":null"#,
        r#","readOnly":"yes","examples":[1]"#,
        r#","examples":{}"#,
        r#","additionalProperties":{"type":"any"}"#,
        r#","minLength":-1"#,
        r#","enum":["a","a"]"#,
    ]);
    let leaf = (types, bounds.clone()).prop_map(|(types, bounds)| format!("{{{types}{bounds}}}"));
    leaf.prop_recursive(3, 24, 4, move |inner| {
        let members = prop::collection::vec((name(), inner.clone()), 0..4);
        let required = prop::collection::vec(name(), 0..2);
        let object = (members, required, bounds.clone()).prop_map(|(members, required, bounds)| {
            let members: Vec<String> = members.iter().map(|(name, schema)| format!("{name:?}:{schema}")).collect();
            format!(r#"{{"type":"object","properties":{{{}}},"required":{required:?}{bounds}}}"#, members.join(","))
        });
        let array = (inner, bounds.clone())
            .prop_map(|(items, bounds)| format!(r#"{{"type":"array","items":{items}{bounds}}}"#));
        prop_oneof![object, array]
    })
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        r#""a""#,
        r#""ü""#,
        r#""ab""#,
        r#""""#,
        r#""\n""#,
        "0",
        "2",
        "3",
        "-1",
        "2.0",
        "1e1",
        "01",
        "true",
        "false",
        "null",
        "nul",
        "123456789012345678",
        "\"\t\"",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(3, 24, 4, |inner| {
        let space = prop::sample::select(vec!["", " ", "\n", "\u{a0}"]);
        let object =
            (prop::collection::vec((name(), inner.clone()), 0..4), space.clone()).prop_map(|(members, space)| {
                let members: Vec<String> =
                    members.iter().map(|(name, value)| format!("{name:?}{space}:{value}")).collect();
                format!("{{{space}{}}}{space}", members.join(","))
            });
        let array = (prop::collection::vec(inner, 0..3), space)
            .prop_map(|(items, space)| format!("[{}{space}]", items.join(&format!("{space},"))));
        prop_oneof![object, array]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn a_yes_is_the_yes_of_the_whole_validator(schema in schema(), arguments in value(), cut in 0..200_usize) {
        let validator = LazyValidator::new(schema);
        if plain(validator.schema()).is_some_and(|plain| plain.is_sound()) {
            let state = &validator.compiled().state;
            prop_assert!(matches!(state, State::Ready(_)), "{} is said to be sound: {state:?}", validator.schema());
        }
        let shortened = arguments.get(..cut).unwrap_or(&arguments);
        for arguments in [arguments.as_str(), shortened] {
            if validator.fits_plainly(arguments, ArgumentLimits::default()) {
                let verdict = validator.check_whole("tool", arguments, ArgumentLimits::default());
                prop_assert_eq!(verdict, ArgumentVerdict::Valid, "{} by {}", arguments, validator.schema());
            }
        }
    }
}
