//! The document of the interface: one table of routes, from which it is made. A test compares it with the one that is kept
//! beside the code, and another one asks every route of it.

use serde_json::{Map, Value, json};

/// One route.
struct Route(&'static str, &'static str, &'static str, &'static [(&'static str, &'static str)], Option<fn() -> Value>);

/// Every route: method, path, what it does, what its address may say, what its body is.
const ROUTES: &[Route] = &[
    Route("GET", "/api/v1/status", "How the hub is doing", &[], None),
    Route("GET", "/api/v1/servers", "All servers", &[], None),
    Route("POST", "/api/v1/understand", "What a typed server would run, where its secrets would go", &[], Some(add)),
    Route("POST", "/api/v1/servers", "Adds the server that was shown; `shown` names it", &[], Some(add)),
    Route("POST", "/api/v1/test", "Starts the server that was shown aside, and ends it again", &[], Some(add)),
    Route("GET", "/api/v1/servers/{server}", "One server", &[], None),
    Route("DELETE", "/api/v1/servers/{server}", "Removes a server's entry", VERSION, None),
    Route("POST", "/api/v1/servers/{server}/enable", "Switches a server on", VERSION, None),
    Route("POST", "/api/v1/servers/{server}/disable", "Switches a server off", VERSION, None),
    Route("POST", "/api/v1/servers/{server}/restart", "Ends a server and starts it again", &[], None),
    Route("GET", "/api/v1/servers/{server}/tools", "The tools of a server", &[], None),
    Route("GET", "/api/v1/servers/{server}/log", "What a server wrote to its standard error lately", &[], None),
    Route(
        "GET",
        "/api/v1/servers/{server}/settings",
        "A server's entry, as a form and as the text of its file",
        &[],
        None,
    ),
    Route("PUT", "/api/v1/servers/{server}/settings", "Changes a server's entry", &[], Some(settings)),
    Route("GET", "/api/v1/servers/{server}/definitions", "Definitions of tools that changed", &[], None),
    Route(
        "POST",
        "/api/v1/servers/{server}/pins",
        "Holds the definition of a tool fast, or lets it go",
        &[],
        Some(pin),
    ),
    Route("POST", "/api/v1/servers/{server}/sign-in", "Begins a login; a person goes to the page it gives", &[], None),
    Route("POST", "/api/v1/servers/{server}/sign-out", "Gives a login up", &[], None),
    Route("POST", "/api/v1/tools/{server}/{tool}/call", "Calls a tool", &[], Some(object)),
    Route("GET", "/api/v1/approvals", "Calls that wait for a person, and those that did", &[], None),
    Route("GET", "/api/v1/approvals/{id}", "One of them", &[], None),
    Route("POST", "/api/v1/approvals/{id}/allow", "Lets a call go on, once", &[], None),
    Route("POST", "/api/v1/approvals/{id}/deny", "Refuses a call; `reason` reaches the agent", &[], Some(reason)),
    Route(
        "GET",
        "/api/v1/approvals/{id}/always",
        "The rule that would always allow such a call, and what it would have decided lately",
        ALWAYS,
        None,
    ),
    Route(
        "POST",
        "/api/v1/approvals/{id}/always",
        "Saves that rule in the person's own file, and lets the call go on",
        &[],
        Some(always),
    ),
    Route("GET", "/api/v1/calls", "Finds calls", CALLS, None),
    Route("GET", "/api/v1/calls/{seq}", "One call", &[], None),
    Route("GET", "/api/v1/audit", "Whether the chain of records holds", &[], None),
    Route("GET", "/api/v1/audit/export", "All records as lines of JSON", &[], None),
    Route("POST", "/api/v1/explain", "Why a call is decided as it is", &[], Some(explain)),
    Route(
        "GET",
        "/api/v1/rules",
        "The rules in order, with what they decided lately, and answers kept for always",
        &[],
        None,
    ),
    Route("POST", "/api/v1/rules/check", "What a draft would decide otherwise about recorded calls", &[], Some(text)),
    Route("DELETE", "/api/v1/rules/kept/{id}", "Takes an answer for always back", &[], None),
    Route("GET", "/api/v1/files", "The files that can be edited, without their secrets", &[], None),
    Route("PUT", "/api/v1/files", "Replaces the text of a file", &[], Some(text)),
    Route("GET", "/api/v1/trust", "What waits for trust", &[], None),
    Route("POST", "/api/v1/trust", "Trusts all that was shown of a file", &[], Some(trust)),
    Route("GET", "/api/v1/tokens", "All tokens", &[], None),
    Route("POST", "/api/v1/tokens", "Makes a token", &[], Some(token)),
    Route("DELETE", "/api/v1/tokens/{name}", "Revokes a token", &[], None),
    Route("GET", "/api/v1/changes", "What people changed", &[("before", "only those before this number")], None),
    Route("GET", "/api/v1/changes/{seq}", "One change", &[], None),
    Route("GET", "/api/v1/changes/{seq}/undo", "What taking a change back would do", &[], None),
    Route("POST", "/api/v1/changes/{seq}/undo", "Takes a change back", &[], Some(version)),
    Route("GET", "/api/v1/openapi.json", "This interface", &[], None),
];

const ALWAYS: &[(&str, &str)] = &[
    ("who", "caller or everybody"),
    ("argument", "the argument that has to be as it is in the call that waits; *: none"),
];

const VERSION: &[(&str, &str)] = &[("version", "the version of the file that it was decided on")];

