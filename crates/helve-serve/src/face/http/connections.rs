//! Connections: how many there are, whose they are, and which one makes room for the next.
//!
//! A connection on which nothing was asked yet is nobody's; of those the oldest makes room. A principal has at most half of
//! what the others left, and makes room for itself.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::ledger::{Exceeded, Limit};
use crate::principal::Principal;
use helve_model::sync::lock;

/// All connections.
#[derive(Debug)]
pub(super) struct Connections {
    most: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    places: BTreeMap<u64, Place>,
    /// How many each principal has.
    of: HashMap<Principal, usize>,
}

#[derive(Debug)]
struct Place {
    /// The principal that asked something on it.
    principal: Option<Principal>,
    used: Instant,
    line: Arc<Line>,
}

/// What a connection and its requests share.
#[derive(Debug, Default)]
struct Line {
    /// Requests that are being answered on it.
    busy: AtomicUsize,
    /// It has to make room.
    leaves: Notify,
}

/// A connection that a listener serves. It is counted until this is dropped.
pub struct Connection {
    connections: Arc<Connections>,
    number: u64,
    line: Arc<Line>,
}

/// A request is being answered on a connection, for as long as this is held.
#[derive(Debug)]
pub(super) struct Busy(Arc<Line>);

impl Connections {
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(2), open: Mutex::default() }
    }

    /// A connection has come. Where there are too many, the one goes that is missed least.
    pub(super) fn add(self: &Arc<Self>, number: u64) -> Connection {
        let line: Arc<Line> = Arc::default();
        let mut open = lock(&self.open);
        if open.places.len() >= self.most {
            open.make_room();
        }
        open.places.insert(number, Place { principal: None, used: Instant::now(), line: Arc::clone(&line) });
        drop(open);
        Connection { connections: Arc::clone(self), number, line }
    }

    /// Closes the connections on which this principal asked last, busy or not.
    pub(super) fn end_principal(&self, principal: &Principal) {
        let mut open = lock(&self.open);
        let theirs = open.places.iter().filter(|(_, place)| place.principal.as_ref() == Some(principal));
        let theirs: Vec<u64> = theirs.map(|(number, _)| *number).collect();
        theirs.into_iter().for_each(|number| open.close(number));
    }

    /// Is this one still open?
    pub(super) fn is_open(&self, number: u64) -> bool {
        lock(&self.open).places.contains_key(&number)
    }

    /// A principal asks something on a connection, which is its own from then on.
    ///
    /// # Errors
    /// When it has as many as it may have, and all of them are busy.
    pub(super) fn ask(&self, number: u64, principal: &Principal) -> Result<Option<Busy>, Exceeded> {
        let mut open = lock(&self.open);
        // Whoever hands over requests of a connection it did not announce counts for itself.
        let Some(place) = open.places.get_mut(&number) else { return Ok(None) };
        place.used = Instant::now();
        let busy = Busy::new(&place.line);
        if place.principal.as_ref() == Some(principal) {
            return Ok(Some(busy));
        }
        let before = place.principal.replace(principal.clone());
        before.iter().for_each(|before| open.leave(before));
        let theirs = open.of.get(principal).copied().unwrap_or_default();
        let others: usize = open.of.values().sum::<usize>() - theirs;
        *open.of.entry(principal.clone()).or_default() += 1;
        let share = (self.most.saturating_sub(others) / 2).max(1);
        if theirs >= share && !open.close_idle(principal) {
            return Err(Exceeded(Limit::Connections));
        }
        Ok(Some(busy))
    }
}

impl Open {
    /// The oldest on which nothing was asked goes, else the one idle longest of the principal that has most.
    fn make_room(&mut self) {
        let unused = self.places.iter().find(|(_, place)| place.principal.is_none()).map(|(number, _)| *number);
        if let Some(number) = unused {
            self.close(number);
        } else if let Some(most) = self.of.iter().max_by_key(|(_, count)| **count).map(|(of, _)| of.clone()) {
            self.close_idle(&most);
        }
    }

    /// Closes the connection of a principal that was idle longest; false when all of them are busy.
    fn close_idle(&mut self, principal: &Principal) -> bool {
        let theirs = self.places.iter().filter(|(_, place)| place.principal.as_ref() == Some(principal));
        let idle = theirs.filter(|(_, place)| place.line.busy.load(Ordering::Relaxed) == 0);
        let oldest = idle.min_by_key(|(_, place)| place.used).map(|(number, _)| *number);
        oldest.into_iter().for_each(|number| self.close(number));
        oldest.is_some()
    }

    fn close(&mut self, number: u64) {
        if let Some(place) = self.places.remove(&number) {
            place.principal.iter().for_each(|principal| self.leave(principal));
            place.line.leaves.notify_one();
        }
    }

    fn leave(&mut self, principal: &Principal) {
        if let Some(count) = self.of.get_mut(principal) {
            *count -= 1;
            if *count == 0 {
                self.of.remove(principal);
            }
        }
    }
}

impl Connection {
    /// Returns when the connection has to make room for another: it is to be closed. Cancel safe.
    pub async fn has_to_leave(&self) {
        self.line.leaves.notified().await;
    }

    /// Is a request being answered on it?
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.line.busy.load(Ordering::Relaxed) > 0
    }
}

impl Busy {
    fn new(line: &Arc<Line>) -> Self {
        line.busy.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(line))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        lock(&self.connections.open).close(self.number);
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connection").field("number", &self.number).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "connections_tests.rs"]
mod tests;
