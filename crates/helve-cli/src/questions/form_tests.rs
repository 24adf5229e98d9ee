//! Forms as a person fills them in.

use helve_schema::Elicitation;
use serde_json::json;

use super::super::fake_screen::{typed, with_keys};
use super::super::keyboard::Key;
use super::*;

fn filled(schema: &str, given: &Value, keys: &[Key]) -> (ElicitationAnswer, Vec<String>) {
    // As text: the order of the fields is that of the schema.
    let params = format!(r#"{{"message": "Tell me\nabout yourself", "requestedSchema": {schema}}}"#);
    let Ok(Elicitation::Form(request)) = Elicitation::read(&params) else { panic!("a form") };
    let given = given.as_object().cloned().unwrap_or_default();
    with_keys(keys, |terminal| ask(terminal, "forms", &request, &given))
}

fn content(answer: &ElicitationAnswer) -> &str {
    match answer {
        ElicitationAnswer::Accept(Some(content)) => content.as_str(),
        ElicitationAnswer::Accept(None) => "accepted",
        ElicitationAnswer::Decline => "declined",
        ElicitationAnswer::Cancel => "cancelled",
    }
}

const EVERYTHING: &str = r#"{"type": "object", "required": ["name", "age"], "properties": {
    "name": {"type": "string", "title": "Full name", "description": "As in your passport", "minLength": 2},
    "age": {"type": "integer", "minimum": 18},
    "mail": {"type": "string", "format": "email"},
    "news": {"type": "boolean", "default": true},
    "size": {"type": "string", "enum": ["s", "m", "l"], "enumNames": ["Small", "Medium", "Large"], "default": "m"},
    "tags": {"type": "array", "maxItems": 2, "items": {"type": "string", "enum": ["a", "b", "c"]}}
}}"#;

#[test]
fn every_kind_of_field_is_asked_for_and_checked() {
    let space = Key::Character(' ');
    let keys = [
        typed("A\n"),
        vec![Key::Other],
        typed("da\n17\n"),
        vec![Key::Other, Key::EraseLine],
        typed("36\n"),
        typed("\n"),
        vec![Key::Down, Key::Enter, Key::Other],
        typed("lar\n"),
        vec![space, Key::Down, space, Key::Down, space, Key::Enter, Key::Other, space, Key::Enter],
        vec![Key::Other, Key::Enter],
    ]
    .concat();
    let (answer, pictures) = filled(EVERYTHING, &json!({}), &keys);
    assert_eq!(content(&answer), r#"{"name":"Ada","age":36,"news":false,"size":"l","tags":["a","b"]}"#);
    insta::assert_snapshot!(pictures[0], @"
    ? the server forms asks: Tell me
      about yourself
      Enter takes an answer, Ctrl-D declines to answer, Esc cancels
      Full name (required)
      As in your passport
      ! expected at least 2 characters, got 1
      > A
    ");
    insta::assert_snapshot!(pictures[1].lines().skip(3).collect::<Vec<_>>().join("\n"), @"
      = Full name: Ada
      age (required)
      ! expected a whole number of at least 18, got 17
      > 17
    ");
    insta::assert_snapshot!(pictures[2].lines().skip(5).collect::<Vec<_>>().join("\n"), @"
      = mail: (left out)
      = news: no
      size [Medium]  arrows or typing choose
        Small
      > Medium
        Large
    ");
    insta::assert_snapshot!(pictures[3].lines().skip(7).collect::<Vec<_>>().join("\n"), @"
      = size: Large
      tags  arrows or typing move, space marks
        [x] a
        [x] b
      > [x] c
      ! expected at most 2 choices, got 3
    ");
    insta::assert_snapshot!(pictures[4].lines().skip(8).collect::<Vec<_>>().join("\n"), @"
      = tags: a, b
      Send this to forms?
      > send
        change
        decline
    ");
}

#[test]
fn answers_can_be_changed_before_they_are_sent() {
    let schema = r#"{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "boolean"}}}"#;
    let keys = [typed("x\nyes\nchange\ny\n"), vec![Key::Enter, Key::Enter]].concat();
    let (answer, pictures) = filled(schema, &json!({}), &keys);
    assert_eq!(content(&answer), r#"{"a":"xy","b":true}"#);
    assert!(pictures[0].ends_with("  = a: x\n  = b: yes\n  = a: xy\n  = b: yes"), "{}", pictures[0]);
    let declined = filled(schema, &json!({}), &typed("x\n\ndecline\n")).0;
    assert_eq!(declined, ElicitationAnswer::Decline);
    assert_eq!(filled(schema, &json!({}), &[typed("x\n"), vec![Key::Escape]].concat()).0, ElicitationAnswer::Cancel);
}

#[test]
fn what_was_given_beforehand_is_not_asked() {
    let schema = r#"{"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}"#;
    let (answer, pictures) = filled(schema, &json!({"a": "x"}), &typed("y\n\n"));
    assert_eq!(content(&answer), r#"{"a":"x","b":"y"}"#);
    assert!(pictures[0].ends_with("  = a: x\n  = b: y"), "{}", pictures[0]);
}

#[test]
fn a_form_without_fields_wants_a_yes() {
    let schema = r#"{"type": "object", "properties": {}}"#;
    assert_eq!(content(&filled(schema, &json!({}), &typed("yes\n")).0), "accepted");
    assert_eq!(content(&filled(schema, &json!({}), &[Key::Enter]).0), "declined");
}

#[test]
fn secrets_are_warned_about() {
    let schema = r#"{"type": "object", "required": ["password"], "properties": {"password": {"type": "string"}}}"#;
    let (_, pictures) = filled(schema, &json!({}), &[Key::Other]);
    insta::assert_snapshot!(pictures[0].lines().skip(3).collect::<Vec<_>>().join("\n"), @"
      password (required)
      warning: this looks like a password: better not enter it
      >
    ");
}
