//! Who may come in: the host name a request is meant for, the page it comes from, the token it brings.
//!
//! A web page can make a browser send requests to any port of the machine it runs on, under a name of the page's choice.
//! So a request has to be meant for a name that is known to be ours, and a page has to be one of ours.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::fmt;

use http::{HeaderMap, header};
use secrecy::{ExposeSecret as _, SecretString};

use crate::principal::{Peer, Principal};

/// Names of this machine that no other machine can have.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The user whom nothing on the machine keeps out.
const SUPERUSER: u32 = 0;

/// What is checked before anything is read.
#[derive(Debug, Default)]
pub struct Guard {
    /// Host names, without port, under which requests may come besides those of the loopback.
    pub hosts: Vec<String>,
    /// Any address may stand where a host name does: for a listener at all addresses of the machine. A page cannot make a
    /// browser take an address for another one, as it can with a name.
    pub any_address: bool,
    /// Origins (`https://app.example.com`) of pages that may send requests besides those of the loopback.
    pub origins: Vec<String>,
    /// Tokens of which a request has to bring one. Empty: none is needed.
    pub tokens: Vec<SecretString>,
    /// Where no token is needed: only this user of the machine may come in, and the superuser. `None`: anybody.
    pub only_user: Option<u32>,
}

/// Why a request may not come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Barred {
    Host,
    Origin,
    Token,
    User,
}

impl Guard {
    pub(super) fn admit(&self, headers: &HeaderMap, peer: Peer) -> Result<Principal, Barred> {
        let text = |name: header::HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        if !text(header::HOST).is_some_and(|host| self.knows_host(without_port(host))) {
            return Err(Barred::Host);
        }
        if text(header::ORIGIN).is_some_and(|origin| !self.knows_origin(origin)) {
            return Err(Barred::Origin);
        }
        if self.tokens.is_empty() {
            if let (Some(owner), Some(user)) = (self.only_user, peer.user)
                && user != owner
                && user != SUPERUSER
            {
                return Err(Barred::User);
            }
            return Ok(peer.principal());
        }
        let brought = text(header::AUTHORIZATION).and_then(bearer).ok_or(Barred::Token)?;
        // All are compared, each in full: the time taken tells nothing about any of them.
        let matching = self.tokens.iter().enumerate().fold(None, |found, (index, token)| {
            let is_equal = same(brought.as_bytes(), token.expose_secret().as_bytes());
            if is_equal { Some(index) } else { found }
        });
        matching.map(Principal::Token).ok_or(Barred::Token)
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

/// Compares without stopping at the first difference.
fn same(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).fold(0, |differing, (left, right)| differing | (left ^ right)) == 0
}

impl fmt::Display for Barred {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Host => "this host name is not served here; `--allow-host` adds one",
            Self::Origin => "pages of this origin may not come in; `--allow-origin` adds one",
            Self::User => "this belongs to another user of this machine; it has to be given a token to share it",
            Self::Token => "a token is needed: Authorization: Bearer …",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(guard: &Guard, headers: &[(header::HeaderName, &str)]) -> Result<Principal, Barred> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(name, value.parse().unwrap());
        }
        guard.admit(&map, Peer { connection: 7, user: Some(1000) })
    }

    #[test]
    fn only_names_that_are_ours() {
        let guard = Guard { hosts: vec!["tools.example.com".into()], ..Guard::default() };
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:7332", "[::1]:7332", "[::1]", "tools.example.com:443"] {
            assert_eq!(admit(&guard, &[(header::HOST, host)]), Ok(Principal::User(1000)), "{host}");
        }
        for host in ["evil.example.com", "localhost.evil.example.com:80", "127.0.0.1.evil.example.com", ""] {
            assert_eq!(admit(&guard, &[(header::HOST, host)]), Err(Barred::Host), "{host}");
        }
        assert_eq!(admit(&guard, &[]), Err(Barred::Host));
    }

    #[test]
    fn who_listens_everywhere_is_reached_at_any_address_but_under_no_name() {
        let guard = Guard { any_address: true, ..Guard::default() };
        for host in ["192.0.2.7", "192.0.2.7:7332", "[2001:db8::7]:7332"] {
            assert!(admit(&guard, &[(header::HOST, host)]).is_ok(), "{host}");
            assert_eq!(admit(&Guard::default(), &[(header::HOST, host)]), Err(Barred::Host), "{host}");
        }
        for host in ["evil.example.com", "192.0.2.7.evil.example.com", "[evil]", "192.0.2", ""] {
            assert_eq!(admit(&guard, &[(header::HOST, host)]), Err(Barred::Host), "{host}");
        }
    }

    #[test]
    fn without_a_token_only_the_same_user() {
        let of = |owner: u32, tokens: Vec<SecretString>, user: Option<u32>| {
            let headers = HeaderMap::from_iter([
                (header::HOST, "localhost".parse().unwrap()),
                (header::AUTHORIZATION, "Bearer one".parse().unwrap()),
            ]);
            let guard = Guard { only_user: Some(owner), tokens, ..Guard::default() };
            guard.admit(&headers, Peer { connection: 7, user })
        };
        assert_eq!(of(1000, vec![], Some(1000)), Ok(Principal::User(1000)));
        assert_eq!(of(1000, vec![], Some(0)), Ok(Principal::User(0)));
        assert_eq!(of(1000, vec![], None), Ok(Principal::Connection(7)));
        assert_eq!(of(1000, vec![], Some(1001)), Err(Barred::User));
        assert_eq!(of(1000, vec!["one".into()], Some(1001)), Ok(Principal::Token(0)));
    }

    #[test]
    fn only_pages_that_are_ours() {
        let guard = Guard { origins: vec!["https://app.example.com".into()], ..Guard::default() };
        let from = |origin: &str| admit(&guard, &[(header::HOST, "localhost"), (header::ORIGIN, origin)]);
        assert!(from("http://localhost:3000").is_ok() && from("https://app.example.com").is_ok());
        assert_eq!(from("http://app.example.com"), Err(Barred::Origin));
        assert_eq!(from("null"), Err(Barred::Origin));
        assert_eq!(from("http://evil.example.com"), Err(Barred::Origin));
    }

    #[test]
    fn a_token_says_who_it_is() {
        let guard = Guard { tokens: vec!["one".into(), "two".into()], ..Guard::default() };
        let with = |value: &str| admit(&guard, &[(header::HOST, "localhost"), (header::AUTHORIZATION, value)]);
        assert_eq!(with("Bearer two"), Ok(Principal::Token(1)));
        assert_eq!(with("bearer one"), Ok(Principal::Token(0)));
        for wrong in ["Bearer three", "Bearer ", "Basic two", "two"] {
            assert_eq!(with(wrong), Err(Barred::Token), "{wrong}");
        }
        assert_eq!(admit(&guard, &[(header::HOST, "localhost")]), Err(Barred::Token));
    }
}
