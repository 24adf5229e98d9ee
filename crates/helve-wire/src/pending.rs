//! The requests in flight: each has a slot that one answer, or one failure, fills exactly once.

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use helve_model::ErrorCode;
use helve_model::json::RawJson;
use tokio::time::Instant;

use crate::error::{Error, Result, RpcError};
use crate::handler::{PeerHandler, Progress};
use helve_model::sync::lock;

/// Called with each progress report of one call, in order, before the call returns.
pub type ProgressCallback = Arc<dyn Fn(Progress) + Send + Sync>;

/// Hears what the peer says about one request before it answers.
#[derive(Clone)]
pub(crate) enum Listener {
    /// Of a call: its progress, and what the peer asks and logs in its course.
    Call { on_progress: Option<ProgressCallback>, handler: Option<Arc<dyn PeerHandler>> },
    /// The accepted part of a subscription.
    Acknowledged(Arc<dyn Fn(&RawJson) + Send + Sync>),
}

/// How a request ended.
#[derive(Debug)]
pub(crate) enum Answer {
    Result(RawJson),
    Refused(RpcError),
    Failed(Error),
}

/// The place where the answer to one request arrives.
pub(crate) struct Slot {
    listener: Option<Listener>,
    /// The request carries a token: nobody else's progress is its own.
    wants_progress: bool,
    state: Mutex<SlotState>,
}

#[derive(Default)]
struct SlotState {
    answer: Option<Answer>,
    waker: Option<Waker>,
    progress: Option<(Instant, f64)>,
}

/// All requests in flight on one connection.
pub(crate) struct Pending {
    limit: usize,
    state: Mutex<PendingState>,
    asked: Mutex<Asked>,
}

/// What the peer asks while it works on our requests.
#[derive(Default)]
struct Asked {
    open: usize,
    /// When the last question was answered.
    last: Option<Instant>,
}

struct PendingState {
    slots: HashMap<u64, Arc<Slot>, BuildHasherDefault<IdHasher>>,
    /// Why the connection is closed; no request is taken any more.
    closed: Option<Closed>,
}

/// Why a connection ended, told to every request it takes with it.
#[derive(Debug, Clone)]
pub(crate) struct Closed {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
    /// The last line that the peer wrote beside the protocol.
    pub(crate) last_words: Option<String>,
}

impl Slot {
    pub(crate) fn new(listener: Option<Listener>, wants_progress: bool) -> Self {
        Self { listener, wants_progress, state: Mutex::default() }
    }

    /// Was progress asked for?
    pub(crate) const fn wants_progress(&self) -> bool {
        self.wants_progress
    }

