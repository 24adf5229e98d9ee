//! Resources that no server lists, and that a result pointed to: which server they are from, so that the agent that got the
//! result can read them. The first server that has a URI keeps it.

use std::time::Duration;

use helve_model::json::RawJson;
use helve_model::{Principal, ServerName};

use crate::exchange::Exchange;
use crate::owner_store::{Bounds, OwnerStore};

/// Links of one server that are remembered for one principal. Those unused longest are forgotten first.
const MOST_LINKS: usize = 4_096;

/// Bytes of them.
const MOST_BYTES: usize = 1 << 20;

/// How long a link is remembered that nobody follows.
const LINK_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Links of one result that are remembered.
const MOST_LINKS_OF_A_RESULT: usize = 256;

/// Whose links lead where.
#[derive(Debug)]
pub(crate) struct Links(OwnerStore<RememberedLink>);

/// What is known about a resource that a result pointed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RememberedLink {
    /// When the result came it was known that no server lists the resource: who lists it later does not take it over.
    was_unlisted: bool,
}

/// Keeps in mind which resources a result of this server points to.
pub(crate) fn remember(exchange: &Exchange, server: &ServerName, result: &RawJson) {
    if memchr::memmem::find(result.as_str().as_bytes(), b"\"resource").is_none() {
        return;
    }
    let content = result.member("content").and_then(|content| content.elements()).unwrap_or_default();
    let uris: Vec<String> = content.iter().filter_map(uri_of).take(MOST_LINKS_OF_A_RESULT).collect();
    if uris.is_empty() {
        return;
    }
    let index = exchange.gateway.offer_index.resources();
    let owner = exchange.owner(server);
    for uri in uris {
        let was_unlisted = index.as_ref().is_some_and(|index| index.find(&uri).is_none());
        exchange.gateway.links.0.keep(&owner, &uri, RememberedLink { was_unlisted }, 0);
    }
}

impl Links {
    /// The first server whose result pointed this principal to a resource.
    pub(crate) fn find(&self, principal: &Principal, uri: &str) -> Option<ServerName> {
        self.0.find(principal, uri).map(|(server, _)| server)
    }

    /// The same, where the resource was nobody else's when the result came.
    pub(crate) fn find_first(&self, principal: &Principal, uri: &str) -> Option<ServerName> {
        self.0.find(principal, uri).filter(|(_, link)| link.was_unlisted).map(|(server, _)| server)
    }

    /// Forgets links that nobody followed for too long.
    pub(crate) fn sweep(&self) {
        self.0.sweep();
    }
}

impl Default for Links {
    fn default() -> Self {
        Self(OwnerStore::new(Bounds { entries: MOST_LINKS, bytes: MOST_BYTES, time: LINK_TIME }))
    }
}

/// The resource that a block of content is, or points to.
fn uri_of(block: &RawJson) -> Option<String> {
    match block.member_str("type")?.as_str() {
        "resource_link" => block.member_str("uri"),
        "resource" => block.member("resource")?.member_str("uri"),
        _ => None,
    }
}
