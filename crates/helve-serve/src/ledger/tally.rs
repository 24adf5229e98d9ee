//! What each principal holds of one thing, counted apart from what others hold of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::{Exceeded, Limit, MOST_WAITING, WAIT};
use crate::principal::Principal;
use helve_model::sync::lock;

/// The count. Cheap to clone; every clone is the same.
#[derive(Debug, Clone)]
pub(crate) struct Tally(Arc<Shared>);

/// What was counted for a principal, until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    tally: Arc<Shared>,
    principal: Principal,
    amount: usize,
}

#[derive(Debug)]
struct Shared {
    limit: Limit,
    /// What one principal may hold.
    most: usize,
    holders: Mutex<HashMap<Principal, Holder>>,
}

#[derive(Debug, Default)]
struct Holder {
    amount: usize,
    waiting: usize,
    freed: Arc<Notify>,
}

impl Tally {
    pub(crate) fn new(limit: Limit, most: usize) -> Self {
        Self(Arc::new(Shared { limit, most, holders: Mutex::default() }))
    }

    /// Counts so much for a principal, if it may hold that much more. A principal that holds nothing may hold anything: one thing that
    /// is larger than the limit has others to bound it.
    pub(crate) fn try_hold(&self, principal: &Principal, amount: usize) -> Result<Held, Exceeded> {
        let mut holders = lock(&self.0.holders);
        let holder = holders.entry(principal.clone()).or_default();
        let sum = holder.amount.saturating_add(amount);
        if sum > self.0.most && holder.amount > 0 {
            return Err(Exceeded(self.0.limit));
        }
        holder.amount = sum;
        Ok(Held { tally: Arc::clone(&self.0), principal: principal.clone(), amount })
    }

    /// What a principal holds.
    #[cfg(test)]
    pub(crate) fn held(&self, principal: &Principal) -> usize {
        lock(&self.0.holders).get(principal).map_or(0, |holder| holder.amount)
    }

    /// The same, at once or within [`WAIT`]. Cancel safe.
    pub(crate) async fn hold(&self, principal: &Principal, amount: usize) -> Result<Held, Exceeded> {
        let exceeded = match self.try_hold(principal, amount) {
            Ok(held) => return Ok(held),
            Err(exceeded) => exceeded,
        };
        let Some(waiting) = Waiting::begin(&self.0, principal) else { return Err(exceeded) };
        let deadline = Instant::now() + WAIT;
        loop {
            let freed = waiting.freed.notified();
            if let Ok(held) = self.try_hold(principal, amount) {
                return Ok(held);
            }
            if timeout_at(deadline, freed).await.is_err() {
                return Err(exceeded);
            }
        }
    }
}

/// Somebody who waits.
struct Waiting<'a> {
    tally: &'a Shared,
    principal: &'a Principal,
    freed: Arc<Notify>,
}

impl<'a> Waiting<'a> {
    /// `None` when too many wait already.
    fn begin(tally: &'a Shared, principal: &'a Principal) -> Option<Self> {
        let mut holders = lock(&tally.holders);
        let holder = holders.entry(principal.clone()).or_default();
        if holder.waiting >= MOST_WAITING {
            return None;
        }
        holder.waiting += 1;
        let freed = Arc::clone(&holder.freed);
        Some(Self { tally, principal, freed })
    }
}

impl Shared {
    /// Changes what is known of a principal, and forgets it when it holds nothing and waits for nothing.
    fn change(&self, principal: &Principal, change: impl FnOnce(&mut Holder)) {
        let mut holders = lock(&self.holders);
        let Some(holder) = holders.get_mut(principal) else { return };
        change(holder);
        if holder.amount == 0 && holder.waiting == 0 {
            drop(holders.remove(principal));
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.tally.change(self.principal, |holder| holder.waiting -= 1);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.tally.change(&self.principal, |holder| {
            holder.amount -= self.amount;
            holder.freed.notify_waiters();
        });
    }
}

#[cfg(test)]
#[path = "tally_tests.rs"]
mod tests;
