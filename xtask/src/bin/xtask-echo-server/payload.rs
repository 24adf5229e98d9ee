//! Owns what is prepared before the first request: long lists and large results, so that a call only copies bytes.

use std::fmt::Write;

/// Bytes of one listed tool, close to what real servers send.
const TOOL_BYTES: usize = 940;

/// What to prepare. Zero leaves a payload at its smallest.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    pub(crate) tools: usize,
    pub(crate) text: usize,
    pub(crate) structured: usize,
    /// How long a client of the modern era may keep the list, in milliseconds.
    pub(crate) ttl: usize,
}

/// Results without their opening brace: what comes first depends on the era that asks.
#[derive(Debug)]
pub(crate) struct Payloads {
    pub(crate) list: Vec<u8>,
    pub(crate) text: Vec<u8>,
    pub(crate) structured: Vec<u8>,
}

impl Payloads {
    pub(crate) fn new(sizes: &Sizes) -> Self {
        let mut listed = tools(sizes.tools.max(1));
        if sizes.text > 0 {
            // Gateways call nothing that is not listed.
            listed.push(',');
            listed.push_str(&tool("text"));
        }
        let list = format!(r#""tools":[{listed}]}}"#);
        let text = format!(r#""content":[{{"type":"text","text":"{}"}}],"isError":false}}"#, log(sizes.text));
        let structured =
            format!(r#""content":[],"structuredContent":{{"rows":[{}]}},"isError":false}}"#, rows(sizes.structured));
        Self { list: list.into_bytes(), text: text.into_bytes(), structured: structured.into_bytes() }
    }
}

fn tools(count: usize) -> String {
    let mut text = tool("echo");
    for index in 1..count {
        text.push(',');
        text.push_str(&tool(&format!("tool_{index:05}")));
    }
    text
}

fn tool(name: &str) -> String {
    let schema = r#"{"type":"object","properties":{"text":{"type":"string","description":"What to say","minLength":1},"count":{"type":"integer","minimum":0,"maximum":100,"description":"How often"},"path":{"type":"string","description":"Where to say it"},"options":{"type":"object","properties":{"loud":{"type":"boolean","default":false},"language":{"type":"string","enum":["en","de","fr","pl"]}},"additionalProperties":false},"labels":{"type":"array","items":{"type":"string"},"maxItems":8}},"required":["text","path"]}"#;
    let annotations = r#"{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}"#;
    let rest = format!(r#","inputSchema":{schema},"annotations":{annotations}}}"#);
    let head = format!(r#"{{"name":"{name}","description":""#);
    let filler = TOOL_BYTES.saturating_sub(head.len() + rest.len() + 1);
    let mut words = "Answers with the text it was given, as often as it was told to. ".repeat(filler / 64 + 1);
    words.truncate(filler);
    format!(r#"{head}{words}"{rest}"#)
}

/// Lines of a log, as tools answer with them: their quotes and line ends are escaped on the wire.
fn log(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 100);
    let mut index = 0;
    while text.len() < bytes {
        let written = write!(text, r#"12:00:00 INFO request {index} handled path=\"/tools\" status=200 took=13us\n"#);
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
        index += 1;
    }
    text
}

/// Many small values, the worst case for a client that makes an object of each.
fn rows(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 100);
    let mut index = 0;
    while text.len() < bytes {
        let comma = if index == 0 { "" } else { "," };
        let written =
            write!(text, r#"{comma}{{"id":{index},"name":"item {index}","tags":["a","b","c"],"score":0.5,"ok":true}}"#);
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
        index += 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_json_of_about_the_wanted_size() {
        let payloads = Payloads::new(&Sizes { tools: 100, text: 10_000, structured: 20_000, ttl: 0 });
        for (payload, wanted) in [(&payloads.list, 94_940), (&payloads.text, 10_000), (&payloads.structured, 20_000)] {
            let object = [b"{", payload.as_slice()].concat();
            let value: serde_json::Value = serde_json::from_slice(&object).unwrap();
            assert!(value.is_object());
            assert!(payload.len() >= wanted && payload.len() < wanted + 300, "{} for {wanted}", payload.len());
        }
    }
}
