//! The sessions of legacy agents over HTTP: found by an id nobody can guess, and gone when nobody uses them.
//!
//! Where a principal has as many as it may, one of its own makes room for the next: one that never did anything, else the
//! one idle longest.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use helve::Door;
use helve_model::ServerName;
use tokio::time::Instant;

use super::connections::Connections;
use super::events::EventStream;
use crate::agent::{Agent, Presence};
use crate::gateway::Gateway;
use crate::ledger::{Exceeded, Held, Limit, Tally};
use crate::limits::Limits;
use crate::outbox::Outlet;
use crate::principal::{Principal, PrincipalKind};
use crate::reach::Reach;
use helve_model::sync::lock;

/// How a session's id begins: the version of what follows.
const ID_VERSION: &str = "s1-";

/// Bytes of randomness in a session's id.
const ID_BYTES: usize = 24;

/// A new session looks for those that nobody uses at most so often: looking through all of them takes time.
const LOOKED_EVERY: Duration = Duration::from_secs(1);

/// So many connections of one session are known.
const MOST_CONNECTIONS: usize = 16;

/// The stream that belongs to no request.
pub(super) const STANDALONE: u64 = 0;

/// All sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    by_id: HashMap<String, Arc<HttpSession>>,
    /// Each principal's, the oldest first.
    of: HashMap<Principal, BTreeMap<u64, Arc<HttpSession>>>,
    /// How many ever came.
    came: u64,
    /// When they were last looked through for those that nobody uses.
    looked: Option<Instant>,
}

/// Why there is no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unopened {
    /// There are as many as there may be, and all of them are busy.
    TooMany(Exceeded),
    /// The machine gives no random numbers.
    NoRandomness,
}

/// One session, with the streams that can be resumed in it.
#[derive(Debug)]
pub(super) struct HttpSession {
    pub(super) id: String,
    /// Its place among all that ever came.
    number: u64,
    pub(super) agent: Arc<Agent>,
    /// More was asked in it than to be opened.
    did_something: AtomicBool,
    streams: Mutex<Streams>,
    /// Streams that are being read.
    readers: AtomicUsize,
    used: Mutex<Instant>,
    /// The newest connections that carried it, and where it is known which of them are open.
    carried_by: Mutex<VecDeque<u64>>,
    connections: Arc<Connections>,
    /// When it was last not abandoned.
    held: Mutex<Instant>,
}

#[derive(Debug)]
struct Streams {
    last: u64,
    open: BTreeMap<u64, Arc<EventStream>>,
    /// The open ones that are finished, the oldest first: an agent that did not get its answer whole may come back.
    finished: BTreeMap<u64, Finished>,
    /// Of all sessions of the principal together.
    kept: Tally,
    principal: Principal,
}

/// What a finished stream costs.
#[derive(Debug)]
struct Finished {
    bytes: usize,
    _held: Held,
}

impl Sessions {
    /// A new session.
    pub(super) fn open(
        &self,
        gateway: &Gateway,
        connections: &Arc<Connections>,
        principal: Principal,
        reach: Reach,
    ) -> Result<Arc<HttpSession>, Unopened> {
        let limits = &gateway.options.limits;
        let id = random_id().ok_or(Unopened::NoRandomness)?;
        let is_due = |looked: Instant| looked.elapsed() >= LOOKED_EVERY.min(limits.session_idle);
        if lock(&self.0).looked.is_none_or(is_due) {
            self.expire(limits);
        }
        let mut open = lock(&self.0);
        let gone = open.make_room(&principal, limits).map_err(Unopened::TooMany)?;
        open.came += 1;
        let standalone = Arc::new(EventStream::new(limits));
        standalone.make_resumable(STANDALONE, false);
        let outlet: Arc<dyn Outlet> = Arc::<EventStream>::clone(&standalone);
        let session = Arc::new(HttpSession {
            id: id.clone(),
            number: open.came,
            agent: Arc::new(Agent::new(principal.clone(), Door::Http, outlet).reaching(reach)),
            did_something: AtomicBool::new(false),
            streams: Mutex::new(Streams {
                last: STANDALONE,
                open: BTreeMap::from([(STANDALONE, standalone)]),
                finished: BTreeMap::new(),
                kept: gateway.ledger.kept_answers.clone(),
                principal: principal.clone(),
            }),
            readers: AtomicUsize::new(0),
            used: Mutex::new(Instant::now()),
            carried_by: Mutex::default(),
            connections: Arc::clone(connections),
            held: Mutex::new(Instant::now()),
        });
        session.agent.knows(&gateway.tasks);
        let presence: Weak<HttpSession> = Arc::downgrade(&session);
        session.agent.is_known_by(presence);
        session.agent.sees(gateway.weak());
        open.of.entry(owner(&principal)).or_default().insert(session.number, Arc::clone(&session));
        open.by_id.insert(id, Arc::clone(&session));
        drop(open);
        gateway.listeners.add(&session.agent);
        gone.iter().for_each(|session| session.end());
        Ok(session)
    }

