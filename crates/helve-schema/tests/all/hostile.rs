//! Schemas written to hurt: each is decided, on a small stack, in bounded time.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use helve_schema::{ArgumentLimits, ArgumentVerdict, LazyValidator};
use serde_json::{Map, Value, json};

/// What a worker of an async runtime has.
const STACK: usize = 2 * 1024 * 1024;
/// Optimised, on one idle core, each case takes less than 50 ms; this only catches what has no bound at all.
const SMOKE: Duration = Duration::from_secs(5);

struct Case {
    name: &'static str,
    schema: Value,
    arguments: Value,
}

fn case(name: &'static str, schema: Value, arguments: Value) -> Case {
    Case { name, schema, arguments }
}

#[test]
fn every_hostile_schema_is_decided() {
    let decided = std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(|| {
            let mut decided = String::new();
            for Case { name, schema, arguments } in cases() {
                let (schema, arguments) = (schema.to_string(), arguments.to_string());
                let start = Instant::now();
                let verdict = LazyValidator::new(schema).check("t", &arguments, ArgumentLimits::default());
                assert!(start.elapsed() < SMOKE, "{name}: {:?}", start.elapsed());
                let words = match verdict {
                    ArgumentVerdict::Valid => "valid".to_owned(),
                    ArgumentVerdict::Invalid(problem) => {
                        let more = if problem.complete { "" } else { ", not all looked for" };
                        format!("invalid: {} and {} more{more}", problem.violations.len(), problem.omitted)
                    }
                    ArgumentVerdict::Unvalidated(reason) => reason.to_string(),
                    ArgumentVerdict::Refused(refusal) => refusal.to_string(),
                };
                writeln!(decided, "{name}: {words}").expect("memory");
            }
            decided
        })
        .expect("a thread")
        .join()
        .expect("no panic");
    insta::assert_snapshot!(decided, @r#"
    anyOf doubled twenty times: arguments not checked: the schema has more than 10000 subschemas once each `$ref` is followed
    allOf doubled twenty times: arguments not checked: the schema has more than 10000 subschemas once each `$ref` is followed
    anyOf doubled eight times: invalid: 1 and 0 more
    a reference to itself: arguments not checked: a `$ref` of the schema leads back to itself
    twelve alternatives of each other: arguments not checked: a `$ref` of the schema leads back to itself
    recursive alternatives: invalid: 1 and 0 more, not all looked for
    recursive alternatives that all fit: invalid: 1 and 0 more, not all looked for
    alternatives doubled into the data: arguments not checked: the schema has more than 10000 subschemas once each `$ref` is followed
    unevaluated inside unevaluated: arguments not checked: the schema has more than 10000 subschemas once each `$ref` is followed
    many alternatives for many items: invalid: 1 and 0 more, not all looked for
    a large enum for many items: invalid: 1 and 0 more, not all looked for
    a huge enum: arguments not checked: the schema has more than 10000 enum values
    many wrong items: invalid: 1 and 0 more, not all looked for
    many right items: valid
    too many items: arguments not accepted: JSON of more than 200000 values
    many unknown properties: invalid: 20 and 49980 more
    many items to tell apart: valid
    a pattern that backtracks: invalid: 1 and 0 more
    a pattern with look-ahead: valid
    a pattern repeated a million times: valid
    a slow pattern on a long text: arguments not checked: checking these values takes too many steps
    large patterns: valid
    many patterns: valid
    many patterns the engine refuses: valid
    many large classes: valid
    many patterns for many keys: arguments not checked: checking these values takes too many steps
    patterns where only a reference finds them: valid
    alternatives for property names: invalid: 1 and 0 more, not all looked for
    not inside not: invalid: 1 and 0 more
    too deep a schema: arguments not checked: the schema nests deeper than 64 levels
    items inside items: valid
    allOf inside allOf: invalid: 1 and 0 more
    many properties: invalid: 1 and 0 more
    a chain of references: invalid: 1 and 0 more
    a long chain of references: arguments not checked: the schema nests more than 128 subschemas once each `$ref` is followed
    a chain of references around deep data: valid
    a chain of references around deeper data: arguments not checked: the values nest too deep for this recursive schema
    references and data that together nest as deep as they may: invalid: 1 and 0 more, not all looked for
    documents inside that refer to each other: valid
    many documents inside: arguments not checked: the schema has more than 3 schemas with an `$id` inside
    a schema as an argument: invalid: 1 and 0 more
    large copies in many errors: invalid: 1 and 0 more, not all looked for
    a large value in many errors: invalid: 1 and 0 more, not all looked for
    numbers at the edge: valid
    a very long text: invalid: 1 and 0 more
    "#);
}

/// Definitions `l0`, `l1`, …, each made from a reference to the next; the last is `last`.
fn chain(length: usize, last: Value, link: impl Fn(Value) -> Value) -> Value {
    let mut definitions: Map<String, Value> = (0..length)
        .map(|number| (format!("l{number}"), link(json!({"$ref": format!("#/$defs/l{}", number + 1)}))))
        .collect();
    definitions.insert(format!("l{length}"), last);
    json!({"properties": {"x": {"$ref": "#/$defs/l0"}}, "$defs": definitions})
}

fn nested(levels: usize, leaf: Value, wrap: impl Fn(Value) -> Value) -> Value {
    (0..levels).fold(leaf, |inner, _| wrap(inner))
}

/// `{"a": {"a": …}}`
fn deep(levels: usize) -> Value {
    nested(levels, json!({}), |inner| json!({"a": inner}))
}

fn keys(count: usize) -> Value {
    (0..count).map(|number| (format!("k{number}"), json!(1))).collect::<Map<String, Value>>().into()
}

fn patterns(count: usize, pattern: impl Fn(usize) -> String) -> Value {
    let properties: Map<String, Value> =
        (0..count).map(|number| (format!("p{number}"), json!({"pattern": pattern(number)}))).collect();
    json!({"properties": properties})
}

fn cases() -> Vec<Case> {
    let x = |value: Value| json!({"x": value});
    let mut cases = vec![
        case(
            "anyOf doubled twenty times",
            chain(20, json!({"type": "string"}), |next| json!({"anyOf": [next, next]})),
            x(json!(1)),
        ),
        case("allOf doubled twenty times", chain(20, json!(true), |next| json!({"allOf": [next, next]})), x(json!(1))),
        case(
            "anyOf doubled eight times",
            chain(8, json!({"type": "string"}), |next| json!({"anyOf": [next, next]})),
            x(json!(1)),
        ),
        case("a reference to itself", json!({"$ref": "#"}), x(json!(1))),
        case("twelve alternatives of each other", circle(12), x(json!("s"))),
        case(
            "recursive alternatives",
            json!({"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [
                {"properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["z"]},
                {"properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["y"]}]}}}),
            deep(60),
        ),
        case(
            "recursive alternatives that all fit",
            json!({"$ref": "#/$defs/n", "$defs": {"n": {"oneOf": [
                {"properties": {"a": {"$ref": "#/$defs/n"}}}, {"properties": {"a": {"$ref": "#/$defs/n"}}}]}}}),
            deep(60),
        ),
        case(
            "alternatives doubled into the data",
            chain(
                30,
                json!(false),
                |next| json!({"anyOf": [{"properties": {"a": next}, "required": ["q"]}, {"properties": {"a": next}}]}),
            ),
            x(deep(40)),
        ),
        case(
            "unevaluated inside unevaluated",
            nested(
                25,
                json!({"properties": {"a": true}}),
                |inner| json!({"allOf": [inner], "unevaluatedProperties": false}),
            ),
            json!({"a": 1, "b": 2}),
        ),
        case(
            "many alternatives for many items",
            json!({"properties": {"x": {"items": {"anyOf": (0..1900).map(|n| json!({"const": n})).collect::<Vec<_>>()}}}}),
            x(json!(vec![-1; 100_000])),
        ),
        case(
            "a large enum for many items",
            json!({"properties": {"x": {"items": {"enum": (0..9_000).collect::<Vec<_>>()}}}}),
            x(json!(vec![-1; 100_000])),
        ),
        case("a huge enum", json!({"properties": {"x": {"enum": (0..40_000).collect::<Vec<_>>()}}}), x(json!(1))),
        case(
            "many wrong items",
            json!({"properties": {"x": {"items": {"type": "string"}}}}),
            x(json!(vec![0; 150_000])),
        ),
        case(
            "many right items",
            json!({"properties": {"x": {"items": {"type": "integer"}}}}),
            x(json!(vec![0; 150_000])),
        ),
        case(
            "too many items",
            json!({"properties": {"x": {"items": {"type": "integer"}}}}),
            x(json!(vec![0; 250_000])),
        ),
        case(
            "many unknown properties",
            json!({"properties": {"abc": {}}, "additionalProperties": false}),
            keys(50_000),
        ),
        case(
            "many items to tell apart",
            json!({"properties": {"x": {"uniqueItems": true}}}),
            x((0..20_000).map(|n| json!({"a": n})).collect()),
        ),
    ];
    cases.extend(pattern_cases());
    cases.extend(shape_cases());
    cases
}

fn pattern_cases() -> Vec<Case> {
    let x = |value: Value| json!({"x": value});
    vec![
        case(
            "a pattern that backtracks",
            json!({"properties": {"x": {"pattern": "^(a+)+$"}}}),
            x(json!("a".repeat(100_000) + "!")),
        ),
        case(
            "a pattern with look-ahead",
            json!({"properties": {"x": {"pattern": "^(?=(a+)+$)a"}}}),
            x(json!("a".repeat(1_000) + "!")),
        ),
        case(
            "a pattern repeated a million times",
            json!({"properties": {"x": {"pattern": "(a{1000}){1000}"}}}),
            x(json!("a")),
        ),
        case(
            "a slow pattern on a long text",
            json!({"properties": {"x": {"pattern": "^(?:[ab]*a[ab]{900})$"}}}),
            x(json!("ab".repeat(500_000))),
        ),
        case("large patterns", patterns(4, |number| format!("^x{number}(?:[a-z0-9]{{9000}})$")), json!({})),
        case("many patterns", patterns(400, |number| format!("^x{number}[a-z0-9]{{10}}$")), json!({})),
        case("many patterns the engine refuses", patterns(400, |number| format!("^(?=x{number})")), json!({})),
        case("many large classes", patterns(40, |number| format!("^x{number}\\p{{L}}{{9}}$")), json!({})),
        case(
            "many patterns for many keys",
            json!({"patternProperties": (0..100).map(|n| (format!("^x{n}[a-z]{{1,50}}$"), json!({}))).collect::<Map<_, _>>()}),
            keys(50_000),
        ),
        case(
            "patterns where only a reference finds them",
            json!({"properties": {"x": {"$ref": "#/hidden/a"}}, "hidden": {"a": {"pattern": "(a{1000}){1000}"}}}),
            x(json!("a")),
        ),
        case(
            "alternatives for property names",
            json!({"propertyNames": {"anyOf": (0..500).map(|n| json!({"const": format!("z{n}")})).collect::<Vec<_>>()}}),
            keys(50_000),
        ),
    ]
}

fn shape_cases() -> Vec<Case> {
    let x = |value: Value| json!({"x": value});
    let large: Vec<Value> = (0..3_000).map(|number| json!({"a": number})).collect();
    vec![
        case("not inside not", nested(60, json!({"type": "string"}), |inner| json!({"not": inner})), json!({})),
        case("too deep a schema", nested(70, json!({"type": "string"}), |inner| json!({"not": inner})), json!({})),
        case("items inside items", nested(60, json!({"type": "string"}), |inner| json!({"items": inner})), json!({})),
        case("allOf inside allOf", nested(30, json!({"type": "string"}), |inner| json!({"allOf": [inner]})), json!({})),
        case(
            "many properties",
            json!({"properties": (0..3_900).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect::<Map<_, _>>()}),
            json!({"p1": 1}),
        ),
        case("a chain of references", chain(120, json!({"type": "string"}), |next| next), x(json!(1))),
        case("a long chain of references", chain(1_500, json!({"type": "string"}), |next| next), x(json!(1))),
        case(
            "a chain of references around deep data",
            chain(15, json!({"properties": {"a": {"$ref": "#/$defs/l0"}}}), |next| json!({"allOf": [next]})),
            x(deep(20)),
        ),
        case(
            "a chain of references around deeper data",
            chain(15, json!({"properties": {"a": {"$ref": "#/$defs/l0"}}}), |next| json!({"allOf": [next]})),
            x(deep(60)),
        ),
        case(
            "references and data that together nest as deep as they may",
            chain(
                27,
                json!({"properties": {"a": {"$ref": "#/$defs/l0"}}, "required": ["a"]}),
                |next| json!({"anyOf": [next, {"type": "null"}]}),
            ),
            x(deep(17)),
        ),
        case("documents inside that refer to each other", documents(3), deep(5)),
        case("many documents inside", documents(8), deep(5)),
        case(
            "a schema as an argument",
            json!({"properties": {"x": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}}),
            x(nested(20, json!({"type": "strin"}), |inner| json!({"not": inner}))),
        ),
        case(
            "large copies in many errors",
            json!({"properties": {"x": {"allOf": vec![json!({"$ref": "#/$defs/n"}); 1_000]}}, "$defs": {"n": {"not": {"not": {"enum": large}}}}}),
            x(json!(1)),
        ),
        case(
            "a large value in many errors",
            json!({"anyOf": (0..900).map(|n| json!({"required": [format!("r{n}")]})).collect::<Vec<_>>()}),
            x(json!(vec![0; 150_000])),
        ),
        case("numbers at the edge", json!({"properties": {"x": {"multipleOf": 1e-300}}}), x(json!(1e300))),
        case(
            "a very long text",
            json!({"properties": {"x": {"type": "string", "maxLength": 10}}}),
            x(json!("é".repeat(1_500_000))),
        ),
    ]
}

/// Definitions of which each is any of the others, on the same value.
fn circle(count: usize) -> Value {
    let definitions: Map<String, Value> = (0..count)
        .map(|one| {
            let others =
                (0..count).filter(|other| *other != one).map(|other| json!({"$ref": format!("#/$defs/n{other}")}));
            (format!("n{one}"), json!({"type": "string", "anyOf": others.collect::<Vec<_>>()}))
        })
        .collect();
    json!({"properties": {"x": {"$ref": "#/$defs/n0"}}, "$defs": definitions})
}

fn documents(count: usize) -> Value {
    let definitions: Map<String, Value> = (0..count)
        .map(|one| {
            let mut refs: Vec<Value> = (0..count).map(|other| json!({"$ref": format!("r{other}")})).collect();
            refs.push(json!({"$dynamicRef": "#n"}));
            (
                format!("r{one}"),
                json!({"$id": format!("r{one}"), "$dynamicAnchor": "n", "properties": {"a": {"anyOf": refs}}}),
            )
        })
        .collect();
    json!({"$id": "https://example.com/root", "$ref": "r0", "$defs": definitions})
}
