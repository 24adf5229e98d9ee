//! Where a server is reached over HTTP, and what it is told with every request. Nothing secret can be shown.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use helve_model::ErrorCode;
use http::header::{AUTHORIZATION, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use url::{Position, Url};

use crate::error::{Error, Result};
use crate::handler::BoxFuture;
use crate::nesting::Nesting;
use crate::transport::http::headers;
use crate::transport::http::proxy::Proxies;

/// The address of a server that speaks HTTP, with the headers every request carries.
///
/// Debug output shows the address without its query and the names of the headers, never a value.
#[derive(Clone)]
pub struct HttpTarget {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) source: Option<Arc<dyn HeaderSource>>,
    pub(crate) nesting: Option<Nesting>,
    pub(crate) certificates: Vec<Vec<u8>>,
    /// The system's own.
    pub(crate) system_certificates: &'static [Vec<u8>],
    pub(crate) proxies: Option<Proxies>,
}

/// Supplies headers request by request, for tokens that rotate.
pub trait HeaderSource: Send + Sync + 'static {
    /// The headers of a request. They win over the target's fixed ones.
    fn headers<'a>(&'a self, request: Outgoing<'a>) -> BoxFuture<'a, Result<Vec<(HeaderName, HeaderValue)>>>;

    /// The server refused a request: 401, or 403 because a token's scopes are not enough. It was not accepted, so it can
    /// be sent again if [`HeaderSource::headers`] has something better now.
    fn refused<'a>(&'a self, refused: Refused<'a>) -> BoxFuture<'a, AfterRefusal> {
        let _: Refused<'a> = refused;
        Box::pin(std::future::ready(AfterRefusal::Leave))
    }

    /// The server told, with whatever answer, what the next proof of possession has to repeat (`DPoP-Nonce`).
    fn nonce(&self, nonce: &HeaderValue) {
        let _: &HeaderValue = nonce;
    }
}

/// A request that is about to be sent.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Outgoing<'a> {
    /// Its method.
    pub method: &'a Method,
    /// Where it goes.
    pub address: &'a Url,
}

/// A request that the server refused.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Refused<'a> {
    /// Its method.
    pub method: &'a Method,
    /// Where it went.
    pub address: &'a Url,
    /// 401 or 403.
    pub status: StatusCode,
    /// `WWW-Authenticate`, several joined with commas.
    pub challenge: Option<&'a str>,
    /// `DPoP-Nonce`.
    pub nonce: Option<&'a HeaderValue>,
    /// What [`HeaderSource::headers`] gave for it: somebody else may have found something better meanwhile.
    pub headers: &'a [(HeaderName, HeaderValue)],
    /// How often this very request was refused before.
    pub earlier: usize,
}

/// What follows from a refusal.
#[derive(Debug)]
pub enum AfterRefusal {
    /// There is something better now: the request is sent again.
    Repeat,
    /// The refusal stands as the server gave it.
    Leave,
    /// The refusal stands, and this says more about it.
    Fail(Error),
}

