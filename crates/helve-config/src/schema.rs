//! The JSON Schema of `helve.toml`, made from the same table of keys that reads it.
//!
//! Editors take it from `schemas/helve.schema.json`; a test keeps that file current.

use helve_model::Validation;
use serde_json::{Map, Value, json};

use crate::dialect::helve::{BUILTINS, CODE_KEYS, KEYS, ROOT_KEYS, RULE_KEYS, SAMPLING_KEYS, SETTINGS_KEYS};
use crate::discover;
use crate::entry::sandbox;
use crate::field::{Field, Known};
use crate::grants;
use crate::hub;

/// The JSON Schema of `helve.toml`.
#[must_use]
pub fn helve_toml() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "helve.toml",
        "description": "MCP servers for helve, what may be called on them, and settings.",
        "type": "object",
        "additionalProperties": false,
        "properties": properties(ROOT_KEYS, root),
        "$defs": {
            "server": {
                "description": "One server: a command to start, an address to reach, or one that is built in; or just enabled = false for one that another file configures.",
                "type": "object",
                "additionalProperties": false,
                "properties": server_properties(),
                "anyOf": [
                    { "required": ["command"] },
                    { "required": ["url"] },
                    { "required": ["builtin"] },
                    { "required": ["enabled"] }
                ],
                "not": { "anyOf": [
                    { "required": ["command", "url"] },
                    { "required": ["command", "builtin"] },
                    { "required": ["url", "builtin"] }
                ] }
            },
            "rule": {
                "description": "Which calls are allowed. Asked from top to bottom; the first rule that fits decides.",
                "type": "object",
                "additionalProperties": false,
                "properties": properties(RULE_KEYS, rule),
                "required": ["tool", "action"]
            },
            "input": {
                "description": "A value to ask the person for; referred to as ${input:id}.",
                "type": "object",
                "properties": {
                    "id": text("What ${input:id} names."),
                    "type": { "enum": ["promptString", "pickString"] },
                    "description": text("The question."),
                    "password": flag("The answer is secret.", false),
                    "options": texts("The answers to choose from."),
                    "default": text("The answer to suggest.")
                },
                "required": ["id"]
            },
            "settings": {
                "description": "What is not about one server.",
                "type": "object",
                "additionalProperties": false,
                "properties": properties(SETTINGS_KEYS, setting)
            }
        }
    })
}

fn properties(keys: &[&str], describe: fn(&str) -> Value) -> Value {
    Value::Object(keys.iter().map(|key| ((*key).to_owned(), describe(key))).collect())
}

fn server_properties() -> Value {
    let properties: Map<String, Value> = KEYS.iter().map(|known| (known.key.to_owned(), server_key(known))).collect();
    Value::Object(properties)
}

fn root(key: &str) -> Value {
    match key {
        "servers" => json!({
            "description": "The servers, by name.",
            "type": "object",
            "additionalProperties": { "$ref": "#/$defs/server" }
        }),
        "rules" => json!({ "type": "array", "items": { "$ref": "#/$defs/rule" } }),
        "inputs" => json!({ "type": "array", "items": { "$ref": "#/$defs/input" } }),
        "environment" => json!({
            "description": "Variables of your environment that servers of any file may have, by the server's name; a project's server once it is trusted with them. Not in a project's file.",
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": false,
                "properties": properties(grants::KEYS, |_| texts("Variables to hand on when they are set."))
            }
        }),
        "hubs" => json!({
            "description": "Hubs that you joined, by the name of the place their servers stand in. Not in a project's file.",
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": false,
                "properties": properties(hub::KEYS, |_| text("The hub's address: https://hub.example.com."))
            }
        }),
        "settings" => json!({ "$ref": "#/$defs/settings" }),
        _ => text("Where this schema is."),
    }
}

