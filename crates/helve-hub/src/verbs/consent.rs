//! A yes in the form of a tool that is tried: it is to a call of that tool, and to nothing that the tool calls in turn. A program
//! (`helve/run_code`) is such a tool.

use std::future::ready;

use helve::{ApprovalAnswer, ApprovalRequest, Approver, BoxFuture, QualifiedName};

/// The yes to a call of this tool.
pub(super) struct ToolConsent(pub(super) QualifiedName);

impl Approver for ToolConsent {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        let answer = if request.name == self.0 { ApprovalAnswer::Once } else { ApprovalAnswer::Unavailable };
        Box::pin(ready(answer))
    }
}
