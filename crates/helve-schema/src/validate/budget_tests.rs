//! What the `budget` module promises, case by case.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use helve_render::schema::json::parse;
use helve_render::schema::limits::SCHEMA_CAPS;

fn counts(schema: &Value) -> Result<Counts, Stop> {
    let text = schema.to_string();
    let root = parse(&text, SCHEMA_CAPS).map_err(|_| Stop::Excess(Excess::Depth))?;
    guard(&Document::new(&root)).map(|survey| survey.counts)
}

fn excess(schema: &Value) -> Option<Excess> {
    match counts(schema) {
        Err(Stop::Excess(excess)) => Some(excess),
        _ => None,
    }
}

/// `levels` definitions, each with two references to the next one under `keyword`.
fn doubling(levels: usize, keyword: &str) -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        let schema = match keyword {
            "properties" => json!({"properties": {"a": next, "b": next}}),
            "items" => json!({"items": next, "contains": next}),
            keyword => json!({keyword: [next, next]}),
        };
        definitions.insert(format!("l{level}"), schema);
    }
    definitions.insert(format!("l{levels}"), json!({"type": "string"}));
    json!({"$ref": "#/$defs/l0", "$defs": definitions})
}

#[test]
fn subschemas_are_counted_as_written_and_as_expanded() {
    let counts = counts(&json!({
        "properties": {"a": {"$ref": "#/$defs/p"}, "b": {"$ref": "#/$defs/p"}},
        "$defs": {"p": {"items": {"enum": [1, 2, 3]}}, "unused": {"not": {"const": [1, [2]]}}}
    }))
    .expect("within limits");
    assert_eq!(
        counts,
        Counts {
            // The root, two properties, two definitions, the items, what is negated.
            subschemas: 7,
            // The root, and twice: a property, the definition, the items.
            expanded: 7,
            nested: 4,
            recursive: false,
            enum_values: 3,
            embedded_resources: 0,
            // `{"const": [1, [2]]}`: object, list, 1, list, 2.
            negated_values: 5,
        }
    );
}

#[test]
fn doubling_is_multiplied_out_without_being_followed() {
    for keyword in ["anyOf", "allOf", "oneOf", "properties", "items"] {
        assert!(counts(&doubling(8, keyword)).is_ok(), "{keyword}");
        for levels in [20, 24, 64, 500, 900] {
            let found = excess(&doubling(levels, keyword));
            assert_eq!(found, Some(Excess::ExpandedSubschemas), "{keyword}, {levels} levels");
        }
    }
    // Two to the tenth, and what leads to them: a wrapper and two references for each.
    assert_eq!(counts(&doubling(3, "anyOf")).map(|counts| counts.expanded), Ok(1 + 1 + 2 + 2 + 4 + 4 + 8 + 8));
}

#[test]
fn recursion_through_data_is_counted_once() {
    let tree = json!({"properties": {"value": {"type": "string"}, "children": {"items": {"$ref": "#"}}}});
    let counts = counts(&tree).expect("within limits");
    assert!(counts.recursive);
    assert_eq!(counts.subschemas, 4);
    assert!(counts.expanded < 10, "{counts:?}");
}

#[test]
fn references_that_never_reach_data_are_loops() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}}),
        json!({"properties": {"x": {"not": {"$ref": "#/properties/x"}}}}),
        json!({"if": {"$ref": "#"}}),
        json!({"dependentSchemas": {"a": {"$ref": "#"}}}),
    ] {
        assert_eq!(excess(&schema), Some(Excess::ReferenceLoop), "{schema}");
    }
}

#[test]
fn nested_unevaluated_keywords_double_the_work() {
    let nested = |levels| {
        (0..levels).fold(
            json!({"properties": {"a": true}}),
            |inner, _| json!({"allOf": [inner], "unevaluatedProperties": false}),
        )
    };
    assert!(counts(&nested(8)).is_ok());
    assert_eq!(excess(&nested(20)), Some(Excess::ExpandedSubschemas));
}

