//! Which requests may come in: by the host name a request is meant for, the page it comes from, and who sends it. What is
//! not known is barred.
//!
//! A web page can make a browser send requests to any port of the machine it runs on, under a name of the page's choice.
//! So a request has to be meant for a name that is known to be ours, and a page has to be one of ours.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::fmt;
use std::sync::Arc;

use helve_wire::Nesting;
use http::{HeaderMap, HeaderName, HeaderValue, Uri, header};

use crate::authenticate::{Authenticate, LocalUsers, RequestCredentials, Unauthenticated};
use crate::principal::{Peer, Principal};

/// Names of this machine that no other machine can have.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Headers that decide something and may come once: of two, each reader could believe another one.
const SINGLE: [HeaderName; 6] = [
    header::HOST,
    header::AUTHORIZATION,
    header::ORIGIN,
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
];

/// So do all headers of the protocol: the session's id, the version, the method, the name, mirrored arguments.
const SINGLE_PREFIX: &str = "mcp-";
/// The header by which an agent comes back to a stream.
const LAST_EVENT: &str = "last-event-id";

/// What is checked before anything is read.
#[derive(Debug)]
#[non_exhaustive]
pub struct Guard {
    /// Host names, without port, under which requests may come besides those of the loopback.
    pub hosts: Vec<String>,
    /// Any address may stand where a host name does: for a listener at all addresses of the machine. A page cannot make a
    /// browser take an address for another one, as it can with a name.
    pub any_address: bool,
    /// Origins (`https://app.example.com`) of pages that may send requests besides those of the loopback.
    pub origins: Vec<String>,
    /// The principal behind a request, and whether it may come in.
    pub authenticate: Arc<dyn Authenticate>,
    /// How deep the gateway runs, as its servers are told: what agents that are gateways say counts for it too.
    pub nesting: Nesting,
}

/// Why a request may not come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Barred {
    /// A header that decides something came twice.
    Doubled,
    Host,
    Origin,
    Token,
    User,
    Circle,
}

impl Default for Guard {
    /// Lets in everybody who comes under a name of the loopback.
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            any_address: false,
            origins: Vec::new(),
            authenticate: Arc::new(LocalUsers::default()),
            nesting: Nesting::default(),
        }
    }
}

impl From<Unauthenticated> for Barred {
    fn from(reason: Unauthenticated) -> Self {
        match reason {
            Unauthenticated::Token => Self::Token,
            Unauthenticated::User => Self::User,
        }
    }
}

impl Guard {
    /// The same with a change. Fields are added in time, so nobody writes out all of them.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(super) fn admit(&self, uri: &Uri, headers: &HeaderMap, peer: Peer) -> Result<Principal, Barred> {
        self.check_names(uri, headers)?;
        let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let bearer = text(header::AUTHORIZATION).and_then(bearer);
        Ok(self.authenticate.authenticate(&RequestCredentials::new(peer, bearer))?)
    }

    /// Is a request meant for us, and does it come from a page of ours if it comes from one?
    pub(super) fn check_names(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Barred> {
        if is_doubled(headers) {
            return Err(Barred::Doubled);
        }
        let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        // A request line may name a host too, and other readers let that one count.
        let is_ours = |host: &str| self.knows_host(without_port(host));
        if !text(header::HOST).is_some_and(is_ours) || !uri.authority().is_none_or(|named| is_ours(named.as_str())) {
            return Err(Barred::Host);
        }
        if text(header::ORIGIN).is_some_and(|origin| !self.knows_origin(origin)) {
            return Err(Barred::Origin);
        }
        Ok(())
    }

    /// A request that has come through this very gateway, or from a host that runs too deep, goes round in a circle. A depth
    /// that cannot be read counts as too deep.
    pub(super) fn counts(&self, headers: &HeaderMap) -> Result<(), Barred> {
        let depth = |value: &HeaderValue| value.to_str().ok().and_then(|text| text.parse().ok()).unwrap_or(u32::MAX);
        let depth = headers.get_all(Nesting::HEADER).iter().map(depth).max().unwrap_or_default();
        let trails = headers.get_all(Nesting::TRAIL_HEADER).iter().filter_map(|value| value.to_str().ok());
        let trail = trails.collect::<Vec<_>>().join(",");
        if self.nesting.hears(depth, &trail) { Ok(()) } else { Err(Barred::Circle) }
    }

    fn knows_host(&self, host: &str) -> bool {
        LOOPBACK.iter().any(|own| own.eq_ignore_ascii_case(host))
            || self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
            || (self.any_address && is_address(host))
    }

    fn knows_origin(&self, origin: &str) -> bool {
        let host = origin.split_once("://").map_or("", |(_, host)| without_port(host));
        LOOPBACK.iter().any(|own| own.eq_ignore_ascii_case(host)) || self.origins.iter().any(|own| own == origin)
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn is_address(host: &str) -> bool {
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    inner.map_or_else(|| host.parse::<Ipv4Addr>().is_ok(), |host| host.parse::<Ipv6Addr>().is_ok())
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// True when a header that decides something came more than once.
fn is_doubled(headers: &HeaderMap) -> bool {
    let is_single = |name: &HeaderName| {
        SINGLE.contains(name) || name.as_str().starts_with(SINGLE_PREFIX) || name.as_str() == LAST_EVENT
    };
    // Hardly any request repeats a header at all.
    headers.len() != headers.keys_len()
        && headers.keys().any(|name| is_single(name) && headers.get_all(name).iter().nth(1).is_some())
}

impl fmt::Display for Barred {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Doubled => "a header that may come once came twice",
            Self::Host => "this host name is not served here; the person who runs this can allow it",
            Self::Origin => "pages of this origin are not let in; the person who runs this can allow it",
            Self::User => "this belongs to another user of this machine; it takes a token to share it",
            Self::Circle => {
                "this request has passed too many gateways, or this one before: one of their servers leads back to it, in a circle"
            }
            Self::Token => "a token is needed: Authorization: Bearer …",
        })
    }
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
