//! The calls that wait for a person.

use helve_page::json_tree;
use helve_page::view::{Approval as Shown, ApprovalState as ShownState, Approvals, SettledApproval};
use helve_store::{Approval, ApprovalState, Moment};

use super::rules::without_place;
use super::shown::{moment, span};
use crate::actor::Actor;
use crate::approval_queue::decider_words;
use crate::error::HubError;
use crate::hub::Hub;
use crate::verbs::approvals::{ApprovalInfo, ApprovalList, DefinitionStand, list, one};

/// All of them.
pub(super) fn view(hub: &Hub) -> Result<Approvals, HubError> {
    Ok(shown(hub, &list(hub, &Actor::Session)?))
}

/// One of them, where a link leads.
pub(super) fn view_of(hub: &Hub, id: &str) -> Result<Approvals, HubError> {
    let found = one(hub, &Actor::Session, id)?;
    let is_waiting = found.approval.state == ApprovalState::Pending && found.approval.asked.ends > hub.now();
    let (waiting, settled) = if is_waiting { (vec![found], Vec::new()) } else { (Vec::new(), vec![found.approval]) };
    Ok(shown(hub, &ApprovalList { waiting, settled }))
}

fn shown(hub: &Hub, list: &ApprovalList) -> Approvals {
    let now = hub.now();
    Approvals {
        waiting: list.waiting.iter().map(|info| waiting(hub, info, now)).collect(),
        settled: list.settled.iter().map(|approval| settled(approval, now)).collect(),
    }
}

fn waiting(hub: &Hub, info: &ApprovalInfo, now: Moment) -> Shown {
    let asked = &info.approval.asked;
    let left = span(asked.ends.since(now).as_secs());
    let waits = match info.callers {
        0 => format!("the caller has gone: a yes counts for the same call; {left} left"),
        1 => format!("the call waits; {left} left"),
        several => format!("{several} calls like this wait, and a yes is for one of them; {left} left"),
    };
    let definition = match info.definition {
        DefinitionStand::None => "it has none",
        DefinitionStand::New => "never approved here before",
        DefinitionStand::Same => "as it was when last approved",
        DefinitionStand::Changed => "changed since it was last approved",
        DefinitionStand::Outdated => "changed since this was asked: a yes would not count",
    };
    Shown {
        id: info.approval.id.clone(),
        who: who(&asked.principal),
        agent: asked.agent.clone().unwrap_or_else(|| "an agent without a name".to_owned()),
        server: asked.server.clone(),
        tool: asked.tool.clone(),
        risk: asked.risk.clone(),
        asked: moment(asked.asked, now),
        waits,
        rule: asked.rule.clone(),
        place: asked.place.as_ref().map(|place| without_place(hub, place, None)),
        answerers: if asked.needs_page {
            "you, here or at a terminal: the agent's own form does not count".to_owned()
        } else {
            "you, here or at a terminal, or whoever sees the agent's form".to_owned()
        },
        definition: definition.to_owned(),
        is_changed: matches!(info.definition, DefinitionStand::Changed | DefinitionStand::Outdated),
        arguments: json_tree(info.arguments.as_deref().unwrap_or("null")),
        before: info.before.iter().map(|approval| settled(approval, now)).collect(),
    }
}

fn settled(approval: &Approval, now: Moment) -> SettledApproval {
    let asked = &approval.asked;
    let decided = approval.decided.unwrap_or(asked.ends);
    SettledApproval {
        id: approval.id.clone(),
        server: asked.server.clone(),
        tool: asked.tool.clone(),
        who: who(&asked.principal),
        state: match approval.state {
            ApprovalState::Used => ShownState::Allowed,
            ApprovalState::Allowed => ShownState::Unused,
            ApprovalState::Lapsed => ShownState::Lapsed,
            ApprovalState::Denied => ShownState::Denied,
            ApprovalState::Withdrawn => ShownState::Withdrawn,
            ApprovalState::Expired | ApprovalState::Pending => ShownState::Expired,
        },
        by: approval.decider.as_deref().map(|decider| decider_words(Some(decider))).unwrap_or_default(),
        reason: approval.reason.clone(),
        at: moment(decided, now),
        took_us: u64::try_from(decided.since(asked.asked).as_micros()).unwrap_or(u64::MAX),
    }
}

fn who(principal: &str) -> String {
    principal.strip_prefix("token:").unwrap_or(principal).to_owned()
}
