//! Which client is taken: the configured one, else a document, else a registration (a kept one, or a new one), else the
//! person has to name one.

use secrecy::ExposeSecret as _;
use serde_json::Value;

use crate::client::method::AuthMethod;
use crate::client::{Client, ClientOrigin};
use crate::credential::RecordName;
use crate::discovery::AuthorizationServer;
use crate::error::{Advice, AuthError, ErrorKind, Result};
use crate::json::Object;
use crate::ports::Store;
use crate::settings::{Registration, Settings};

/// What is to be done to be a client.
pub(crate) enum Choice {
    /// This one can be used.
    Use(Client),
    /// One has to be registered, with a redirect address that is known only then.
    Register,
}

/// Chooses. `fresh`: no registration that is kept counts.
pub(crate) async fn choose(
    store: &dyn Store,
    settings: &Settings,
    server: &AuthorizationServer,
    fresh: bool,
) -> Result<Choice> {
    if let Some(configured) = &settings.client {
        return Ok(Choice::Use(Client {
            id: configured.id.clone(),
            secret: configured.secret.clone(),
            key: configured.key.clone(),
            method: AuthMethod::for_client(server, configured.secret.is_some(), configured.key.is_some()),
            redirect: None,
            origin: ClientOrigin::Configured,
        }));
    }
    if settings.registration == Registration::Auto
        && server.takes_documents
        && let Some(document) = &settings.client_document
    {
        return Ok(Choice::Use(Client {
            id: document.to_string(),
            secret: None,
            key: None,
            method: AuthMethod::None,
            redirect: None,
            origin: ClientOrigin::Document,
        }));
    }
    if !fresh && let Some(kept) = kept(store, &server.issuer).await? {
        return Ok(Choice::Use(kept));
    }
    if settings.registration != Registration::Never && server.registration_endpoint.is_some() {
        return Ok(Choice::Register);
    }
    let port = settings.callback.port.map_or_else(String::new, |port| format!(":{port}"));
    Err(AuthError::new(
        ErrorKind::ClientNeeded,
        format!("the authorization server {} registers no clients by itself", server.issuer),
    )
    .with_advice(Advice::RegisterClient {
        issuer: server.issuer.clone(),
        redirect: format!("http://{}{port}/callback", settings.callback.host.as_str()),
    }))
}

/// Forgets the registration with an issuer.
pub(crate) async fn forget(store: &dyn Store, issuer: &str) -> Result<()> {
    store.remove(&RecordName::client(issuer)).await
}

async fn kept(store: &dyn Store, issuer: &str) -> Result<Option<Client>> {
    let Some(text) = store.read(&RecordName::client(issuer)).await? else { return Ok(None) };
    let Ok(value) = serde_json::from_str::<Value>(text.expose_secret()) else { return Ok(None) };
    Ok(Object::of(&value).and_then(|object| Client::from_json(&object)))
}
