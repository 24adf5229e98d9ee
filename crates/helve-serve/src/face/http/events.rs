//! One stream of server-sent events: what waits in it, what is kept of it for an agent that comes back, and its end.
//!
//! An event that was handed on is kept for a while where the stream can be resumed: a few bytes of them, and always the
//! newest event and the newest answer, of which nobody knows whether they arrived.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::waiting::Waiting;
use crate::limits::Limits;
use crate::message::{Kind, Message};
use crate::outbox::Outlet;
use helve_model::sync::lock;

/// A stream.
#[derive(Debug)]
pub(crate) struct EventStream {
    waiting: usize,
    unread: usize,
    kept: usize,
    state: Mutex<State>,
    /// A reader came or went.
    readers_changed: Notify,
}

#[derive(Debug)]
struct State {
    waiting: Waiting,
    /// Handed on, and kept.
    handed: VecDeque<Event>,
    /// The number of the first event that is kept.
    first: u64,
    /// The number of the next event to hand on.
    next: u64,
    /// Of the events that are kept.
    bytes: usize,
    /// The number of the newest answer that was handed on.
    answer: Option<u64>,
    /// The number of the stream, where it can be resumed.
    number: Option<u64>,
    /// An event that only has an id comes before all others.
    is_to_be_primed: bool,
    /// Every event says that it is a message, as the first version of the protocol wants it.
    names_events: bool,
    has_ended: bool,
    /// More answers were left unread than may be.
    is_given_up: bool,
    /// What waits in it is only for one who comes back too late.
    is_too_late: bool,
    /// Readers, counted: a newer reader ends an older one.
    reader: u64,
    /// Since when nobody reads; `None` while somebody does.
    unread_since: Option<Instant>,
    waker: Option<Waker>,
}

#[derive(Debug)]
enum Event {
    Message(Message),
    /// Has an id and nothing else: from it an agent can resume before anything was said.
    Primer,
}

/// What a reader gets.
#[derive(Debug)]
pub(crate) enum Next {
    /// One event, as it is written.
    Event(Vec<Bytes>),
    /// There is no more, or somebody else reads now.
    End,
}

impl EventStream {
    pub(crate) fn new(limits: &Limits) -> Self {
        let state = State {
            waiting: Waiting::default(),
            handed: VecDeque::new(),
            first: 0,
            next: 0,
            bytes: 0,
            answer: None,
            number: None,
            is_to_be_primed: false,
            names_events: false,
            has_ended: false,
            is_given_up: false,
            is_too_late: false,
            reader: 0,
            unread_since: Some(Instant::now()),
            waker: None,
        };
        Self {
            waiting: limits.waiting_bytes,
            unread: limits.unread_bytes,
            kept: limits.replay_bytes,
            state: Mutex::new(state),
            readers_changed: Notify::new(),
        }
    }

    /// From now on the stream can be resumed, under this number. `primed`: it begins with an event that only has an id.
    pub(crate) fn make_resumable(&self, number: u64, primed: bool) {
        let mut state = lock(&self.state);
        state.number = Some(number);
        state.is_to_be_primed = primed && state.next == 0;
    }

    /// The stream is one of the first version of the protocol: it cannot be resumed, and its events have a name.
    pub(crate) fn name_events(&self) {
        let mut state = lock(&self.state);
        state.number = None;
        state.names_events = true;
    }