    /// The session of this id, if it is this agent's. A connection that ended does not end who was at its other end, so
    /// there the id alone has to do: nobody else knows it. A session stays at the address it was opened at.
    pub(super) fn find(
        &self,
        id: &str,
        principal: &Principal,
        within: Option<&ServerName>,
    ) -> Option<Arc<HttpSession>> {
        let session = lock(&self.0).by_id.get(id).cloned()?;
        let is_theirs = owner(&session.agent.principal) == owner(principal);
        (is_theirs && session.agent.reach.within() == within).then(|| {
            *lock(&session.used) = Instant::now();
            session
        })
    }

    /// Ends the sessions of a principal.
    pub(super) fn end_principal(&self, principal: &Principal) {
        let theirs: Vec<Arc<HttpSession>> =
            lock(&self.0).by_id.values().filter(|session| session.agent.principal == *principal).cloned().collect();
        theirs.iter().for_each(|session| self.close(session));
    }

    pub(super) fn close(&self, session: &HttpSession) {
        lock(&self.0).remove(session);
        session.end();
    }

    /// Ends the sessions that nobody has used for too long, and lets go of streams that nobody came back to.
    pub(super) fn sweep(&self, limits: &Limits) {
        self.expire(limits);
        let sessions: Vec<Arc<HttpSession>> = lock(&self.0).by_id.values().cloned().collect();
        sessions.iter().for_each(|session| session.settle(limits));
    }

    /// Ends servers of sessions that were abandoned for long enough. The sessions live on.
    pub(super) fn end_private_servers(&self, limits: &Limits) {
        let sessions: Vec<Arc<HttpSession>> = lock(&self.0).by_id.values().cloned().collect();
        let owners = sessions.iter().filter(|session| session.agent.own_host().is_some());
        owners.for_each(|session| session.end_private_servers(limits));
    }

    fn expire(&self, limits: &Limits) {
        let expired: Vec<Arc<HttpSession>> = {
            let mut open = lock(&self.0);
            open.looked = Some(Instant::now());
            let is_old = |session: &&Arc<HttpSession>| {
                session.idle_since().is_some_and(|since| since.elapsed() > limits.session_idle)
            };
            let old: Vec<Arc<HttpSession>> = open.by_id.values().filter(is_old).cloned().collect();
            old.iter().for_each(|session| open.remove(session));
            old
        };
        expired.iter().for_each(|session| session.end());
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.0).by_id.len()
    }
}

impl Open {
    /// Makes room for one more session of a principal, and gives those that went for it. Nobody loses one for another
    /// principal that has as many or more.
    fn make_room(&mut self, principal: &Principal, limits: &Limits) -> Result<Vec<Arc<HttpSession>>, Exceeded> {
        let own = owner(principal);
        let mut gone = Vec::new();
        let theirs = self.of.get(&own).map_or(0, BTreeMap::len);
        if theirs >= limits.sessions_per_principal.max(1) {
            gone.push(self.replaceable(&own).ok_or(Exceeded(Limit::Sessions))?);
        } else if self.by_id.len() >= limits.sessions.max(1) {
            let most = self.of.iter().map(|(of, sessions)| (sessions.len(), of)).max_by_key(|(count, _)| *count);
            let most = most.map_or_else(|| own.clone(), |(_, of)| of.clone());
            gone.push(self.replaceable(&most).ok_or(Exceeded(Limit::Sessions))?);
        }
        gone.iter().for_each(|session| self.remove(session));
        Ok(gone)
    }

