//! Turns at something that principals share: who may take one, and who is next.
//!
//! A principal takes at most half of what the others left, and a session at most three quarters of what the other sessions
//! of its principal left: however many calls hang, the next one who comes finds room. A turn that comes free goes to the
//! principal that has the fewest, and there to the session that waited longest for its last one.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{Exceeded, Limit, MOST_WAITING, WAIT};
use crate::principal::Principal;
use helve_model::sync::lock;

/// The turns at one thing. Cheap to clone; every clone is the same.
#[derive(Debug, Clone)]
pub(crate) struct Turns(Arc<Shared>);

/// The taker of a turn: a session of a principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Taker {
    pub(crate) principal: Principal,
    pub(crate) session: u64,
}

/// One turn. The next one may have it when this is dropped.
#[derive(Debug)]
pub(crate) struct Taken {
    turns: Option<Arc<Shared>>,
    taker: Taker,
}

#[derive(Debug)]
struct Shared {
    limit: Limit,
    /// How many there are.
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    taken: usize,
    /// How many ever waited.
    waited: u64,
    principals: HashMap<Principal, Holder>,
}

/// What one principal holds and waits for.
#[derive(Debug, Default)]
struct Holder {
    taken: usize,
    waiting: usize,
    sessions: HashMap<u64, Seat>,
    /// The sessions that wait, the next one first.
    order: VecDeque<u64>,
}

#[derive(Debug, Default)]
struct Seat {
    taken: usize,
    waiting: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    turn: oneshot::Sender<Taken>,
}

impl Turns {
    pub(crate) fn new(limit: Limit, capacity: usize) -> Self {
        Self(Arc::new(Shared { limit, capacity: capacity.max(1), state: Mutex::default() }))
    }

    /// A turn, at once or within [`WAIT`]. Cancel safe.
    pub(crate) async fn take(&self, taker: &Taker) -> Result<Taken, Exceeded> {
        let Shared { limit, capacity, state } = &*self.0;
        let (number, turn) = {
            let mut state = lock(state);
            if state.may_take(*capacity, taker) {
                state.add(taker);
                return Ok(Taken { turns: Some(Arc::clone(&self.0)), taker: taker.clone() });
            }
            state.wait(taker).ok_or(Exceeded(*limit))?
        };
        let _waiting = Waiting { turns: &self.0, taker, number };
        match timeout(WAIT, turn).await {
            Ok(Ok(taken)) => Ok(taken),
            _ => Err(Exceeded(*limit)),
        }
    }
}

impl State {
    /// May this session take a turn without waiting? Of its own requests none may be overtaken.
    fn may_take(&self, capacity: usize, taker: &Taker) -> bool {
        let holder = self.principals.get(&taker.principal);
        let seat = holder.and_then(|holder| holder.sessions.get(&taker.session));
        seat.is_none_or(|seat| seat.waiting.is_empty()) && self.is_within_share(capacity, holder, seat)
    }

    fn is_within_share(&self, capacity: usize, holder: Option<&Holder>, seat: Option<&Seat>) -> bool {
        let free = capacity.saturating_sub(self.taken);
        let (of_principal, of_session) = (holder.map_or(0, |holder| holder.taken), seat.map_or(0, |seat| seat.taken));
        let share = ((free + of_principal) / 2).max(1);
        let session_share = (share.saturating_sub(of_principal - of_session) * 3).div_ceil(4);
        free > 0 && of_principal < share && of_session < session_share
    }

    fn add(&mut self, taker: &Taker) {
        self.taken += 1;
        let holder = self.principals.entry(taker.principal.clone()).or_default();
        holder.taken += 1;
        holder.sessions.entry(taker.session).or_default().taken += 1;
    }

    fn remove(&mut self, taker: &Taker) {
        self.taken -= 1;
        let Some(holder) = self.principals.get_mut(&taker.principal) else { return };
        holder.taken -= 1;
        if let Some(seat) = holder.sessions.get_mut(&taker.session) {
            seat.taken -= 1;
        }
        self.tidy(taker);
    }

