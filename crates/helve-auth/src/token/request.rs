//! One request to a token endpoint: who the client is, the form, the proof where tokens are bound to a key.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::HeaderValue;
use http::header::AUTHORIZATION;
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;
use url::form_urlencoded;

use crate::client::{AuthMethod, Client};
use crate::credential::unix;
use crate::dpop::{self, DpopKey};
use crate::error::{AuthError, ErrorKind, Result};
use crate::jwt::{SigningKey, client_assertion};
use crate::ports::{Body, HttpAnswer, HttpRequest, Ports, Purpose};
use crate::token::answer::TokenAnswer;

/// A token endpoint and the client that asks it.
pub(crate) struct TokenEndpoint<'a> {
    pub(crate) ports: &'a Ports,
    pub(crate) endpoint: &'a Url,
    /// Whose endpoint it is: assertions are made out to it.
    pub(crate) issuer: &'a str,
    pub(crate) client: &'a Client,
    pub(crate) dpop: Option<&'a DpopKey>,
}

/// The parts of a form.
pub(crate) type Form = Vec<(&'static str, SecretString)>;

/// A form of these parts.
pub(crate) fn form<const N: usize>(parts: [(&'static str, &str); N]) -> Form {
    parts.into_iter().map(|(name, value)| (name, SecretString::from(value.to_owned()))).collect()
}

impl TokenEndpoint<'_> {
    /// Asks for a token.
    pub(crate) async fn ask(&self, parts: &Form) -> Result<TokenAnswer> {
        TokenAnswer::read(&self.exchange(parts).await?, self.endpoint)
    }

    /// Asks for a token; a client that is refused though it showed its secret in the header says its id in the form too, or
    /// shows its secret there (Q8: the method that a registration names is not always the one that is wanted).
    pub(crate) async fn ask_either_way(&self, parts: &Form) -> Result<TokenAnswer> {
        let refused = match self.ask(parts).await {
            Err(error) if *error.kind() == ErrorKind::Refused("invalid_client".to_owned()) => error,
            other => return other,
        };
        let others: &[AuthMethod] = match (self.client.method, &self.client.secret) {
            (AuthMethod::Basic, Some(_)) => &[AuthMethod::BasicAndId, AuthMethod::Post],
            (AuthMethod::None, Some(_)) => &[AuthMethod::Post],
            _ => &[],
        };
        for method in others {
            let client = Client { method: *method, ..self.client.clone() };
            let other = TokenEndpoint { client: &client, ..*self };
            if let Ok(answer) = other.ask(parts).await {
                return Ok(answer);
            }
        }
        Err(refused)
    }

    /// Posts the form; a proof that has to carry a nonce is made again with it, once.
    async fn exchange(&self, parts: &Form) -> Result<HttpAnswer> {
        let answer = self.post(parts, None).await?;
        let nonce = answer.headers.get(dpop::NONCE).and_then(dpop::nonce_of);
        match nonce {
            Some(nonce)
                if self.dpop.is_some() && TokenAnswer::error_code(&answer).as_deref() == Some("use_dpop_nonce") =>
            {
                self.post(parts, Some(&nonce)).await
            }
            _ => Ok(answer),
        }
    }

    /// Posts a form to an endpoint beside the token endpoint, as the same client.
    pub(crate) async fn post_for(&self, purpose: Purpose, parts: &Form) -> Result<HttpAnswer> {
        let request = HttpRequest { purpose, ..self.compose(parts, None)? };
        self.ports.http.send(request).await
    }

    async fn post(&self, parts: &Form, nonce: Option<&str>) -> Result<HttpAnswer> {
        let request = self.compose(parts, nonce)?;
        self.ports.http.send(request).await
    }

    fn compose(&self, parts: &Form, nonce: Option<&str>) -> Result<HttpRequest> {
        let now = unix((self.ports.clock)());
        let mut form = form_urlencoded::Serializer::new(String::new());
        for (name, value) in parts {
            form.append_pair(name, value.expose_secret());
        }
        let mut headers = Vec::new();
        let client = self.client;
        match (client.method, &client.secret) {
            (AuthMethod::None, _) => {
                form.append_pair("client_id", &client.id);
            }
            (AuthMethod::Basic, Some(secret)) => headers.push((AUTHORIZATION, basic(&client.id, secret)?)),
            (AuthMethod::BasicAndId, Some(secret)) => {
                headers.push((AUTHORIZATION, basic(&client.id, secret)?));
                form.append_pair("client_id", &client.id);
            }
            (AuthMethod::Post, Some(secret)) => {
                form.append_pair("client_id", &client.id).append_pair("client_secret", secret.expose_secret());
            }
            (AuthMethod::Basic | AuthMethod::BasicAndId | AuthMethod::Post, None) => {
                return Err(AuthError::settings(format!("the client {} needs a secret", client.id)));
            }
            (AuthMethod::PrivateKey, _) => {
                let key = client.key.as_ref();
                let key = key.ok_or_else(|| AuthError::settings(format!("the client {} needs its key", client.id)))?;
                let assertion = client_assertion(&SigningKey::from_pem(key)?, &client.id, self.issuer, now)?;
                form.append_pair("client_id", &client.id)
                    .append_pair("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
                    .append_pair("client_assertion", &assertion);
            }
        }
        if let Some(key) = self.dpop {
            headers.push((dpop::PROOF, key.proof("POST", self.endpoint, nonce, None, now)?));
        }
        let body = Some(Body::Form(SecretString::from(form.finish())));
        Ok(HttpRequest { purpose: Purpose::Token, url: self.endpoint.clone(), headers, body })
    }
}

/// The form and headers that give a token back (RFC 7009).
pub(crate) fn revocation(
    client: &Client,
    token: &SecretString,
) -> Result<(SecretString, Vec<(http::HeaderName, HeaderValue)>)> {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("token", token.expose_secret());
    let mut headers = Vec::new();
    match (client.method, &client.secret) {
        (AuthMethod::Basic | AuthMethod::BasicAndId, Some(secret)) => {
            headers.push((AUTHORIZATION, basic(&client.id, secret)?));
        }
        (AuthMethod::Post, Some(secret)) => {
            form.append_pair("client_id", &client.id).append_pair("client_secret", secret.expose_secret());
        }
        _ => {
            form.append_pair("client_id", &client.id);
        }
    }
    Ok((SecretString::from(form.finish()), headers))
}

/// Name and secret, each encoded as in a form first (RFC 6749, 2.3.1).
fn basic(id: &str, secret: &SecretString) -> Result<HeaderValue> {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encoded(id), encoded(secret.expose_secret()));
    let mut value = HeaderValue::from_str(&format!("Basic {}", BASE64_STANDARD.encode(pair)))
        .map_err(|_| AuthError::settings("the client's secret cannot be sent"))?;
    value.set_sensitive(true);
    Ok(value)
}
