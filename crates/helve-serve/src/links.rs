//! Resources that no server lists, and that a result pointed to: which server they are from, so that the agent that got the
//! result can read them.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use helve_model::ServerName;
use helve_model::json::RawJson;

use crate::exchange::Exchange;
use crate::principal::Principal;
use crate::sync::lock;

/// Links of all agents that are remembered. The oldest are forgotten first.
const MOST_LINKS: usize = 4_096;

/// Links of one result that are remembered.
const MOST_LINKS_OF_A_RESULT: usize = 256;

/// Whose links lead where.
#[derive(Debug, Default)]
pub(crate) struct Links(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    servers: HashMap<(Principal, String), ServerName>,
    order: VecDeque<(Principal, String)>,
}

/// Keeps in mind which resources a result of this server points to.
pub(crate) fn remember(exchange: &Exchange, server: &ServerName, result: &RawJson) {
    if memchr::memmem::find(result.as_str().as_bytes(), b"\"resource").is_none() {
        return;
    }
    let content = result.member("content").and_then(|content| content.elements()).unwrap_or_default();
    let uris = content.iter().filter_map(uri_of).take(MOST_LINKS_OF_A_RESULT);
    let mut known = lock(&exchange.gateway.links.0);
    for uri in uris {
        known.add((exchange.agent.principal.clone(), uri), server);
    }
}

impl Links {
    /// The server whose result pointed this agent to a resource.
    pub(crate) fn find(&self, principal: &Principal, uri: &str) -> Option<ServerName> {
        lock(&self.0).servers.get(&(principal.clone(), uri.to_owned())).cloned()
    }
}

impl Known {
    fn add(&mut self, link: (Principal, String), server: &ServerName) {
        if self.servers.insert(link.clone(), server.clone()).is_some() {
            return;
        }
        self.order.push_back(link);
        while self.order.len() > MOST_LINKS {
            if let Some(oldest) = self.order.pop_front() {
                drop(self.servers.remove(&oldest));
            }
        }
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
