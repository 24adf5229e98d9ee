//! What this crate needs from outside, as traits: a clock, a store with locks, a person, the network.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use secrecy::SecretString;
use url::Url;

use crate::credential::{Facts, RecordName};
use crate::error::{AuthError, Result};
use crate::login::{DeviceCode, Page};

/// A future that can be sent to another thread.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// All ports together.
#[derive(Clone)]
pub struct Ports {
    /// Where requests that are not the server's own protocol go out.
    pub http: Arc<dyn Http>,
    /// Where logins and registrations are kept.
    pub store: Arc<dyn Store>,
    /// What time it is.
    pub clock: fn() -> SystemTime,
}

/// Keeps records between runs. A record is secret as a whole; its facts are not.
pub trait Store: Send + Sync + 'static {
    /// The record of this name.
    fn read<'a>(&'a self, name: &'a RecordName) -> BoxFuture<'a, Result<Option<SecretString>>>;

    /// Replaces the record whole, or makes it.
    fn write<'a>(&'a self, name: &'a RecordName, secret: SecretString, facts: Facts) -> BoxFuture<'a, Result<()>>;

    /// Forgets the record. It is not an error if there is none.
    fn remove<'a>(&'a self, name: &'a RecordName) -> BoxFuture<'a, Result<()>>;

    /// Waits until no other process and no other task holds this record, then holds it until the guard is dropped.
    fn lock<'a>(&'a self, name: &'a RecordName) -> BoxFuture<'a, Result<Box<dyn Send + Sync>>>;
}

/// The person who signs in.
pub trait Person: Send + Sync {
    /// Shows the page where the person signs in, or tells where it is.
    fn show<'a>(&'a self, page: &'a Page) -> BoxFuture<'a, Result<()>>;

    /// Shows a code that the person types on a page, on this machine or another.
    fn show_code<'a>(&'a self, code: &'a DeviceCode) -> BoxFuture<'a, Result<()>> {
        let _: &DeviceCode = code;
        Box::pin(std::future::ready(Err(AuthError::settings("there is nobody here to show a code to"))))
    }

    /// What the person pastes: the address their browser was sent to. Never ready where nothing can be pasted.
    fn pasted(&self) -> BoxFuture<'_, String> {
        Box::pin(std::future::pending())
    }
}

/// Sends one request, under the egress policy.
pub trait Http: Send + Sync + 'static {
    /// Sends it and reads the whole answer, within limits.
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpAnswer>>;
}

/// What a request is for: it decides which redirects are followed, and errors name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// What a protected resource says about itself.
    ResourceMetadata,
    /// What an authorization server says about itself.
    ServerMetadata,
    /// Becoming a client.
    Registration,
    /// Getting a token.
    Token,
    /// Giving a token back.
    Revocation,
    /// Telling somebody that something waits for them.
    Notice,
    /// A code for a person to type elsewhere.
    Device,
}

/// A request: GET without a body, POST with one.
pub struct HttpRequest {
    /// What it is for.
    pub purpose: Purpose,
    /// Where it goes.
    pub url: Url,
    /// What it says besides what every request says.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// What is posted.
    pub body: Option<Body>,
}

/// What is posted.
pub enum Body {
    /// `application/x-www-form-urlencoded`.
    Form(SecretString),
    /// `application/json`.
    Json(String),
}

/// An answer, read to its end.
pub struct HttpAnswer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

impl HttpRequest {
    pub(crate) const fn get(purpose: Purpose, url: Url) -> Self {
        Self { purpose, url, headers: Vec::new(), body: None }
    }
}

impl HttpRequest {
    /// Something to be told to an address that a person named.
    #[must_use]
    pub const fn notice(url: Url, json: String) -> Self {
        Self { purpose: Purpose::Notice, url, headers: Vec::new(), body: Some(Body::Json(json)) }
    }
}

impl std::fmt::Display for Purpose {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::ResourceMetadata => "the server's metadata",
            Self::ServerMetadata => "the authorization server's metadata",
            Self::Registration => "the registration endpoint",
            Self::Token => "the token endpoint",
            Self::Revocation => "the revocation endpoint",
            Self::Notice => "the address that is told",
            Self::Device => "the device endpoint",
        })
    }
}

impl std::fmt::Debug for Ports {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Ports")
    }
}

impl std::fmt::Debug for HttpRequest {
    /// Neither headers nor body: both hold secrets.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("HttpRequest").field("purpose", &self.purpose).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Form(_) => "Form",
            Self::Json(_) => "Json",
        })
    }
}

impl std::fmt::Debug for HttpAnswer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("HttpAnswer").field("status", &self.status).finish_non_exhaustive()
    }
}
