//! One stream of server-sent events: what waits in it, what is kept of it for an agent that comes back, and its end.
//!
//! An event that was handed on is kept for a while where the stream can be resumed; how much is bounded. Of events that
//! nobody reads, the oldest notifications go first.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use crate::limits::Limits;
use crate::message::{Kind, Message};
use crate::outbox::Outlet;
use crate::sync::lock;

/// A stream.
#[derive(Debug)]
pub(crate) struct EventStream {
    waiting: usize,
    kept: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Event>,
    /// The number of the first event in the queue.
    first: u64,
    /// The number of the next event to hand on.
    next: u64,
    bytes: usize,
    /// The number of the stream, where it can be resumed.
    number: Option<u64>,
    /// Every event says that it is a message, as the first version of the protocol wants it.
    names_events: bool,
    has_ended: bool,
    /// Who reads, counted: a newer reader ends an older one.
    reader: u64,
    waker: Option<Waker>,
}

#[derive(Debug)]
enum Event {
    Message(Message),
    /// Has an id and nothing else: from it an agent can resume before anything was said.
    Primer,
    /// Was dropped, because nobody read it.
    Lost,
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
        Self { waiting: limits.waiting_bytes, kept: limits.replay_bytes, state: Mutex::default() }
    }

    /// From now on the stream can be resumed, under this number. `primed`: it begins with an event that only has an id.
    pub(crate) fn make_resumable(&self, number: u64, primed: bool) {
        let mut state = lock(&self.state);
        state.number = Some(number);
        if primed && state.next == 0 {
            state.events.push_front(Event::Primer);
        }
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
            if after + 1 < state.first || after >= state.next {
                return None;
            }
            state.next = after + 1;
        }
        state.reader += 1;
        let waker = state.waker.take();
        let reader = state.reader;
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        Some(reader)
    }

    pub(crate) fn poll_next(&self, reader: u64, context: &Context<'_>) -> Poll<Next> {
        let mut state = lock(&self.state);
        if state.reader != reader {
            return Poll::Ready(Next::End);
        }
        while let Some(event) = usize::try_from(state.next - state.first).ok().and_then(|at| state.events.get(at)) {
            let head = match (state.number, state.names_events) {
                (Some(stream), _) => format!("id: {stream}-{}\n", state.next),
                (None, true) => "event: message\n".to_owned(),
                (None, false) => String::new(),
            };
            let written = event.write(&head);
            state.next += 1;
            state.forget(self.kept);
            if let Some(written) = written {
                return Poll::Ready(Next::Event(written));
            }
        }
        if state.has_ended {
            return Poll::Ready(Next::End);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// True when everything was handed on and no more will come.
    pub(crate) fn is_over(&self) -> bool {
        let state = lock(&self.state);
        state.has_ended && !state.is_waiting()
    }

    /// The bytes held.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        lock(&self.state).bytes
    }
}

impl State {
    fn is_waiting(&self) -> bool {
        self.first + self.events.len() as u64 > self.next
    }

    /// Lets go of what was handed on and need not be kept.
    fn forget(&mut self, kept: usize) {
        let kept = if self.number.is_some() { kept } else { 0 };
        while self.first < self.next && (self.bytes > kept || kept == 0) {
            let bytes = self.events.pop_front().map_or(0, |event| event.len());
            self.bytes -= bytes;
            self.first += 1;
        }
    }
}

impl Event {
    const fn len(&self) -> usize {
        match self {
            Self::Message(message) => message.len(),
            Self::Primer | Self::Lost => 0,
        }
    }

    /// As it goes over the wire, behind its head; nothing when it was lost.
    fn write(&self, head: &str) -> Option<Vec<Bytes>> {
        match self {
            Self::Message(message) => {
                let mut parts = vec![Bytes::from(format!("{head}data: "))];
                parts.extend(message.clone().parts());
                parts.push(Bytes::from_static(b"\n\n"));
                Some(parts)
            }
            Self::Primer => Some(vec![Bytes::from(format!("{head}data: \n\n"))]),
            Self::Lost => None,
        }
    }
}

impl Outlet for EventStream {
    fn send(&self, message: Message) {
        let waker = {
            let mut state = lock(&self.state);
            state.bytes += message.len();
            state.events.push_back(Event::Message(message));
            let handed_on = usize::try_from(state.next - state.first).unwrap_or(usize::MAX);
            while state.bytes > self.waiting {
                let is_notification =
                    |event: &Event| matches!(event, Event::Message(message) if message.kind() == Kind::Notification);
                let oldest = state.events.iter_mut().skip(handed_on).find(|event| is_notification(event));
                let Some(oldest) = oldest else { break };
                let bytes = std::mem::replace(oldest, Event::Lost).len();
                state.bytes -= bytes;
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