    /// Whoever holds nothing and waits for nothing is forgotten.
    fn tidy(&mut self, taker: &Taker) {
        let Some(holder) = self.principals.get_mut(&taker.principal) else { return };
        if holder.sessions.get(&taker.session).is_some_and(|seat| seat.taken == 0 && seat.waiting.is_empty()) {
            drop(holder.sessions.remove(&taker.session));
        }
        if holder.sessions.is_empty() {
            drop(self.principals.remove(&taker.principal));
        }
    }

    /// Takes a place in the queue; `None` when its principal has too many there.
    fn wait(&mut self, taker: &Taker) -> Option<(u64, oneshot::Receiver<Taken>)> {
        let holder = self.principals.entry(taker.principal.clone()).or_default();
        if holder.waiting >= MOST_WAITING {
            return None;
        }
        self.waited += 1;
        holder.waiting += 1;
        let (turn, granted) = oneshot::channel();
        let seat = holder.sessions.entry(taker.session).or_default();
        if seat.waiting.is_empty() {
            holder.order.push_back(taker.session);
        }
        seat.waiting.push_back(Waiter { number: self.waited, turn });
        Some((self.waited, granted))
    }

    /// Leaves the queue, if it did not get its turn.
    fn leave(&mut self, taker: &Taker, number: u64) {
        let Some(holder) = self.principals.get_mut(&taker.principal) else { return };
        let Some(seat) = holder.sessions.get_mut(&taker.session) else { return };
        let Some(place) = seat.waiting.iter().position(|waiter| waiter.number == number) else { return };
        drop(seat.waiting.remove(place));
        holder.waiting -= 1;
        if seat.waiting.is_empty() {
            holder.order.retain(|session| *session != taker.session);
        }
        self.tidy(taker);
    }

    /// The next one, if anything that waits may take a turn.
    fn next(&self, capacity: usize) -> Option<Taker> {
        let waiting = self.principals.iter().filter(|(_, holder)| holder.waiting > 0);
        let first = waiting.filter_map(|(principal, holder)| {
            let may = |session: &&u64| self.is_within_share(capacity, Some(holder), holder.sessions.get(session));
            let session = *holder.order.iter().find(may)?;
            Some((holder.taken, Taker { principal: principal.clone(), session }))
        });
        first.min_by_key(|(taken, _)| *taken).map(|(_, taker)| taker)
    }

    /// Takes the first waiter of this session out of the queue; its session goes to the end of it.
    fn call(&mut self, taker: &Taker) -> Option<Waiter> {
        let holder = self.principals.get_mut(&taker.principal)?;
        let seat = holder.sessions.get_mut(&taker.session)?;
        let waiter = seat.waiting.pop_front()?;
        holder.waiting -= 1;
        holder.order.retain(|session| *session != taker.session);
        if !seat.waiting.is_empty() {
            holder.order.push_back(taker.session);
        }
        Some(waiter)
    }
}

impl Shared {
    /// Gives a turn back, and what is free then to those who wait.
    fn give_back(self: &Arc<Self>, taker: &Taker) {
        let mut state = lock(&self.state);
        state.remove(taker);
        while let Some(next) = state.next(self.capacity) {
            let Some(waiter) = state.call(&next) else { return };
            state.add(&next);
            let taken = Taken { turns: Some(Arc::clone(self)), taker: next };
            if let Err(mut unwanted) = waiter.turn.send(taken) {
                // It has just gone. Dropping the turn as it is would lock what is locked.
                unwanted.turns = None;
                state.remove(&unwanted.taker);
            }
        }
    }
}

/// A place in the queue.
struct Waiting<'a> {
    turns: &'a Shared,
    taker: &'a Taker,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        lock(&self.turns.state).leave(self.taker, self.number);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(turns) = self.turns.take() {
            turns.give_back(&self.taker);
        }
    }
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
