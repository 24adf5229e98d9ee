//! Forms for tools, at their border: what was posted goes in, fields and arguments come out.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn posted(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn form(schema: Value) -> ToolForm {
    ToolForm::read(&schema.to_string())
}

fn issue() -> ToolForm {
    // As text, so that its fields keep their order.
    ToolForm::read(
        r##"{"type": "object", "required": ["title", "at"], "properties": {
            "title": {"type": "string"},
            "count": {"type": "integer", "default": 10},
            "labels": {"type": "array", "items": {"type": "string"}},
            "state": {"enum": ["open", "closed"]},
            "at": {"anyOf": [{"type": "object", "required": ["line"], "properties": {"line": {"type": "integer"}}}, {"type": "string"}]},
            "photo": {"type": "string", "contentEncoding": "base64"},
            "meta": {"type": "object", "additionalProperties": {"type": "number"}},
            "tree": {"$ref": "#/$defs/tree"}
        }, "$defs": {"tree": {"type": "object", "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}}}"##,
    )
}

#[test]
fn what_is_filled_in_becomes_arguments() {
    let filled = issue().fill(&posted(&[
        ("a/title", "a \"title\""),
        ("a/count", "12345678901234567890"),
        ("n/labels", "2"),
        ("a/labels/0", "bug"),
        ("a/labels/1", ""),
        ("a/state", "1"),
        ("u/at", "0"),
        ("a/at/line", "7"),
        ("f/photo", "aGk="),
        ("n/meta", "1"),
        ("k/meta/+0", "weight"),
        ("a/meta/+0", "1.50"),
        ("a/tree/name", "root"),
        ("n/tree/children", "1"),
        ("a/tree/children/0", "{\"name\": \"leaf\"}"),
        ("do", "call"),
    ]));
    assert_eq!(filled.problems, 0, "{filled:#?}");
    assert!(filled.takes_files);
    insta::assert_snapshot!(filled.arguments, @r#"{"title":"a \"title\"","count":12345678901234567890,"labels":["bug"],"state":"closed","at":{"line":7},"photo":"aGk=","meta":{"weight":1.50},"tree":{"name":"root","children":[{"name": "leaf"}]}}"#);
}

#[test]
fn problems_are_said_at_their_field_and_only_when_it_is_to_be_called() {
    let wrong = [("a/count", "1.5"), ("u/at", "0"), ("a/at/line", "x"), ("m/meta", "json"), ("a/meta", "{")];
    let looking = issue().fill(&posted(&wrong));
    assert_eq!(looking.problems, 0);
    let mut call = wrong.to_vec();
    call.push(("do", "call"));
    let filled = issue().fill(&posted(&call));
    // The fourth is inside of `at`, at its own field.
    assert_eq!(filled.problems, 4);
    let said: Vec<String> = filled
        .fields
        .iter()
        .filter_map(|field| field.problem.as_ref().map(|problem| format!("{} {problem}", field.label)))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    title is required
    count is not a whole number
    meta is not valid JSON: EOF while parsing an object at line 1 column 1
    ");
}

#[test]
fn lists_grow_and_shrink_by_buttons() {
    let three = [("a/title", "x"), ("n/labels", "3"), ("a/labels/0", "a"), ("a/labels/1", "b"), ("a/labels/2", "c")];
    let with = |button: &str| {
        let mut all = three.to_vec();
        all.push(("do", button));
        let filled = issue().fill(&posted(&all));
        let Control::List { items, .. } = &filled.fields[2].control else { panic!("no list") };
        (items.len(), filled.arguments)
    };
    assert_eq!(with("add:/labels"), (4, r#"{"title":"x","labels":["a","b","c"],"at":{}}"#.to_owned()));
    assert_eq!(with("remove:/labels/1"), (2, r#"{"title":"x","labels":["a","c"],"at":{}}"#.to_owned()));
    assert_eq!(with("remove:/labels/9"), (3, r#"{"title":"x","labels":["a","b","c"],"at":{}}"#.to_owned()));
}

#[test]
fn a_field_is_written_as_json_and_back() {
    let filled = issue().fill(&posted(&[("n/labels", "1"), ("a/labels/0", "a"), ("do", "json:/labels")]));
    let Control::Json { value } = &filled.fields[2].control else { panic!("no JSON") };
    assert_eq!(value, "[\n  \"a\"\n]");
    assert_eq!(filled.fields[2].switch, Switch::ToControls);
    let back =
        issue().fill(&posted(&[("m/labels", "json"), ("a/labels", "[\"a\", \"b\"]"), ("do", "controls:/labels")]));
    let Control::List { items, .. } = &back.fields[2].control else { panic!("no list") };
    assert_eq!(items.len(), 2);
    let stays = issue().fill(&posted(&[("m/labels", "json"), ("a/labels", "[\"a\""), ("do", "controls:/labels")]));
    assert!(matches!(&stays.fields[2].control, Control::Json { value } if value == "[\"a\""));
}

#[test]
fn what_cannot_be_read_takes_json() {
    for schema in ["", "{", "true", "[]", r#"{"type":"string"}"#, "{}"] {
        let filled = ToolForm::read(schema).fill(&posted(&[("a", "{\"x\": 1}"), ("do", "call")]));
        assert_eq!((filled.arguments.as_str(), filled.problems), ("{\"x\": 1}", 0), "{schema}");
        let wrong = ToolForm::read(schema).fill(&posted(&[("a", "[1]"), ("do", "call")]));
        assert_eq!(wrong.problems, 1);
    }
}

#[test]
fn counts_that_were_made_up_are_bounded() {
    let filled = issue().fill(&posted(&[("n/labels", "99999999999"), ("n/meta", "4000000")]));
    let Control::List { items, .. } = &filled.fields[2].control else { panic!("no list") };
    assert_eq!(items.len(), MAX_FORM_ITEMS);
}

/// A schema and a value that fits it.
fn schema_and_value() -> impl Strategy<Value = (Value, Value)> {
    let leaf = prop_oneof![
        ".{0,12}".prop_map(|text| (json!({"type": "string"}), json!(text))),
        any::<i64>().prop_map(|number| (json!({"type": "integer"}), json!(number))),
        any::<bool>().prop_map(|bool| (json!({"type": "boolean"}), json!(bool))),
        (-1e6..1e6).prop_map(|number: f64| (json!({"type": "number"}), json!(number))),
        prop_oneof![Just(0), Just(1)]
            .prop_map(|index: usize| (json!({"enum": ["a", 7]}), [json!("a"), json!(7)][index].clone())),
        Just((json!({"type": ["string", "null"]}), json!(null))),
        Just((json!({}), json!({"any": ["thing", 1.5]}))),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            (inner.clone(), 0..4_usize).prop_map(|((schema, value), count)| {
                (json!({"type": "array", "items": schema}), Value::Array(vec![value; count]))
            }),
            (prop::collection::vec((inner.clone(), any::<bool>(), any::<bool>()), 0..4)).prop_map(|fields| {
                let mut properties = serde_json::Map::new();
                let mut object = serde_json::Map::new();
                let mut required = Vec::new();
                for (index, ((schema, value), is_required, is_given)) in fields.into_iter().enumerate() {
                    let name = ["one", "two/~ 2", "three", "+0"][index];
                    properties.insert(name.to_owned(), schema);
                    if is_required || is_given {
                        object.insert(name.to_owned(), value);
                    }
                    if is_required {
                        required.push(name);
                    }
                }
                (json!({"type": "object", "properties": properties, "required": required}), Value::Object(object))
            }),
            (inner.clone(), "[a-z]{1,5}").prop_map(|((schema, value), key)| {
                (json!({"type": "object", "additionalProperties": schema}), json!({key: value}))
            }),
            (inner.clone(), inner).prop_map(|((one, value), (other, _))| (json!({"anyOf": [other, one]}), value)),
        ]
    })
}

proptest! {
    #[test]
    fn arguments_come_back_as_they_were((schema, value) in schema_and_value()) {
        let schema = json!({"type": "object", "required": ["value"], "properties": {"value": schema}});
        let arguments = json!({"value": value});
        let form = form(schema);
        let mut fields = form.prefill(&arguments.to_string());
        fields.push(("do".to_owned(), "call".to_owned()));
        let filled = form.fill(&fields);
        prop_assert_eq!(filled.problems, 0, "{:?}", fields);
        prop_assert_eq!(serde_json::from_str::<Value>(&filled.arguments).unwrap(), arguments, "{:?}", fields);
    }

    #[test]
    fn whatever_is_posted_comes_to_an_object(fields in prop::collection::vec(("[afnkum](/(title|count|labels|at|meta|tree|line|\\+?[0-9]|children)){0,4}", ".{0,8}"), 0..12), button in "(call|look|add:/labels|remove:/labels/0|json:/at|controls:/tree)") {
        let mut fields = fields;
        fields.push(("do".to_owned(), button));
        let filled = issue().fill(&fields);
        prop_assert!(serde_json::from_str::<serde_json::Map<String, Value>>(&filled.arguments).is_ok(), "{}", filled.arguments);
    }
}
