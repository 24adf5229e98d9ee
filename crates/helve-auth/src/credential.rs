//! What is kept of a login: the token, how to renew it, and whom all of it belongs to. Secret as a whole.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use url::Url;

use crate::client::Client;
use crate::dpop::DpopKey;
use crate::json::Object;
use crate::jwt;
use crate::random::hashed;
use crate::token::{TokenAnswer, TokenType};

/// The name of something kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordName {
    kind: RecordKind,
    key: String,
}

/// What is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordKind {
    /// A login, by resource and account.
    Login,
    /// A registration, by issuer.
    Client,
    /// A login that has begun, by resource and account.
    Pending,
}

/// What may be known about a record without opening it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The server.
    pub resource: Option<String>,
    /// The authorization server.
    pub issuer: Option<String>,
    /// Whose login it is, as far as the authorization server told.
    pub account: Option<String>,
    /// What it may do.
    pub scopes: Vec<String>,
    /// When the access token ends, in seconds since 1970.
    pub expires: Option<u64>,
    /// It can be renewed without the person.
    pub renewable: bool,
}

impl RecordName {
    /// The login to a resource.
    #[must_use]
    pub fn login(resource: &str, account: Option<&str>) -> Self {
        Self { kind: RecordKind::Login, key: with_account(resource, account) }
    }

    pub(crate) fn pending(resource: &str, account: Option<&str>) -> Self {
        Self { kind: RecordKind::Pending, key: with_account(resource, account) }
    }

    pub(crate) fn client(issuer: &str) -> Self {
        Self { kind: RecordKind::Client, key: issuer.to_owned() }
    }

    /// What it is.
    #[must_use]
    pub const fn kind(&self) -> RecordKind {
        self.kind
    }

    /// What tells it from others of its kind.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl std::fmt::Display for RecordName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            RecordKind::Login => "login",
            RecordKind::Client => "client",
            RecordKind::Pending => "pending",
        };
        write!(formatter, "{kind} {}", self.key)
    }
}

/// A space cannot stand in a resource.
fn with_account(resource: &str, account: Option<&str>) -> String {
    match account {
        Some(account) => format!("{resource} {account}"),
        None => resource.to_owned(),
    }
}

/// A login.
#[derive(Debug)]
pub(crate) struct Credential {
    pub(crate) issuer: String,
    pub(crate) token_endpoint: Url,
    pub(crate) revocation_endpoint: Option<Url>,
    pub(crate) client: Client,
    /// What was sent as `resource`, and is sent again with each renewal.
    pub(crate) resource: Option<String>,
    /// What was asked for: a step up asks for this and more.
    pub(crate) requested: Vec<String>,
    /// What the server has wanted beyond that since: the next login asks for it too.
    pub(crate) wanted: Vec<String>,
    pub(crate) granted: Vec<String>,
    pub(crate) access_token: SecretString,
    pub(crate) token_type: TokenType,
    pub(crate) refresh_token: Option<SecretString>,
    /// Seconds since 1970.
    pub(crate) obtained: u64,
    pub(crate) expires: Option<u64>,
    pub(crate) account: Option<String>,
    pub(crate) dpop: Option<DpopKey>,
}

/// What a login was asked for with: all of it but the answer.
#[derive(Debug)]
pub(crate) struct AskedLogin {
    pub(crate) issuer: String,
    pub(crate) token_endpoint: Url,
    pub(crate) revocation_endpoint: Option<Url>,
    pub(crate) client: Client,
    pub(crate) resource: Option<String>,
    pub(crate) requested: Vec<String>,
    pub(crate) dpop: Option<DpopKey>,
}

impl AskedLogin {
    /// The login that a first answer makes of it.
    pub(crate) fn answered(self, answer: TokenAnswer, now: u64) -> Credential {
        Credential {
            granted: answer.scopes.clone().unwrap_or_else(|| self.requested.clone()),
            obtained: now,
            expires: Credential::expiry(&answer, now),
            access_token: answer.access_token,
            token_type: answer.token_type,
            refresh_token: answer.refresh_token,
            account: answer.account,
            issuer: self.issuer,
            token_endpoint: self.token_endpoint,
            revocation_endpoint: self.revocation_endpoint,
            client: self.client,
            resource: self.resource,
            requested: self.requested,
            wanted: Vec::new(),
            dpop: self.dpop,
        }
    }
}

impl Credential {
    /// When an access token ends: as the authorization server said, else as the token itself says.
    pub(crate) fn expiry(answer: &TokenAnswer, now: u64) -> Option<u64> {
        let told = answer.expires_in.map(|seconds| now.saturating_add(seconds));
        told.or_else(|| {
            let claims = jwt::claims(answer.access_token.expose_secret())?;
            Object::of(&claims)?.seconds("exp").filter(|end| *end > now)
        })
    }

    /// Tells this access token from others, without being it.
    pub(crate) fn fingerprint(&self) -> String {
        hashed(self.access_token.expose_secret())
    }

    pub(crate) fn facts(&self, resource: &str) -> Facts {
        Facts {
            resource: Some(resource.to_owned()),
            issuer: Some(self.issuer.clone()),
            account: self.account.clone(),
            scopes: self.granted.clone(),
            expires: self.expires,
            renewable: self.refresh_token.is_some(),
        }
    }

    pub(crate) fn to_text(&self) -> SecretString {
        let value = json!({
            "version": 1,
            "issuer": self.issuer,
            "token_endpoint": self.token_endpoint.as_str(),
            "revocation_endpoint": self.revocation_endpoint.as_ref().map(Url::as_str),
            "client": self.client.to_json(),
            "resource": self.resource,
            "requested": self.requested,
            "wanted": self.wanted,
            "granted": self.granted,
            "access_token": self.access_token.expose_secret(),
            "token_type": match self.token_type { TokenType::Bearer => "bearer", TokenType::Dpop => "dpop" },
            "refresh_token": self.refresh_token.as_ref().map(|token| token.expose_secret()),
            "obtained": self.obtained,
            "expires": self.expires,
            "account": self.account,
            "dpop": self.dpop.as_ref().map(DpopKey::to_text),
        });
        SecretString::from(value.to_string())
    }

    /// Reads what [`Credential::to_text`] wrote; `None` when it is something else.
    pub(crate) fn from_text(text: &SecretString) -> Option<Self> {
        let value = serde_json::from_str::<Value>(text.expose_secret()).ok()?;
        let object = Object::of(&value)?;
        Some(Self {
            issuer: object.owned("issuer")?,
            token_endpoint: object.url("token_endpoint")?,
            revocation_endpoint: object.url("revocation_endpoint"),
            client: Client::from_json(&object.object("client")?)?,
            resource: object.owned("resource"),
            requested: object.list("requested").unwrap_or_default(),
            wanted: object.list("wanted").unwrap_or_default(),
            granted: object.list("granted").unwrap_or_default(),
            access_token: SecretString::from(object.owned("access_token")?),
            token_type: if object.text("token_type") == Some("dpop") { TokenType::Dpop } else { TokenType::Bearer },
            refresh_token: object.owned("refresh_token").map(SecretString::from),
            obtained: object.seconds("obtained")?,
            expires: object.seconds("expires"),
            account: object.owned("account"),
            dpop: match object.text("dpop") {
                Some(text) => Some(DpopKey::from_text(text)?),
                None => None,
            },
        })
    }
}

/// Seconds since 1970.
pub(crate) fn unix(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}
