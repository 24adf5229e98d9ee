//! The same is the same, and every difference that matters is named.

use serde_json::json;

use super::*;

fn good() -> Value {
    json!({
        "list": {"echo": {"description": "Gives the text back"}},
        "call": {"content": [{"type": "text", "text": "größer als zuvor"}]},
        "coerced": 5,
        "error": {"raised": "ToolError", "message": "out of paper"},
        "wrong": {"message": "unable to parse string as an integer"},
        "image": {"data": "iVBORw0KGgoAAA"},
        "structured": {"tags": ["dry", "windy"]},
        "progress": {"reports": [[1, 3, "step 1"]], "answer": "counted 3"},
        "cancel": {"ended": {"raised": "CancelledError"}, "told": true, "then": "still here"},
        "killed": {"died": {"raised": "Closed"}, "then": "back again"},
    })
}

#[test]
fn the_same_is_told_in_a_few_words() {
    let words = judge(&good(), &good()).unwrap();
    insta::assert_snapshot!(words, @"the same: 8 steps, 1 reports of progress, cancelled; killed: went on both times");
    let mut direct = good();
    direct["killed"]["then"] = json!({"raised": "Closed"});
    direct["cancel"]["told"] = json!(false);
    let words = judge(&direct, &good()).unwrap();
    insta::assert_snapshot!(words, @"the same: 8 steps, 1 reports of progress, cancelled (tells no server); killed: went on with helve alone");
}

#[test]
fn every_difference_is_named() {
    let mut through = good();
    through["list"]["echo"]["title"] = json!("Echo");
    through["call"]["content"][0]["text"] = json!("grosser als zuvor");
    through["cancel"]["told"] = json!(false);
    through["killed"] = json!({"died": {"raised": "TimeoutError"}, "then": null});
    insta::assert_snapshot!(judge(&good(), &through).unwrap_err(), @r#"list: /echo/title is null directly and "Echo" through helve; call: /content/0/text is "größer als zuvor" directly and "grosser als zuvor" through helve; cancel: through helve the server does not hear of it; killed: the call never ended: {"died":{"raised":"TimeoutError"},"then":null}"#);
}

#[test]
fn two_failures_are_not_the_same_success() {
    let failed = json!({"connection": {"raised": "Refused"}});
    let told = judge(&failed, &failed).unwrap_err().to_string();
    assert!(told.starts_with(
        r#"directly: {"raised":"Refused"}; through helve: {"raised":"Refused"}; list: directly it is null"#
    ));
}
