//! JSON stays the same data and cannot steer a terminal.

use serde_json::{Value, json};

use super::render;
use helve_model::text::is_invisible;

#[test]
fn hidden_characters_are_spelt_and_read_back() {
    let value =
        json!({ "text": "\u{1b}[2J \u{9b} \u{202e} \u{e0041} \u{7f} é\n\"", "\u{200b}key": [1, { "a": [] }, "x"] });
    let text = render(&value).expect("JSON");
    assert!(text.chars().all(|character| character == '\n' || !is_invisible(character)), "{text}");
    assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value);
    insta::assert_snapshot!(text, @r#"
    {
      "text": "\u001b[2J \u009b \u202e \udb40\udc41 \u007f é\n\"",
      "\u200bkey": [
        1,
        {
          "a": []
        },
        "x"
      ]
    }
    "#);
}

#[test]
fn raw_json_is_spelt_too() {
    let raw = serde_json::value::RawValue::from_string("{\"a\": \"\u{202e}\"}".to_owned()).expect("JSON");
    insta::assert_snapshot!(render(&raw).expect("JSON"), @r#"{"a": "\u202e"}"#);
}
