//! The calls: found, counted, shown.

use helve_store::{Call, Found, Search, Traffic};

use crate::actor::Actor;
use crate::bodies::OpenedBody;
use crate::error::HubError;
use crate::hub::Hub;

/// Finds calls.
pub(crate) fn search(hub: &Hub, _actor: &Actor, search: &Search) -> Result<Found, HubError> {
    Ok(hub.store.search(search)?)
}

/// One call.
pub(crate) fn one(hub: &Hub, _actor: &Actor, seq: i64) -> Result<Call, HubError> {
    hub.store
        .call(seq)?
        .ok_or_else(|| HubError::not_found(format!("there is no call {seq}, or it is not kept any more")))
}

/// What was kept of what a call sent and got. People at the page alone read it.
pub(crate) fn body(hub: &Hub, actor: &Actor, call: &Call) -> Result<Option<OpenedBody>, HubError> {
    if !matches!(actor, Actor::Session | Actor::Operator) {
        return Err(HubError::forbidden("what calls sent and got is shown on the page only"));
    }
    let Some(body) = hub.store.body(call.seq)? else { return Ok(None) };
    hub.seal.open(&body, &call.call.id()).map(Some)
}

/// How many calls there were.
pub(crate) fn traffic(hub: &Hub, _actor: &Actor, search: &Search) -> Result<Traffic, HubError> {
    Ok(hub.store.traffic(search.server.as_deref(), search.from, search.until)?)
}
