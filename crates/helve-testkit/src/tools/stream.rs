//! Owns the tools that abuse the stream, end things, change things, and look at the recording.

use std::io::Write;
use std::sync::atomic::Ordering;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::basic::{answer_json, answer_text};
use crate::call::Call;
use crate::fault::{Noise, NoiseKind};
use crate::frame::{FILL_BLOCK, Frame};
use crate::listen::{self, Change};
use crate::resources::WATCHED;

/// Writes exactly the given bytes, with `$ID` replaced by the request's id. No answer follows unless asked for.
pub(crate) fn raw(call: &Call, arguments: &Value) {
    let bytes = match (arguments["text"].as_str(), arguments["base64"].as_str()) {
        (Some(text), None) => text.replace("$ID", &call.id).into_bytes(),
        (None, Some(encoded)) => match STANDARD.decode(encoded) {
            Ok(bytes) => replace_id(&bytes, &call.id),
            Err(error) => return call.error(-32602, &format!("not base64: {error}")),
        },
        _ => return call.error(-32602, "either text or base64 is needed"),
    };
    call.out.send_raw(bytes);
    if arguments["then_answer"] == true {
        answer_text(call, "written");
    } else {
        call.finished();
    }
}

/// Lines of noise, then the answer.
pub(crate) fn noise(call: &Call, arguments: &Value) {
    let kind: NoiseKind = serde_json::from_value(arguments["kind"].clone()).unwrap_or_default();
    let noise = Noise { lines: arguments["lines"].as_u64().unwrap_or(10), kind };
    call.running("noise", false);
    call.clone().spawn(async move |call| {
        crate::noise::write(&call.out, noise).await;
        answer_text(&call, "that was noise");
    });
}

/// Many notifications, then the answer.
pub(crate) fn notify(call: &Call, arguments: Value) {
    call.running("notify", false);
    call.clone().spawn(async move |call| {
        let method = arguments["method"].as_str().unwrap_or("notifications/message");
        let count = arguments["count"].as_u64().unwrap_or(10);
        for number in 0..count {
            let params = match &arguments["params"] {
                Value::Null => json!({ "level": "info", "data": number }),
                given => given.clone(),
            };
            call.notify(method, &params);
            call.out.room().await;
        }
        answer_text(&call, "notified");
    });
}

pub(crate) fn stderr(call: &Call, arguments: &Value) {
    let bytes = arguments["bytes"].as_u64().unwrap_or(1024);
    call.running("stderr", false);
    call.clone().spawn(async move |call| {
        // A full pipe blocks: that must not stop the rest of the peer.
        let written = tokio::task::spawn_blocking(move || write_stderr(bytes)).await;
        answer_text(&call, if written.is_ok_and(|result| result.is_ok()) { "written" } else { "stderr is closed" });
    });
}

/// Ends the stream towards the client; the peer goes on reading.
pub(crate) fn close_stdout(call: &Call) {
    call.out.send(Frame::CloseStream);
}

pub(crate) fn exit(call: &Call, arguments: &Value) {
    let status = arguments["status"].as_i64().and_then(|status| i32::try_from(status).ok()).unwrap_or(0);
    if arguments["answer"] != true {
        return call.connection.ending.exit(call.peer.recorder(), status);
    }
    answer_text(call, "bye");
    call.out.send(Frame::CloseStream);
    call.clone().spawn(async move |call| {
        call.out.closed().await;
        call.connection.ending.exit(call.peer.recorder(), status);
    });
}

pub(crate) fn list_changed(call: &Call, arguments: &Value) {
    let change = match arguments["kind"].as_str() {
        Some("prompts") => Change::Prompts,
        Some("resources") => Change::Resources,
        _ => {
            call.peer.inner.list_changes.fetch_add(1, Ordering::Relaxed);
            Change::Tools
        }
    };
    if arguments["silent"] != true {
        listen::announce(call, &change);
    }
    answer_text(call, "changed");
}

pub(crate) fn touch(call: &Call, arguments: &Value) {
    call.peer.inner.touches.fetch_add(1, Ordering::Relaxed);
    let uri = arguments["uri"].as_str().unwrap_or(WATCHED);
    listen::announce(call, &Change::Resource(uri.to_string()));
    answer_text(call, "touched");
}

pub(crate) fn end_subscriptions(call: &Call, arguments: &Value) {
    let how = serde_json::from_value(arguments["how"].clone()).unwrap_or_default();
    let next = serde_json::from_value(arguments["next"].clone()).unwrap_or_default();
    listen::end_all(call, how, next);
    answer_text(call, "ended");
}

pub(crate) fn recorded(call: &Call) {
    let recording = call.peer.recorder().recording();
    answer_json(call, &json!({ "entries": recording.entries }));
}

/// Writes that many bytes to stderr in lines.
pub(crate) fn write_stderr(mut bytes: u64) -> std::io::Result<()> {
    let mut block = vec![b'e'; FILL_BLOCK];
    for (index, byte) in block.iter_mut().enumerate() {
        if index % 80 == 79 {
            *byte = b'\n';
        }
    }
    let mut stderr = std::io::stderr().lock();
    while bytes > 0 {
        let piece = block.get(..usize::try_from(bytes).unwrap_or(FILL_BLOCK).min(FILL_BLOCK)).unwrap_or_default();
        stderr.write_all(piece)?;
        bytes -= piece.len() as u64;
    }
    Ok(())
}

fn replace_id(bytes: &[u8], id: &str) -> Vec<u8> {
    let mut rest = bytes;
    let mut replaced = Vec::with_capacity(bytes.len());
    while let Some(at) = rest.windows(3).position(|window| window == b"$ID") {
        let (before, after) = rest.split_at(at);
        replaced.extend_from_slice(before);
        replaced.extend_from_slice(id.as_bytes());
        rest = after.get(3..).unwrap_or_default();
    }
    replaced.extend_from_slice(rest);
    replaced
}
