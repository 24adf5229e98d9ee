//! Results that are kept for a while, so that a tool that only reads is not asked the same thing twice.
//!
//! Which tools may be kept is for the call pipeline to say. A result belongs to the principal it was made for, to a tool as
//! it was defined, to its arguments and to all else that the server was told; order of keys and white space between them
//! do not count, every other spelling does: `1` and `1.0` may be two things to a server. A failure is never kept.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use helve_model::json::RawJson;
use helve_model::json::canonical::in_order;
use helve_model::{Outcome, Owner, ServerName, ToolName};
use helve_policy::pin::DefinitionHash;

/// How much is kept for one owner, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResultCacheLimits {
    /// A result is good for so long.
    pub(crate) ttl: Duration,
    /// So many results are kept.
    pub(crate) entries: usize,
    /// So many bytes of results and keys are kept.
    pub(crate) bytes: usize,
}

/// One call, as far as its result is concerned.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ResultKey {
    owner: Owner,
    tool: ToolName,
    definition: DefinitionHash,
    arguments: String,
    /// What else the server was told: metadata, further members, what whoever made the call can be asked.
    told: [Option<String>; 3],
}

/// The results of all owners. What one owner keeps takes no room from another.
#[derive(Debug)]
pub(crate) struct ResultCache {
    limits: ResultCacheLimits,
    shares: HashMap<Owner, Share>,
}

/// The results of one owner, those longest unused the first to go.
#[derive(Debug, Default)]
struct Share {
    entries: HashMap<Arc<ResultKey>, Entry>,
    /// By the number of their last use.
    by_use: BTreeMap<u64, Arc<ResultKey>>,
    uses: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    outcome: Outcome,
    stored_at: Instant,
    last_use: u64,
}

impl Default for ResultCacheLimits {
    fn default() -> Self {
        Self { ttl: Duration::from_mins(5), entries: 256, bytes: 4 << 20 }
    }
}

impl ResultKey {
    pub(crate) fn new(
        owner: Owner,
        tool: ToolName,
        definition: DefinitionHash,
        arguments: &RawJson,
        told: [Option<&str>; 3],
    ) -> Self {
        let told = told.map(|part| part.map(in_order));
        Self { owner, tool, definition, arguments: in_order(arguments.as_str()), told }
    }

    fn bytes(&self) -> usize {
        let told: usize = self.told.iter().flatten().map(String::len).sum();
        size_of::<Self>() + self.owner.server.as_str().len() + self.tool.as_str().len() + self.arguments.len() + told
    }
}

impl ResultCache {
    pub(crate) fn new(limits: ResultCacheLimits) -> Self {
        Self { limits, shares: HashMap::new() }
    }

    /// The result of an earlier call that is still good.
    pub(crate) fn get(&mut self, key: &ResultKey, now: Instant) -> Option<Outcome> {
        self.shares.get_mut(&key.owner)?.get(key, now, self.limits.ttl)
    }

    /// Keeps a result, unless it is a failure or larger than all that may be kept.
    pub(crate) fn insert(&mut self, key: ResultKey, outcome: Outcome, now: Instant) {
        let limits = self.limits;
        if !self.shares.contains_key(&key.owner) {
            // An owner that comes makes those go of whom nothing is good any more.
            self.shares.retain(|_, share| share.is_good(now, limits.ttl));
        }
        self.shares.entry(key.owner.clone()).or_default().insert(key, outcome, now, limits);
    }

    /// Keeps nothing of an owner any more: one of its server's tools may have changed what the others would say.
    pub(crate) fn forget(&mut self, owner: &Owner) {
        drop(self.shares.remove(owner));
    }

    /// Keeps nothing of a server any more, whosever it is: it is gone.
    pub(crate) fn forget_server(&mut self, server: &ServerName) {
        self.shares.retain(|owner, _| owner.server != *server);
    }
}

impl Share {
    fn get(&mut self, key: &ResultKey, now: Instant, ttl: Duration) -> Option<Outcome> {
        let entry = self.entries.get_mut(key)?;
        if now.saturating_duration_since(entry.stored_at) >= ttl {
            self.remove(key);
            return None;
        }
        if let Some(key) = self.by_use.remove(&entry.last_use) {
            self.uses += 1;
            entry.last_use = self.uses;
            self.by_use.insert(self.uses, key);
        }
        Some(entry.outcome.clone())
    }

    fn insert(&mut self, key: ResultKey, outcome: Outcome, now: Instant, limits: ResultCacheLimits) {
        self.remove(&key);
        let bytes = entry_bytes(&key, &outcome);
        if outcome.is_error() || bytes > limits.bytes || limits.entries == 0 {
            return;
        }
        while self.entries.len() >= limits.entries || self.bytes + bytes > limits.bytes {
            let Some((_, oldest)) = self.by_use.pop_first() else { break };
            self.remove(&oldest);
        }
        let key = Arc::new(key);
        self.uses += 1;
        self.bytes += bytes;
        self.by_use.insert(self.uses, Arc::clone(&key));
        self.entries.insert(key, Entry { outcome, stored_at: now, last_use: self.uses });
    }

    fn remove(&mut self, key: &ResultKey) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry_bytes(key, &entry.outcome);
            self.by_use.remove(&entry.last_use);
        }
    }

    fn is_good(&self, now: Instant, ttl: Duration) -> bool {
        self.entries.values().any(|entry| now.saturating_duration_since(entry.stored_at) < ttl)
    }
}

fn entry_bytes(key: &ResultKey, outcome: &Outcome) -> usize {
    size_of::<Entry>() + key.bytes() + outcome.raw().as_str().len()
}

#[cfg(test)]
#[path = "result_cache_tests.rs"]
mod tests;
