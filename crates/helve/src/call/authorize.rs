//! From a decision to a permit: by rule, by an earlier approval, or by asking.

use helve_model::CallKind;
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
    whereabouts: &Whereabouts,
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

/// Asks whoever can answer for the call. What changed meanwhile is decided again.
pub(super) async fn ask(
    host: &HostCore,
    policy: &ToolPolicy,
    context: &CallContext,
    question: Question,
    whereabouts: &Whereabouts,
) -> Result<Permit, CallError> {
    let approver = context.approver.as_ref().unwrap_or(&host.approver);
    let asked_at = host.snapshot().generation();
    let request = ApprovalRequest {
        name: question.name().clone(),
        kind: question.kind(),
        arguments: question.arguments().clone(),
        principal: question.principal().clone(),
        caller: question.caller(),
        risk: question.ground().risk,
        sentence: question.to_string(),
        decider: Some(question.ground().decider.clone()),
        definition: question.definition(),
        server: question.server(),
        source: context.source.clone(),
    };
    let (span, pattern) = match approver.approve(request).await {
        ApprovalAnswer::Once => (ApprovalSpan::Once, None),
        ApprovalAnswer::Run => (ApprovalSpan::Run, None),
        ApprovalAnswer::Always { pattern } => (ApprovalSpan::Always, pattern),
        ApprovalAnswer::Decline => return Err(context.refused(&question.decline())),
        ApprovalAnswer::DeclineWith(said) => return Err(CallError::declined(&question.decline(), &said)),
        ApprovalAnswer::Later(open) => return Err(CallError::still_open(&question.refuse_unanswered(), open)),
        ApprovalAnswer::Unavailable => return Err(context.refused(&question.refuse_unanswered())),
    };
    let question = if host.snapshot().generation() == asked_at {
        question
    } else {
        match decide_again(host, policy, context, question, whereabouts)? {
            Answer::Approved(permit) => return Ok(permit),
            Answer::Open(question) => question,
        }
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

/// A person may take long to answer. The yes counts only for what was asked: where the rules or the tool's definition are
/// others by now, they decide anew, and what would be another question is not taken for answered.
fn decide_again(
    host: &HostCore,
    policy: &ToolPolicy,
    context: &CallContext,
    asked: Question,
    whereabouts: &Whereabouts,
) -> Result<Answer, CallError> {
    let snapshot = host.snapshot();
    let listed = snapshot.find(asked.name()).filter(|_| asked.kind() == CallKind::Tool);
    let policy = match listed {
        Some(tool) => {
            as_pinned(tool, context)?;
            tool.policy().clone()
        }
        None => match host.rule_set() {
            Some(rules) => rules.for_tool(policy.subject().clone()),
            None => policy.clone(),
        },
    };
    match policy.decide_at(context.called_by(), asked.arguments().clone(), whereabouts) {
        Decision::Allow(permit) => Ok(Answer::Approved(permit)),
        Decision::Deny(refusal) => Err(context.refused(&refusal)),
        Decision::Ask(now) => {
            let is_same = now.definition() == asked.definition()
                && now.server() == asked.server()
                && now.ground().risk == asked.ground().risk
                && now.ground().decider.meaning() == asked.ground().decider.meaning();
            if is_same {
                Ok(Answer::Open(now))
            } else {
                Err(CallError::changed_while_asked(&asked.refuse_unanswered()))
            }
        }
    }
}
