//! As whom we come to an authorization server: a client configured beforehand, one described by a document, or one that was
//! registered for the occasion. A client belongs to one issuer and is never shown to another.

mod choice;
mod dynamic;
mod method;

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use crate::json::Object;

pub(crate) use choice::{Choice, choose, forget};
pub(crate) use dynamic::{BROWSER_GRANTS, register};
pub(crate) use method::AuthMethod;

/// A client of one authorization server.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) secret: Option<SecretString>,
    /// A private key (PKCS #8 in PEM) that it signs with instead of a secret.
    pub(crate) key: Option<SecretString>,
    pub(crate) method: AuthMethod,
    /// Where the browser may be sent back to; a registration fixes it.
    pub(crate) redirect: Option<String>,
    pub(crate) origin: ClientOrigin,
}

/// Where a client comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientOrigin {
    Configured,
    Document,
    Registered,
}

impl Client {
    /// As it is kept. The key stays where the person has it.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "secret": self.secret.as_ref().map(|secret| secret.expose_secret()),
            "method": self.method.as_str(),
            "redirect": self.redirect,
            "origin": match self.origin {
                ClientOrigin::Configured => "configured",
                ClientOrigin::Document => "document",
                ClientOrigin::Registered => "registered",
            },
        })
    }

    pub(crate) fn from_json(object: &Object<'_>) -> Option<Self> {
        Some(Self {
            id: object.owned("id")?,
            secret: object.owned("secret").map(SecretString::from),
            key: None,
            method: AuthMethod::from_name(object.text("method")?)?,
            redirect: object.owned("redirect"),
            origin: match object.text("origin")? {
                "configured" => ClientOrigin::Configured,
                "document" => ClientOrigin::Document,
                _ => ClientOrigin::Registered,
            },
        })
    }
}
