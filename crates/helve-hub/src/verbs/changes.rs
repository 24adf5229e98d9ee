//! What people changed.

use helve_store::Change;

use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::Hub;

/// The newest changes, those before a number.
pub(crate) fn list(hub: &Hub, _actor: &Actor, before: Option<i64>, limit: usize) -> Result<Vec<Change>, HubError> {
    Ok(hub.store.changes(before, limit)?)
}

/// One change.
pub(crate) fn one(hub: &Hub, _actor: &Actor, seq: i64) -> Result<Change, HubError> {
    hub.store.change(seq)?.ok_or_else(|| HubError::not_found(format!("there is no change {seq}")))
}