const CALLS: &[(&str, &str)] = &[
    ("from", "calls that ended at this moment or later, in microseconds since 1970"),
    ("until", "calls that ended before this moment"),
    ("window", "hour, day, week or month, instead of `from`"),
    ("before", "only calls before this number: where the last answer ended"),
    ("who", "a token's name, or local"),
    ("agent", "what the agent calls itself"),
    ("server", "the server"),
    ("tool", "the tool, as server/tool"),
    ("decision", "allow, ask, deny or none"),
    ("end", "done, tool_error, cached, refused or failed"),
    ("limit", "so many rows"),
];

/// The interface, as a document that other programs read.
#[must_use]
pub fn openapi() -> Value {
    let mut paths = Map::new();
    for Route(method, path, summary, query, body) in ROUTES {
        let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let in_path =
            names.map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }));
        let in_query = query.iter().map(
            |(name, what)| json!({ "name": name, "in": "query", "description": what, "schema": { "type": "string" } }),
        );
        let mut operation = json!({
            "summary": summary,
            "parameters": in_path.chain(in_query).collect::<Vec<_>>(),
            "responses": {
                "200": { "description": "Done", "content": { "application/json": {} } },
                "default": {
                    "description": "Why not",
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
                },
            },
        });
        if let (Some(body), Some(operation)) = (body, operation.as_object_mut()) {
            let content = json!({ "application/json": { "schema": body() } });
            operation.insert("requestBody".to_owned(), json!({ "required": true, "content": content }));
        }
        let entry = paths.entry((*path).to_owned()).or_insert_with(|| json!({}));
        if let Some(entry) = entry.as_object_mut() {
            entry.insert(method.to_ascii_lowercase(), operation);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "helve hub", "version": "1" },
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": { "Error": error() },
        },
        "security": [{ "token": [] }],
        "paths": paths,
    })
}

fn strings(names: &[(&str, &str)], required: &[&str]) -> Value {
    let properties: Map<String, Value> = names
        .iter()
        .map(|(name, what)| ((*name).to_owned(), json!({ "type": "string", "description": what })))
        .collect();
    json!({ "type": "object", "additionalProperties": false, "required": required, "properties": properties })
}

fn with(mut schema: Value, name: &str, property: Value) -> Value {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert(name.to_owned(), property);
    }
    schema
}

fn error() -> Value {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": { "error": {
            "type": "object",
            "required": ["code", "message", "hints"],
            "properties": {
                "code": { "type": "string" },
                "message": { "type": "string" },
                "hints": { "type": "array", "items": { "type": "string" } },
                "problems": { "type": "array", "items": { "type": "object" }, "description": "what is wrong with a text, by line" },
                "conflict": { "type": "object", "description": "file, version, theirs and mine: nothing was written" },
            },
        } },
    })
}

fn add() -> Value {
    let names = [
        ("typed", "a command line, an address, or a piece of any client's configuration"),
        ("entry", "which server of a piece that has several"),
        ("name", "what it is to be called"),
        ("scope", "user, project or local"),
        ("sandbox", "off, standard, offline or strict"),
        ("version", "the version of the file it goes to"),
        ("shown", "names what was shown: `understand` gives it"),
    ];
    let secrets = json!({
        "type": "object", "additionalProperties": { "type": "string" }, "description": "values by the names of the slots",
    });
    with(strings(&names, &["typed"]), "secrets", secrets)
}

fn settings() -> Value {
    let lines = || json!({ "type": "array", "items": { "type": "string" } });
    let pairs = || json!({ "type": "array", "items": { "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2 } });
    let mut form = strings(&[("command", ""), ("working_directory", ""), ("url", ""), ("sandbox", "")], &[]);
    for (name, property) in [
        ("arguments", lines()),
        ("environment", pairs()),
        ("headers", pairs()),
        ("tools", lines()),
        ("disabled_tools", lines()),
        ("call_timeout_seconds", json!({ "type": "number" })),
    ] {
        form = with(form, name, property);
    }
    let names = [("version", "the version of the file it was made on"), ("text", "the whole text of the file")];
    with(strings(&names, &["version"]), "form", form)
}

fn pin() -> Value {
    let names = [("tool", "the tool"), ("definition", "names the definition that is accepted")];
    with(strings(&names, &["tool", "action"]), "action", json!({ "enum": ["pin", "unpin", "accept"] }))
}

fn explain() -> Value {
    let names = [("tool", "the tool, in any spelling"), ("as", "whose call: local, or token:NAME")];
    with(strings(&names, &["tool"]), "arguments", object())
}

fn text() -> Value {
    let names = [
        ("file", "one of the files that `files` lists"),
        ("text", "the whole text; marks stand for secrets that stay"),
        ("version", "the version of the file it was made on"),
    ];
    strings(&names, &["file", "text"])
}

fn trust() -> Value {
    strings(&[("file", "the file"), ("version", "names what was shown")], &["file", "version"])
}

fn version() -> Value {
    strings(&[("version", "the version of the file as it was shown")], &["version"])
}

fn reason() -> Value {
    strings(&[("reason", "what the agent is told")], &[])
}

fn always() -> Value {
    let names: Vec<_> =
        ALWAYS.iter().copied().chain([("version", "the version of the file as it was shown")]).collect();
    strings(&names, &["version"])
}

fn token() -> Value {
    let lines = || json!({ "type": "array", "items": { "type": "string" } });
    let mut schema = strings(&[("name", "its name, never used twice")], &["name", "kind"]);
    for (name, property) in [
        ("kind", json!({ "enum": ["agent", "admin"] })),
        ("approver", json!({ "type": "boolean" })),
        ("read_only", json!({ "type": "boolean" })),
        ("servers", lines()),
        ("tools", lines()),
        ("days", json!({ "type": "integer", "minimum": 1 })),
    ] {
        schema = with(schema, name, property);
    }
    schema
}

fn object() -> Value {
    json!({ "type": "object" })
}
