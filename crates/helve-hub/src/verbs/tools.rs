//! Trying a tool: the same way of a call as an agent's, as the person at the page or the holder of a token.

use helve::{CallContext, CallOutcome, CallSource, Door};
use helve_model::Principal;
use helve_model::json::RawJson;
use helve_policy::Caller;

use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::Hub;

/// Calls a tool. Rules decide as for anybody else; what they ask is asked of nobody here, and so refused.
pub(crate) async fn call(hub: &Hub, actor: &Actor, tool: &str, arguments: RawJson) -> Result<CallOutcome, HubError> {
    let (caller, principal) = match actor {
        Actor::Session | Actor::Operator => (Caller::Person, Principal::LOCAL),
        Actor::Admin { name, .. } => (Caller::Script, Principal::token(name)),
    };
    let context = CallContext::new(caller).with(|context| {
        context.principal = principal;
        context.source = CallSource::new(Door::Page);
    });
    Ok(hub.host().call(tool, arguments, context).await?)
}