fn setting(key: &str) -> Value {
    match key {
        "timeout_seconds" => seconds(
            "How long a call may stay without answer or progress; for agents of `serve` 600 by default.",
            Some(30),
        ),
        "startup_timeout_seconds" => seconds("How long a server may take to start.", Some(30)),
        "max_retries" => count("How often a call that cannot have run is repeated.", Some(2)),
        "watch" => flag("A host that runs on picks up changed configuration files.", true),
        "cache_tool_schemas" => flag("Keep tool lists between runs.", true),
        "schema_cache_ttl_seconds" => seconds("How long a kept tool list counts as fresh.", Some(3_600)),
        "calls_per_server" => count_from_one("How many calls may be on their way to one server.", 64),
        "result_bytes" => json!({
            "description": "Agents get so many bytes of a result, and the rest in a file; all when left away.",
            "type": "integer",
            "minimum": 1
        }),
        "result_cache_seconds" => seconds(
            "How long results are kept, each for whoever made the call: of `cacheable_tools`, and where `trust_annotations` is set of tools that say they only read and are idempotent; not at all when left away.",
            None,
        ),
        "cacheable_tools" => texts("Tools whose results may be kept too, as server/tool."),
        "validate" => validation("Where the arguments of calls are checked"),
        "keep" => flag("Keep servers running in the background between commands.", false),
        "keep_idle_seconds" => seconds("How long they are kept without use.", Some(600)),
        "private_idle" => idle_time(
            "How long a server that is one agent's alone runs on after its session was abandoned.",
            Some("45s"),
        ),
        "unlisted" => json!({
            "description": "What agents that are served meet where no rule and no list mentions a tool: they ask their person in a form, it runs because they ask their person themselves, or it is refused. Not in a project's file.",
            "enum": ["ask", "allow", "deny"],
            "default": "ask"
        }),
        "unlisted_tokens" => flag(
            "`unlisted = \"allow\"` counts for agents that come with a token, too. Not in a project's file.",
            false,
        ),
        "readonly" => flag("Servers that do not say otherwise are read-only.", false),
        "sandbox" => json!({
            "description": "The sandbox that trust proposes for a project's programs whose entries have none, and that adding a server tries. Not in a project's file.",
            "enum": sandbox::profile_names(),
            "default": "standard"
        }),
        "notify" => texts(
            "Addresses (https) that hear of each call that waits for a person at the hub: its id, whose it is, the tool and a link, never the arguments. Counts in your own files only.",
        ),
        "vault_key" => {
            text("The program that prints the key of the vault, as ${cmd:…}; counts in your own files only.")
        }
        "roots" => texts("The directories that servers are told to work in; none unless they are named here."),
        "code" => json!({
            "description": "Code mode: programs that call tools.",
            "oneOf": [{
                "type": "object",
                "additionalProperties": false,
                "properties": properties(CODE_KEYS, |_| text("The Python (3.10 or newer) that programs run in, a path or a name on PATH; the first python3 on PATH when left away. Not in a project's file."))
            }]
        }),
        "sampling" => json!({
            "description": "The model that servers may use; none without a command.",
            "oneOf": [{
                "type": "object",
                "additionalProperties": false,
                "properties": properties(SAMPLING_KEYS, sampling)
            }]
        }),
        _ => json!({
            "description": "Which other applications' files are read too.",
            "default": true,
            "oneOf": [
                { "type": "boolean" },
                { "type": "array", "items": { "enum": discover::applications() } }
            ]
        }),
    }
}

fn sampling(key: &str) -> Value {
    match key {
        "command" => json!({
            "description": "The program that gets each request as JSON on stdin and answers on stdout; a list holds its arguments too. Not in a project's file.",
            "oneOf": [{ "type": "string", "minLength": 1 }, { "type": "array", "items": { "type": "string" }, "minItems": 1 }]
        }),
        "calls" => count("How often each server may use it in one run.", Some(100)),
        "tokens" => count("How many tokens each server may ask for in one run.", Some(200_000)),
        "concurrent" => count("How many requests of one server may be open at once.", Some(2)),
        _ => seconds("How long an answer may take.", Some(120)),
    }
}

fn rule(key: &str) -> Value {
    match key {
        "tool" => text("Which tools, in any spelling: github/*, github:create_*, mcp__github__*."),
        "pattern" => text("Which arguments: key=glob, or a glob over any string argument."),
        "risk" => json!({ "description": "Only calls of this risk.", "enum": ["low", "medium", "high"] }),
        "kind" => {
            let kinds = ["tool", "resource", "prompt", "method"];
            json!({ "description": "Which kind of call.", "default": "tool", "enum": kinds })
        }
        "by" => json!({
            "description": "Under helve hub, who may answer where the rule asks: anyone (the agent's own form counts) or page (a person on the page or at a terminal). Without it, page for calls of high risk. `anyone` in a project's file does not count.",
            "enum": ["anyone", "page"]
        }),
        "who" => {
            let one = json!({ "type": "string", "pattern": "^(local|token:.+|agent:.+)$" });
            json!({
                "description": "Whose calls: token:GLOB over names of tokens, local, or a list; without it everybody's. agent:GLOB, what a client calls itself, only in rules that deny or ask.",
                "oneOf": [one, { "type": "array", "items": one, "minItems": 1 }]
            })
        }
        _ => json!({ "description": "What happens.", "enum": ["allow", "deny", "ask"] }),
    }
}

