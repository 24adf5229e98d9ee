//! Owns the tools that behave: echo, fail, sleep, progress, log, big results and content of every kind.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::call::{Call, ResultKind};
use crate::frame::{MessageKind, Part};

/// Returns the arguments as text and as structured content, byte for byte.
pub(crate) fn echo(call: &Call, raw_arguments: &str) {
    let text = Value::from(raw_arguments);
    let body = format!(r#"{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{raw_arguments}}}"#);
    call.result_text(ResultKind::Complete, &body, Map::new());
}

pub(crate) fn fail(call: &Call, arguments: &Value) {
    let message = arguments["message"].as_str().unwrap_or("it did not work");
    call.result(&json!({ "content": [{ "type": "text", "text": message }], "isError": true }));
}

pub(crate) fn sleep(call: &Call, arguments: &Value) {
    let pause = Duration::from_millis(arguments["ms"].as_u64().unwrap_or(1000));
    call.running("sleep", arguments["ignore_cancel"] == true);
    call.clone().spawn(async move |call| {
        tokio::time::sleep(pause).await;
        answer_text(&call, "slept");
    });
}

pub(crate) fn progress(call: &Call, arguments: Value) {
    let steps = arguments["steps"].as_u64().unwrap_or(3);
    let pause = Duration::from_millis(arguments["delay_ms"].as_u64().unwrap_or(0));
    call.running("progress", false);
    call.clone().spawn(async move |call| {
        for step in 1..=steps {
            // A peer that stands still but keeps talking: the same number again and again.
            let shown = if arguments["resend_last"] == true { 1 } else { step };
            call.progress(shown, steps, &format!("step {step}"));
            call.out.room().await;
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
        }
        answer_text(&call, &format!("{steps} steps"));
    });
}

/// Sends a log message if the client wants that level.
pub(crate) fn log(call: &Call, arguments: &Value) {
    let heard = call.log(arguments["level"].as_str().unwrap_or("info"), &arguments["data"]);
    answer_text(call, if heard { "logged" } else { "not logged" });
}

/// A result with `bytes` bytes of text (or structured content), described rather than held in memory.
pub(crate) fn big(call: &Call, arguments: &Value) {
    const MARK: &str = "@@filling@@";
    let count = arguments["bytes"].as_u64().unwrap_or(1 << 20);
    let body = if arguments["structured"] == true {
        format!(r#"{{"content":[],"structuredContent":{{"filling":"{MARK}"}}}}"#)
    } else {
        format!(r#"{{"content":[{{"type":"text","text":"{MARK}"}}]}}"#)
    };
    let whole = call.result_frame(ResultKind::Complete, &body, Map::new());
    let (before, after) = whole.split_once(MARK).unwrap_or((&whole, ""));
    let mut parts = vec![Part::from(before.to_string()), Part::Fill { byte: b'x', count }];
    if arguments["unfinished"] != true {
        parts.push(Part::Bytes(Bytes::copy_from_slice(after.as_bytes())));
    }
    call.answer(MessageKind::Response, parts);
}

pub(crate) fn contents(call: &Call) {
    call.result(&json!({ "content": [
        { "type": "text", "text": "some text", "annotations": { "audience": ["user"] } },
        { "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" },
        { "type": "audio", "data": "UklGRg==", "mimeType": "audio/wav" },
        { "type": "resource_link", "uri": "test://text", "name": "text" },
        { "type": "resource", "resource": { "uri": "test://text", "mimeType": "text/plain", "text": "embedded" } },
        { "type": "hologram", "beam": [1, 2, 3] },
    ] }));
}

pub(crate) fn answer_text(call: &Call, text: &str) {
    call.result(&json!({ "content": [{ "type": "text", "text": text }] }));
}

/// Returns a value as text and as structured content.
/// Tells what was answered to `ask`; with `must_accept`, anything but a yes makes it fail.
pub(crate) fn answered(call: &Call, answers: Vec<Value>) {
    let must_accept = call.params()["arguments"]["must_accept"] == true;
    if must_accept && answers.iter().any(|answer| answer["action"] != "accept") {
        return fail(call, &json!({ "message": "cannot go on without an answer" }));
    }
    answer_json(call, &json!({ "answers": answers }));
}

pub(crate) fn answer_json(call: &Call, value: &Value) {
    call.result(&json!({ "content": [{ "type": "text", "text": value.to_string() }], "structuredContent": value }));
}
