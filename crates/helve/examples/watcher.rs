//! A watcher: hears when what a tool says becomes another, without asking it itself.
//!
//! `cargo run -p helve --example watcher`

#![expect(clippy::print_stdout, reason = "an example prints what happens")]

use std::sync::atomic::{AtomicU32, Ordering};

use helve::model::json::RawJson;
use helve::model::{Outcome, ServerName, ToolDefinition};
use helve::policy::Permit;
use helve::wire::BoxFuture;
use helve::{Change, Host, MINIMUM_INTERVAL, Tool, ToolContext, ToolFailure, Toolbox, definition};
use serde_json::json;

/// The tide, which is another one every time.
struct Tide(AtomicU32);

impl Tool for Tide {
    fn definition(&self) -> ToolDefinition {
        definition("tide", "How high the water stands", &json!({"type": "object"}), &json!({"readOnlyHint": true}))
    }

    fn call<'a>(&'a self, _: &'a Permit, _: &'a ToolContext) -> BoxFuture<'a, Result<Outcome, ToolFailure>> {
        let height = self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(Ok(Outcome::text(&format!("{height} cm")))))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let harbour = Toolbox::new(ServerName::new("harbour")?).with(Tide(AtomicU32::new(180)));
    let host = Host::builder().toolbox(harbour).start().await?;
    let watcher = host.watcher();
    let (id, first) =
        watcher.poll_tool("harbour/tide", RawJson::empty_object(), MINIMUM_INTERVAL, "the boat leaves").await?;
    println!("{id}: {}", Outcome::new(first).open()?.to_text());
    for _ in 0..2 {
        let event = watcher.next().await;
        if let Change::Content(content) = event.change {
            let reason = event.reason.unwrap_or_default();
            println!("{}: {} ({reason})", event.id, Outcome::new(content).open()?.to_text());
        }
    }
    host.shutdown().await;
    Ok(())
}
