//! An approver: the program decides the calls for which no rule says yes or no.
//!
//! `cargo run -p helve --example approver`

#![expect(clippy::print_stdout, reason = "an example prints what happens")]

use std::error::Error;

use helve::{
    Approval, ApprovalAnswer, ApprovalRequest, Approver, BoxFuture, CallContext, Caller, FunctionTool, Host, Toolbox,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Delete {
    path: String,
}

/// Lets drafts be deleted for good, and nothing else. A real one asks its person here.
struct DraftsOnly;

impl Approver for DraftsOnly {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        println!("  asked: {}", request.sentence);
        let arguments: Value = serde_json::from_str(request.arguments.as_str()).unwrap_or_default();
        let is_draft = arguments["path"].as_str().is_some_and(|path| path.starts_with("drafts/"));
        let answer = if is_draft {
            // The yes covers calls with such a path, until the tool's definition changes.
            ApprovalAnswer::Always { pattern: Some("path=drafts/*".to_owned()) }
        } else {
            ApprovalAnswer::Decline
        };
        Box::pin(std::future::ready(answer))
    }

    fn keep(&self, approval: &Approval) {
        // The place to write it to a file; the next host gets it with `HostBuilder::approvals`.
        println!("  kept: an approval for {}", approval.tool);
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // A tool that says itself that it destroys.
    let delete = |file: Delete, _| async move { format!("would delete {}", file.path) };
    let delete = FunctionTool::new("delete", "Deletes a file", delete).annotated("destructiveHint", true);
    let host = Host::builder().toolbox(Toolbox::new("disk").with(delete)).approver(DraftsOnly).start().await?;

    // The first draft is asked for, the second is covered by that answer, the report is declined.
    for path in ["drafts/a.txt", "drafts/b.txt", "report.txt"] {
        println!("delete {path}");
        match host.call("disk/delete", json!({ "path": path }), CallContext::new(Caller::Agent)).await {
            Ok(called) => println!("  done: {}", called.to_text()),
            Err(error) => println!("  refused: {}: {}", error.code(), error.chain()),
        }
    }
    host.shutdown().await;
    Ok(())
}
