//! Owns one stream of events: what was sent on it, so that it can be read from any place, and again after a break.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame as BodyFrame;
use tokio::sync::Notify;

use super::body::Body;
use crate::frame::{Frame, OutReader, Part};

/// Events that wait for a reader before the writer waits too.
const UNREAD_EVENTS: usize = 1024;

/// The events of one stream, in order.
#[derive(Debug)]
pub(crate) struct EventLog {
    style: EventStyle,
    state: Mutex<LogState>,
    changed: Notify,
}

/// How a message becomes an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EventStyle {
    /// Data only.
    Plain,
    /// With an id `<stream>-<number>`, so that the stream can be resumed; the first event may carry `retry`.
    Numbered { stream: u64, retry_ms: Option<u64> },
    /// With the event name `message`, as HTTP+SSE has it.
    Named,
}

#[derive(Debug, Default)]
struct LogState {
    events: Vec<Vec<Part>>,
    ended: bool,
    /// How often the readers of the moment were sent away.
    disconnects: u64,
    /// The next event that nobody has read.
    unread: usize,
    readers: usize,
}

impl EventLog {
    pub(crate) fn new(style: EventStyle) -> Arc<Self> {
        let mut state = LogState::default();
        if let EventStyle::Numbered { stream, retry_ms: Some(retry_ms) } = &style {
            state.events.push(vec![Part::from(format!("id: {stream}-0\nretry: {retry_ms}\ndata: \n\n"))]);
        }
        Arc::new(Self { style, state: Mutex::new(state), changed: Notify::new() })
    }

    /// Adds text as it is.
    pub(crate) fn push_text(&self, text: String) {
        self.push(vec![Part::from(text)]);
    }

    /// Takes `first` and then all frames of a queue until it ends, and waits for readers that lag.
    pub(crate) async fn pump(self: Arc<Self>, first: Option<Frame>, mut queue: OutReader) {
        let mut next = first;
        loop {
            let Some(frame) = (match next.take() {
                Some(frame) => Some(frame),
                None => queue.next().await,
            }) else {
                break;
            };
            match frame {
                Frame::Message { parts, .. } => {
                    let event = self.render(parts);
                    self.push(event);
                }
                Frame::Raw(parts) => self.push(parts),
                Frame::Disconnect => self.disconnect(),
                Frame::CloseStream => break,
            }
            self.room().await;
        }
        self.end();
    }

    pub(crate) fn end(&self) {
        self.state().ended = true;
        self.changed.notify_waiters();
    }

    /// Sends the readers away once they have what is there, if they can resume.
    fn disconnect(&self) {
        if matches!(self.style, EventStyle::Numbered { .. }) {
            self.state().disconnects += 1;
            self.changed.notify_waiters();
        }
    }

    /// The place after the event with this number, as a client that saw it last would go on.
    pub(crate) fn unread(&self) -> usize {
        self.state().unread
    }

    pub(crate) fn has_reader(&self) -> bool {
        self.state().readers > 0
    }

    /// The events from `start` on as a body; it ends with the stream, or after `limit` events. `guard` is dropped when the
    /// body is.
    pub(crate) fn body<G: Send + 'static>(self: Arc<Self>, start: usize, limit: Option<usize>, guard: G) -> Body {
        let disconnects = {
            let mut state = self.state();
            state.readers += 1;
            state.disconnects
        };
        let end = limit.map(|limit| start + limit);
        let reader = Reader { log: Arc::clone(&self), next: start, end, disconnects, guard };
        let nothing: Box<dyn Iterator<Item = Bytes> + Send> = Box::new(std::iter::empty());
        let pieces = stream::unfold((reader, nothing), |(mut reader, mut rest)| async move {
            loop {
                if let Some(bytes) = rest.next() {
                    return Some((Ok(BodyFrame::data(bytes)), (reader, rest)));
                }
                rest = Box::new(reader.event().await?.into_iter().flat_map(Part::pieces));
            }
        });
        StreamBody::new(pieces).boxed_unsync()
    }

    fn push(&self, event: Vec<Part>) {
        self.state().events.push(event);
        self.changed.notify_waiters();
    }

    fn render(&self, parts: Vec<Part>) -> Vec<Part> {
        let head = match &self.style {
            EventStyle::Plain => "data: ".to_string(),
            EventStyle::Numbered { stream, .. } => format!("id: {stream}-{}\ndata: ", self.state().events.len()),
            EventStyle::Named => "event: message\ndata: ".to_string(),
        };
        if let [Part::Bytes(message)] = parts.as_slice() {
            let whole = [head.as_bytes(), message, b"\n\n"].concat();
            return vec![Part::Bytes(Bytes::from(whole))];
        }
        let mut event = vec![Part::from(head)];
        event.extend(parts);
        event.push(Part::from("\n\n".to_string()));
        event
    }

    async fn room(&self) {
        loop {
            let changed = self.changed.notified();
            {
                let state = self.state();
                if state.readers == 0 || state.events.len() - state.unread < UNREAD_EVENTS {
                    return;
                }
            }
            changed.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Reader<G> {
    log: Arc<EventLog>,
    next: usize,
    end: Option<usize>,
    /// What the log's count was when this reader came.
    disconnects: u64,
    #[expect(dead_code, reason = "held for its drop")]
    guard: G,
}

impl<G> Reader<G> {
    async fn event(&mut self) -> Option<Vec<Part>> {
        if self.end.is_some_and(|end| self.next >= end) {
            return None;
        }
        loop {
            let changed = self.log.changed.notified();
            {
                let mut state = self.log.state();
                if let Some(event) = state.events.get(self.next) {
                    let event = event.clone();
                    self.next += 1;
                    state.unread = state.unread.max(self.next);
                    drop(state);
                    self.log.changed.notify_waiters();
                    return Some(event);
                }
                if state.ended || state.disconnects > self.disconnects {
                    return None;
                }
            }
            changed.await;
        }
    }
}

impl<G> Drop for Reader<G> {
    fn drop(&mut self) {
        self.log.state().readers -= 1;
        self.log.changed.notify_waiters();
    }
}
