//! Calls that wait for a person: listed, allowed, denied. Only here it is decided whose answer counts.

use helve_model::Principal;
use helve_policy::pin::DefinitionHash;
use helve_store::{Approval, ApprovalState, DecideOutcome, NewChange};

use crate::actor::Actor;
use crate::approval_queue;
use crate::error::HubError;
use crate::hub::Hub;

/// So many that wait are shown at once.
const WAITING: usize = 100;

/// So many that were answered are shown.
const SETTLED: usize = 100;

/// So many answers about the same tool are shown.
const BEFORE: usize = 5;

/// A question with everything that helps to answer it.
#[derive(Debug, Clone)]
pub struct ApprovalInfo {
    /// The question.
    pub approval: Approval,
    /// The arguments without known secrets, for those who may answer; `None` once it is answered.
    pub arguments: Option<String>,
    /// Callers that wait for the answer.
    pub callers: usize,
    /// How the tool's definition stands to the one that was last approved.
    pub definition: DefinitionStand,
    /// What was answered about the same tool before, the newest first.
    pub before: Vec<Approval>,
}

/// How a tool's definition stands to the one that was last approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionStand {
    /// It has none.
    None,
    /// The tool was never approved here.
    New,
    /// It is the same.
    Same,
    /// It is another.
    Changed,
    /// The server gives another by now: a yes would not count.
    Outdated,
}

/// The questions there are.
#[derive(Debug, Clone)]
pub struct ApprovalList {
    /// Those that wait, the newest first.
    pub waiting: Vec<ApprovalInfo>,
    /// Those that were answered or have ended, the newest first.
    pub settled: Vec<Approval>,
}

/// All questions that wait, and the newest that do not any more.
///
/// # Errors
/// The store cannot be read.
pub fn list(hub: &Hub, actor: &Actor) -> Result<ApprovalList, HubError> {
    let waiting = hub.store.pending_approvals(hub.now(), WAITING)?;
    let waiting: Result<_, _> = waiting.into_iter().map(|approval| info(hub, actor, approval)).collect();
    Ok(ApprovalList { waiting: waiting?, settled: hub.store.settled_approvals(SETTLED)? })
}

/// One question.
///
/// # Errors
/// There is none of that name, or the store cannot be read.
pub fn one(hub: &Hub, actor: &Actor, id: &str) -> Result<ApprovalInfo, HubError> {
    let found = hub.store.approval(&spelled(id))?;
    info(hub, actor, found.ok_or_else(|| HubError::not_found(format!("there is no approval {id:?}")))?)
}

/// Lets the call go on, once.
///
/// # Errors
/// Whoever asks may not answer, the question was answered or has ended, or the store cannot be written.
pub fn allow(hub: &Hub, actor: &Actor, id: &str) -> Result<Approval, HubError> {
    decide(hub, actor, id, true, None)
}

/// Refuses the call. The agent reads the reason.
///
/// # Errors
/// Whoever asks may not answer, the question was answered or has ended, or the store cannot be written.
pub fn deny(hub: &Hub, actor: &Actor, id: &str, reason: Option<&str>) -> Result<Approval, HubError> {
    decide(hub, actor, id, false, reason)
}

fn decide(hub: &Hub, actor: &Actor, id: &str, is_allowed: bool, reason: Option<&str>) -> Result<Approval, HubError> {
    let id = spelled(id);
    let found = hub.store.approval(&id)?.ok_or_else(|| HubError::not_found(format!("there is no approval {id}")))?;
    let decider = may_answer(actor, &found)?;
    let decided = match hub.approvals.decide(&id, is_allowed, &decider, reason)? {
        DecideOutcome::Decided(decided) => decided,
        DecideOutcome::TooLate(standing) => return Err(too_late(&standing)),
    };
    hub.store.add_change(NewChange {
        at: hub.now(),
        actor: actor.name(),
        verb: if is_allowed { "allowed" } else { "denied" }.to_owned(),
        object: format!("call {} of {}/{}", decided.id, decided.asked.server, decided.asked.tool),
        ..NewChange::default()
    })?;
    Ok(decided)
}

