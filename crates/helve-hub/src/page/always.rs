//! *Always*, for a call that waits: the rule before it is saved.

use helve_model::Risk;
use helve_page::json_tree;
use helve_page::view::{Always, Choice};

use super::{Fields, field, rules, settings};
use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::Hub;
use crate::verbs::always::{self, AlwaysRequest};

/// What was chosen, or posted.
pub(super) fn request(fields: &Fields) -> AlwaysRequest {
    let text = |key: &str| field(fields, key).to_owned();
    AlwaysRequest { who: text("who"), argument: text("argument"), version: text("version") }
}

pub(super) fn view(hub: &Hub, id: &str, query: &Fields) -> Result<Always, HubError> {
    let draft = always::foresee(hub, &Actor::Session, id, &request(query))?;
    let asked = &draft.info.approval.asked;
    let choice = |value: &str, label: String, help: &str, is_chosen: bool| Choice {
        value: value.to_owned(),
        label,
        help: (!help.is_empty()).then(|| help.to_owned()),
        is_chosen,
    };
    let mut who = Vec::new();
    if let Some(caller) = &draft.caller {
        who.push(choice("caller", format!("{caller} alone"), "others are still asked about", draft.is_for_caller));
    }
    who.push(choice("everybody", "everybody".to_owned(), "", !draft.is_for_caller));
    let mut arguments = vec![choice("*", "with any arguments".to_owned(), "", draft.argument.is_none())];
    arguments.extend(draft.arguments.iter().map(|(key, value)| {
        let is_chosen = draft.argument.as_ref() == Some(key);
        choice(key, format!("only where {key} is {value}"), "", is_chosen)
    }));
    let is_high = asked.risk == Risk::High.to_string();
    let warning = (asked.needs_page || is_high).then(|| {
        let why = if is_high { "could do much harm" } else { "is one that a rule wants asked on this page" };
        format!("This call {why}. With the rule nobody is asked any more about calls that it speaks of.")
    });
    Ok(Always {
        id: draft.info.approval.id.clone(),
        server: asked.server.clone(),
        tool: asked.tool.clone(),
        risk: asked.risk.clone(),
        call: json_tree(draft.info.arguments.as_deref().unwrap_or("null")),
        who,
        arguments,
        rule: draft.text.clone(),
        file: settings::version(&draft.file),
        goes_before: draft.overrules.clone(),
        warning,
        held_by: draft.held_by.clone(),
        what_would_change: rules::changes(hub, &draft.foreseen),
    })
}
