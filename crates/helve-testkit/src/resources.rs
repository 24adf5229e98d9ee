//! Owns the resources: text, binary, a template, one that is watched and one that asks first.

use std::sync::atomic::Ordering;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::call::Call;
use crate::fixture;
use crate::scenario::Contents;
use crate::tools::ask;

/// The resource whose changes can be watched; the tool `touch` changes it.
pub(crate) const WATCHED: &str = "test://watched";
const TEXT: &str = "test://text";
const BINARY: &str = "test://binary";
const ASKING: &str = "test://asking";
const TEMPLATE_PREFIX: &str = "test://item/";

pub(crate) fn definitions() -> Vec<Value> {
    vec![
        json!({ "uri": TEXT, "name": "text", "title": "Some text", "mimeType": "text/plain", "size": 12,
                "annotations": { "audience": ["user"], "priority": 0.5 } }),
        json!({ "uri": BINARY, "name": "binary", "mimeType": "application/octet-stream" }),
        json!({ "uri": WATCHED, "name": "watched", "description": "Changes when `touch` is called" }),
        json!({ "uri": ASKING, "name": "asking", "description": "Asks the client before it answers" }),
    ]
}

pub(crate) fn templates() -> Vec<Value> {
    vec![json!({ "uriTemplate": "test://item/{id}", "name": "item", "mimeType": "application/json" })]
}

pub(crate) fn read(call: &Call) {
    if call.peer.scenario().contents == Contents::Fixture {
        return fixture::read_resource(call);
    }
    let params = call.params();
    let uri = params["uri"].as_str().unwrap_or_default();
    let content = match uri {
        TEXT => json!({ "uri": uri, "mimeType": "text/plain", "text": "Hello, wörld" }),
        BINARY => {
            let bytes: Vec<u8> = (0..=255).collect();
            json!({ "uri": uri, "mimeType": "application/octet-stream", "blob": STANDARD.encode(bytes) })
        }
        WATCHED => {
            let version = call.peer.inner.touches.load(Ordering::Relaxed);
            json!({ "uri": uri, "mimeType": "text/plain", "text": format!("version {version}") })
        }
        ASKING => {
            return ask::run(call, &json!({}), |call, answers| {
                let text = Value::from(answers).to_string();
                let content = json!({ "uri": ASKING, "mimeType": "application/json", "text": text });
                call.cacheable(&json!({ "contents": [content] }));
            });
        }
        _ => match uri.strip_prefix(TEMPLATE_PREFIX) {
            Some(id) => {
                let text = json!({ "id": id }).to_string();
                json!({ "uri": uri, "mimeType": "application/json", "text": text })
            }
            None => return not_found(call, uri),
        },
    };
    call.cacheable(&json!({ "contents": [content] }));
}

pub(crate) fn not_found(call: &Call, uri: &str) {
    let code = if call.is_modern() { -32602 } else { -32002 };
    call.error_with(code, "Resource not found", Some(json!({ "uri": uri })));
}

pub(crate) fn subscribe(call: &Call) {
    let params = call.params();
    let Some(uri) = params["uri"].as_str() else { return call.error(-32602, "uri is missing") };
    call.connection.state().subscribed.insert(uri.to_string());
    call.result(&json!({}));
}

pub(crate) fn unsubscribe(call: &Call) {
    let params = call.params();
    let Some(uri) = params["uri"].as_str() else { return call.error(-32602, "uri is missing") };
    call.connection.state().subscribed.remove(uri);
    call.result(&json!({}));
}
