//! The sessions of legacy agents over HTTP: found by an id nobody can guess, and gone when nobody uses them.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use super::events::EventStream;
use crate::agent::Agent;
use crate::gateway::Gateway;
use crate::limits::Limits;
use crate::outbox::Outlet;
use crate::principal::Principal;
use crate::sync::lock;

/// Bytes of randomness in a session's id.
const ID_BYTES: usize = 24;

/// The stream that belongs to no request.
pub(super) const STANDALONE: u64 = 0;

/// All sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    open: Mutex<HashMap<String, Arc<HttpSession>>>,
    /// Bytes of finished streams that sessions keep.
    kept: Arc<AtomicUsize>,
}

/// One session, with the streams that can be resumed in it.
#[derive(Debug)]
pub(super) struct HttpSession {
    pub(super) id: String,
    pub(super) agent: Arc<Agent>,
    streams: Mutex<Streams>,
    /// Streams that are being read.
    readers: AtomicUsize,
    used: Mutex<Instant>,
}

#[derive(Debug)]
struct Streams {
    last: u64,
    open: BTreeMap<u64, Arc<EventStream>>,
    /// The open ones that are finished, the oldest first: an agent that did not get its answer whole may come back.
    finished: BTreeMap<u64, Finished>,
    /// Of all sessions together.
    kept: Arc<AtomicUsize>,
}

/// What a finished stream costs.
#[derive(Debug)]
struct Finished {
    bytes: usize,
    kept: Arc<AtomicUsize>,
}

impl Sessions {
    /// A new session; `None` when there are as many as there may be, or no randomness.
    pub(super) fn open(&self, gateway: &Gateway, principal: Principal) -> Option<Arc<HttpSession>> {
        let limits = &gateway.options.limits;
        self.expire(limits);
        let id = random_id()?;
        let standalone = Arc::new(EventStream::new(limits));
        standalone.make_resumable(STANDALONE, false);
        let outlet: Arc<dyn Outlet> = Arc::<EventStream>::clone(&standalone);
        let session = Arc::new(HttpSession {
            id: id.clone(),
            agent: Arc::new(Agent::new(principal, outlet)),
            streams: Mutex::new(Streams {
                last: STANDALONE,
                open: BTreeMap::from([(STANDALONE, standalone)]),
                finished: BTreeMap::new(),
                kept: Arc::clone(&self.kept),
            }),
            readers: AtomicUsize::new(0),
            used: Mutex::new(Instant::now()),
        });
        gateway.listeners.add(&session.agent);
        let mut sessions = lock(&self.open);
        if sessions.len() >= limits.sessions {
            return None;
        }
        sessions.insert(id, Arc::clone(&session));
        Some(session)
    }

    /// The session of this id, if it is this agent's. A connection that ended does not end who was at its other end, so
    /// there the id alone has to do: nobody else knows it.
    pub(super) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<HttpSession>> {
        let session = lock(&self.open).get(id).cloned()?;
        let is_theirs = match (&session.agent.principal, principal) {
            (Principal::Connection(_), Principal::Connection(_)) => true,
            (owner, other) => owner == other,
        };
        is_theirs.then(|| {
            *lock(&session.used) = Instant::now();
            session
        })
    }

    pub(super) fn close(&self, session: &HttpSession) {
        drop(lock(&self.open).remove(&session.id));
        session.end();
    }

    /// Ends the sessions that nobody has used for too long, and lets go of streams that nobody came back to.
    pub(super) fn sweep(&self, limits: &Limits) {
        self.expire(limits);
        let sessions: Vec<Arc<HttpSession>> = lock(&self.open).values().cloned().collect();
        sessions.iter().for_each(|session| session.settle(limits));
    }

    /// Bytes of finished streams that sessions keep.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }

    fn expire(&self, limits: &Limits) {
        let expired: Vec<Arc<HttpSession>> = {
            let mut sessions = lock(&self.open);
            let is_idle = |session: &HttpSession| {
                session.readers.load(Ordering::Relaxed) == 0 && lock(&session.used).elapsed() > limits.session_idle
            };
            sessions.extract_if(|_, session| is_idle(session)).map(|(_, session)| session).collect()
        };
        expired.iter().for_each(|session| session.end());
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.open).len()
    }
}

impl HttpSession {
    /// Makes a stream one that can be resumed.
    pub(super) fn keep(&self, stream: &Arc<EventStream>, primed: bool, limits: &Limits) {
        let mut streams = lock(&self.streams);
        streams.last += 1;
        let number = streams.last;
        stream.make_resumable(number, primed);
        streams.open.insert(number, Arc::clone(stream));
        if streams.open.len() > limits.resumable_streams {
            let finished = streams.open.iter().find(|(number, stream)| **number != STANDALONE && stream.is_over());
            if let Some(oldest) = finished.map(|(number, _)| *number) {
                streams.forget(oldest);
            }
        }
    }

    /// Counts what finished streams cost, and lets go of those that are too old or too large.
    pub(super) fn settle(&self, limits: &Limits) {
        let mut streams = lock(&self.streams);
        let over: Vec<(u64, usize)> = streams
            .open
            .iter()
            .filter(|(number, stream)| **number != STANDALONE && stream.is_over())
            .map(|(number, stream)| (*number, stream.bytes()))
            .collect();
        for (number, bytes) in over {
            let is_old = |stream: &Arc<EventStream>| {
                stream.unread_since().is_some_and(|since| since.elapsed() > limits.answer_time)
            };
            if streams.open.get(&number).is_none_or(is_old) {
                streams.forget(number);
            } else if !streams.finished.contains_key(&number) {
                streams.finish(number, bytes, limits);
            }
        }
    }

    pub(super) fn stream(&self, number: u64) -> Option<Arc<EventStream>> {
        lock(&self.streams).open.get(&number).cloned()
    }

    /// A stream is being read.
    pub(super) fn reader_came(&self) {
        self.readers.fetch_add(1, Ordering::Relaxed);
    }

    /// A stream is not read any more.
    pub(super) fn reader_went(&self) {
        self.readers.fetch_sub(1, Ordering::Relaxed);
        *lock(&self.used) = Instant::now();
    }

    fn end(&self) {
        self.agent.end();
        for stream in lock(&self.streams).open.values() {
            stream.end();
        }
    }
}

impl Streams {
    /// Keeps a finished stream if there is room for it, in the session after older ones went.
    fn finish(&mut self, number: u64, bytes: usize, limits: &Limits) {
        while self.finished.values().map(|finished| finished.bytes).sum::<usize>() + bytes > limits.session_answer_bytes
        {
            let Some(oldest) = self.finished.keys().next().copied() else { return self.forget(number) };
            self.forget(oldest);
        }
        let taken = self.kept.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |kept| {
            kept.checked_add(bytes).filter(|kept| *kept <= limits.answer_bytes)
        });
        if taken.is_err() {
            return self.forget(number);
        }
        let kept = Arc::clone(&self.kept);
        self.finished.insert(number, Finished { bytes, kept });
    }

    fn forget(&mut self, number: u64) {
        drop((self.open.remove(&number), self.finished.remove(&number)));
    }
}

impl Drop for Finished {
    fn drop(&mut self) {
        self.kept.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

fn random_id() -> Option<String> {
    let mut bytes = [0; ID_BYTES];
    getrandom::fill(&mut bytes).ok()?;
    Some(base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, bytes))
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
