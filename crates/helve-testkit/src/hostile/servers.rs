//! Owns what a hostile server says in the course of a call, and which of it an agent may get.

use serde_json::{Value, json};

use super::{METHODS, odd_spellings};

/// Every text carries this: whatever of it reaches an agent can be told from what the gateway says itself.
pub const MARK: &str = "said-by-the-server";

/// An agent, as far as it decides what a server may say to it.
#[derive(Clone, Debug)]
pub struct Reader {
    /// Questions that it said it can answer, by method.
    pub answers: &'static [&'static str],
    /// The token of the progress that it asked for; `None`: it asked for none.
    pub progress: Option<Value>,
}

/// What a hostile server says, one text after another: each ends with the answer to the call, whose id is `$ID`.
pub fn texts() -> Vec<String> {
    let answer = r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}"#;
    let params = format!(
        r#"{{"{MARK}":1,"uri":"test://text","taskId":"task-1","requestId":1,"progressToken":1,"progress":1,"mode":"form","message":"{MARK}","requestedSchema":{{"type":"object","properties":{{}}}},"messages":[],"maxTokens":1,"level":"error","data":"{MARK}"}}"#
    );
    let mut texts = Vec::new();
    for method in METHODS {
        for name in std::iter::once(method.to_owned()).chain(odd_spellings(method)) {
            let name = json!(name).to_string();
            for id in ["\"q\"", "0", "null"] {
                texts.push(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{name},"params":{params}}}"#));
            }
            texts.push(format!(r#"{{"jsonrpc":"2.0","method":{name},"params":{params}}}"#));
        }
        let quoted = json!(method).to_string();
        let message = format!(r#"{{"jsonrpc":"2.0","method":{quoted},"params":{params}}}"#);
        texts.push(format!(r#"[{{"jsonrpc":"2.0","id":"q","method":{quoted},"params":{params}}},{message}]"#));
        texts.push(format!(r#"{{"jsonrpc":"2.0","method":{quoted},"params":{{"{MARK}":1,"a":bogus}}}}"#));
        texts.push(format!(r#"{{"jsonrpc":"2.0","method":{quoted},"method":{quoted},"params":{params}}}"#));
        texts.push(format!(r#"{{"jsonrpc":"2.0","method":{quoted},"params":{params},"params":{{}}}}"#));
        texts.push(format!(r#"{{"method":{quoted},"params":{params}}}"#));
        // Answers to what nobody asked, or to what another asked.
        for id in ["4242", "\"$ID\"", "0", "null"] {
            texts.push(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"method":{quoted},"params":{params}}}}}"#));
        }
        // Progress and logs under tokens and ids that are another's, or nobody's.
        for token in ["0", "2", "3", "\"t\"", "{}"] {
            let told = params.replace(r#""progressToken":1"#, &format!(r#""progressToken":{token}"#));
            texts.push(format!(r#"{{"jsonrpc":"2.0","method":{quoted},"params":{told}}}"#));
        }
    }
    texts.into_iter().map(|text| format!("{text}\n{answer}\n")).collect()
}

/// Why an agent must not have got this message; `None`: it may. Answers to its own requests are not asked about.
pub fn objection(message: &Value, reader: &Reader) -> Option<String> {
    const NOTICES: [&str; 3] = [
        "notifications/tools/list_changed",
        "notifications/resources/list_changed",
        "notifications/prompts/list_changed",
    ];
    let object = |reason: &str| Some(format!("{reason}: {message}"));
    let Some(method) = message["method"].as_str() else { return object("an answer to nothing it asked") };
    if message.get("id").is_some() {
        let is_known = reader.answers.contains(&method);
        return if is_known { None } else { object("a question that it did not say it can answer") };
    }
    match method {
        "notifications/progress" if reader.progress.as_ref() == Some(&message["params"]["progressToken"]) => None,
        "notifications/progress" => object("progress that it did not ask for"),
        // Which agent may hear which log is asked apart.
        "notifications/message" => None,
        notice if NOTICES.contains(&notice) && !message.to_string().contains(MARK) => None,
        _ => object("a notification that nobody decided on"),
    }
}
