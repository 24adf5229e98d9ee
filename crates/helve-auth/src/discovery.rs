//! Where to sign in: from a server that refuses to the authorization server it trusts, in every revision's way.

mod before_prm;
mod protected;
mod server;

use serde_json::Value;
use url::Url;

use crate::challenge::Challenge;
use crate::error::{Advice, AuthError, ErrorKind, Result, excerpt};
use crate::ports::{Http, HttpRequest, Purpose};
use crate::resource::canonical_resource;
use crate::settings::{ResourceChoice, Settings};

pub(crate) use server::{AuthorizationServer, Pkce};

/// What was found out.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) server: AuthorizationServer,
    /// What is sent as `resource`; `None`: nothing.
    pub(crate) resource: Option<String>,
    /// The scopes that the server's own metadata lists.
    pub(crate) resource_scopes: Option<Vec<String>>,
    /// Tokens have to be bound to a key.
    pub(crate) wants_dpop: bool,
}

/// Finds the authorization server of a server.
pub(crate) async fn discover(http: &dyn Http, settings: &Settings, challenge: &Challenge) -> Result<Found> {
    let resource = protected::find(http, &settings.server, challenge.resource_metadata.as_deref()).await?;
    let server = match (&resource, &settings.issuer, &settings.metadata_url) {
        (_, _, Some(address)) => server::at(http, address, settings.issuer.as_deref()).await?,
        (Some(resource), _, None) => {
            let named = resource.authorization_servers.first().or(settings.issuer.as_ref()).ok_or_else(|| {
                AuthError::new(
                    ErrorKind::BadAnswer,
                    format!("the metadata of {} names no authorization server", resource.resource),
                )
            })?;
            server::find(http, named, settings.issuer.as_deref()).await?
        }
        (None, Some(issuer), None) => server::find(http, issuer, None).await?,
        (None, None, None) => before_prm::find(http, &settings.server).await?,
    };
    let named = match (&settings.resource, &resource) {
        (ResourceChoice::Omitted, _) => None,
        (ResourceChoice::Exactly(text), _) => Some(text.clone()),
        (ResourceChoice::AsNamed, Some(resource)) => Some(resource.resource.clone()),
        (ResourceChoice::AsNamed, None) => Some(canonical_resource(&settings.server)),
    };
    let wants_dpop = challenge.scheme == crate::challenge::Scheme::Dpop
        || resource.as_ref().is_some_and(|resource| resource.wants_dpop);
    Ok(Found { server, resource: named, resource_scopes: resource.and_then(|resource| resource.scopes), wants_dpop })
}

/// A document at a well-known place; `None` when there is none, or something else lives there.
async fn document(http: &dyn Http, purpose: Purpose, url: Url, notes: &mut Vec<String>) -> Result<Option<Value>> {
    let place = crate::egress::shown(&url);
    let answer = match http.send(HttpRequest::get(purpose, url)).await {
        Ok(answer) => answer,
        // A redirect into the blue or an endless page is an answer of somebody who does not have the document.
        Err(error) if *error.kind() == ErrorKind::BadAnswer => {
            notes.push(error.message().to_owned());
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if !answer.status.is_success() {
        notes.push(format!("{place} answered {}", answer.status));
        return Ok(None);
    }
    match serde_json::from_slice::<Value>(&answer.body) {
        Ok(value) if value.is_object() => Ok(Some(value)),
        _ => {
            let text = excerpt(&String::from_utf8_lossy(answer.body.get(..80).unwrap_or(&answer.body)));
            notes.push(format!("{place} answered something that is not a JSON object: {text}"));
            Ok(None)
        }
    }
}

/// An address that a document names.
fn address(text: &str, what: &str, whose: &str) -> Result<Url> {
    Url::parse(text).map_err(|_| {
        AuthError::new(
            ErrorKind::BadAnswer,
            format!("{whose} names {} as its {what}, which is not a URL", excerpt(text)),
        )
    })
}

/// The issuer that a document names is not the one it was asked for.
fn other_issuer(expected: &str, named: &str) -> AuthError {
    AuthError::new(
        ErrorKind::Unsafe,
        format!(
            "the authorization server {} calls itself {}: its metadata is not used",
            excerpt(expected),
            excerpt(named)
        ),
    )
    .with_advice(Advice::NameIssuer { issuer: named.to_owned() })
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
