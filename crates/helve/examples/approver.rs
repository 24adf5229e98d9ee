//! An approver: the program decides the calls for which no rule says yes or no.
//!
//! `cargo run -p helve --example approver`

#![expect(clippy::print_stdout, reason = "an example prints what happens")]

use std::error::Error;

use helve::{
    ApprovalAnswer, ApprovalRequest, Approver, CallContext, Host, Tool, ToolContext, ToolFailure, Toolbox, definition,
};
use helve_model::json::RawJson;
use helve_model::{Outcome, ServerName, ToolDefinition};
use helve_policy::{Approval, Caller, Permit};
use helve_wire::BoxFuture;
use serde_json::{Value, json};

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
    let toolbox = Toolbox::new(ServerName::new("disk")?).with(Delete);
    let host = Host::builder().toolbox(toolbox).approver(DraftsOnly).start().await?;

    // The first draft is asked for, the second is covered by that answer, the report is declined.
    for path in ["drafts/a.txt", "drafts/b.txt", "report.txt"] {
        println!("delete {path}");
        let arguments = RawJson::checked(json!({ "path": path }).to_string())?;
        match host.call("disk/delete", arguments, CallContext::new(Caller::Agent)).await {
            Ok(called) => println!("  done: {}", called.to_text()),
            Err(error) => println!("  refused: {}: {}", error.code(), error.chain()),
        }
    }
    host.shutdown().await;
    Ok(())
}

/// A tool that says itself that it destroys.
struct Delete;

impl Tool for Delete {
    fn definition(&self) -> ToolDefinition {
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        definition("delete", "Deletes a file", &schema, &json!({"destructiveHint": true}))
    }

    fn call<'a>(&'a self, permit: &'a Permit, _: &'a ToolContext) -> BoxFuture<'a, Result<Outcome, ToolFailure>> {
        Box::pin(async move { Ok(Outcome::text(&format!("would delete {}", permit.arguments()))) })
    }
}
