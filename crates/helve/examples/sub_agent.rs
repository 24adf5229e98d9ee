//! A sub-agent that gets some of its parent's tools, and can never get more.
//!
//! `cargo run -p helve --example sub_agent`

#![expect(clippy::print_stdout, reason = "an example prints what happens")]

use std::error::Error;

use helve::{AgentTools, CallContext, Caller, FunctionTool, Host, Narrowing, Provider, Registry};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let host = Host::builder().start().await?;
    let registry = Registry::new(host.clone());
    for name in ["read_notes", "search_notes", "count_notes"] {
        let work = move |_: Value, _| async move { format!("{name} was called") };
        let tool = FunctionTool::with_schema(name, "Does something with notes", json!({"type": "object"}), work);
        registry.register(tool.only_reads())?;
    }
    show("the parent", registry.scope());

    // The sub-agent may read and search.
    let sub_agent = registry.scope().narrow(&Narrowing::only(["read_*", "search_*"]))?;
    show("its sub-agent", &sub_agent);

    // A sub-agent of the sub-agent asks for everything, and gets what its parent has without the search.
    let grandchild = sub_agent.narrow(&Narrowing::only(["*"]).and_without(["search_notes"]))?;
    show("the sub-agent's own", &grandchild);

    // What is not offered cannot be called either, however well the name is guessed.
    for (who, scope) in [("the parent", registry.scope()), ("its sub-agent", &sub_agent)] {
        match scope.execute("count_notes", json!({}), CallContext::new(Caller::Agent)).await {
            Ok(called) => println!("{who} calls count_notes: {}", called.to_text()),
            Err(error) => println!("{who} calls count_notes: {}: {error}", error.code()),
        }
    }
    host.shutdown().await;
    Ok(())
}

fn show(who: &str, scope: &AgentTools) {
    let definitions = scope.definitions(Provider::Anthropic);
    let names: Vec<&str> = definitions.array().names().map(|(name, _)| name).collect();
    println!("{who} has: {}", names.join(", "));
}
