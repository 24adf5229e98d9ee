//! What a response is made of: nothing, one message, or a stream of events together with the work that fills it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use helve_wire::BoxFuture;
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use super::connections::Busy;
use super::events::{EventStream, Next};
use crate::ledger::Held;

/// A stream on which nothing is said for so long carries a comment: proxies leave it open, and a reader that is gone is
/// noticed.
const COMMENTED_EVERY: Duration = Duration::from_secs(15);

const COMMENT: &[u8] = b":\n\n";

/// What is handed on at one time of a large message: so that it counts for its reader until it was read, and not until
/// it was begun.
const PIECE: usize = 256 << 10;

/// The body of a response.
pub struct Body {
    content: Content,
    /// What its message counts.
    _answer: Option<Arc<Held>>,
    /// What its request holds until it is answered.
    request: Option<RequestHolds>,
}

/// What a request holds until its answer was handed on.
#[derive(Debug)]
pub(super) struct RequestHolds {
    pub(super) _busy: Option<Busy>,
    pub(super) _bytes: Vec<Held>,
}

enum Content {
    /// All of it is here.
    Parts(VecDeque<Bytes>),
    Events(Events),
}

/// A stream being read, and the work that is done for as long as it is.
pub(super) struct Events {
    pub(super) stream: Arc<EventStream>,
    pub(super) reader: u64,
    /// Done by whoever reads: no task of its own, no hop between the answer and the wire.
    pub(super) work: Option<BoxFuture<'static, ()>>,
    /// What becomes of the work when the reader goes before its end.
    pub(super) on_leave: Option<OnLeave>,
    pub(super) parts: VecDeque<Bytes>,
    /// Runs while nothing is said.
    silence: Option<Pin<Box<Sleep>>>,
}

/// Gets the unfinished work of a reader that went away.
pub(super) type OnLeave = Box<dyn FnOnce(Option<BoxFuture<'static, ()>>) + Send>;

impl Body {
    pub(super) const fn empty() -> Self {
        Self::of(Content::Parts(VecDeque::new()))
    }

    pub(super) fn parts(parts: impl IntoIterator<Item = Bytes>) -> Self {
        Self::of(Content::Parts(parts.into_iter().filter(|part| !part.is_empty()).collect()))
    }

    pub(super) const fn events(events: Events) -> Self {
        Self::of(Content::Events(events))
    }

    const fn of(content: Content) -> Self {
        Self { content, _answer: None, request: None }
    }

    /// The same, with what its message counts.
    pub(super) fn holding(self, answer: Option<Arc<Held>>) -> Self {
        Self { _answer: answer, ..self }
    }

    /// From now on it holds what its request held.
    pub(super) fn hold(&mut self, request: RequestHolds) {
        self.request = Some(request);
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let part = match &mut self.get_mut().content {
            Content::Parts(parts) => Poll::Ready(next_piece(parts)),
            Content::Events(events) => events.poll_part(context),
        };
        part.map(|part| part.map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.content, Content::Parts(parts) if parts.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Parts(parts) => SizeHint::with_exact(parts.iter().map(|part| part.len() as u64).sum()),
            Content::Events(_) => SizeHint::default(),
        }
    }
}

fn next_piece(parts: &mut VecDeque<Bytes>) -> Option<Bytes> {
    match parts.front_mut() {
        Some(part) if part.len() > PIECE => Some(part.split_to(PIECE)),
        _ => parts.pop_front(),
    }
}

impl Events {
    /// A stream that this reader has begun to read.
    pub(super) const fn new(stream: Arc<EventStream>, reader: u64) -> Self {
        Self { stream, reader, work: None, on_leave: None, parts: VecDeque::new(), silence: None }
    }

    fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let part = self.poll_event(context);
        if part.is_ready() {
            if let Some(silence) = &mut self.silence {
                silence.as_mut().reset(Instant::now() + COMMENTED_EVERY);
            }
            return part;
        }
        let silence = self.silence.get_or_insert_with(|| Box::pin(sleep(COMMENTED_EVERY)));
        if silence.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        silence.as_mut().reset(Instant::now() + COMMENTED_EVERY);
        Poll::Ready(Some(Bytes::from_static(COMMENT)))
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(work) = &mut self.work
            && work.as_mut().poll(context).is_ready()
        {
            self.work = None;
        }
        if let Some(part) = next_piece(&mut self.parts) {
            return Poll::Ready(Some(part));
        }
        match self.stream.poll_next(self.reader, context) {
            Poll::Ready(Next::Event(parts)) => {
                self.parts = parts.into();
                // Small events go out in one piece.
                if self.parts.iter().map(Bytes::len).sum::<usize>() <= GATHERED_BYTES {
                    let whole: Vec<u8> = std::mem::take(&mut self.parts).into_iter().flatten().collect();
                    return Poll::Ready(Some(Bytes::from(whole)));
                }
                Poll::Ready(next_piece(&mut self.parts))
            }
            Poll::Ready(Next::End) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// Events up to this size are put into one buffer.
const GATHERED_BYTES: usize = 16 << 10;

impl Drop for Events {
    fn drop(&mut self) {
        self.stream.left(self.reader);
        if let Some(on_leave) = self.on_leave.take() {
            on_leave(self.work.take());
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match &self.content {
            Content::Parts(_) => "Body::Parts",
            Content::Events(_) => "Body::Events",
        })
    }
}
