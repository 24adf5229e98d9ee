//! A good visit passes, and every kind of bad one does not.

use serde_json::json;

use super::*;

fn good() -> Value {
    json!({
        "connect": "2026-07-28",
        "list": {
            "tools": ["everything__echo", "filesystem__read_text_file", "time__get_current_time"],
            "prompts": ["everything__args-prompt"],
            "resources": ["demo://architecture.md"],
        },
        "call": {"echo": "Echo: größer", "read": "written", "time": "it is noon, UTC"},
        "read": {"resource": "Resource 1: text", "prompt": "What is the weather in Oslo?"},
        "progress": [[1, 4], [2.0, 4.0], [3, 4]],
        "cancel": {"refused": "enough", "then": "Echo: still here"},
        "subscribe": {"uri": "demo://1", "update": "demo://1"},
        "appear": ["everything__trigger-sampling-request", "everything__trigger-elicitation-request"],
        "sample": {"asked": "hello from Ada", "text": "{\"text\": \"as scripted by Ada\"}"},
        "elicit": {"asked": "Please provide inputs", "text": "Name: Ada\nFavorite Integer: 42"},
        "roots": "Roots (1 total): file:///scratch",
        "close": true,
    })
}

const ADA: Visitor<'static> = Visitor { name: "Ada", place: "" };

fn wire() -> Vec<Value> {
    vec![
        json!({"id": 7, "method": "tools/call", "params": {"name": "long", "arguments": {"duration": 20}}}),
        json!({"method": "notifications/cancelled", "params": {"requestId": 7}}),
    ]
}

#[test]
fn a_good_visit_is_told_in_a_few_words() {
    insta::assert_snapshot!(
        judge(ADA, &good(), &wire(), Era::Modern).unwrap(),
        @"2026-07-28: list, call, read, progress, cancel, subscribe, appear, sample, elicit, roots, close"
    );
}

#[test]
fn every_fault_is_named() {
    let mut seen = good();
    seen["progress"] = json!([[2, 4], [1, 4], [3, 4]]);
    seen["subscribe"]["update"] = json!("demo://2");
    seen["sample"] = json!({"error": "nobody asked"});
    seen["elicit"]["text"] = json!("Name: Bob\nFavorite Integer: 42");
    seen["roots"] = Value::Null;
    let told = judge(ADA, &seen, &wire()[..1], Era::Modern).unwrap_err().to_string();
    insta::assert_snapshot!(told, @r#"2026-07-28: progress: [[2,4],[1,4],[3,4]]; subscribe: {"update":"demo://2","uri":"demo://1"}; sample: nobody asked; elicit: "Name: Bob\nFavorite Integer: 42"; roots: null; cancel: the server was not told"#);
}

#[test]
fn the_era_has_to_be_the_one_asked_for() {
    insta::assert_snapshot!(
        judge(ADA, &good(), &wire(), Era::Legacy).unwrap_err(),
        @"connected in the wrong era: 2026-07-28"
    );
    let refused = json!({"connect": {"error": "no"}});
    insta::assert_snapshot!(judge(ADA, &refused, &[], Era::Legacy).unwrap_err(), @r#"not connected: {"error":"no"}"#);
}

#[test]
fn a_legacy_server_hears_nothing_modern() {
    let mut wire = wire();
    wire[0]["params"]["_meta"] = json!({"io.modelcontextprotocol/logLevel": "info"});
    assert!(judge(ADA, &good(), &wire, Era::Modern).is_ok());
    let mut legacy = good();
    legacy["connect"] = json!("2025-11-25");
    let told = judge(ADA, &legacy, &wire, Era::Legacy).unwrap_err().to_string();
    assert!(told.starts_with("2025-11-25: the server was told what its era does not know: {"), "{told}");
}