    /// The session of a principal that is missed least: the oldest that never did anything, else the one idle longest.
    fn replaceable(&self, owner: &Principal) -> Option<Arc<HttpSession>> {
        let theirs = || self.of.get(owner).into_iter().flat_map(BTreeMap::values);
        let unused = |session: &&Arc<HttpSession>| {
            !session.did_something.load(Ordering::Relaxed) && session.idle_since().is_some()
        };
        let idle = || theirs().filter_map(|session| Some((session.idle_since()?, session)));
        theirs().find(unused).or_else(|| idle().min_by_key(|(since, _)| *since).map(|(_, session)| session)).cloned()
    }

    fn remove(&mut self, session: &HttpSession) {
        drop(self.by_id.remove(&session.id));
        let owner = owner(&session.agent.principal);
        if let Some(theirs) = self.of.get_mut(&owner) {
            drop(theirs.remove(&session.number));
            if theirs.is_empty() {
                drop(self.of.remove(&owner));
            }
        }
    }
}

/// Whose sessions are counted together. A connection that ended does not end who was at its other end.
fn owner(principal: &Principal) -> Principal {
    match principal.kind() {
        PrincipalKind::Connection => Principal::connection(0),
        _ => principal.clone(),
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
            let finished = streams.open.iter().find(|(number, stream)| **number != STANDALONE && stream.is_finished());
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
            .filter(|(number, stream)| **number != STANDALONE && stream.is_finished())
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

    /// A request of it came on this connection.
    pub(super) fn came_by(&self, connection: u64) {
        let mut carried_by = lock(&self.carried_by);
        if carried_by.back() == Some(&connection) {
            return;
        }
        carried_by.retain(|known| *known != connection);
        carried_by.push_back(connection);
        if carried_by.len() > MOST_CONNECTIONS {
            carried_by.pop_front();
        }
    }

    fn end_private_servers(&self, limits: &Limits) {
        let now = Instant::now();
        let is_held = self.is_connected() || self.agent.is_busy();
        let held = {
            let mut held = lock(&self.held);
            *held = if is_held { now } else { (*held).max(*lock(&self.used)) };
            *held
        };
        if !is_held {
            self.agent.leave_idle_servers(now.duration_since(held), limits.private_idle);
        }
    }

    /// More is asked in it than to be opened.
    pub(super) fn does_something(&self) {
        self.did_something.store(true, Ordering::Relaxed);
    }

    /// Since when it was not used, unless something of it is open.
    fn idle_since(&self) -> Option<Instant> {
        let is_open = self.readers.load(Ordering::Relaxed) > 0 || self.agent.idle_since().is_none();
        (!is_open).then(|| *lock(&self.used))
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

impl Presence for HttpSession {
    fn is_connected(&self) -> bool {
        self.readers.load(Ordering::Relaxed) > 0
            || lock(&self.carried_by).iter().any(|connection| self.connections.is_open(*connection))
            || lock(&self.streams).open.iter().any(|(number, stream)| *number != STANDALONE && stream.is_owed())
            || !self.agent.open_tasks.is_empty()
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
        match self.kept.try_hold(&self.principal, bytes) {
            Ok(held) => drop(self.finished.insert(number, Finished { bytes, _held: held })),
            Err(_) => self.forget(number),
        }
    }

    fn forget(&mut self, number: u64) {
        drop((self.open.remove(&number), self.finished.remove(&number)));
    }
}

fn random_id() -> Option<String> {
    let mut bytes = [0; ID_BYTES];
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("{ID_VERSION}{}", URL_SAFE_NO_PAD.encode(bytes)))
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
