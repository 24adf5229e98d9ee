//! A watcher: is told when what a tool says changes, without asking it again and again.
//!
//! `cargo run -p helve --example watcher`

#![expect(clippy::print_stdout, reason = "an example prints what happens")]

use std::sync::atomic::{AtomicU32, Ordering};

use helve::{FunctionTool, Host, MINIMUM_INTERVAL, Outcome, Toolbox, WatchChange};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The tide, which is another one every time.
    let height = AtomicU32::new(180);
    let tide = move |_: Value, _| {
        let height = height.fetch_add(1, Ordering::Relaxed);
        async move { format!("{height} cm") }
    };
    let tide = FunctionTool::with_schema("tide", "How high the water stands", json!({"type": "object"}), tide);
    let harbour = Toolbox::new("harbour").with(tide.only_reads());
    let host = Host::builder().toolbox(harbour).start().await?;
    let watcher = host.watcher();
    let (id, first) = watcher.poll_tool("harbour/tide", json!({}), MINIMUM_INTERVAL, "the boat leaves").await?;
    println!("{id}: {}", Outcome::new(first).open()?.to_text());
    for _ in 0..2 {
        let event = watcher.next().await;
        if let WatchChange::Content(content) = event.change {
            let reason = event.reason.unwrap_or_default();
            println!("{}: {} ({reason})", event.id, Outcome::new(content).open()?.to_text());
        }
    }
    host.shutdown().await;
    Ok(())
}
