//! What the `validate` module promises, case by case.

use super::*;

fn check(schema: &str, arguments: &str) -> ArgumentVerdict {
    LazyValidator::new(schema).check("tool", arguments, ArgumentLimits::default())
}

/// What a person reads.
fn told(schema: &str, arguments: &str) -> String {
    match check(schema, arguments) {
        ArgumentVerdict::Valid => "valid".to_owned(),
        ArgumentVerdict::Invalid(problem) => problem.to_string(),
        ArgumentVerdict::Unvalidated(reason) => reason.to_string(),
        ArgumentVerdict::Refused(refusal) => refusal.to_string(),
    }
}

fn notices(schema: &str) -> String {
    let validator = LazyValidator::new(schema);
    validator.notices().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

const SEARCH: &str = r#"{"type": "object", "required": ["query"], "additionalProperties": false, "properties": {
    "query": {"type": "string", "minLength": 2, "maxLength": 20},
    "count": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10},
    "mode": {"enum": ["fast", "thorough"]},
    "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": true}}}"#;

#[test]
fn fitting_arguments_are_valid() {
    assert_eq!(
        check(SEARCH, r#"{"query": "rust", "count": 5, "mode": "fast", "tags": ["a"]}"#),
        ArgumentVerdict::Valid
    );
    assert_eq!(check(SEARCH, r#" {"query": "rust"} "#), ArgumentVerdict::Valid);
    // A whole number is an integer however it is written.
    assert_eq!(check(SEARCH, r#"{"query": "rust", "count": 5.0}"#), ArgumentVerdict::Valid);
    assert_eq!(check("{}", r#"{"anything": [1, null, {"a": true}]}"#), ArgumentVerdict::Valid);
}

#[test]
fn every_violation_is_told_in_reading_order() {
    let arguments = r#"{"tags": ["a", 1, "a"], "mode": "thorogh", "count": 99, "quer": "x"}"#;
    insta::assert_snapshot!(told(SEARCH, arguments), @r#"
    invalid arguments for tool: 7 problems
      missing property `query` (string), got `quer` instead
      /count: expected a number of at most 50, got 99
      /mode: expected one of "fast" or "thorough", got "thorogh"; did you mean `thorough`?
      /quer: unknown property; did you mean `query`?
      /tags: expected at most 2 items, got an array of 3 items
      /tags: expected items that all differ, got an array of 3 items
      /tags/1: expected string, got 1
    usage: tool(query: string, count?: integer = 10, mode?: "fast" | "thorough", tags?: string[])
    "#);
}

#[test]
fn a_missing_property_names_its_type_and_a_misspelt_key() {
    insta::assert_snapshot!(told(SEARCH, "{}"), @r#"
    invalid arguments for tool: 1 problem
      missing property `query` (string)
    usage: tool(query: string, count?: integer = 10, mode?: "fast" | "thorough", tags?: string[])
    "#);
    let open = r#"{"properties": {"max_results": {"type": "integer"}}, "required": ["max_results"]}"#;
    insta::assert_snapshot!(told(open, r#"{"maxResults": 3}"#), @r#"
    invalid arguments for tool: 1 problem
      missing property `max_results` (integer), got `maxResults` instead
    usage: tool(max_results: integer)
    "#);
}

#[test]
fn limits_are_said_in_words() {
    let schema = r#"{"properties": {
        "a": {"type": "number", "exclusiveMinimum": 0}, "b": {"exclusiveMaximum": 1}, "c": {"multipleOf": 5},
        "d": {"minItems": 1}, "e": {"minProperties": 1}, "f": {"maxProperties": 1}, "g": {"pattern": "^[a-z]+$"},
        "h": {"const": {"x": 1}}, "i": {"contains": {"type": "integer"}}, "j": false, "k": {"not": {"type": "null"}},
        "l": {"type": ["string", "null"]}, "m": {"propertyNames": {"maxLength": 2}}, "n": {"maxLength": 1},
        "o": {"prefixItems": [{"type": "string"}], "items": false}, "p": {"uniqueItems": true}, "q": {"enum": [1]}}}"#;
    let arguments = r#"{"a": 0, "b": 2, "c": 7, "d": [], "e": {}, "f": {"a": 1, "b": 2}, "g": "A1", "h": 3, "i": ["x"],
        "j": 1, "k": null, "l": 4, "m": {"long": 1}, "n": "ab", "o": ["a", 2], "p": [1, 1.0], "q": 2}"#;
    insta::assert_snapshot!(told(schema, arguments), @r#"
    invalid arguments for tool: 17 problems
      /a: expected a number greater than 0, got 0
      /b: expected a number less than 1, got 2
      /c: expected a multiple of 5, got 7
      /d: expected at least 1 item, got an empty array
      /e: expected at least 1 property, got an empty object
      /f: expected at most 1 property, got an object with `a`, `b`
      /g: expected a string that matches ^[a-z]+$, got "A1"
      /h: expected an object with `x`, got 3
      /i: expected an array with an item that fits `contains`, got an array of 1 item
      /j: expected nothing here, got 1
      /k: expected anything but what fits {"type":"null"}, got null
      /l: expected null or string, got 4
      /m/long: expected a property name that is at most 2 characters, got "long"
      /n: expected at most 1 character, got "ab"
      /o/1: expected nothing here, got 2
      /p: expected items that all differ, got an array of 2 items
      /q: expected 1, got 2
    usage: tool(a?: number, b?: any, c?: any, d?: any, e?: any, f?: any, g?: any, h?: {"x":1}, i?: any, j?: never, k?: any, l?: string | null, m?: any, n?: any, o?: [string], p?: any, q?: 1)
    "#);
}

#[test]
fn nested_places_are_pointers_and_refs_are_followed() {
    let schema = r##"{"properties": {"a/b": {"type": "array", "items": {"$ref": "#/$defs/point"}}},
        "$defs": {"point": {"type": "object", "required": ["x"], "additionalProperties": false,
            "properties": {"x": {"type": "number"}, "label": {"type": "string"}}}}}"##;
    let arguments = r#"{"a/b": [{"x": 1}, {"x": "1"}, {"x": 1, "lable": "l"}, {}, 5, {"x": 1}, {}, {}, {}, {}, {}]}"#;
    insta::assert_snapshot!(told(schema, arguments), @r#"
    invalid arguments for tool: 9 problems
      /a~1b/1/x: expected number, got "1"
      /a~1b/2/lable: unknown property; did you mean `label`?
      /a~1b/3: missing property `x` (number)
      /a~1b/4: expected object, got 5
      /a~1b/6: missing property `x` (number)
      /a~1b/7: missing property `x` (number)
      /a~1b/8: missing property `x` (number)
      /a~1b/9: missing property `x` (number)
      /a~1b/10: missing property `x` (number)
    usage: tool(a/b?: {x: number, label?: string}[])
    "#);
}

#[test]
fn alternatives_that_differ_by_type_are_one_sentence() {
    let schema = r#"{"properties": {"id": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "kind": {"oneOf": [{"const": "a"}, {"const": "b"}]}}}"#;
    insta::assert_snapshot!(told(schema, r#"{"id": true, "kind": "c"}"#), @r#"
    invalid arguments for tool: 2 problems
      /id: expected string or integer, got true
      /kind: expected "a" or "b", got "c"
    usage: tool(id?: string | integer, kind?: "a" | "b")
    "#);
}

#[test]
fn of_alternatives_the_closest_is_explained() {
    let schema = r#"{"properties": {"shape": {"oneOf": [
        {"properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}, "required": ["kind", "radius"]},
        {"properties": {"kind": {"const": "box"}, "width": {"type": "number"}, "height": {"type": "number"}},
            "required": ["kind", "width", "height"]}]}}}"#;
    insta::assert_snapshot!(told(schema, r#"{"shape": {"kind": "box", "width": 1}}"#), @r#"
    invalid arguments for tool: 1 problem
      /shape: missing property `height` (number) (alternative 2 of 2)
    usage: tool(shape?: {kind: "circle", radius: number} | {kind: "box", width: number, height: number})
    "#);
    let ambiguous = r#"{"properties": {"n": {"oneOf": [{"type": "integer"}, {"minimum": 0}]}}}"#;
    insta::assert_snapshot!(told(ambiguous, r#"{"n": 1}"#), @r#"
    invalid arguments for tool: 1 problem
      /n: expected a value that fits exactly one alternative of `oneOf`, not several, got 1
    usage: tool(n?: any)
    "#);
}

#[test]
fn long_lists_are_cut_and_counted() {
    let arguments = format!(r#"{{"query": "rust", "tags": [{}]}}"#, vec!["1"; 30].join(", "));
    let ArgumentVerdict::Invalid(problem) = check(SEARCH, &arguments) else { panic!("valid") };
    assert_eq!(problem.violations.len(), MAX_VIOLATIONS);
    assert_eq!(problem.omitted, 12, "thirty wrong items, one too long a list, one with repetitions");
    assert!(problem.to_string().contains("\n  and 12 more\n"), "{problem}");
    let many: Vec<String> = (0..30).map(|number| format!("\"v{number}\"")).collect();
    let schema = format!(r#"{{"properties": {{"v": {{"enum": [{}]}}}}}}"#, many.join(","));
    insta::assert_snapshot!(told(&schema, r#"{"v": "w"}"#), @r#"
    invalid arguments for tool: 1 problem
      /v: expected one of "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9" or 20 more, got "w"
    usage: tool(v?: "v0" | "v1" | "v2" | "v3" | "v4" | "v5" | "v6" | "v7" | "v8" | "v9" | "v10" | "v11" | "v12" | "v13" | "v14" | "v15" | "v16" | "v17" | "v18" | "v19" | "v20" | "v21" | "v22" | "v23" | "v24" | "v25" | "v26" | "v27" | "v28" | "v29")
    "#);
}

#[test]
fn values_of_others_cannot_disturb_the_message() {
    let schema = r#"{"properties": {"a": {"type": "integer"}}, "additionalProperties": false}"#;
    let arguments = "{\"a\": \"\\u001b[31mred\\u202e\\n\", \"`\\u0007`\": 1}";
    insta::assert_snapshot!(told(schema, arguments), @r#"
    invalid arguments for tool: 2 problems
      /`<U+0007>`: unknown property
      /a: expected integer, got "\u001b[31mred\u202e\n"
    usage: tool(a?: integer)
    "#);
    let long = format!(r#"{{"a": "{}"}}"#, "x".repeat(500));
    insta::assert_snapshot!(told(schema, &long), @r#"
    invalid arguments for tool: 1 problem
      /a: expected integer, got "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"…
    usage: tool(a?: integer)
    "#);
}

#[test]
fn arguments_must_be_one_json_object() {
    insta::assert_snapshot!(told(SEARCH, "[1]"), @r#"
    invalid arguments for tool: 1 problem
      expected object, got an array of 1 item
    usage: tool(query: string, count?: integer = 10, mode?: "fast" | "thorough", tags?: string[])
    "#);
    insta::assert_snapshot!(told(SEARCH, "{\"query\": }"), @r#"
    invalid arguments for tool: 1 problem
      expected a JSON object, got text that is not JSON (expected value at line 1 column 11)
    usage: tool(query: string, count?: integer = 10, mode?: "fast" | "thorough", tags?: string[])
    "#);
    insta::assert_snapshot!(told(SEARCH, "{} {}"), @r#"
    invalid arguments for tool: 1 problem
      expected a JSON object, got text that is not JSON (trailing characters at line 1 column 4)
    usage: tool(query: string, count?: integer = 10, mode?: "fast" | "thorough", tags?: string[])
    "#);
    // Even where nothing else is known.
    assert!(matches!(check("not a schema", "3"), ArgumentVerdict::Invalid(_)));
}

#[test]
fn arguments_that_can_be_read_in_two_ways_are_refused() {
    insta::assert_snapshot!(told(SEARCH, r#"{"query": "a", "query": "b"}"#), @r#"arguments not accepted: the key "query" appears twice in one object"#);
    let nested = r#"{"deep": [{"a": 1, "\u0061": 2}]}"#;
    assert_eq!(
        check("{}", nested),
        ArgumentVerdict::Refused(CheckRefusal::Arguments(JsonProblem::RepeatedKey("a".to_owned())))
    );
}

#[test]
fn arguments_beyond_their_limits_are_refused() {
    let limits = ArgumentLimits { bytes: 20, values: 4, depth: 3 };
    let validator = LazyValidator::new("{}");
    let refused = |arguments: &str| match validator.check("tool", arguments, limits) {
        ArgumentVerdict::Refused(refusal) => refusal.to_string(),
        other => format!("{other:?}"),
    };
    insta::assert_snapshot!(refused(r#"{"a": "far too long a text"}"#), @"arguments not accepted: 28 bytes of JSON, the limit is 20");
    insta::assert_snapshot!(refused(r#"{"a":[1,2,3,4]}"#), @"arguments not accepted: JSON of more than 4 values");
    insta::assert_snapshot!(refused(r#"{"a":[[[]]]}"#), @"arguments not accepted: JSON nested deeper than 3 levels");
    assert_eq!(validator.check("tool", r#"{"a":[[]]}"#, limits), ArgumentVerdict::Valid);
}

#[test]
fn an_external_reference_refuses_the_call() {
    for reference in [
        "http://example.com/schema.json",
        "https://example.com/schema.json#/definitions/a",
        "file:///etc/passwd",
        "other.json",
        "//example.com/x",
        "urn:example:x",
    ] {
        let schema = format!(r#"{{"properties": {{"a": {{"$ref": "{reference}"}}}}}}"#);
        assert_eq!(
            check(&schema, "{}"),
            ArgumentVerdict::Refused(CheckRefusal::ExternalReference(reference.to_owned())),
            "{reference}"
        );
    }
    // Also where nothing leads to it.
    let unused = r#"{"$defs": {"a": {"$ref": "http://example.com/x"}}}"#;
    assert!(matches!(check(unused, "{}"), ArgumentVerdict::Refused(CheckRefusal::ExternalReference(_))));
    let dynamic = r#"{"properties": {"a": {"$dynamicRef": "http://example.com/x#a"}}}"#;
    assert!(matches!(check(dynamic, "{}"), ArgumentVerdict::Refused(CheckRefusal::ExternalReference(_))));
    insta::assert_snapshot!(told(unused, "{}"), @r#"the tool's schema refers to "http://example.com/x", which is not part of it; schemas are never fetched, so nothing can be checked by it"#);
}

#[test]
fn what_only_looks_like_a_reference_is_none() {
    let schema = r#"{"properties": {"$ref": {"type": "string"}, "b": {"default": {"$ref": "http://example.com/x"}},
        "c": {"enum": [{"$ref": "http://example.com/x"}]}, "d": {"const": {"$ref": "x.json"}}}}"#;
    assert_eq!(check(schema, r#"{"$ref": "http://example.com/x"}"#), ArgumentVerdict::Valid);
}

#[test]
fn references_inside_the_document_are_followed_in_every_spelling() {
    for (schema, fits, fails) in [
        (r##"{"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}"##, "1", "true"),
        (
            r##"{"properties": {"a": {"$ref": "#n"}}, "$defs": {"n": {"$anchor": "n", "type": "integer"}}}"##,
            "1",
            "true",
        ),
        (
            r##"{"$id": "https://example.com/s", "properties": {"a": {"$ref": "https://example.com/s#/$defs/n"}},
                "$defs": {"n": {"type": "integer"}}}"##,
            "1",
            "true",
        ),
        (
            r##"{"$id": "https://example.com/s", "properties": {"a": {"$ref": "n.json"}},
                "$defs": {"x": {"$id": "n.json", "type": "integer"}}}"##,
            "1",
            "true",
        ),
        (
            r##"{"properties": {"a": {"$ref": "#/$defs/a~1b%20c"}}, "$defs": {"a/b c": {"type": "integer"}}}"##,
            "1",
            "true",
        ),
        (r##"{"properties": {"a": {"$ref": "#/other/n"}}, "other": {"n": {"type": "integer"}}}"##, "1", "true"),
        (
            r##"{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"$ref": "#n"}},
                "definitions": {"x": {"$id": "#n", "type": "integer"}}}"##,
            "1",
            "true",
        ),
        (
            r##"{"properties": {"a": {"$ref": "http://json-schema.org/draft-07/schema#"}}}"##,
            r#"{"type": "string"}"#,
            r#"{"type": "strin"}"#,
        ),
        (
            r##"{"properties": {"a": {"$ref": "#"}}, "additionalProperties": false}"##,
            r#"{"a": {"a": {}}}"#,
            r#"{"a": {"b": 1}}"#,
        ),
    ] {
        assert_eq!(check(schema, &format!(r#"{{"a": {fits}}}"#)), ArgumentVerdict::Valid, "{schema}");
        assert!(matches!(check(schema, &format!(r#"{{"a": {fails}}}"#)), ArgumentVerdict::Invalid(_)), "{schema}");
    }
}

#[test]
fn an_invalid_schema_leaves_the_tool_callable() {
    for schema in [
        "",
        "{",
        "[]",
        "null",
        "true",
        r#"{"type": "text"}"#,
        r#"{"properties": 3}"#,
        r##"{"$ref": "#/$defs/missing"}"##,
        r##"{"$ref": "#missing"}"##,
        r#"{"properties": {"a": {"minLength": -1}}}"#,
    ] {
        assert!(
            matches!(check(schema, r#"{"a": 1}"#), ArgumentVerdict::Unvalidated(Unvalidated::InvalidSchema(_))),
            "{schema}: {:?}",
            check(schema, r#"{"a": 1}"#)
        );
    }
    insta::assert_snapshot!(told(r#"{"type": "text"}"#, "{}"), @r#"arguments not checked: the server's schema is not valid (/type cannot be "text")"#);
    insta::assert_snapshot!(told(r##"{"$ref": "#/$defs/missing"}"##, "{}"), @r##"arguments not checked: the server's schema is not valid (the reference "#/$defs/missing" leads nowhere)"##);
    insta::assert_snapshot!(told(r#"{"properties": {"a": {"required": true}}}"#, "{}"), @"arguments not checked: the server's schema is not valid (/properties/a/required cannot be true)");
}

#[test]
fn older_drafts_are_read_by_their_name_or_where_nothing_else_fits() {
    let tuple = r#"{"properties": {"a": {"items": [{"type": "string"}]}}}"#;
    assert!(matches!(check(tuple, r#"{"a": [1]}"#), ArgumentVerdict::Invalid(_)));
    insta::assert_snapshot!(notices(tuple), @"not valid as JSON Schema 2020-12, read as draft 7");
    let flag = r#"{"properties": {"a": {"minimum": 1, "exclusiveMinimum": true}}}"#;
    assert!(matches!(check(flag, r#"{"a": 1}"#), ArgumentVerdict::Invalid(_)));
    insta::assert_snapshot!(notices(flag), @"not valid as JSON Schema 2020-12, read as draft 4");
    let declared = r#"{"$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {"a": {"minimum": 1, "exclusiveMinimum": true}}}"#;
    assert!(matches!(check(declared, r#"{"a": 1}"#), ArgumentVerdict::Invalid(_)));
    assert_eq!(notices(declared), "");
    // In draft 7 a `$ref` hides its neighbours; in 2020-12 it does not.
    let hidden = |dialect: &str| {
        format!(
            r##"{{"$schema": "{dialect}", "properties": {{"a": {{"$ref": "#/definitions/n", "maximum": 1}}}},
            "definitions": {{"n": {{"type": "integer"}}}}}}"##
        )
    };
    assert_eq!(check(&hidden("http://json-schema.org/draft-07/schema#"), r#"{"a": 5}"#), ArgumentVerdict::Valid);
    let newer = check(&hidden("https://json-schema.org/draft/2020-12/schema"), r#"{"a": 5}"#);
    assert!(matches!(newer, ArgumentVerdict::Invalid(_)));
}

#[test]
fn an_unknown_dialect_is_read_as_the_newest() {
    let schema = r#"{"$schema": "https://example.com/dialect", "properties": {"a": {"type": "string"}}}"#;
    assert!(matches!(check(schema, r#"{"a": 1}"#), ArgumentVerdict::Invalid(_)));
    insta::assert_snapshot!(notices(schema), @r#"unknown schema dialect "https://example.com/dialect", read as 2020-12"#);
}

#[test]
fn a_pattern_the_engine_cannot_run_is_left_out_with_a_notice() {
    let schema = r#"{"properties": {
        "a": {"type": "string", "pattern": "^(?=.*[0-9]).+$"}, "b": {"pattern": "(x+)\\1"}, "c": {"pattern": "^[a-z]+$"},
        "d": {"pattern": "("}, "e": {"pattern": "(a{1000}){1000}"}}}"#;
    assert_eq!(check(schema, r#"{"a": "no digit", "b": "y", "c": "ok", "d": "x", "e": "x"}"#), ArgumentVerdict::Valid);
    assert!(matches!(check(schema, r#"{"c": "NO"}"#), ArgumentVerdict::Invalid(_)));
    assert!(
        matches!(check(schema, r#"{"a": 1}"#), ArgumentVerdict::Invalid(_)),
        "what stands beside the pattern holds"
    );
    insta::assert_snapshot!(notices(schema), @r#"
    pattern "(a{1000}){1000}" of /properties/e is not checked
    pattern "^(?=.*[0-9]).+$" of /properties/a is not checked
    pattern "(x+)\\1" of /properties/b is not checked
    pattern "(" of /properties/d is not checked
    "#);
}

#[test]
fn where_a_pattern_of_keys_is_left_out_the_other_keys_are_free() {
    let schema = r#"{"patternProperties": {"^(?!x)": {"type": "integer"}, "^y": {"type": "string"}},
        "additionalProperties": false}"#;
    assert_eq!(check(schema, r#"{"abc": 1}"#), ArgumentVerdict::Valid);
    assert!(matches!(check(schema, r#"{"y": 1}"#), ArgumentVerdict::Invalid(_)));
    insta::assert_snapshot!(notices(schema), @r#"pattern "^(?!x)" of the schema is not checked"#);
}

#[test]
fn formats_describe_and_do_not_check() {
    for dialect in ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"] {
        let schema = format!(r#"{{"$schema": "{dialect}", "properties": {{"a": {{"format": "uri"}}}}}}"#);
        assert_eq!(check(&schema, r#"{"a": "not a uri"}"#), ArgumentVerdict::Valid, "{dialect}");
    }
}

#[test]
fn a_schema_is_read_once_and_only_when_asked() {
    let validators: Vec<LazyValidator<&str>> = (0..10_000).map(|_| LazyValidator::new(SEARCH)).collect();
    assert!(validators.iter().all(|validator| !validator.is_read()));
    let first = &validators[0];
    assert_eq!(first.check("tool", r#"{"query": "rust"}"#, ArgumentLimits::default()), ArgumentVerdict::Valid);
    assert!(first.is_read());
    assert_eq!(validators.iter().filter(|validator| validator.is_read()).count(), 1);
    assert!(std::mem::size_of::<LazyValidator<Box<str>>>() <= 40);
}

#[test]
fn a_validator_can_be_shared_between_threads() {
    let validator = LazyValidator::new(SEARCH);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let validator = &validator;
            scope.spawn(move || {
                for count in 0..200 {
                    let arguments = format!(r#"{{"query": "rust", "count": {count}}}"#);
                    let valid =
                        validator.check("tool", &arguments, ArgumentLimits::default()) == ArgumentVerdict::Valid;
                    assert_eq!(valid, (1..=50).contains(&count), "thread {thread}, count {count}");
                }
            });
        }
    });
}