/// What a server's key may hold. Meanings that helve's own file does not use are texts.
fn server_key(known: &Known) -> Value {
    match known.field {
        Field::Type => json!({
            "description": "The transport; found out when left away.",
            "enum": ["stdio", "http", "streamable-http", "sse"]
        }),
        Field::Command => json!({
            "description": "The program to start; a list holds its arguments too.",
            "oneOf": [{ "type": "string", "minLength": 1 }, { "type": "array", "items": { "type": "string" }, "minItems": 1 }]
        }),
        Field::Arguments => texts("Its arguments."),
        Field::Environment => table("Variables for the program, besides a short list of harmless ones."),
        Field::EnvironmentFile => text("A .env file with more variables."),
        Field::PassedVariables => texts("Variables of your environment to hand on when they are set."),
        Field::InheritEnvironment => flag("Hand on your whole environment.", false),
        Field::WorkingDirectory => text("Where the program runs."),
        Field::Sandbox => json!({
            "description": "What the program may touch: off, standard, offline or strict, or a table with a profile and what is added to it.",
            "oneOf": [
                { "enum": sandbox::profile_names() },
                { "type": "object", "additionalProperties": false, "properties": properties(sandbox::KEYS, sandbox_key) }
            ]
        }),
        Field::Builtin => json!({
            "description": "One of the servers that ship inside helve.",
            "enum": BUILTINS.iter().map(|(kind, _)| *kind).collect::<Vec<_>>()
        }),
        Field::BuiltinOption(_) => builtin_option(known.key),
        Field::Url => text("The address of a server over HTTP."),
        Field::Headers => table("Headers for every request."),
        Field::BearerVariable => text("The variable that holds a bearer token."),
        Field::OAuth => json!({
            "description": "What is known about signing in; false forbids it.",
            "oneOf": [{ "type": "boolean" }, {
                "type": "object",
                "properties": {
                    "client_id": text("A client registered beforehand."),
                    "client_secret": text("Its secret; refer to a variable."),
                    "scopes": texts("What to ask for."),
                    "callback_port": { "type": "integer", "minimum": 1, "maximum": 65_535 },
                    "metadata_url": text("Where the authorization server describes itself."),
                    "resource": {
                        "description": "The resource to ask for; false sends none.",
                        "oneOf": [{ "type": "string" }, { "type": "boolean" }]
                    },
                    "issuer": text("The issuer the authorization server has to be; counts in your own files only."),
                    "pkce": {
                        "description": "`assume`: PKCE is used though the authorization server does not announce it; counts in your own files only.",
                        "enum": ["required", "assume"],
                        "default": "required"
                    },
                    "callback_host": {
                        "description": "Where the browser is sent back to.",
                        "enum": ["127.0.0.1", "localhost"],
                        "default": "127.0.0.1"
                    },
                    "client_name": text("What helve calls itself when it registers."),
                    "client_metadata_url": text("The address of a document that describes the client, used as its id."),
                    "registration": {
                        "description": "`dynamic`: always registers, even where a client document would do.",
                        "enum": ["auto", "dynamic"],
                        "default": "auto"
                    },
                    "account": text("Tells several logins to one server apart."),
                    "grant": {
                        "description": "`client_credentials`: the client signs in by itself, without a person.",
                        "enum": ["authorization_code", "client_credentials"],
                        "default": "authorization_code"
                    },
                    "client_key": text("The client's private key (PKCS #8 in PEM); refer to a file."),
                    "assertion": text("A token of the platform that says which workload this is; refer to a file."),
                    "enterprise": {
                        "description": "An identity provider that vouches for the person.",
                        "type": "object",
                        "properties": {
                            "token_endpoint": text("Where it exchanges tokens."),
                            "client_id": text("The client that the identity token was issued to."),
                            "client_secret": text("Its secret; refer to a variable."),
                            "id_token": text("The identity token; refer to a file or a program.")
                        }
                    }
                }
            }]
        }),
        Field::Enabled => flag("Switched on.", true),
        Field::Required => flag("helve does not start without it.", false),
        Field::Lazy => flag("Started at first use.", false),
        Field::OneAtATime => flag("One request at a time.", false),
        Field::Shared => json!({
            "description": "Agents that are served share it, or each has one of its own; as its protocol allows when left away.",
            "type": "boolean"
        }),
        Field::Redact => {
            flag("Take the server's own secrets out of its results; elsewhere they are always hidden.", true)
        }
        Field::Record => json!({
            "description": "What a hub records of its calls besides that they were made: cut, without secrets, sealed.",
            "default": "none",
            "enum": ["none", "arguments", "all"]
        }),
        Field::PrivateIdle => idle_time(
            "How long an agent's own one runs on after its session was abandoned; as the setting says when left away.",
            None,
        ),
        Field::ProtocolVersion => text("The protocol version to speak; found out when left away."),
        Field::StartupTimeout(_) => seconds("How long it may take to start.", None),
        Field::CallTimeout(_) => seconds("How long a call may stay without answer or progress.", None),
        Field::MaxRetries => count("How often a call that cannot have run is repeated.", None),
        Field::Validation => validation("Where the arguments of its calls are checked"),
        Field::Tools => texts("Only these tools exist for an agent; globs."),
        Field::WriteTools => texts("These tools may write without asking; globs."),
        Field::DisabledTools => texts("These tools do not exist for an agent; globs."),
        Field::Readonly => flag("Tools that are not known to be read-only need write_tools or an approval.", false),
        Field::TrustAnnotations => flag("Believe the server when it calls a tool harmless.", false),
        _ => text("For people."),
    }
}

