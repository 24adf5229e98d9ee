//! Renewing a token, at the endpoint it came from and nowhere else.

use crate::client::Client;
use crate::credential::{Credential, unix};
use crate::dpop::DpopKey;
use crate::error::{AuthError, ErrorKind, Result};
use crate::grant::Wanted;
use crate::ports::Ports;
use crate::token::{TokenEndpoint, form};

/// A renewed login. `client` is the one of the login, with what is not kept of it.
pub(crate) async fn refresh(ports: &Ports, old: &Credential, client: &Client) -> Result<Credential> {
    let Some(token) = &old.refresh_token else {
        return Err(AuthError::new(
            ErrorKind::LoginRequired,
            "the login cannot be renewed: it came without a refresh token",
        ));
    };
    let endpoint =
        TokenEndpoint { ports, endpoint: &old.token_endpoint, issuer: &old.issuer, client, dpop: old.dpop.as_ref() };
    let mut form = form([("grant_type", "refresh_token")]);
    form.push(("refresh_token", token.clone()));
    Wanted { resource: old.resource.as_deref(), scopes: &[] }.add_to(&mut form);
    let answer = endpoint.ask_either_way(&form).await?;
    let now = unix((ports.clock)());
    Ok(Credential {
        issuer: old.issuer.clone(),
        token_endpoint: old.token_endpoint.clone(),
        revocation_endpoint: old.revocation_endpoint.clone(),
        client: old.client.clone(),
        resource: old.resource.clone(),
        requested: old.requested.clone(),
        wanted: old.wanted.clone(),
        granted: answer.scopes.clone().unwrap_or_else(|| old.granted.clone()),
        obtained: now,
        expires: Credential::expiry(&answer, now),
        access_token: answer.access_token,
        token_type: answer.token_type,
        // Without a new one the old one stays good.
        refresh_token: answer.refresh_token.or_else(|| old.refresh_token.clone()),
        account: answer.account.or_else(|| old.account.clone()),
        dpop: old.dpop.as_ref().map(DpopKey::to_text).and_then(|text| DpopKey::from_text(&text)),
    })
}
