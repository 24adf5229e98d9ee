//! What the `coerce` module promises, case by case.

use proptest::prelude::*;

use super::*;

const ISSUE: &str = r##"{"type": "object", "additionalProperties": false, "required": ["title"], "properties": {
    "title": {"type": "string"}, "count": {"type": "integer"}, "ratio": {"type": "number"}, "draft": {"type": "boolean"},
    "labels": {"type": "array", "items": {"type": "string"}}, "ids": {"type": "array", "items": {"type": "integer"}},
    "filter": {"type": "object", "properties": {"state": {"enum": ["open", "closed"]}, "limit": {"type": "integer"},
        "nested": {"$ref": "#/$defs/point"}}},
    "assignee": {"type": ["string", "null"]}, "id": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    "level": {"enum": [1, 2, "max"]}, "mode": {"const": "fast"}, "any": {}, "a.b": {"type": "integer"},
    "kinds": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    "filter[id]": {"type": "string"}, "nothing": {"type": "null"}},
    "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}}}}"##;

fn told(words: &[&str]) -> String {
    match coerce(ISSUE, words) {
        Ok(coerced) => coerced.arguments,
        Err(errors) => errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    }
}

#[test]
fn words_become_values_by_the_schema() {
    insta::assert_snapshot!(told(&["title=123", "count=5", "ratio=1.5", "draft=true"]), @r#"{"title":"123","count":5,"ratio":1.5,"draft":true}"#);
    insta::assert_snapshot!(told(&["title=", "any=5", "id=abc", "level=2"]), @r#"{"title":"","any":"5","id":"abc","level":2}"#);
    insta::assert_snapshot!(told(&["title=a=b", "level=max", "mode=fast", "nothing=null", "assignee=me"]), @r#"{"title":"a=b","level":"max","mode":"fast","nothing":null,"assignee":"me"}"#);
    insta::assert_snapshot!(told(&["title=\"quoted\"", "ratio=-2e3"]), @r#"{"title":"\"quoted\"","ratio":-2000.0}"#);
}

#[test]
fn json_is_taken_as_it_stands() {
    insta::assert_snapshot!(told(&["title:=5", "any:={\"b\": [1]}", "assignee:=null", "id:=\"5\""]), @r#"{"title":5,"any":{"b":[1]},"assignee":null,"id":"5"}"#);
    insta::assert_snapshot!(told(&["any:=tru", "count:="]), @r#"
    any:=tru: not valid JSON: EOF while parsing a value at line 1 column 3; text goes after `=`, JSON after `:=`
    count:=: not valid JSON: EOF while parsing a value at line 1 column 0; text goes after `=`, JSON after `:=`
    "#);
}

#[test]
fn lists_grow_by_the_word_or_come_whole() {
    insta::assert_snapshot!(told(&["labels=a", "labels=b,c", "ids=1", "ids=2"]), @r#"{"labels":["a","b,c"],"ids":[1,2]}"#);
    insta::assert_snapshot!(told(&["labels=[\"a\"]", "ids:=[1]"]), @r#"{"labels":["a"],"ids":[1]}"#);
    insta::assert_snapshot!(told(&["labels[]=[x", "any[]=1", "any[]=2", "kinds=one"]), @r#"{"labels":["[x"],"any":["1","2"],"kinds":"one"}"#);
    insta::assert_snapshot!(told(&["labels=[x", "ids=x"]), @r#"
    labels=[x: this looks like a JSON list but is none; write labels[]= for one text item
    ids=x: expected an integer, got "x"
    "#);
    insta::assert_snapshot!(told(&["labels=[\"a\"]", "labels=b"]), @"labels=b: `labels` is given twice");
}

#[test]
fn dots_lead_into_objects() {
    insta::assert_snapshot!(told(&["filter.state=open", "filter.limit=3", "filter.nested.x=1.5", "filter.other=y"]), @r#"{"filter":{"state":"open","limit":3,"nested":{"x":1.5},"other":"y"}}"#);
    insta::assert_snapshot!(told(&["a.b=3", "filter[id]=7"]), @r#"{"a.b":3,"filter[id]":"7"}"#);
    insta::assert_snapshot!(told(&["filter={\"state\": \"open\"}"]), @r#"{"filter":{"state":"open"}}"#);
    insta::assert_snapshot!(told(&["filter=open", "title.x=1"]), @r#"
    filter=open: expected an object, got "open"; write filter.state=… or filter:='{…}'
    title.x=1: `title` is not an object
    "#);
    insta::assert_snapshot!(told(&["filter.limit=1", "filter:={}"]), @"filter:={}: `filter` is already given by its parts");
    insta::assert_snapshot!(told(&["filter:={}", "filter.limit=1"]), @r#"{"filter":{"limit":1}}"#);
}

#[test]
fn what_can_be_read_in_two_ways_is_asked_back() {
    insta::assert_snapshot!(told(&["assignee=null", "id=5"]), @r#"
    assignee=null: this can be read in two ways; write assignee:='"null"' or assignee:='null'
    id=5: this can be read in two ways; write id:='"5"' or id:='5'
    "#);
}

#[test]
fn all_mistakes_are_told_at_once() {
    insta::assert_snapshot!(
        told(&["titel=x", "count=5.5", "count=many", "draft=yes", "level=mux", "word", "=x", "zzz=1", "title=a", "title=b"]),
        @r#"
    titel=x: no property `titel`; did you mean `title`?
    count=5.5: expected an integer, got "5.5"
    count=many: expected an integer, got "many"
    draft=yes: expected a boolean, got "yes"; write true or false
    level=mux: expected 1, 2 or max, got "mux"; did you mean `max`?
    word: an argument is written key=value, or key:=json
    =x: the key before `=` is missing
    zzz=1: no property `zzz`; there is `title`, `count`, `ratio`, `draft`, `labels`, `ids`, `filter`, `assignee`, `id`, `level`, `mode`, `any`, …
    title=b: `title` is given twice
    "#
    );
    let none = coerce(r#"{"type": "object", "additionalProperties": false}"#, &["a=1"]).expect_err("no such key");
    insta::assert_snapshot!(none[0], @"a=1: the tool takes no arguments");
}

#[test]
fn an_open_schema_takes_other_keys_and_says_when_they_look_wrong() {
    let schema = r#"{"properties": {"query": {"type": "string"}}}"#;
    let coerced = coerce(schema, &["quary=5", "other=6"]).expect("open");
    assert_eq!(coerced.arguments, r#"{"quary":"5","other":"6"}"#);
    insta::assert_snapshot!(coerced.warnings.join("\n"), @"the schema does not name `quary`; did you mean `query`?");
    let typed = coerce(r#"{"additionalProperties": {"type": "integer"}}"#, &["a=5"]).expect("open");
    assert_eq!(typed.arguments, r#"{"a":5}"#);
    let unknown = coerce("not a schema", &["a=5", "b:=5"]).expect("nothing known");
    assert_eq!(unknown.arguments, r#"{"a":"5","b":5}"#);
}

proptest! {
    /// Whatever a person can mean by a word of a known type comes back as that value.
    #[test]
    fn words_written_from_values_come_back(
        title in "\\PC{0,20}", count in any::<i64>(), ratio in -1e15..1e15_f64, draft in any::<bool>(),
        labels in prop::collection::vec("[^\\[]\\PC{0,8}", 1..4), limit in any::<i32>(), state in prop_oneof!["open", "closed"],
    ) {
        let mut words = vec![
            format!("title={title}"), format!("count={count}"), format!("ratio={ratio:?}"), format!("draft={draft}"),
            format!("filter.limit={limit}"), format!("filter.state={state}"),
        ];
        // A list item that begins with white space and `[` looks like a list.
        prop_assume!(labels.iter().all(|label| !label.trim_start().starts_with('[')));
        words.extend(labels.iter().map(|label| format!("labels={label}")));
        let coerced = coerce(ISSUE, &words).map_err(|errors| TestCaseError::fail(format!("{errors:?}")))?;
        let back: serde_json::Value = serde_json::from_str(&coerced.arguments).expect("JSON");
        let expected = serde_json::json!({"title": title, "count": count, "ratio": ratio, "draft": draft,
            "filter": {"limit": limit, "state": state}, "labels": labels});
        prop_assert_eq!(&back["ratio"].as_f64(), &Some(ratio));
        let (mut back, mut expected) = (back, expected);
        back["ratio"] = 0.into();
        expected["ratio"] = 0.into();
        prop_assert_eq!(back, expected);
    }

    /// `:=` never changes what was written.
    #[test]
    fn json_words_are_never_changed(value in any::<i64>(), text in "\\PC{0,20}") {
        let json = serde_json::json!({"n": value, "t": [text]});
        let coerced = coerce("{}", &[format!("a:={json}")]).expect("open");
        let back: serde_json::Value = serde_json::from_str(&coerced.arguments).expect("JSON");
        prop_assert_eq!(&back["a"], &json);
    }

    /// No words and no schema make it panic.
    #[test]
    fn any_words_are_answered(words in prop::collection::vec("\\PC{0,12}|[a-c.\\[\\]]{0,6}:?=[0-9a-z\"\\[{]{0,6}", 0..6)) {
        for schema in [ISSUE, "{}"] {
            if let Ok(coerced) = coerce(schema, &words) {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&coerced.arguments).is_ok());
            }
        }
    }
}

#[test]
fn c5_true_is_a_boolean_where_the_schema_also_takes_a_text() {
    let schema = r#"{"type":"object","properties":{"more":{"anyOf":[{"type":"boolean"},{"type":"string"}]}}}"#;
    let made = |word: &str| coerce(schema, &[word]).unwrap().arguments;
    assert_eq!(made("more=true"), r#"{"more":true}"#);
    assert_eq!(made("more=false"), r#"{"more":false}"#);
    assert_eq!(made("more=yes"), r#"{"more":"yes"}"#);
}