#[test]
fn each_limit_has_its_own_name() {
    let chain = |length: usize| {
        let links = (0..length).map(|link| (format!("l{link}"), json!({"$ref": format!("#/$defs/l{}", link + 1)})));
        let links: serde_json::Map<String, Value> = links.chain([(format!("l{length}"), json!(true))]).collect();
        json!({"$ref": "#/$defs/l0", "$defs": links})
    };
    assert!(counts(&chain(100)).is_ok());
    assert_eq!(excess(&chain(200)), Some(Excess::NestedSubschemas));
    let many: serde_json::Map<String, Value> =
        (0..MAX_SUBSCHEMAS).map(|number| (format!("p{number}"), json!({}))).collect();
    assert_eq!(excess(&json!({"properties": many})), Some(Excess::Subschemas));
    let values: Vec<usize> = (0..=MAX_ENUM_VALUES).collect();
    assert_eq!(excess(&json!({"enum": values})), Some(Excess::EnumValues));
    let resources: serde_json::Map<String, Value> = (0..=MAX_EMBEDDED_RESOURCES)
        .map(|number| (format!("r{number}"), json!({"$id": format!("r{number}")})))
        .collect();
    assert_eq!(excess(&json!({"$defs": resources})), Some(Excess::EmbeddedResources));
}

#[test]
fn references_out_of_the_document_are_named() {
    assert_eq!(counts(&json!({"$ref": "x.json#/a"})), Err(Stop::External("x.json#/a".to_owned())));
    assert_eq!(counts(&json!({"$ref": "#/a"})), Err(Stop::Dangling("#/a".to_owned())));
    let meta = counts(&json!({"$ref": "https://json-schema.org/draft/2020-12/schema"})).expect("built in");
    assert!(meta.recursive && meta.expanded > META_SCHEMA_EXPANDED);
}

/// Schemas over three definitions that stay at the root, so that references survive being moved.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!(true)),
        Just(json!({"enum": [1, 2]})),
        (0..3_u8).prop_map(|number| json!({"$ref": format!("#/$defs/d{number}")})),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let list = || prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            list().prop_map(|list| json!({"anyOf": list})),
            list().prop_map(|list| json!({"allOf": list, "unevaluatedProperties": false})),
            inner.clone().prop_map(|inner| json!({"items": inner})),
            inner.clone().prop_map(|inner| json!({"not": inner})),
            prop::collection::btree_map("[a-c]", inner, 1..3).prop_map(|map| json!({"properties": map})),
        ]
    })
}

fn document(schema: &Value, definitions: &[Value]) -> Value {
    let named: serde_json::Map<String, Value> =
        definitions.iter().enumerate().map(|(number, schema)| (format!("d{number}"), schema.clone())).collect();
    json!({"allOf": [schema], "$defs": named})
}

proptest! {
    /// What is too much alone is too much inside something, and beside something.
    #[test]
    fn the_guard_is_monotone(schema in schema(), definitions in prop::collection::vec(schema(), 3), other in schema()) {
        let alone = counts(&document(&schema, &definitions));
        for around in [
            json!({"properties": {"p": schema}}),
            json!({"items": schema, "minItems": 1}),
            json!({"not": schema}),
            json!({"anyOf": [schema, {"type": "null"}]}),
            json!({"anyOf": [schema, other]}),
            json!({"prefixItems": [schema, other], "items": other}),
        ] {
            match (&alone, counts(&document(&around, &definitions))) {
                (Ok(alone), Ok(around)) => {
                    prop_assert!(around.expanded >= alone.expanded, "{alone:?} {around:?}");
                    prop_assert!(around.subschemas >= alone.subschemas);
                    prop_assert!(around.nested >= alone.nested);
                    prop_assert!(around.enum_values >= alone.enum_values);
                    prop_assert!(around.recursive >= alone.recursive);
                }
                (Err(_), Ok(around)) => prop_assert!(false, "{alone:?} became {around:?}"),
                (_, Err(_)) => {}
            }
        }
    }
}
