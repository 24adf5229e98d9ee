//! A broker of actions: capabilities named `server:tool`, and a status and a code with every result.
//!
//! `cargo run -p helve --example broker`

#![expect(clippy::print_stdout, reason = "an example prints what happens")]

use std::error::Error;
use std::time::Duration;

use helve::broker::{ActionCall, Broker, HostProvider};
use helve::{
    BoxFuture, Host, Outcome, Permit, RawJson, Tool, ToolContext, ToolDefinition, ToolFailure, Toolbox, definition,
};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let kitchen = Toolbox::new("kitchen").with(Cook("boil")).with(Cook("burn")).with(Cook("stew"));
    let host = Host::builder().toolbox(kitchen).start().await?;

    // Anybody can be a provider; this one offers all tools of a host, those of its MCP servers included.
    let broker = Broker::new();
    broker.register(HostProvider::new(host.clone()));
    for capability in broker.capabilities() {
        println!("offered: {}  {}", capability.name, capability.description.unwrap_or_default());
    }

    // Every action ends with a status, whatever happened: well, not well, or too late.
    for (id, capability) in ["kitchen:boil", "kitchen:burn", "kitchen:stew", "kitchen:bake"].into_iter().enumerate() {
        let call = ActionCall {
            id: id.to_string(),
            capability: capability.to_owned(),
            arguments: RawJson::empty_object(),
            timeout: Some(Duration::from_millis(200)),
        };
        let result = broker.invoke(call).await;
        print!("{} {capability}: {:?}", result.id, result.status);
        match result.error {
            Some(error) => println!(" {}: {}", error.code, error.message),
            None => println!(" {}", result.output.map(|output| output.to_string()).unwrap_or_default()),
        }
    }
    host.shutdown().await;
    Ok(())
}

/// Something a kitchen does.
struct Cook(&'static str);

impl Tool for Cook {
    fn definition(&self) -> ToolDefinition {
        let description = format!("Does what one calls to {}", self.0);
        definition(self.0, &description, &json!({"type": "object"}), &json!({"readOnlyHint": true}))
    }

    fn call<'a>(&'a self, _: &'a Permit, _: &'a ToolContext) -> BoxFuture<'a, Result<Outcome, ToolFailure>> {
        Box::pin(async move {
            match self.0 {
                "boil" => Ok(Outcome::text("soup")),
                "burn" => Ok(Outcome::failure("it smells")),
                _ => std::future::pending().await,
            }
        })
    }
}
