//! Rules: why a call is decided as it is.

use helve_model::json::RawJson;
use helve_policy::{Caller, Explanation, Whereabouts};

use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::Hub;

/// The whole chain of the decision about a call, as an agent would make it.
pub(crate) fn explain(hub: &Hub, _actor: &Actor, tool: &str, arguments: &RawJson) -> Result<Explanation, HubError> {
    let entry = hub.host().resolve(tool)?;
    Ok(entry.policy().explain(Caller::Agent, arguments, &Whereabouts::default()))
}
