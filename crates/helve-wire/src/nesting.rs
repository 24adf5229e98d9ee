//! How many hosts stand above this one, and which, so that hosts that lead to each other come to an end.
//!
//! A host tells every program it starts how deep it runs and through what it was reached, in variables, and every server it
//! asks over HTTP the same, in headers. A gateway that is asked passes on who stands above it, and refuses a request that has
//! come through itself. Nobody can guess a host's id, so a request can get itself refused, and nothing else.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[cfg(feature = "http")]
use http::HeaderValue;
use tokio::time::Instant;

use helve_model::sync::lock;

/// How long a host is remembered that was heard of. Hosts that stand in a circle speak to each other more often; when the
/// circle was opened, it is forgotten.
const REMEMBERED: Duration = Duration::from_secs(120);

/// Servers and hosts of a trail that are looked at and passed on, the newest of each.
const MAX_TRAIL: usize = 8;

/// Digits of a server's number in a trail, and of a host's.
const SERVER_DIGITS: usize = 16;
const HOST_DIGITS: usize = 32;

/// How deep a host runs below others of its kind. Clones are the same host.
#[derive(Debug, Clone)]
pub struct Nesting(Arc<Place>);

#[derive(Debug)]
struct Place {
    /// What nobody else is called.
    id: u128,
    /// By the way this process was started.
    depth: u32,
    /// The servers it was started through, the first one first.
    servers: Vec<u64>,
    /// The hosts it was started through.
    hosts: Vec<u128>,
    /// The hosts above whoever asked, the newest last, and when they were heard of.
    heard: Mutex<Vec<(u128, Instant)>>,
}

impl Nesting {
    /// The variable that tells a program how deep it runs.
    pub const VARIABLE: &str = "HELVE_DEPTH";
    /// The variable that tells a program through which servers and hosts it was started.
    pub const TRAIL: &str = "HELVE_TRAIL";
    /// The header that tells a server how deep the host runs that asks.
    pub const HEADER: &str = "helve-hops";
    /// The header that tells a server through which hosts a request comes.
    pub const TRAIL_HEADER: &str = "helve-trail";
    /// The deepest host that starts servers or is answered. Deeper ones stand in a circle, most likely.
    pub const DEEPEST: u32 = 3;

    /// A host that was started at this depth, 0 by nobody of its kind, through the servers and hosts of this trail.
    #[must_use]
    pub fn new(depth: u32, trail: &str) -> Self {
        let of_length = |digits: usize| trail.split(',').filter(move |part| part.len() == digits);
        let servers = of_length(SERVER_DIGITS).filter_map(|id| u64::from_str_radix(id, 16).ok());
        let (servers, hosts) = (newest(servers), newest(hosts_of(trail)));
        Self(Arc::new(Place { id: random(), depth, servers, hosts, heard: Mutex::default() }))
    }

    /// True when this host was started through a server with this command line: started again, it would lead here again.
    #[must_use]
    pub fn came_through<'a>(&self, command_line: impl IntoIterator<Item = &'a str>) -> bool {
        !self.0.servers.is_empty() && self.0.servers.contains(&id_of(command_line))
    }

    /// What a server with this command line is told, by variable.
    pub fn variables<'a>(&self, command_line: impl IntoIterator<Item = &'a str>) -> [(&'static str, String); 2] {
        let servers = self.0.servers.iter().copied().chain([id_of(command_line)]);
        let servers = servers.map(|id| format!("{id:016x}"));
        let trail: Vec<String> = servers.chain([self.trail()]).collect();
        [(Self::VARIABLE, self.below().to_string()), (Self::TRAIL, trail.join(","))]
    }

    /// How deep the servers of this host run.
    #[must_use]
    pub fn below(&self) -> u32 {
        self.0.depth.saturating_add(1)
    }

    /// A request came from this depth and through the hosts of this trail. False: it comes through this very host, or from
    /// too deep, and must not be answered.
    #[must_use]
    pub fn hears(&self, depth: u32, trail: &str) -> bool {
        let hosts = newest(hosts_of(trail));
        if depth > Self::DEEPEST || hosts.contains(&self.0.id) {
            return false;
        }
        if !hosts.is_empty() {
            let now = Instant::now();
            let mut heard = lock(&self.0.heard);
            heard.retain(|(host, _)| !hosts.contains(host));
            heard.extend(hosts.into_iter().map(|host| (host, now)));
            let surplus = heard.len().saturating_sub(MAX_TRAIL);
            heard.drain(..surplus);
        }
        true
    }

    /// The hosts above this one, those that asked it lately included, and this one.
    #[must_use]
    pub fn trail(&self) -> String {
        let now = Instant::now();
        let mut heard = lock(&self.0.heard);
        heard.retain(|(_, when)| now.duration_since(*when) < REMEMBERED);
        // This one is the last, so that it is among the newest.
        let hosts = self.0.hosts.iter().copied().chain(heard.iter().map(|(host, _)| *host)).chain([self.0.id]);
        let hosts: Vec<String> = hosts.map(|host| format!("{host:032x}")).collect();
        hosts.join(",")
    }

    /// The same as headers have it: the depth, and the trail.
    #[cfg(feature = "http")]
    pub(crate) fn headers(&self) -> (HeaderValue, HeaderValue) {
        let depth = match self.below() {
            1 => HeaderValue::from_static("1"),
            2 => HeaderValue::from_static("2"),
            more => HeaderValue::from(more),
        };
        // Digits and commas always fit.
        (depth, HeaderValue::from_str(&self.trail()).unwrap_or(HeaderValue::from_static("")))
    }
}

impl Default for Nesting {
    fn default() -> Self {
        Self::new(0, "")
    }
}

/// The hosts that a trail names.
fn hosts_of(trail: &str) -> impl Iterator<Item = u128> {
    let hosts = trail.split(',').map(str::trim).filter(|part| part.len() == HOST_DIGITS);
    hosts.filter_map(|id| u128::from_str_radix(id, 16).ok())
}

/// The last ones, each once.
fn newest<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut kept: Vec<T> = Vec::new();
    for one in all {
        kept.retain(|other| *other != one);
        if kept.len() == MAX_TRAIL {
            kept.remove(0);
        }
        kept.push(one);
    }
    kept
}

/// A number that nobody guesses: what a hash with keys of the system's randomness makes of nothing.
fn random() -> u128 {
    let half = || u128::from(RandomState::new().build_hasher().finish());
    half() << 64 | half()
}

/// A number for a command line as it is written (FNV-1a): nothing depends on it being hard to guess, and a file may hold no
/// secret that it could betray.
fn id_of<'a>(command_line: impl IntoIterator<Item = &'a str>) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let bytes = command_line.into_iter().flat_map(|word| word.bytes().chain([0]));
    bytes.fold(BASIS, |id, byte| (id ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
#[path = "nesting_tests.rs"]
mod tests;
