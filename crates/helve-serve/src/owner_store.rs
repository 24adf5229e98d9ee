//! What is kept between an agent's requests, each thing with its owner: the principal it was kept for and the server it is
//! from. Another principal never finds it, and only more of the same owner's makes it go.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use helve_model::{Owner, Principal, ServerName};
use tokio::time::Instant;

use helve_model::sync::lock;

/// Values by name, for owners. There is no way in without one.
pub(crate) struct OwnerStore<V> {
    bounds: Bounds,
    known: Mutex<Known<V>>,
}

/// How much is kept for one owner.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// So many; the one unused longest goes first.
    pub(crate) entries: usize,
    /// So many bytes of names and values.
    pub(crate) bytes: usize,
    /// What was not used for so long is forgotten.
    pub(crate) time: Duration,
}

struct Known<V> {
    shares: HashMap<Principal, HashMap<ServerName, Share<V>>>,
    /// Counts what was kept and used.
    last: u64,
}

/// What is kept for one owner.
struct Share<V> {
    entries: HashMap<Arc<str>, Entry<V>>,
    /// The names by their last use.
    by_use: BTreeMap<u64, Arc<str>>,
    bytes: usize,
}

struct Entry<V> {
    value: V,
    bytes: usize,
    /// When it was first kept: of two servers that claim one name, the earlier has it.
    since: u64,
    last_use: u64,
    used: Instant,
}

impl<V: Clone> OwnerStore<V> {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self { bounds, known: Mutex::new(Known { shares: HashMap::new(), last: 0 }) }
    }

    /// Keeps a value that takes so many bytes besides its name. What the owner has under this name already stays.
    pub(crate) fn keep(&self, owner: &Owner, name: &str, value: V, bytes: usize) {
        let bytes = bytes + name.len();
        if bytes > self.bounds.bytes || self.bounds.entries == 0 {
            return;
        }
        let (now, mut known) = (Instant::now(), lock(&self.known));
        known.last += 1;
        let turn = known.last;
        let shares = match known.shares.get_mut(&owner.principal) {
            Some(shares) => shares,
            None => known.shares.entry(owner.principal.clone()).or_default(),
        };
        let share = shares.entry(owner.server.clone()).or_default();
        share.forget_old(now, self.bounds.time);
        if share.touch(name, turn, now) {
            return;
        }
        while share.entries.len() >= self.bounds.entries || share.bytes + bytes > self.bounds.bytes {
            if !share.forget_oldest() {
                break;
            }
        }
        let name: Arc<str> = Arc::from(name);
        share.bytes += bytes;
        share.by_use.insert(turn, Arc::clone(&name));
        share.entries.insert(name, Entry { value, bytes, since: turn, last_use: turn, used: now });
    }

    /// What an owner has under a name.
    pub(crate) fn get(&self, owner: &Owner, name: &str) -> Option<V> {
        let (now, mut known) = (Instant::now(), lock(&self.known));
        known.last += 1;
        let turn = known.last;
        let share = known.shares.get_mut(&owner.principal)?.get_mut(&owner.server)?;
        share.forget_old(now, self.bounds.time);
        share.touch(name, turn, now);
        share.entries.get(name).map(|entry| entry.value.clone())
    }

    /// Whether an owner has something under a name. It counts as no use: a server that names what it has does not decide
    /// what is forgotten first.
    pub(crate) fn has(&self, owner: &Owner, name: &str) -> bool {
        let (now, known) = (Instant::now(), lock(&self.known));
        let share = known.shares.get(&owner.principal).and_then(|shares| shares.get(&owner.server));
        let entry = share.and_then(|share| share.entries.get(name));
        entry.is_some_and(|entry| now.saturating_duration_since(entry.used) <= self.bounds.time)
    }

    /// What a principal has under a name, and from which server: the one that was first, where several claim it.
    pub(crate) fn find(&self, principal: &Principal, name: &str) -> Option<(ServerName, V)> {
        let (now, mut known) = (Instant::now(), lock(&self.known));
        known.last += 1;
        let turn = known.last;
        let shares = known.shares.get_mut(principal)?;
        shares.values_mut().for_each(|share| share.forget_old(now, self.bounds.time));
        let claims =
            shares.iter_mut().filter_map(|(server, share)| Some((share.entries.get(name)?.since, server, share)));
        let (_, server, share) = claims.min_by_key(|(since, ..)| *since)?;
        share.touch(name, turn, now);
        share.entries.get(name).map(|entry| (server.clone(), entry.value.clone()))
    }

    /// Forgets what was not used for too long, whosever it is.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        lock(&self.known).shares.retain(|_, shares| {
            shares.retain(|_, share| {
                share.forget_old(now, self.bounds.time);
                !share.entries.is_empty()
            });
            !shares.is_empty()
        });
    }

    fn entries(&self) -> usize {
        let known = lock(&self.known);
        known.shares.values().flat_map(HashMap::values).map(|share| share.entries.len()).sum()
    }
}

impl<V> Share<V> {
    /// Marks an entry as just used; false when there is none.
    fn touch(&mut self, name: &str, turn: u64, now: Instant) -> bool {
        let Some(entry) = self.entries.get_mut(name) else { return false };
        if let Some(name) = self.by_use.remove(&entry.last_use) {
            self.by_use.insert(turn, name);
        }
        (entry.last_use, entry.used) = (turn, now);
        true
    }

    fn forget_old(&mut self, now: Instant, time: Duration) {
        while let Some(name) = self.by_use.values().next()
            && self.entries.get(name).is_none_or(|entry| now.saturating_duration_since(entry.used) > time)
        {
            self.forget_oldest();
        }
    }

    /// False when there is nothing to forget.
    fn forget_oldest(&mut self) -> bool {
        let Some((_, name)) = self.by_use.pop_first() else { return false };
        if let Some(entry) = self.entries.remove(&name) {
            self.bytes -= entry.bytes;
        }
        true
    }
}

impl<V> Default for Share<V> {
    fn default() -> Self {
        Self { entries: HashMap::new(), by_use: BTreeMap::new(), bytes: 0 }
    }
}

impl<V: Clone> fmt::Debug for OwnerStore<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OwnerStore").field("bounds", &self.bounds).field("entries", &self.entries()).finish()
    }
}

#[cfg(test)]
#[path = "owner_store_tests.rs"]
mod tests;
