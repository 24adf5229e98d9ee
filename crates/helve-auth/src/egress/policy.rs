//! Schemes and addresses that a request may go to.
//!
//! A server tells us where its authorization server is, and that one tells us where its endpoints are: without a policy, any
//! server could make us send requests to the machine's own network. So: https only, and public addresses only. Beyond that
//! a request may go to where the person already sends their own requests: a server on loopback may have its authorization
//! server on loopback (over http too), a server at a private literal address one in a private network, and hosts that the
//! person named in their own file may be private. Link-local, multicast and reserved addresses are never asked, whoever
//! named them. What a name resolves to is checked when it is resolved (see `resolver.rs`), so a name that changes its address
//! gains nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use crate::error::{Advice, AuthError, ErrorKind, Result};

/// What kind of network an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AddressClass {
    /// The internet.
    Public,
    /// This machine.
    Loopback,
    /// A private network, or one behind a carrier's translation.
    Private,
    /// Link-local (where clouds keep their metadata), multicast, benchmarks, documentation, anything reserved.
    Forbidden,
}

/// What may be asked on behalf of one server.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The class of the server itself where its address tells; names count as public.
    server: AddressClass,
    /// The server's own host: asking it is what the person wants anyway.
    server_host: String,
    /// Hosts the person named in a file of their own.
    named_hosts: Vec<String>,
}

impl Policy {
    /// What may be asked on behalf of the server at this address.
    #[must_use]
    pub fn for_server(server: &Url) -> Self {
        let class = match server.host() {
            Some(Host::Ipv4(address)) => AddressClass::of(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => AddressClass::of(IpAddr::V6(address)),
            Some(Host::Domain(name)) if is_localhost(name) => AddressClass::Loopback,
            Some(Host::Domain(_)) | None => AddressClass::Public,
        };
        Self { server: class, server_host: host_of(server), named_hosts: Vec::new() }
    }

    /// The person named this address: its host may be in a private network.
    #[must_use]
    pub fn with_named(mut self, address: &Url) -> Self {
        self.named_hosts.push(host_of(address));
        self
    }

    /// Checks an address as it is written, before anything is resolved.
    ///
    /// # Errors
    /// `EgressDenied` when it must not be asked.
    pub fn check(&self, url: &Url) -> Result<()> {
        let denied = |why: &str| {
            let shown = format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default());
            AuthError::new(ErrorKind::EgressDenied, format!("{shown} must not be asked: {why}"))
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(denied("its address has a user name in it"));
        }
        let class = match url.host() {
            None => return Err(denied("it has no host")),
            Some(Host::Ipv4(address)) => Some(AddressClass::of(IpAddr::V4(address))),
            Some(Host::Ipv6(address)) => Some(AddressClass::of(IpAddr::V6(address))),
            Some(Host::Domain(name)) if is_localhost(name) => Some(AddressClass::Loopback),
            Some(Host::Domain(name)) if is_metadata_host(name) => Some(AddressClass::Forbidden),
            Some(Host::Domain(_)) => None,
        };
        match (url.scheme(), class) {
            ("https", _) => {}
            ("http", Some(AddressClass::Loopback)) if self.server == AddressClass::Loopback => {}
            ("http", _) => return Err(denied("it is not encrypted (https)")),
            _ => return Err(denied("it is not an https address")),
        }
        match class {
            Some(class) if !self.allows(&host_of(url), class) => Err(self.denied_class(&host_of(url), class)),
            _ => Ok(()),
        }
    }

    /// True when a host may be asked at an address of this class.
    #[must_use]
    pub fn allows(&self, host: &str, class: AddressClass) -> bool {
        let is_named = || self.named_hosts.iter().any(|named| named == host);
        match class {
            AddressClass::Public => true,
            AddressClass::Loopback => self.server == AddressClass::Loopback,
            AddressClass::Private => {
                self.server == AddressClass::Private
                    || self.server == AddressClass::Loopback
                    || self.server_host == host
                    || is_named()
            }
            AddressClass::Forbidden => false,
        }
    }

