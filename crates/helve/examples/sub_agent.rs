//! A sub-agent that gets some of its parent's tools, and can never get more.
//!
//! `cargo run -p helve --example sub_agent`

#![expect(clippy::print_stdout, reason = "an example prints what happens")]

use std::error::Error;

use helve::{CallContext, Host, Narrowing, Registry, Scope, Tool, ToolContext, ToolFailure, definition};
use helve_model::json::RawJson;
use helve_model::{Outcome, ToolDefinition};
use helve_policy::{Caller, Permit};
use helve_render::Provider;
use helve_wire::BoxFuture;
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let host = Host::builder().start().await?;
    let registry = Registry::new(host.clone());
    for name in ["read_notes", "search_notes", "count_notes"] {
        registry.register(Note(name))?;
    }
    show("the parent", registry.scope());

    // The sub-agent may read and search.
    let reading = Narrowing { only: Some(vec!["read_*".to_owned(), "search_*".to_owned()]), ..Narrowing::default() };
    let sub_agent = registry.scope().narrow(&reading)?;
    show("its sub-agent", &sub_agent);

    // A sub-agent of the sub-agent asks for everything, and gets what its parent has without the search.
    let everything = Narrowing { only: Some(vec!["*".to_owned()]), without: vec!["search_notes".to_owned()] };
    let grandchild = sub_agent.narrow(&everything)?;
    show("the sub-agent's own", &grandchild);

    // What is not offered cannot be called either, however well the name is guessed.
    for (who, scope) in [("the parent", registry.scope()), ("its sub-agent", &sub_agent)] {
        match scope.execute("count_notes", RawJson::empty_object(), CallContext::new(Caller::Agent)).await {
            Ok(called) => println!("{who} calls count_notes: {}", called.to_text()),
            Err(error) => println!("{who} calls count_notes: {}: {error}", error.code()),
        }
    }
    host.shutdown().await;
    Ok(())
}

fn show(who: &str, scope: &Scope) {
    let definitions = scope.definitions(Provider::Anthropic);
    let names: Vec<&str> = definitions.array().names().map(|(name, _)| name).collect();
    println!("{who} has: {}", names.join(", "));
}

/// A harmless tool of this name.
struct Note(&'static str);

impl Tool for Note {
    fn definition(&self) -> ToolDefinition {
        definition(self.0, "Does something with notes", &json!({"type": "object"}), &json!({"readOnlyHint": true}))
    }

    fn call<'a>(&'a self, permit: &'a Permit, _: &'a ToolContext) -> BoxFuture<'a, Result<Outcome, ToolFailure>> {
        Box::pin(async move { Ok(Outcome::text(&format!("{} was called", permit.name().tool.as_str()))) })
    }
}