    /// Nothing more will come.
    pub(crate) fn end(&self) {
        let waker = {
            let mut state = lock(&self.state);
            state.has_ended = true;
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// Ready when something waits to be read.
    pub(crate) fn poll_arrived(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = lock(&self.state);
        if state.is_waiting() {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// True when something waits to be read.
    pub(crate) fn is_waiting(&self) -> bool {
        lock(&self.state).is_waiting()
    }

    /// Begins to read: after the event of this number, or with what was not handed on yet. Gives the reader's number, or
    /// `None` when what comes after that event is no longer there.
    pub(crate) fn read_from(&self, after: Option<u64>) -> Option<u64> {
        let mut state = lock(&self.state);
        if let Some(after) = after {
            if after + 1 < state.first || after >= state.end() {
                return None;
            }
            state.next = after + 1;
        }
        state.reader += 1;
        state.unread_since = None;
        let waker = state.waker.take();
        let reader = state.reader;
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        self.readers_changed.notify_waiters();
        Some(reader)
    }

    /// A reader is gone. One that was followed by another does not matter.
    pub(crate) fn left(&self, reader: u64) {
        {
            let mut state = lock(&self.state);
            if state.reader != reader {
                return;
            }
            state.unread_since = Some(Instant::now());
        }
        self.readers_changed.notify_waiters();
    }

    /// Is somebody reading now?
    pub(crate) fn is_read(&self) -> bool {
        lock(&self.state).unread_since.is_none()
    }

    /// Since when nobody has read, if nobody does.
    pub(crate) fn unread_since(&self) -> Option<Instant> {
        lock(&self.state).unread_since
    }

    /// Returns when nobody has read for so long. A reader that comes back in time gets all of it again.
    pub(crate) async fn unread_for(&self, time: Duration) {
        loop {
            let changed = self.readers_changed.notified();
            match self.unread_since() {
                None => changed.await,
                Some(since) => {
                    if timeout_at(since + time, changed).await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    pub(crate) fn poll_next(&self, reader: u64, context: &Context<'_>) -> Poll<Next> {
        let mut state = lock(&self.state);
        if state.reader != reader {
            return Poll::Ready(Next::End);
        }
        if let Some(written) = state.hand_on(self.kept) {
            return Poll::Ready(Next::Event(written));
        }
        if state.has_ended {
            return Poll::Ready(Next::End);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// True when no more will come and nobody reads what is left: an agent may come back to it, or not.
    pub(crate) fn is_finished(&self) -> bool {
        let state = lock(&self.state);
        state.has_ended && (state.unread_since.is_some() || !state.is_waiting())
    }

    /// Nobody came back in time: what is said in it from now on is not what anybody waits for.
    pub(crate) fn give_up(&self) {
        lock(&self.state).is_too_late = true;
    }

    /// Does an answer wait in it that was never handed on?
    pub(crate) fn is_owed(&self) -> bool {
        let state = lock(&self.state);
        !state.is_too_late && state.waiting.has_others()
    }

    /// The bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let state = lock(&self.state);
        state.bytes + state.waiting.bytes()
    }

    /// How many events are held.
    #[cfg(test)]
    pub(crate) fn events(&self) -> usize {
        let state = lock(&self.state);
        state.handed.len() + state.waiting.len()
    }
}

impl State {
    /// The number of the first event that was never handed on.
    fn end(&self) -> u64 {
        self.first + self.handed.len() as u64
    }

    fn is_waiting(&self) -> bool {
        self.next < self.end() || self.is_to_be_primed || !self.waiting.is_empty()
    }

    /// The next event as it is written, if there is one; from now on it is one that was handed on.
    fn hand_on(&mut self, kept: usize) -> Option<Vec<Bytes>> {
        if self.next >= self.end() {
            let event = if std::mem::take(&mut self.is_to_be_primed) {
                Event::Primer
            } else {
                Event::Message(self.waiting.pop()?)
            };
            if event.is_answer() {
                self.answer = Some(self.next);
            }
            self.bytes += event.len();
            self.handed.push_back(event);
        }
        let event = usize::try_from(self.next - self.first).ok().and_then(|at| self.handed.get(at))?;
        let head = match (self.number, self.names_events) {
            (Some(stream), _) => format!("id: {stream}-{}\n", self.next),
            (None, true) => "event: message\n".to_owned(),
            (None, false) => String::new(),
        };
        let written = event.write(&head);
        self.next += 1;
        self.forget(kept);
        Some(written)
    }

    /// Lets go of what was handed on and need not be kept. The newest answer does not count, and is the last to go: it is
    /// what the agent came for.
    fn forget(&mut self, kept: usize) {
        if self.number.is_none() {
            self.handed.clear();
            (self.first, self.bytes) = (self.next, 0);
            return;
        }
        let answer = self.answer.and_then(|answer| usize::try_from(answer.checked_sub(self.first)?).ok());
        let answer = answer.and_then(|at| self.handed.get(at)).map_or(0, Event::len);
        while self.first + 1 < self.next && Some(self.first) != self.answer && self.bytes - answer > kept {
            let bytes = self.handed.pop_front().map_or(0, |event| event.len());
            self.bytes -= bytes;
            self.first += 1;
        }
    }
}

impl Event {
    const fn len(&self) -> usize {
        match self {
            Self::Message(message) => message.len(),
            Self::Primer => 0,
        }
    }

    fn is_answer(&self) -> bool {
        matches!(self, Self::Message(message) if message.kind() == Kind::Answer)
    }

    /// As it goes over the wire, behind its head.
    fn write(&self, head: &str) -> Vec<Bytes> {
        match self {
            Self::Message(message) => {
                let mut parts = vec![Bytes::from(format!("{head}data: "))];
                parts.extend(message.clone().parts());
                parts.push(Bytes::from_static(b"\n\n"));
                parts
            }
            Self::Primer => vec![Bytes::from(format!("{head}data: \n\n"))],
        }
    }
}

impl Outlet for EventStream {
    fn send(&self, message: Message) {
        let waker = {
            let mut state = lock(&self.state);
            if state.is_given_up {
                return;
            }
            state.waiting.push(message, self.waiting);
            if state.waiting.is_overfull(self.unread) {
                // A reader that leaves even its answers unread gets none of them.
                (state.is_given_up, state.has_ended, state.waiting) = (true, true, Waiting::default());
            }
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

/// The stream and the event that `Last-Event-ID` names.
pub(crate) fn parse_event_id(text: &str) -> Option<(u64, u64)> {
    let (stream, event) = text.split_once('-')?;
    Some((stream.parse().ok()?, event.parse().ok()?))
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
