//! Tokens: made, listed, revoked.

use helve_store::{NewChange, Token};

use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::Hub;
use crate::tokens::{MadeToken, TokenRequest};

/// All tokens there are and were.
///
/// # Errors
/// The store cannot be read.
pub fn list(hub: &Hub, _actor: &Actor) -> Result<Vec<Token>, HubError> {
    hub.tokens.note_used(&hub.store);
    Ok(hub.store.tokens()?)
}

/// Makes a token. An admin token cannot make another that may answer approvals, unless it may itself.
///
/// # Errors
/// Whoever asks may not, its name was used before, or the store cannot be written.
pub fn make(hub: &Hub, actor: &Actor, request: TokenRequest) -> Result<MadeToken, HubError> {
    if request.approver && matches!(actor, Actor::Admin { approver: false, .. }) {
        return Err(HubError::forbidden("this token may not answer approvals, nor make one that may"));
    }
    let made = hub.tokens.make(&hub.store, request, hub.now())?;
    note(hub, actor, "made", &made.name)?;
    Ok(made)
}

/// Takes a token back, and ends everything its holder has open.
///
/// # Errors
/// There is none of that name that counts, or the store cannot be written.
pub fn revoke(hub: &Hub, actor: &Actor, name: &str) -> Result<(), HubError> {
    let principal = hub.tokens.revoke(&hub.store, name, hub.now())?;
    hub.face.end_principal(&principal);
    hub.approvals.withdraw(principal.id(), "the token was revoked")?;
    hub.feeds.touch();
    note(hub, actor, "revoked", name)
}

fn note(hub: &Hub, actor: &Actor, verb: &str, name: &str) -> Result<(), HubError> {
    hub.store.add_change(NewChange {
        at: hub.now(),
        actor: actor.name(),
        verb: verb.to_owned(),
        object: format!("token {name}"),
        ..NewChange::default()
    })?;
    Ok(())
}
