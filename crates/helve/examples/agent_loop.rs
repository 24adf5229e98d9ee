//! An agent loop: a model asks for tools, helve runs them, until the model is done.
//!
//! The model is scripted and the MCP server is a small one that comes with helve, so no network is needed:
//! `cargo run -p helve --example agent_loop`

#![expect(clippy::print_stdout, reason = "an example prints what happens")]

use std::error::Error;

use helve::{
    AgentTools, ApproveAll, CallContext, Caller, FunctionTool, Host, Narrowing, Provider, Registry, ServerSpec,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// What the tool of our own takes: its schema is made from this.
#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // One MCP server and one tool of our own, side by side; of all of them the model gets two.
    let program = helve_testkit::peer_program().to_string_lossy().into_owned();
    let demo = ServerSpec::stdio("demo", program).arg(helve_testkit::Scenario::dual().to_json());
    let host = Host::builder().server(demo).approver(ApproveAll).start().await?;
    host.settled(std::time::Duration::from_secs(20)).await;
    let registry = Registry::new(host.clone());
    let add = |numbers: Add, _| async move { numbers.a.saturating_add(numbers.b).to_string() };
    registry.register(FunctionTool::new("add", "Adds two numbers", add).only_reads())?;
    let tools = registry.scope().narrow(&Narrowing::only(["demo/echo", "add"]))?;

    let definitions = tools.definitions(Provider::Anthropic);
    let mut messages = vec![json!({"role": "user", "content": "Add 2 and 3, and echo the word done."})];
    loop {
        let reply = ask_model(&messages, definitions.json());
        let results = run_tools(&tools, &reply).await;
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
async fn run_tools(tools: &AgentTools, reply: &Value) -> Vec<Value> {
    let mut results = Vec::new();
    for block in reply.as_array().into_iter().flatten().filter(|block| block["type"] == "tool_use") {
        let name = block["name"].as_str().unwrap_or_default();
        let (text, is_error) = match tools.execute(name, &block["input"], CallContext::new(Caller::Agent)).await {
            Ok(called) => (called.to_text(), called.outcome.is_error()),
            Err(error) => (format!("{}: {}", error.code(), error.chain()), true),
        };
        println!("{name} {} -> {text}", block["input"]);
        results.push(json!({"type": "tool_result", "tool_use_id": block["id"], "content": text, "is_error": is_error}));
    }
    results
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