/// Who answers, as it is noted. Only a person may: a token counts as one where a person made it an approver, and nowhere where
/// the rule wants the page.
pub(super) fn may_answer(actor: &Actor, approval: &Approval) -> Result<String, HubError> {
    match actor {
        Actor::Session => Ok("page".to_owned()),
        Actor::Operator => Ok("terminal".to_owned()),
        Actor::Admin { approver: false, .. } => {
            Err(HubError::forbidden("this token may not answer approvals").hint("answer on the page, or at a terminal"))
        }
        Actor::Admin { name, .. } if approval.asked.principal == Principal::token(name).id() => {
            Err(HubError::forbidden("a token does not answer its own calls")
                .hint("answer on the page, or at a terminal"))
        }
        Actor::Admin { .. } if approval.asked.needs_page => {
            Err(HubError::forbidden("a person has to answer this one on the page or at a terminal: no token can")
                .hint("a rule with `by = \"anyone\"` lets tokens answer that may"))
        }
        Actor::Admin { name, .. } => Ok(format!("token:{name}")),
    }
}

/// The loser of a race reads who won.
fn too_late(standing: &Approval) -> HubError {
    let id = &standing.id;
    let by = approval_queue::decider_words(standing.decider.as_deref());
    HubError::conflict(match standing.state {
        ApprovalState::Allowed | ApprovalState::Used | ApprovalState::Lapsed => {
            format!("too late: {id} was allowed already, {by}")
        }
        ApprovalState::Denied => format!("too late: {id} was denied already, {by}"),
        ApprovalState::Withdrawn => format!("too late: {id} was withdrawn, and nothing ran"),
        ApprovalState::Expired | ApprovalState::Pending => format!("too late: {id} has expired, and nothing ran"),
    })
}

fn info(hub: &Hub, actor: &Actor, approval: Approval) -> Result<ApprovalInfo, HubError> {
    let asked = &approval.asked;
    let mut before = hub.store.approvals_of_tool(&asked.server, &asked.tool, BEFORE + 1)?;
    before.retain(|other| other.id != approval.id);
    before.truncate(BEFORE);
    let callers = hub.approvals.callers(&approval.id);
    let may_see = approval.state == ApprovalState::Pending && may_answer(actor, &approval).is_ok();
    let arguments = may_see.then(|| hub.approvals.arguments(&approval)).flatten();
    let definition = stand(hub, &approval, &before);
    Ok(ApprovalInfo { approval, arguments, callers, definition, before })
}

fn stand(hub: &Hub, approval: &Approval, before: &[Approval]) -> DefinitionStand {
    let asked = &approval.asked;
    let Some(definition) = &asked.definition else { return DefinitionStand::None };
    let snapshot = hub.host().snapshot();
    let listed = snapshot.tools().find(|tool| {
        let name = tool.name();
        name.server.as_str() == asked.server && name.tool.as_str() == asked.tool
    });
    let now = listed.map(|tool| {
        use helve_model::Definition as _;
        DefinitionHash::of(tool.definition().raw().as_str()).to_string()
    });
    if now.is_some_and(|now| now != *definition) {
        return DefinitionStand::Outdated;
    }
    let mut approved = before.iter().filter(|other| other.state != ApprovalState::Denied);
    match approved.next() {
        None => DefinitionStand::New,
        Some(last) if last.asked.definition.as_ref() == Some(definition) => DefinitionStand::Same,
        Some(_) => DefinitionStand::Changed,
    }
}

/// An id as it is kept, however a person writes it.
fn spelled(id: &str) -> String {
    let id = id.trim().to_ascii_uppercase();
    if id.starts_with("A-") { id } else { format!("A-{id}") }
}
