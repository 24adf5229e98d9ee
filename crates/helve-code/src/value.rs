//! Owns what a program gets of a tool's result: the structured value, the text, or parsed text; images and bytes as handles.

use helve::{CallError, CallOutcome, ToolEntry};
use helve_model::json::{RawJson, quoted};
use helve_model::{ContentBody, ErrorCode, ResourceBody};
use serde_json::Value;

use crate::frame;

/// What leaves a program as a block of its own, by number.
#[derive(Debug, Default)]
pub(crate) struct Attachments(Vec<RawJson>);

impl Attachments {
    pub(crate) fn get(&self, number: usize) -> Option<&RawJson> {
        self.0.get(number)
    }

    fn put(&mut self, block: &RawJson, mime_type: &str, base64: &str) -> String {
        self.0.push(block.clone());
        let (number, bytes) = (self.0.len() - 1, base64.trim_end_matches('=').len() * 3 / 4);
        RawJson::array([number.to_string(), quoted(mime_type), bytes.to_string()]).as_str().to_owned()
    }
}

/// The answer to a call; `wraps` is what [`wraps_result`] says of the tool.
pub(crate) fn answer(
    id: u64,
    tool: &ToolEntry,
    result: &Result<CallOutcome, CallError>,
    wraps: bool,
    attachments: &mut Attachments,
    most: usize,
) -> String {
    let name = tool.name();
    let at = (Some(name.server.as_str()), Some(name.tool.as_str()));
    let outcome = match result {
        Ok(outcome) => outcome,
        Err(error) => {
            let told = error.to_agent();
            let hints: Vec<String> = told.hints().iter().map(ToString::to_string).collect();
            let message = [vec![told.message().to_owned()], hints].concat().join("; ");
            return frame::error(id, error.code().as_str(), &message, at, None);
        }
    };
    let bytes = outcome.outcome.raw().as_str().len();
    if bytes > most {
        let message = format!("the result has {bytes} bytes, and a program takes up to {most}: ask the tool for less");
        return frame::error(id, ErrorCode::LimitExceeded.as_str(), &message, at, None);
    }
    let Ok(view) = outcome.outcome.open() else {
        return frame::error(id, ErrorCode::ProtocolError.as_str(), "the server's result is not JSON", at, None);
    };
    let structured = view.structured.clone().filter(|value| value.as_str() != "null");
    if view.is_error {
        let text = outcome.to_text();
        let words = if text.trim().is_empty() { "the tool does not say why" } else { text.trim() };
        return frame::error(id, ErrorCode::ToolError.as_str(), words, at, structured.as_ref());
    }
    if let Some(value) = structured {
        let value = if wraps { value.member("result").unwrap_or(value) } else { value };
        return frame::line(frame::answer(id).raw("ok", value));
    }
    let view = view.for_assistant();
    let mut parts: Vec<String> = Vec::new();
    let (mut text, mut texts, mut is_plain) = (String::new(), 0, true);
    for block in &view.content {
        let words = match &block.body {
            ContentBody::Text(words) => words.clone(),
            ContentBody::Image(media) | ContentBody::Audio(media) => {
                is_plain = false;
                parts.push(attachments.put(&block.raw, &media.mime_type, &media.data));
                continue;
            }
            ContentBody::Resource(contents) => match &contents.body {
                ResourceBody::Text(words) => words.clone(),
                ResourceBody::Blob(data) => {
                    is_plain = false;
                    let mime_type = contents.mime_type.as_deref().unwrap_or("application/octet-stream");
                    parts.push(attachments.put(&block.raw, mime_type, data));
                    continue;
                }
            },
            ContentBody::ResourceLink(link) => link.uri.clone(),
            ContentBody::Unknown { .. } => block.raw.as_str().to_owned(),
        };
        parts.push(quoted(&words));
        if texts > 0 {
            text.push('\n');
        }
        text.push_str(&words);
        texts += 1;
    }
    if !is_plain {
        return frame::line(frame::answer(id).array("parts", parts));
    }
    let may_be_json = texts == 1 && tool.view().output_schema.is_none() && text.trim_start().starts_with(['{', '[']);
    frame::line(frame::answer(id).text("text", &text).flag("json", may_be_json))
}

/// True where a server wraps plain values: the one property of its results is `result`.
pub(crate) fn wraps_result(tool: &ToolEntry) -> bool {
    let Some(schema) = tool.view().output_schema.as_ref().and_then(|schema| schema.parse::<Value>().ok()) else {
        return false;
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|properties| properties.len() == 1 && properties.contains_key("result"))
}