impl HttpTarget {
    /// The server at this address. A name and password in it become basic authentication.
    ///
    /// # Errors
    /// `CONFIG` when this is no `http` or `https` address.
    pub fn new(url: &str) -> Result<Self> {
        let mut url = Url::parse(url).map_err(|error| {
            Error::new(ErrorCode::Config, format!("the server's address is not a URL: {error}"))
                .with_hint("write it in full, such as https://example.com/mcp")
        })?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            let scheme = url.scheme();
            return Err(Error::new(ErrorCode::Config, format!("a server cannot be reached by `{scheme}:`"))
                .with_hint("use an address that begins with https:// or http://"));
        }
        url.set_fragment(None);
        let user = decoded(url.username());
        let password = url.password().map(|password| SecretString::from(decoded(password)));
        // An address with a host takes both away without fail.
        let _: [Result<(), ()>; 2] = [url.set_username(""), url.set_password(None)];
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("helve/", env!("CARGO_PKG_VERSION"))));
        let target = Self {
            url,
            headers,
            source: None,
            nesting: None,
            certificates: Vec::new(),
            system_certificates: &[],
            proxies: None,
        };
        match password {
            None if user.is_empty() => Ok(target),
            password => target.with_basic(&user, &password.unwrap_or_default()),
        }
    }

    /// Sends this header with every request; a second value replaces the first.
    ///
    /// # Errors
    /// `CONFIG` when the name is not a header's name, is one the transport sets itself, or the value cannot be sent.
    pub fn with_header(mut self, name: &str, value: &SecretString) -> Result<Self> {
        let (name, value) = checked(name, value)?;
        drop(self.headers.insert(name, value));
        Ok(self)
    }

    /// Authenticates with this token.
    ///
    /// # Errors
    /// `CONFIG` when the token holds characters that no header can carry.
    pub fn with_bearer(self, token: &SecretString) -> Result<Self> {
        let value = SecretString::from(format!("Bearer {}", token.expose_secret()));
        self.with_header(AUTHORIZATION.as_str(), &value)
    }

    /// Authenticates with a name and a password.
    ///
    /// # Errors
    /// `CONFIG` when the name has a colon in it.
    pub fn with_basic(self, user: &str, password: &SecretString) -> Result<Self> {
        if user.contains(':') {
            return Err(Error::new(
                ErrorCode::Config,
                "a user name for basic authentication cannot have a colon in it",
            ));
        }
        let pair = SecretString::from(format!("{user}:{}", password.expose_secret()));
        let value = SecretString::from(format!("Basic {}", BASE64_STANDARD.encode(pair.expose_secret())));
        self.with_header(AUTHORIZATION.as_str(), &value)
    }

    /// Asks this source for headers before each request.
    #[must_use]
    pub fn with_header_source(mut self, source: Arc<dyn HeaderSource>) -> Self {
        self.source = Some(source);
        self
    }

    /// Tells the server with each request how deep the asking host runs.
    #[must_use]
    pub fn with_nesting(mut self, nesting: Nesting) -> Self {
        self.nesting = Some(nesting);
        self
    }

    /// Trusts this certificate authority (DER) besides the public ones.
    #[must_use]
    pub fn with_root_certificate(mut self, der: Vec<u8>) -> Self {
        self.certificates.push(der);
        self
    }

    /// Trusts what the system trusts (DER) besides the public authorities. What cannot be read of it is left out.
    #[must_use]
    pub const fn with_system_certificates(mut self, ders: &'static [Vec<u8>]) -> Self {
        self.system_certificates = ders;
        self
    }

    /// Reaches the server through the proxy that the person uses for it.
    #[must_use]
    pub fn with_proxies(mut self, proxies: Proxies) -> Self {
        self.proxies = Some(proxies);
        self
    }

    /// The host, an address of version 6 in brackets, and the port.
    #[must_use]
    pub fn host_and_port(&self) -> (&str, u16) {
        (self.url.host_str().unwrap_or_default(), self.url.port_or_known_default().unwrap_or_default())
    }

    /// The address, without a query (it may hold a key).
    #[must_use]
    pub fn address(&self) -> &str {
        shown(&self.url)
    }
}

/// An address as it may be shown: without its query.
pub(crate) fn shown(url: &Url) -> &str {
    url.as_str().get(..url[..Position::AfterPath].len()).unwrap_or_default()
}

/// A header that the transport does not set itself and that can be sent.
pub(crate) fn checked(name: &str, value: &SecretString) -> Result<(HeaderName, HeaderValue)> {
    let Ok(parsed) = name.parse::<HeaderName>() else {
        return Err(Error::new(ErrorCode::Config, format!("{name:?} is not a name for a header")));
    };
    if headers::is_reserved(&parsed) {
        return Err(Error::new(ErrorCode::Config, format!("the header `{parsed}` is set by the transport itself"))
            .with_hint("remove it from the server's headers"));
    }
    let Ok(mut value) = HeaderValue::from_str(value.expose_secret()) else {
        return Err(Error::new(
            ErrorCode::Config,
            format!("the value of the header `{parsed}` has characters in it that cannot be sent"),
        )
        .with_hint("look for a line break or another control character in it"));
    };
    value.set_sensitive(true);
    Ok((parsed, value))
}

fn decoded(part: &str) -> String {
    // In this place of an address, what separates the parts of a query is a plain character.
    let query = part.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    url::form_urlencoded::parse(query.as_bytes()).next().map_or_else(String::new, |(key, _)| key.into_owned())
}

/// A header that the transport does not set itself.
pub(crate) fn supplied(name: &HeaderName) -> Result<()> {
    if headers::is_reserved(name) {
        return Err(Error::new(ErrorCode::Config, format!("the header `{name}` is set by the transport itself")));
    }
    Ok(())
}

impl fmt::Debug for Refused<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Refused")
            .field("method", self.method)
            .field("address", &shown(self.address))
            .field("status", &self.status)
            .field("challenge", &self.challenge)
            .field("earlier", &self.earlier)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for HttpTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpTarget")
            .field("address", &self.address())
            .field("headers", &self.headers.keys().map(HeaderName::as_str).collect::<Vec<_>>())
            .field("header_source", &self.source.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
