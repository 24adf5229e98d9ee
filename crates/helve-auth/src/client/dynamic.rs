//! Dynamic registration (RFC 7591).

use secrecy::SecretString;
use serde_json::{Value, json};

use crate::client::method::AuthMethod;
use crate::client::{Client, ClientOrigin};
use crate::credential::{Facts, RecordName};
use crate::discovery::AuthorizationServer;
use crate::egress::shown;
use crate::error::{AuthError, ErrorKind, Result, excerpt};
use crate::json::Object;
use crate::ports::{Body, HttpRequest, Ports, Purpose};
use crate::settings::Settings;

/// The grants of a client that is registered for a browser.
pub(crate) const BROWSER_GRANTS: &[&str] = &["authorization_code", "refresh_token"];

/// Registers a client for these grants, and keeps it.
pub(crate) async fn register(
    ports: &Ports,
    settings: &Settings,
    server: &AuthorizationServer,
    redirect: &str,
    scopes: &[String],
    grants: &[&str],
) -> Result<Client> {
    let endpoint = server.registration_endpoint.clone().ok_or_else(|| {
        AuthError::new(ErrorKind::ClientNeeded, format!("{} has no registration endpoint", server.issuer))
    })?;
    let mut wish = json!({
        "client_name": settings.client_name,
        "redirect_uris": [redirect],
        "grant_types": grants,
        "response_types": ["code"],
        "token_endpoint_auth_method": AuthMethod::to_register(server).as_str(),
        "application_type": "native",
    });
    if !scopes.is_empty()
        && let Some(wish) = wish.as_object_mut()
    {
        drop(wish.insert("scope".to_owned(), Value::from(scopes.join(" "))));
    }
    let place = shown(&endpoint);
    let request = HttpRequest {
        purpose: Purpose::Registration,
        url: endpoint,
        headers: Vec::new(),
        body: Some(Body::Json(wish.to_string())),
    };
    let answer = ports.http.send(request).await?;
    let value = serde_json::from_slice::<Value>(&answer.body).ok();
    let object = value.as_ref().and_then(Object::of);
    if !answer.status.is_success() {
        let words = match object.as_ref().and_then(|object| object.text("error_description").or(object.text("error"))) {
            Some(words) => excerpt(words),
            None => excerpt(&String::from_utf8_lossy(&answer.body)),
        };
        let error = object.as_ref().and_then(|object| object.owned("error")).unwrap_or_default();
        return Err(AuthError::new(
            ErrorKind::Refused(error),
            format!("{place} does not register this client ({}): {words}", answer.status),
        ));
    }
    let bad = |what: &str| AuthError::new(ErrorKind::BadAnswer, format!("{place} registered a client, but {what}"));
    let object = object.ok_or_else(|| bad("its answer is not a JSON object"))?;
    let secret = object.owned("client_secret").map(SecretString::from);
    let method = match object.text("token_endpoint_auth_method").map(AuthMethod::from_name) {
        // Q8: some give a secret and say `none`; what they say counts first.
        Some(Some(method)) if method != AuthMethod::PrivateKey => method,
        Some(_) => return Err(bad("with an authentication method that was not asked for")),
        None => AuthMethod::for_client(server, secret.is_some(), false),
    };
    let client = Client {
        id: object.owned("client_id").ok_or_else(|| bad("gave it no `client_id`"))?,
        secret,
        key: None,
        method,
        redirect: Some(redirect.to_owned()),
        origin: ClientOrigin::Registered,
    };
    let facts = Facts { issuer: Some(server.issuer.clone()), ..Facts::default() };
    ports.store.write(&RecordName::client(&server.issuer), client.to_json().to_string().into(), facts).await?;
    Ok(client)
}
