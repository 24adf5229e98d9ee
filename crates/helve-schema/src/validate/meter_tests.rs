//! What the `meter` module promises, case by case.

use serde_json::{Value, json};

use super::*;

const LIGHT: Weight =
    Weight { values: PatternWeight { patterns: 0, atoms: 0 }, keys: PatternWeight { patterns: 0, atoms: 0 }, error: 1 };

fn validator(schema: &Value) -> jsonschema::Validator<Metered> {
    jsonschema::options_for::<Metered>().build(schema).expect("a schema")
}

/// The looks one validation takes.
fn looks(schema: &Value, value: &Value) -> u64 {
    let validator = validator(schema);
    let budget = 1_000_000_000;
    METER.with(|meter| meter.set(Meter { remaining: budget, weight: LIGHT }));
    let _valid = validator.is_valid(Look(value));
    budget - METER.with(|meter| meter.get().remaining)
}

#[test]
fn a_usual_call_takes_a_few_looks() {
    let schema = json!({"type": "object", "required": ["q"], "additionalProperties": false, "properties": {
        "q": {"type": "string", "maxLength": 100}, "n": {"type": "integer", "minimum": 1}, "l": {"items": {"type": "string"}}}});
    let taken = looks(&schema, &json!({"q": "x", "n": 1, "l": ["a", "b"]}));
    assert!((5..60).contains(&taken), "{taken}");
}

#[test]
fn looks_grow_with_the_data_and_are_the_same_each_time() {
    let schema = json!({"items": {"type": "integer"}});
    let taken = |items: usize| looks(&schema, &json!(vec![1; items]));
    assert_eq!(taken(1_000), taken(1_000));
    let (one, two) = (taken(10_000), taken(20_000));
    assert!(one >= 10_000 && two >= 2 * one - 100 && two <= 2 * one + 100, "{one} and {two}");
}

#[test]
fn looks_double_with_each_level_of_doubled_alternatives() {
    let choice = |key: &str| json!({"properties": {"a": {"$ref": "#/$defs/n"}}, "required": [key]});
    let schema = json!({"$ref": "#/$defs/n", "$defs": {"n": {"allOf": [choice("a"), choice("a")]}}});
    let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!({"a": inner}));
    let validator = validator(&schema);
    // Errors are told without the memory that checking has.
    let (_, enough) = metered(10_000, LIGHT, || validator.iter_errors(Look(&deep(4))).count());
    assert!(enough);
    let (_, enough) = metered(10_000, LIGHT, || validator.iter_errors(Look(&deep(40))).count());
    assert!(!enough);
}

#[test]
fn on_an_empty_meter_containers_look_empty_and_kinds_stay() {
    let value = json!({"a": [1, 2], "s": "text"});
    METER.with(|meter| meter.set(Meter::EMPTY));
    let look = Look(&value);
    assert_eq!(look.json_type(), JsonType::Object);
    let object = look.as_object().expect("an object");
    assert_eq!(object.len(), 2);
    assert!(object.get(&"a".to_owned()).is_none());
    assert_eq!(object.members().count(), 0);
    let list = Look(&value["a"]).as_array().expect("a list");
    assert_eq!(list.elements().count(), 0);
    assert_eq!(Look(&value["s"]).as_string().as_deref(), Some(""));
}

#[test]
fn a_pattern_makes_long_texts_dear() {
    let text = json!("x".repeat(64_000));
    let heavy = Weight { values: PatternWeight { patterns: 1, atoms: 100 }, ..LIGHT };
    let (read, enough) = metered(50_000, heavy, || Look(&text).as_string().map(|text| text.len()));
    assert_eq!((read, enough), (Some(0), false));
    let (read, enough) = metered(50_000, LIGHT, || Look(&text).as_string().map(|text| text.len()));
    assert_eq!((read, enough), (Some(64_000), true));
}
