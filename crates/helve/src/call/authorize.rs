//! From a decision to a permit: by rule, by an earlier approval, or by asking.

use helve_model::json::RawJson;
use helve_policy::{Answer, ApprovalSpan, Decision, Permit, Question, ToolPolicy, Whereabouts};

use super::CallContext;
use super::record::Recording;
use crate::ask::{ApprovalAnswer, ApprovalRequest};
use crate::catalog::ToolEntry;
use crate::error::CallError;
use crate::host_core::HostCore;
use helve_model::sync::lock;

/// Refuses what does not belong to what the caller may see and call, before anything is said about it.
pub(super) fn in_scope(
    policy: &ToolPolicy,
    context: &CallContext,
    recording: &mut Recording<'_>,
) -> Result<(), CallError> {
    let subject = policy.subject();
    match context.scope.refuse(&subject.name, subject.kind, policy.risk()) {
        None => Ok(()),
        Some(refusal) => {
            recording.refused(&refusal);
            Err(context.refused(&refusal))
        }
    }
}

/// Refuses a tool whose definition is not the one that was pinned.
pub(super) fn as_pinned(tool: &ToolEntry, context: &CallContext) -> Result<(), CallError> {
    if tool.is_unpinned() { Err(context.refused(&tool.policy().refuse_changed())) } else { Ok(()) }
}

/// What rules and earlier approvals say of a call: the right to make it, or a question that is still open.
pub(super) fn decide(
    host: &HostCore,
    policy: &ToolPolicy,
    arguments: RawJson,
    whereabouts: Whereabouts,
    context: &CallContext,
    recording: &mut Recording<'_>,
) -> Result<Answer, CallError> {
    let decision = policy.decide_at(context.called_by(), arguments, whereabouts);
    recording.decided(&decision);
    match decision {
        Decision::Allow(permit) => Ok(Answer::Approved(permit)),
        Decision::Deny(refusal) => Err(context.refused(&refusal)),
        Decision::Ask(question) => {
            // Bound first: never two locks at once.
            let answer = lock(&host.approvals).answer(question);
            let answer = match (answer, &context.approvals) {
                (Answer::Open(question), Some(own)) => lock(own.set()).answer(question),
                (answer, _) => answer,
            };
            Ok(match answer {
                Answer::Open(question) if context.leaves_unlisted => match question.leave_to_agent() {
                    Ok(permit) => {
                        recording.permitted(&permit);
                        Answer::Approved(permit)
                    }
                    Err(question) => Answer::Open(question),
                },
                answer => answer,
            })
        }
    }
}

/// Asks whoever can answer for the call.
pub(super) async fn ask(host: &HostCore, context: &CallContext, question: Question) -> Result<Permit, CallError> {
    let approver = context.approver.as_ref().unwrap_or(&host.approver);
    let request = ApprovalRequest {
        name: question.name().clone(),
        kind: question.kind(),
        arguments: question.arguments().clone(),
        principal: question.principal().clone(),
        caller: question.caller(),
        risk: question.ground().risk,
        sentence: question.to_string(),
    };
    let (span, pattern) = match approver.approve(request).await {
        ApprovalAnswer::Once => (ApprovalSpan::Once, None),
        ApprovalAnswer::Run => (ApprovalSpan::Run, None),
        ApprovalAnswer::Always { pattern } => (ApprovalSpan::Always, pattern),
        ApprovalAnswer::Decline => return Err(context.refused(&question.decline())),
        ApprovalAnswer::Unavailable => return Err(context.refused(&question.refuse_unanswered())),
    };
    let (permit, approval) = question.approve(span, pattern.as_deref());
    if let Some(approval) = approval {
        // What is for good is kept by the host; what is for now, by whoever said it.
        match &context.approvals {
            Some(own) if approval.span != ApprovalSpan::Always => lock(own.set()).add(approval),
            _ => {
                if approval.span == ApprovalSpan::Always {
                    approver.keep(&approval);
                    // Whoever was asked for the call, the host's own approver is who remembers for all of them.
                    if context.approver.is_some() {
                        host.approver.keep(&approval);
                    }
                }
                lock(&host.approvals).add(approval);
            }
        }
    }
    Ok(permit)
}
