//! What the writer of objects promises, case by case.

use proptest::prelude::*;

use super::*;

fn json(text: &str) -> RawJson {
    RawJson::checked(text).unwrap()
}

#[test]
fn members_come_in_their_order() {
    let object = ObjectWriter::new()
        .text("a", "line\n")
        .raw("b", "[1]")
        .optional("c", None::<&str>)
        .optional_text("d", Some("x"))
        .number("e", -3)
        .flag("f", true)
        .object("g", ObjectWriter::new())
        .array("h", ["1", "{}"]);
    assert!(!object.is_empty());
    assert_eq!(object.finish().as_str(), r#"{"a":"line\n","b":[1],"d":"x","e":-3,"f":true,"g":{},"h":[1,{}]}"#);
    assert_eq!(ObjectWriter::new().finish().as_str(), "{}");
    assert_eq!(ObjectWriter::new().number("id", 1).up_to("result"), r#"{"id":1,"result":"#);
}

#[test]
fn members_follow_those_that_are_there() {
    for (object, result) in [
        (r#"{"a":1}"#, r#"{"a":1,"b":2}"#),
        ("{ }  ", r#"{"b":2}"#),
        ("{\"a\": {}\n}", r#"{"a": {},"b":2}"#),
        ("3", r#"{"b":2}"#),
    ] {
        assert_eq!(ObjectWriter::after(&json(object)).number("b", 2).finish().as_str(), result, "{object}");
    }
}

#[test]
fn a_member_is_replaced_where_it_stands() {
    let object = json(r#"{"a": 1, "n\u0061me" : "x", "z":[]}"#);
    assert_eq!(object.replacing("name", "null").as_str(), r#"{"a": 1, "n\u0061me" : null, "z":[]}"#);
    assert_eq!(object.replacing("b", "null"), object);
}

#[test]
fn members_of_others_keep_their_spelling() {
    let object = json(r#"{"n\u0061me":1,"b":1e400,"_meta":{}}"#);
    let kept = ObjectWriter::new().text("uri", "a:b").members_of(&object, |key| key != "_meta");
    assert_eq!(kept.finish().as_str(), r#"{"uri":"a:b","n\u0061me":1,"b":1e400}"#);
}

proptest! {
    #[test]
    fn any_text_is_a_string(key in "\\PC{0,8}|[\\x00-\\x7f]{0,8}", text in "\\PC{0,8}|[\\x00-\\x7f]{0,8}") {
        let written = ObjectWriter::new().text(&key, &text).finish();
        let read: serde_json::Map<String, serde_json::Value> = written.parse().unwrap();
        prop_assert_eq!(read.get(&key).and_then(|value| value.as_str()), Some(text.as_str()));
        prop_assert_eq!(quoted(&text), serde_json::to_string(&text).unwrap());
    }
}
