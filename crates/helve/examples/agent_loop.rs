//! An agent loop: a model asks for tools, helve runs them, until the model is done.
//!
//! The model is scripted and the MCP server is a small one that comes with helve, so no network is needed:
//! `cargo run -p helve --example agent_loop`

#![expect(clippy::print_stdout, reason = "an example prints what happens")]

use std::error::Error;

use helve::{ApproveAll, CallContext, Host, Narrowing, Registry, Scope, Tool, ToolContext, ToolFailure, definition};
use helve_model::json::RawJson;
use helve_model::{
    ConfigText, Layer, Origin, Outcome, ServerName, ServerSpec, StdioSpec, ToolDefinition, TransportSpec,
};
use helve_policy::{Caller, Permit};
use helve_render::Provider;
use helve_wire::BoxFuture;
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // One MCP server and one tool of our own, side by side; of all of them the model gets two.
    let host = Host::builder().server(demo_server()?).approver(ApproveAll).start().await?;
    host.settled(std::time::Duration::from_secs(20)).await;
    let registry = Registry::new(host.clone());
    registry.register(Add)?;
    let two = Narrowing { only: Some(vec!["demo/echo".to_owned(), "add".to_owned()]), ..Narrowing::default() };
    let tools = registry.scope().narrow(&two)?;

    let definitions = tools.definitions(Provider::Anthropic);
    let mut messages = vec![json!({"role": "user", "content": "Add 2 and 3, and echo the word done."})];
    loop {
        let reply = ask_model(&messages, definitions.json());
        let results = run_tools(&tools, &reply).await?;
        messages.push(json!({"role": "assistant", "content": reply}));
        if results.is_empty() {
            break;
        }
        messages.push(json!({"role": "user", "content": results}));
    }
    println!("the conversation has {} messages", messages.len());
    host.shutdown().await;
    Ok(())
}

/// Every `tool_use` becomes a `tool_result`. A refused call is a result too: the model reads why, and goes on.
async fn run_tools(tools: &Scope, reply: &Value) -> Result<Vec<Value>, Box<dyn Error>> {
    let mut results = Vec::new();
    for block in reply.as_array().into_iter().flatten().filter(|block| block["type"] == "tool_use") {
        let (name, input) = (block["name"].as_str().unwrap_or_default(), RawJson::checked(block["input"].to_string())?);
        let (text, is_error) = match tools.execute(name, input, CallContext::new(Caller::Agent)).await {
            Ok(called) => (called.to_text(), called.outcome.is_error()),
            Err(error) => (format!("{}: {}", error.code(), error.chain()), true),
        };
        println!("{name} {} -> {text}", block["input"]);
        results.push(json!({"type": "tool_result", "tool_use_id": block["id"], "content": text, "is_error": is_error}));
    }
    Ok(results)
}

/// A model that says what it always says.
fn ask_model(messages: &[Value], tools: &str) -> Value {
    println!("the model reads {} messages and {} bytes of tools", messages.len(), tools.len());
    if messages.len() > 1 {
        return json!([{"type": "text", "text": "The sum is 5."}]);
    }
    json!([
        {"type": "tool_use", "id": "1", "name": "add", "input": {"a": 2, "b": 3}},
        {"type": "tool_use", "id": "2", "name": "mcp__demo__echo", "input": {"word": "done"}},
        {"type": "tool_use", "id": "3", "name": "mcp__demo__exit", "input": {}},
    ])
}

/// A tool written in Rust.
struct Add;

impl Tool for Add {
    fn definition(&self) -> ToolDefinition {
        let numbers = json!({"a": {"type": "integer"}, "b": {"type": "integer"}});
        let schema = json!({"type": "object", "properties": numbers, "required": ["a", "b"]});
        definition("add", "Adds two numbers", &schema, &json!({"readOnlyHint": true}))
    }

    fn call<'a>(&'a self, permit: &'a Permit, _: &'a ToolContext) -> BoxFuture<'a, Result<Outcome, ToolFailure>> {
        let arguments: Value = serde_json::from_str(permit.arguments().as_str()).unwrap_or_default();
        let sum = arguments["a"].as_i64().unwrap_or(0).saturating_add(arguments["b"].as_i64().unwrap_or(0));
        Box::pin(async move { Ok(Outcome::text(&sum.to_string())) })
    }
}

fn demo_server() -> Result<ServerSpec, Box<dyn Error>> {
    let stdio = StdioSpec {
        command: ConfigText::literal(helve_testkit::peer_program().to_string_lossy()),
        arguments: vec![ConfigText::literal(helve_testkit::Scenario::dual().to_json())],
        environment: [].into_iter().collect(),
        working_directory: None,
    };
    Ok(ServerSpec::new(ServerName::new("demo")?, TransportSpec::Stdio(stdio), Origin::Program, Layer::CommandLine))
}
