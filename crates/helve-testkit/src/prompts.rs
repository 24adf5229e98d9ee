//! Owns the prompts and their completion.

use serde_json::{Value, json};

use crate::call::Call;
use crate::fixture;
use crate::scenario::Contents;
use crate::tools::ask;

pub(crate) fn definitions() -> Vec<Value> {
    vec![
        json!({ "name": "simple", "title": "A simple prompt", "description": "No arguments" }),
        json!({ "name": "greet", "description": "Greets somebody", "arguments": [
            { "name": "who", "description": "Whom to greet", "required": true },
            { "name": "tone", "description": "How" } ] }),
        json!({ "name": "embedded", "description": "Carries a resource" }),
        json!({ "name": "asking", "description": "Asks the client before it answers" }),
    ]
}

pub(crate) fn get(call: &Call) {
    if call.peer.scenario().contents == Contents::Fixture {
        return fixture::get_prompt(call);
    }
    let params = call.params();
    let arguments = &params["arguments"];
    let message = match params["name"].as_str().unwrap_or_default() {
        "simple" => text_message("Say hello"),
        "greet" => match arguments["who"].as_str() {
            Some(who) => {
                let tone = arguments["tone"].as_str().unwrap_or("kindly");
                text_message(&format!("Greet {who} {tone}"))
            }
            None => return call.error(-32602, "the argument `who` is required"),
        },
        "embedded" => json!({ "role": "user", "content": { "type": "resource", "resource": {
            "uri": "test://text", "mimeType": "text/plain", "text": "Hello, wörld" } } }),
        "asking" => {
            return ask::run(call, &json!({}), |call, answers| {
                call.result(&json!({ "messages": [text_message(&Value::from(answers).to_string())] }));
            });
        }
        name => return call.error(-32602, &format!("Unknown prompt: {name}")),
    };
    call.result(&json!({ "description": "From the fake peer", "messages": [message] }));
}

/// Completes any argument from a fixed list of words.
pub(crate) fn complete(call: &Call) {
    const WORDS: [&str; 5] = ["paris", "park", "party", "rome", "romania"];
    let params = call.params();
    let typed = params["argument"]["value"].as_str().unwrap_or_default();
    let values: Vec<&str> = WORDS.into_iter().filter(|word| word.starts_with(typed)).collect();
    call.result(&json!({ "completion": { "total": values.len(), "hasMore": false, "values": values } }));
}

fn text_message(text: &str) -> Value {
    json!({ "role": "user", "content": { "type": "text", "text": text } })
}