    /// Waits for the answer.
    pub(crate) async fn wait(&self) -> Answer {
        poll_fn(|context| {
            let mut state = lock(&self.state);
            match state.answer.take() {
                Some(answer) => Poll::Ready(answer),
                None => {
                    match &mut state.waker {
                        Some(waker) => waker.clone_from(context.waker()),
                        none => *none = Some(context.waker().clone()),
                    }
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// When the peer last reported growing progress.
    pub(crate) fn last_progress(&self) -> Option<Instant> {
        lock(&self.state).progress.map(|(at, _)| at)
    }

    /// A progress report: the clock restarts only when the number grows, so that a peer cannot stall for ever on one.
    pub(crate) fn report(&self, progress: Progress) {
        {
            let mut state = lock(&self.state);
            if state.progress.is_none_or(|(_, before)| progress.progress > before) {
                state.progress = Some((Instant::now(), progress.progress));
            }
        }
        if let Some(Listener::Call { on_progress: Some(on_progress), .. }) = &self.listener {
            on_progress(progress);
        }
    }

    /// Answers what the peer asks in the course of this request, if not the connection's handler.
    pub(crate) fn handler(&self) -> Option<&Arc<dyn PeerHandler>> {
        match &self.listener {
            Some(Listener::Call { handler, .. }) => handler.as_ref(),
            _ => None,
        }
    }

    /// The peer has taken a subscription, or part of it.
    pub(crate) fn acknowledge(&self, params: &RawJson) {
        if let Some(Listener::Acknowledged(on_acknowledged)) = &self.listener {
            on_acknowledged(params);
        }
    }

    /// Is this a request that only ends when nobody listens any more?
    pub(crate) const fn is_subscription(&self) -> bool {
        matches!(self.listener, Some(Listener::Acknowledged(_)))
    }

    pub(crate) fn fill(&self, answer: Answer) {
        let waker = {
            let mut state = lock(&self.state);
            if state.answer.is_none() {
                state.answer = Some(answer);
            }
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Pending {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            state: Mutex::new(PendingState { slots: HashMap::default(), closed: None }),
            asked: Mutex::default(),
        }
    }

    pub(crate) fn insert(&self, id: u64, slot: Arc<Slot>) -> Result<()> {
        let mut state = lock(&self.state);
        if let Some(closed) = &state.closed {
            return Err(closed.to_error());
        }
        if state.slots.len() >= self.limit {
            let limit = self.limit;
            return Err(Error::new(ErrorCode::LimitExceeded, format!("{limit} calls are in flight already"))
                .with_hint("wait for some of them, or raise the limit `calls_in_flight`"));
        }
        state.slots.insert(id, slot);
        Ok(())
    }

    pub(crate) fn get(&self, id: u64) -> Option<Arc<Slot>> {
        lock(&self.state).slots.get(&id).cloned()
    }

    /// Takes a request out; `None` when it was answered, abandoned or never made.
    pub(crate) fn remove(&self, id: u64) -> Option<Arc<Slot>> {
        lock(&self.state).slots.remove(&id)
    }

    /// The peer asks something; it waits for us until [`Pending::answered`].
    pub(crate) fn asked(&self) {
        lock(&self.asked).open += 1;
    }

    pub(crate) fn answered(&self) {
        let mut asked = lock(&self.asked);
        asked.open -= 1;
        asked.last = Some(Instant::now());
    }

    /// When the peer last waited for us: now, while a question is open.
    pub(crate) fn last_asked(&self) -> Option<Instant> {
        let asked = lock(&self.asked);
        if asked.open > 0 { Some(Instant::now()) } else { asked.last }
    }

    /// The one request in flight, if there is exactly one.
    pub(crate) fn only(&self) -> Option<u64> {
        let state = lock(&self.state);
        let mut ids = state.slots.keys();
        match (ids.next(), ids.next()) {
            (Some(id), None) => Some(*id),
            _ => None,
        }
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.state).slots.len()
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.state).closed.is_some()
    }

    pub(crate) fn closed(&self) -> Option<Closed> {
        lock(&self.state).closed.clone()
    }

    /// Closes the connection for requests and fails all that are in flight. The first reason stays.
    pub(crate) fn close(&self, closed: Closed, was_sent: impl Fn(u64) -> bool) {
        let slots = {
            let mut state = lock(&self.state);
            state.closed.get_or_insert_with(|| closed.clone());
            std::mem::take(&mut state.slots)
        };
        let mut slots: Vec<_> = slots.into_iter().collect();
        slots.sort_unstable_by_key(|(id, _)| *id);
        for (id, slot) in slots {
            slot.fill(Answer::Failed(closed.to_error().with_may_have_run(was_sent(id))));
        }
    }
}

impl Closed {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hints: Vec::new(), last_words: None }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    pub(crate) fn to_error(&self) -> Error {
        let error = Error::new(self.code, self.message.clone()).with_last_words(self.last_words.clone());
        self.hints.iter().fold(error, |error, hint| error.with_hint(hint.clone()))
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Slot").field("answered", &lock(&self.state).answer.is_some()).finish_non_exhaustive()
    }
}

/// Our ids count up from one: they are their own best hash.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 << 8) | u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        // The map takes its tag from the top bits: spread the number over both ends.
        self.0 = number ^ number.rotate_right(7);
    }
}