    /// True when a connection to this address may be made for this host.
    #[must_use]
    pub fn allows_address(&self, host: &str, address: IpAddr) -> bool {
        self.allows(&trimmed(host), AddressClass::of(address))
    }

    pub(crate) fn denied_class(&self, host: &str, class: AddressClass) -> AuthError {
        let what = match class {
            AddressClass::Public => "a public address",
            AddressClass::Loopback => "this machine",
            AddressClass::Private => "a private network",
            AddressClass::Forbidden => "a reserved or link-local address",
        };
        let error = AuthError::new(
            ErrorKind::EgressDenied,
            format!("{host} must not be asked: it is {what}, and the server is not"),
        );
        match class {
            AddressClass::Private => error.with_advice(Advice::NameIssuer { issuer: format!("https://{host}") }),
            _ => error,
        }
    }
}

impl AddressClass {
    /// The class of an address. An address of version 4 inside one of version 6 is looked at as what it leads to.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    const fn of_v4(address: Ipv4Addr) -> Self {
        match address.octets() {
            [127, ..] => Self::Loopback,
            [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Self::Private,
            // This network, link-local, protocol assignments, documentation, benchmarks, 6to4 relays, AS112, multicast,
            // reserved, broadcast.
            [0 | 224..=255, ..]
            | [169, 254, ..]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [192, 31, 196, _]
            | [192, 52, 193, _]
            | [192, 175, 48, _]
            | [198, 18..=19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _] => Self::Forbidden,
            _ => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        let segments = address.segments();
        let inner = |high: u16, low: u16| {
            let [a, b] = high.to_be_bytes();
            let [c, d] = low.to_be_bytes();
            Self::of_v4(Ipv4Addr::new(a, b, c, d))
        };
        match segments {
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Loopback,
            // Mapped, and the old compatible form; `::` itself is the latter's 0.0.0.0.
            [0, 0, 0, 0, 0, 0xffff | 0, high, low] => inner(high, low),
            // Translated (SIIT), NAT64, and NAT64 for local use.
            [0, 0, 0, 0, 0xffff, 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => inner(high, low),
            [0x64, 0xff9b, ..] => Self::Forbidden,
            // 6to4 carries an address of version 4; Teredo hides one.
            [0x2002, high, low, ..] => match inner(high, low) {
                Self::Public => Self::Public,
                _ => Self::Forbidden,
            },
            [0x2001, 0, ..] => Self::Forbidden,
            // Addresses whose lower half is made from one of version 4 (ISATAP).
            [_, _, _, _, 0 | 0x200, 0x5efe, high, low] if inner(high, low) != Self::Public => Self::Forbidden,
            // Benchmarks, ORCHID, documentation, discard, unique local, link-local, site-local, multicast.
            [0x2001, 2 | 0x10..=0x3f | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] | [0x100, ..] | [0x5f00, ..] => {
                Self::Forbidden
            }
            [0xfc00..=0xfdff, ..] => Self::Private,
            [0xfe80..=0xffff, ..] => Self::Forbidden,
            [0x2000..=0x3fff, ..] => Self::Public,
            // Nothing else is given out.
            _ => Self::Forbidden,
        }
    }
}

fn host_of(url: &Url) -> String {
    trimmed(url.host_str().unwrap_or_default())
}

/// A host without the dot that ends an absolute name, in small letters.
fn trimmed(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

fn is_localhost(name: &str) -> bool {
    let name = trimmed(name);
    name == "localhost" || name.ends_with(".localhost")
}

/// Names under which clouds and container hosts give out credentials, or stand for the machine itself.
fn is_metadata_host(name: &str) -> bool {
    const NAMES: [&str; 7] = [
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "instance-data",
        "instance-data.ec2.internal",
        "localhost.localdomain",
        "kubernetes.default.svc",
    ];
    let name = trimmed(name);
    NAMES.contains(&name.as_str()) || name.ends_with(".localdomain")
}

#[cfg(test)]
#[path = "policy_tests.rs"]
pub(super) mod spellings_tests;
