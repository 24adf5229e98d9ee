//! Owns the lists: what stands in them, their pages and their faults.

use serde_json::{Map, Value, json};

use crate::call::{Call, ResultKind};
use crate::fault::ListFault;
use crate::scenario::Contents;
use crate::{fixture, prompts, resources, tools};

const HUGE_CURSOR_BYTES: usize = 1 << 20;

pub(crate) fn tools(call: &Call) {
    let scenario = call.peer.scenario();
    let mut items: Vec<String> = Vec::new();
    if !scenario.hide_builtin_tools {
        items.extend(tools::definitions(scenario.contents));
    }
    if call.peer.inner.added_tool_listed() {
        items.push(tools::added_definition().to_string());
    }
    items.extend(scenario.literal_tools.iter().cloned());
    items.extend((0..scenario.generated_tools).map(|number| generated_tool(number, scenario.generated_tool_bytes)));
    page(call, "tools", items);
}

pub(crate) fn resources(call: &Call) {
    page_of(
        call,
        "resources",
        match call.peer.scenario().contents {
            Contents::Toolbox => resources::definitions(),
            Contents::Fixture => fixture::resource_definitions(),
        },
    );
}

pub(crate) fn templates(call: &Call) {
    page_of(
        call,
        "resourceTemplates",
        match call.peer.scenario().contents {
            Contents::Toolbox => resources::templates(),
            Contents::Fixture => fixture::resource_templates(),
        },
    );
}

pub(crate) fn prompts(call: &Call) {
    page_of(
        call,
        "prompts",
        match call.peer.scenario().contents {
            Contents::Toolbox => prompts::definitions(),
            Contents::Fixture => fixture::prompt_definitions(call),
        },
    );
}

fn page_of(call: &Call, key: &str, items: Vec<Value>) {
    page(call, key, items.iter().map(Value::to_string).collect());
}

/// Answers with one page. A cursor is the index of the first item, as text nobody should read.
fn page(call: &Call, key: &str, mut items: Vec<String>) {
    let scenario = call.peer.scenario();
    let params = call.params();
    let start = match params.get("cursor") {
        None => 0,
        Some(cursor) => match cursor.as_str().and_then(cursor_index) {
            Some(index) => index,
            None => return call.error(-32602, "unknown cursor"),
        },
    };
    let fault = scenario.list_fault;
    if fault == Some(ListFault::MalformedItem) {
        items.insert(1.min(items.len()), malformed_item().to_string());
    }
    let size = scenario.page_size.unwrap_or(usize::MAX).max(1);
    let wraps = matches!(fault, Some(ListFault::RepeatedCursor | ListFault::EndlessPages));
    let first = if wraps { 0 } else { start.min(items.len()) };
    let last = first.saturating_add(size).min(items.len());
    let next = match fault {
        Some(ListFault::RepeatedCursor) => Some("cursor:1".to_string()),
        Some(ListFault::EndlessPages) => Some(format!("cursor:{}", start + 1)),
        Some(ListFault::HugeCursor) => Some(format!("cursor:{}{last}", "0".repeat(HUGE_CURSOR_BYTES))),
        Some(ListFault::MalformedItem) | None => (last < items.len()).then(|| format!("cursor:{last}")),
    };
    let shown = items.get(first..last).unwrap_or_default().join(",");
    let next = next.map(|cursor| format!(r#","nextCursor":"{cursor}""#)).unwrap_or_default();
    call.result_text(ResultKind::Cacheable, &format!(r#"{{"{key}":[{shown}]{next}}}"#), Map::new());
}

fn cursor_index(cursor: &str) -> Option<usize> {
    cursor.strip_prefix("cursor:")?.parse().ok()
}

fn malformed_item() -> Value {
    json!({ "title": 7, "inputSchema": "none", "annotations": [], "uri": null })
}

/// A tool with a schema, filled up to about `bytes` bytes.
fn generated_tool(number: usize, bytes: usize) -> String {
    let definition = |filling: &str| {
        format!(
            r#"{{"name":"gen_{number}","title":"Generated {number}","description":"Tool number {number}. {filling}","inputSchema":{{"type":"object","properties":{{"path":{{"type":"string","description":"Where"}},"count":{{"type":"integer","minimum":0}}}},"required":["path"]}},"annotations":{{"readOnlyHint":true}}}}"#
        )
    };
    let bare = definition("").len();
    definition(&"x".repeat(bytes.saturating_sub(bare)))
}
