//! What the `defaults` module promises, case by case.

use super::*;

const SCHEMA: &str = r##"{"properties": {"query": {"type": "string"}, "count": {"default": 10}, "page": {"$ref": "#/$defs/p"},
    "deep": {"properties": {"x": {"default": 1}}}, "none": {"default": null}}, "$defs": {"p": {"default": {"n": [1]}}}}"##;

fn filled(arguments: &str) -> String {
    with_defaults(SCHEMA, arguments, ArgumentLimits::default()).expect("JSON")
}

#[test]
fn what_is_missing_is_filled_in_after_what_is_given() {
    assert_eq!(filled(r#"{"query":"a"}"#), r#"{"query":"a","count":10,"page":{"n":[1]},"none":null}"#);
    assert_eq!(
        filled(r#"{"none":1,"count":null,"page":2,"deep":{}}"#),
        r#"{"none":1,"count":null,"page":2,"deep":{}}"#
    );
}

#[test]
fn without_defaults_the_text_is_untouched() {
    let spaced = r#"{ "b" : 1.0 }"#;
    assert_eq!(with_defaults("{}", spaced, ArgumentLimits::default()).as_deref(), Ok(spaced));
    assert_eq!(with_defaults("broken", spaced, ArgumentLimits::default()).as_deref(), Ok(spaced));
    assert_eq!(filled("[1]"), "[1]");
}

#[test]
fn arguments_that_are_no_json_are_an_error() {
    assert!(matches!(with_defaults(SCHEMA, "{", ArgumentLimits::default()), Err(JsonProblem::Syntax(_))));
    let twice = with_defaults(SCHEMA, r#"{"a":1,"a":2}"#, ArgumentLimits::default());
    assert_eq!(twice, Err(JsonProblem::RepeatedKey("a".to_owned())));
}