/// What a key of a server's sandbox may hold.
fn sandbox_key(key: &str) -> Value {
    let limit = |description: &str| json!({ "description": description, "type": "integer", "minimum": 1 });
    match key {
        "profile" => json!({
            "description": "standard: reads the system, its runtime and its directory, writes a cache of its own, all of the network; offline: no network, writes a temporary directory alone; strict: named paths and named hosts.",
            "enum": sandbox::profile_names(),
            "default": "standard"
        }),
        "read" => texts("Can be read besides."),
        "write" => texts("Can be read and written besides; nothing there can be run."),
        "exec" => texts("Can be read, written and run besides."),
        "network" => json!({
            "description": "all, none, or hosts: api.github.com, *.githubusercontent.com:443. private:HOST may be on this machine or in a private network.",
            "oneOf": [{ "enum": ["all", "none"] }, { "type": "array", "items": { "type": "string" } }]
        }),
        "unix" => flag("Unix sockets may be made and connected to.", false),
        "memory_mb" => limit("Megabytes of address space, for each process."),
        "processes" => limit("Processes and threads; not for root."),
        "open_files" => limit("Open files, for each process."),
        "file_size_mb" => limit("Megabytes of one file."),
        "processor_seconds" => limit("Seconds of processor time, for each process."),
        _ => json!({
            "description": "true: do not start unless all of it is enforced; false: start with what this machine can enforce. Not false in a project's file.",
            "type": "boolean"
        }),
    }
}

/// What an option of a built-in server may hold.
fn builtin_option(key: &str) -> Value {
    match key {
        "roots" => json!({
            "description": "filesystem: the directories it may use, and nothing outside of them.",
            "type": "array",
            "items": { "type": "string", "minLength": 1 },
            "minItems": 1
        }),
        "database" => text("sqlite: the file."),
        "writable" => flag("filesystem, sqlite: there are tools that change something.", false),
        "max_file_bytes" => count_from_one("filesystem: the most that is read at once.", 10_485_760),
        "max_rows" => count_from_one("sqlite: the most rows a result has.", 1_000),
        "max_bytes" => count_from_one("sqlite: the most bytes a result has.", 1_048_576),
        _ => count_from_one("sqlite: the most steps a statement takes.", 500_000_000),
    }
}

fn validation(what: &str) -> Value {
    json!({
        "description": format!(
            "{what}: the tool's schema before anything is sent (strict), or the server, which gets them as they are (server). When left away: server for agents of `serve`, strict for everybody else."
        ),
        "enum": Validation::WORDS.map(|(word, _)| word)
    })
}

fn count_from_one(description: &str, default: u64) -> Value {
    json!({ "description": description, "type": "integer", "minimum": 1, "default": default })
}

fn text(description: &str) -> Value {
    json!({ "description": description, "type": "string" })
}

fn idle_time(description: &str, default: Option<&str>) -> Value {
    let mut time = json!({
        "description": format!("{description} A time like 45s, 10m or 1h, or never."),
        "type": "string",
        "pattern": "^([0-9]+([.][0-9]+)?(ms|s|m|h)|never)$"
    });
    if let (Some(default), Some(time)) = (default, time.as_object_mut()) {
        time.insert("default".to_owned(), default.into());
    }
    time
}

fn texts(description: &str) -> Value {
    json!({ "description": description, "type": "array", "items": { "type": "string" } })
}

fn table(description: &str) -> Value {
    let scalar = json!({ "type": ["string", "number", "boolean"] });
    json!({ "description": description, "type": "object", "additionalProperties": scalar })
}

fn flag(description: &str, default: bool) -> Value {
    json!({ "description": description, "type": "boolean", "default": default })
}

fn seconds(description: &str, default: Option<u64>) -> Value {
    with_default(json!({ "description": description, "type": "number", "exclusiveMinimum": 0 }), default)
}

fn count(description: &str, default: Option<u64>) -> Value {
    with_default(json!({ "description": description, "type": "integer", "minimum": 0 }), default)
}

fn with_default(mut schema: Value, default: Option<u64>) -> Value {
    if let (Some(default), Some(object)) = (default, schema.as_object_mut()) {
        object.insert("default".to_owned(), default.into());
    }
    schema
}
