//! Owns the peer's tools: their definitions and which function serves which name.

pub(crate) mod ask;
mod basic;
mod descend;
mod stream;

pub(crate) use descend::{DESCENDANT, live as live_as_descendant};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
pub(crate) use stream::write_stderr;

use crate::call::Call;
use crate::scenario::Contents;
use crate::{fixture, tasks};

/// Serves `tools/call`.
pub(crate) fn call(call: &Call) {
    #[derive(Deserialize)]
    struct Params<'a> {
        name: String,
        #[serde(borrow)]
        arguments: Option<&'a RawValue>,
    }
    let params = call.params.as_ref().and_then(|raw| serde_json::from_str::<Params<'_>>(raw.get()).ok());
    let Some(Params { name, arguments }) = params else { return call.error(-32602, "name is missing") };
    let raw = arguments.map_or("{}", RawValue::get);
    let fixture = call.peer.scenario().contents == Contents::Fixture && name != "added";
    if fixture {
        let Ok(arguments) = serde_json::from_str::<Value>(raw) else {
            return call.error(-32602, "arguments are broken");
        };
        return fixture::call_tool(call, &name, &arguments);
    }
    if name == "echo" || name.starts_with("gen_") || name == "added" || name == "with_headers" {
        return basic::echo(call, raw);
    }
    let Ok(arguments) = serde_json::from_str::<Value>(raw) else { return call.error(-32602, "arguments are broken") };
    match name.as_str() {
        "fail" => basic::fail(call, &arguments),
        "sleep" => basic::sleep(call, &arguments),
        "progress" => basic::progress(call, arguments),
        "log" => basic::log(call, &arguments),
        "big" => basic::big(call, &arguments),
        "contents" => basic::contents(call),
        "ask" => ask::run(call, &arguments, basic::answered),
        "task" => tasks::start(call, &arguments),
        "raw" => stream::raw(call, &arguments),
        "noise" => stream::noise(call, &arguments),
        "notify" => stream::notify(call, arguments),
        "stderr" => stream::stderr(call, &arguments),
        "close_stdout" => stream::close_stdout(call),
        "exit" => stream::exit(call, &arguments),
        "list_changed" => stream::list_changed(call, &arguments),
        "touch" => stream::touch(call, &arguments),
        "end_subscriptions" => stream::end_subscriptions(call, &arguments),
        "recorded" => stream::recorded(call),
        "spawn_descendants" => descend::spawn(call, &arguments),
        _ => call.error(-32602, &format!("Unknown tool: {name}")),
    }
}

/// The definitions of all built-in tools as JSON text.
pub(crate) fn definitions(contents: Contents) -> Vec<String> {
    match contents {
        Contents::Toolbox => toolbox().iter().map(Value::to_string).collect(),
        Contents::Fixture => fixture::tool_definitions(),
    }
}

/// The arguments of a tool that are mirrored into headers: their names, and the headers in lower case.
pub(crate) fn mirrored_arguments(contents: Contents, tool: &str) -> Vec<(String, String)> {
    let mirroring = definitions(contents).into_iter().filter(|text| text.contains("x-mcp-header"));
    let parsed = mirroring.filter_map(|text| serde_json::from_str::<Value>(&text).ok());
    let definition = parsed.into_iter().find(|definition| definition["name"] == tool).unwrap_or_default();
    let properties = definition["inputSchema"]["properties"].as_object().cloned().unwrap_or_default();
    let mirrored = properties.into_iter().filter_map(|(name, property)| {
        let header = property["x-mcp-header"].as_str()?.to_ascii_lowercase();
        Some((name, format!("mcp-param-{header}")))
    });
    mirrored.collect()
}

fn toolbox() -> Vec<Value> {
    let integer = json!({ "type": "integer", "minimum": 0 });
    let string = json!({ "type": "string" });
    let boolean = json!({ "type": "boolean" });
    let tool = |name: &str, description: &str, properties: Value| json!({ "name": name, "description": description, "inputSchema": { "type": "object", "properties": properties } });
    let mut tools = vec![
        json!({
            "name": "echo", "title": "Echo", "description": "Returns its arguments",
            "inputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": true, "idempotentHint": true, "openWorldHint": false },
            "icons": [{ "src": "https://example.com/echo.png", "mimeType": "image/png", "sizes": ["48x48"] }],
            "_meta": { "example.com/kept": true },
        }),
        tool("fail", "Fails", json!({ "message": string })),
        tool("sleep", "Answers later", json!({ "ms": integer, "ignore_cancel": boolean })),
        tool("progress", "Reports progress", json!({ "steps": integer, "delay_ms": integer, "resend_last": boolean })),
        tool("log", "Sends a log message", json!({ "level": string, "data": {} })),
        tool("big", "Returns many bytes", json!({ "bytes": integer, "structured": boolean, "unfinished": boolean })),
        tool("contents", "Returns one block of every kind", json!({})),
        tool(
            "ask",
            "Asks the client",
            json!({
            "kind": { "enum": ["form", "url", "url_error", "sampling", "roots", "mixed"] }, "rounds": integer,
            "message": string, "no_state": boolean, "state_only": boolean, "must_accept": boolean, "params": {} }),
        ),
        tool("raw", "Writes bytes to the stream", json!({ "text": string, "base64": string, "then_answer": boolean })),
        tool("noise", "Writes lines that are not protocol", json!({ "lines": integer, "kind": string })),
        tool("notify", "Sends many notifications", json!({ "count": integer, "method": string, "params": {} })),
        tool("stderr", "Writes to stderr", json!({ "bytes": integer })),
        tool("close_stdout", "Closes the stream and lives on", json!({})),
        tool("exit", "Ends the peer", json!({ "status": integer, "answer": boolean })),
        tool(
            "list_changed",
            "Changes a list",
            json!({ "kind": { "enum": ["tools", "prompts", "resources"] }, "silent": boolean }),
        ),
        tool("touch", "Changes a resource", json!({ "uri": string })),
        tool(
            "end_subscriptions",
            "Ends all subscriptions",
            json!({
            "how": { "enum": ["result", "cancelled", "abrupt"] }, "next": { "enum": ["taken", "refused", "shortened"] } }),
        ),
        tool("recorded", "Says what the peer has received", json!({})),
        tool(
            "spawn_descendants",
            "Starts processes",
            json!({
            "shapes": { "type": "array", "items": { "enum": ["wrapper", "double_fork", "setsid"] } },
            "ignore_signals": boolean, "inherit_stdout": boolean, "lifetime_ms": integer }),
        ),
        tool(
            "with_headers",
            "Wants arguments mirrored into headers",
            json!({
            "region": { "type": "string", "x-mcp-header": "Region" },
            "count": { "type": "integer", "x-mcp-header": "Count" } }),
        ),
    ];
    let mut task = tool(
        "task",
        "Answers with a task",
        json!({
        "polls": integer, "poll_ms": integer, "tool_error": boolean, "fail": boolean, "ask": boolean,
        "unasked": boolean, "text": string }),
    );
    task["execution"] = json!({ "taskSupport": "required" });
    tools.push(task);
    tools
}

/// The tool that `list_changed` adds and takes away.
pub(crate) fn added_definition() -> Value {
    json!({ "name": "added", "description": "Was not here before", "inputSchema": { "type": "object" } })
}
