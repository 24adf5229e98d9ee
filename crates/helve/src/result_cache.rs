//! Results that are kept for a while, so that a tool that only reads is not asked the same thing twice.
//!
//! Which tools may be kept is for the call pipeline to say. A result belongs to a tool as it was defined and to its
//! arguments; order of keys and white space between them do not count, every other spelling does: `1` and `1.0` may
//! be two things to a server. A failure is never kept.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use helve_model::json::{RawJson, scan};
use helve_model::{Outcome, QualifiedName, ServerName};
use helve_policy::pin::DefinitionHash;

/// How much is kept, and for how long.
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
    name: QualifiedName,
    definition: DefinitionHash,
    arguments: String,
}

/// The results, those longest unused the first to go.
#[derive(Debug)]
pub(crate) struct ResultCache {
    limits: ResultCacheLimits,
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
        Self { ttl: Duration::from_mins(5), entries: 1_000, bytes: 16 << 20 }
    }
}

impl ResultKey {
    pub(crate) fn new(name: QualifiedName, definition: DefinitionHash, arguments: &RawJson) -> Self {
        Self { name, definition, arguments: canonical(arguments.as_str()) }
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.name.server.as_str().len() + self.name.tool.as_str().len() + self.arguments.len()
    }
}

impl ResultCache {
    pub(crate) fn new(limits: ResultCacheLimits) -> Self {
        Self { limits, entries: HashMap::new(), by_use: BTreeMap::new(), uses: 0, bytes: 0 }
    }

    /// The result of an earlier call that is still good.
    pub(crate) fn get(&mut self, key: &ResultKey, now: Instant) -> Option<Outcome> {
        let entry = self.entries.get_mut(key)?;
        if now.saturating_duration_since(entry.stored_at) >= self.limits.ttl {
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

    /// Keeps a result, unless it is a failure or larger than all that may be kept.
    pub(crate) fn insert(&mut self, key: ResultKey, outcome: Outcome, now: Instant) {
        self.remove(&key);
        let bytes = entry_bytes(&key, &outcome);
        if outcome.is_error() || bytes > self.limits.bytes || self.limits.entries == 0 {
            return;
        }
        while self.entries.len() >= self.limits.entries || self.bytes + bytes > self.limits.bytes {
            let Some((_, oldest)) = self.by_use.pop_first() else { break };
            self.remove(&oldest);
        }
        let key = Arc::new(key);
        self.uses += 1;
        self.bytes += bytes;
        self.by_use.insert(self.uses, Arc::clone(&key));
        self.entries.insert(key, Entry { outcome, stored_at: now, last_use: self.uses });
    }

    /// Keeps nothing of a server any more: one of its tools may have changed what the others would say.
    pub(crate) fn forget_server(&mut self, server: &ServerName) {
        let keys: Vec<_> = self.by_use.values().filter(|key| key.name.server == *server).cloned().collect();
        keys.iter().for_each(|key| self.remove(key));
    }

    fn remove(&mut self, key: &ResultKey) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry_bytes(key, &entry.outcome);
            self.by_use.remove(&entry.last_use);
        }
    }
}

fn entry_bytes(key: &ResultKey, outcome: &Outcome) -> usize {
    size_of::<Entry>() + key.bytes() + outcome.raw().as_str().len()
}

/// The text with the members of all objects in order and no white space around them. What cannot be read, or nests
/// too deep to be opened by anybody, counts letter by letter.
fn canonical(text: &str) -> String {
    let mut canonical = String::with_capacity(text.len());
    match write_canonical(&mut canonical, text.trim(), scan::MAX_DEPTH) {
        Some(()) => canonical,
        None => text.to_owned(),
    }
}

fn write_canonical(canonical: &mut String, text: &str, depth: u32) -> Option<()> {
    match text.as_bytes().first() {
        Some(b'{') => {
            let depth = depth.checked_sub(1)?;
            let mut members = scan::members(text).ok()?.collect::<Result<Vec<_>, _>>().ok()?;
            // Equal keys stay in their order: which of them counts is the reader's business.
            members.sort_by_key(|member| member.raw_key);
            canonical.push('{');
            for (position, member) in members.iter().enumerate() {
                canonical.push_str(if position == 0 { "\"" } else { ",\"" });
                canonical.push_str(member.raw_key);
                canonical.push_str("\":");
                write_canonical(canonical, member.value, depth)?;
            }
            canonical.push('}');
        }
        Some(b'[') => {
            let depth = depth.checked_sub(1)?;
            canonical.push('[');
            for (position, element) in scan::elements(text).ok()?.enumerate() {
                if position > 0 {
                    canonical.push(',');
                }
                write_canonical(canonical, element.ok()?, depth)?;
            }
            canonical.push(']');
        }
        _ => canonical.push_str(text),
    }
    Some(())
}

#[cfg(test)]
#[path = "result_cache_tests.rs"]
mod tests;
