//! What agents and people are told about a question.

use helve::ApprovalRequest;
use helve_model::text::{cut, one_line};
use helve_policy::Decider;
use helve_store::{Approval, Moment};

use super::LONGEST_REASON;

/// What asks, for the page.
pub(super) fn rule(request: &ApprovalRequest) -> String {
    match &request.decider {
        Some(Decider::Rule(source)) => {
            let rule = &source.rule;
            let with =
                rule.pattern.as_ref().map(|pattern| format!(" with `{}`", one_line(pattern))).unwrap_or_default();
            format!("a rule says ask for `{}`{with}", one_line(&rule.tool))
        }
        Some(other) => other.to_string(),
        None => request.sentence.clone(),
    }
}

/// A reason as the agent reads it.
pub(super) fn reason(text: &str) -> String {
    cut(one_line(text.trim()).as_ref(), LONGEST_REASON).into_owned()
}

/// Who answered, as everybody reads it.
pub(crate) fn decider(decider: Option<&str>) -> String {
    match decider {
        Some("page") => "on the page".to_owned(),
        Some("terminal") => "at a terminal".to_owned(),
        Some(other) => match (other.strip_prefix("token:"), other.strip_prefix("form:")) {
            (Some(name), _) => format!("with the token {name}"),
            (_, Some("")) => "in the agent's form".to_owned(),
            (_, Some(agent)) => format!("in the form of {agent}"),
            _ => format!("by {other}"),
        },
        None => "by nobody".to_owned(),
    }
}

/// What the agent reads when a person said no.
pub(super) fn denied(approval: &Approval) -> String {
    let by = decider(approval.decider.as_deref());
    match &approval.reason {
        Some(reason) => format!("a person said no {by} ({}): {reason}", approval.id),
        None => format!("a person said no {by} ({})", approval.id),
    }
}

/// What the agent reads when nobody may ask for it any more.
pub(super) fn withdrawn(approval: &Approval) -> String {
    let why = approval.reason.as_deref().unwrap_or("whoever asked may not ask any more");
    format!("approval {} was withdrawn: {why}", approval.id)
}

/// What the agent reads when it has waited long enough.
pub(super) fn still_open(approval: &Approval) -> String {
    let until = clock_time(approval.asked.ends);
    format!("not run; approval {} is open until {until}; call again with the same arguments", approval.id)
}

/// What the agent reads when nobody answered.
pub(super) fn expired(approval: &Approval) -> String {
    format!("not run; nobody answered approval {} in time; call again to ask anew", approval.id)
}

/// What the agent reads that asks too much.
pub(super) fn too_many(count: u64) -> String {
    format!("not run; {count} calls of yours wait for an answer already: wait for one of them before you ask for more")
}

/// What the agent reads when the hub cannot ask.
pub(super) const CANNOT_ASK: &str = "not run; a person has to say yes, and the hub cannot ask one now";

/// What the agent hears while its call waits.
pub(super) fn waiting(request: &ApprovalRequest) -> String {
    format!("waiting for approval of {}", request.name)
}

/// What an agent's person reads above a page.
pub(super) fn page(approval: &Approval) -> String {
    format!("{}/{} waits for your answer: {}", approval.asked.server, approval.asked.tool, approval.id)
}

/// Hour and minute, of the time that is the same everywhere.
fn clock_time(at: Moment) -> String {
    let stamp = jiff::Timestamp::from_microsecond(at.micros()).unwrap_or_default();
    stamp.strftime("%H:%M UTC").to_string()
}
