//! A peer on a byte stream, one message per line: stdio, or an in-memory duplex.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use helve_model::ErrorCode;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::dispatch::{Dispatcher, MessageOrigin, Outlet, unacceptable};
use crate::encode;
use crate::error::{Error, Result};
use crate::handler::BoxFuture;
use crate::limits::Limits;
use crate::pending::{Answer, Closed, Listener, Slot};
use crate::request::{Outgoing, Times, within};
use crate::transport::line::{Line, LineBuffer};
use crate::transport::writer::{REASON_TIME, Writer};
use crate::wire_log::{self, Way};

/// Bytes from a peer.
pub(crate) trait Source: AsyncRead + Send + Unpin + 'static {
    /// A large message is coming in: make room for more of it at a time, where the system can.
    fn widen(&self) {}
}

/// Says why a stream ended: called once, when reading ends.
pub(crate) type WhyEnded = Box<dyn FnOnce(io::Result<()>) -> BoxFuture<'static, Closed> + Send>;

/// The connection to a peer on a byte stream.
#[derive(Debug)]
pub(crate) struct StreamLink {
    dispatcher: Arc<Dispatcher>,
    writer: Arc<Writer>,
    reading: AbortHandle,
    writing: AbortHandle,
}

impl StreamLink {
    /// Starts reading and writing.
    pub(crate) fn start(
        source: impl Source,
        sink: Pin<Box<dyn AsyncWrite + Send>>,
        dispatcher: Arc<Dispatcher>,
        limits: &Limits,
        why_ended: WhyEnded,
    ) -> Self {
        let writer = Arc::new(Writer::new(sink, limits));
        let writing = tokio::spawn(Arc::clone(&writer).run(Arc::clone(&dispatcher))).abort_handle();
        let reader = Reader {
            lines: LineBuffer::new(limits.message_bytes),
            message_bytes: limits.message_bytes,
            end: End { dispatcher: Arc::clone(&dispatcher), writer: Arc::clone(&writer) },
        };
        let reading = tokio::spawn(reader.run(source, why_ended)).abort_handle();
        Self { dispatcher, writer, reading, writing }
    }

    /// Sends a request and waits for its answer. Dropping the future tells the peer.
    pub(crate) async fn exchange(
        &self,
        request: Outgoing<'_>,
        times: Times,
        listener: Option<Listener>,
    ) -> Result<Answer> {
        let slot = Arc::new(Slot::new(listener, request.wants_progress));
        self.dispatcher.pending.insert(request.id, Arc::clone(&slot))?;
        let mut in_flight =
            InFlight { link: self, id: request.id, cancellable: request.cancellable, meta: request.cancel_meta };
        if let Err(error) = self.writer.send(Some(request.id), request.body, self.dispatcher.pending.len()) {
            in_flight.cancellable = false;
            return Err(self.why_unwritable(error).await);
        }
        match within(times, &self.dispatcher.pending, &slot, slot.wait()).await {
            Ok(answer) => Ok(answer),
            Err(elapsed) => Err(elapsed.into_error(in_flight.abandon())),
        }
    }

    pub(crate) async fn notify(&self, message: Vec<u8>) -> Result<()> {
        match self.writer.tell(message) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.why_unwritable(error).await),
        }
    }

    /// How many notifications were left out because the peer did not read.
    pub(crate) fn dropped(&self) -> u64 {
        self.writer.dropped()
    }

    /// A peer that cannot be written to has ended, as a rule: in a moment the reader can say how.
    async fn why_unwritable(&self, error: Error) -> Error {
        if error.code() != ErrorCode::TransportError {
            return error;
        }
        timeout(REASON_TIME, self.dispatcher.ended()).await.unwrap_or(error)
    }

    /// Closes the peer's input and fails what is in flight.
    pub(crate) fn close(&self) {
        let unsent = self.writer.close();
        let closed = Closed::new(ErrorCode::TransportError, "the connection was closed");
        self.dispatcher.close(closed, |id| !unsent.contains(&id));
    }
}

impl Drop for StreamLink {
    fn drop(&mut self) {
        self.close();
        self.reading.abort();
        self.writing.abort();
    }
}

/// A request that is taken back, or cancelled at the peer, unless it was answered.
struct InFlight<'link> {
    link: &'link StreamLink,
    id: u64,
    cancellable: bool,
    meta: &'link str,
}

impl InFlight<'_> {
    /// Gives the request up; true when the peer may have begun with it.
    fn abandon(&self) -> bool {
        if self.link.dispatcher.pending.remove(self.id).is_none() {
            return true;
        }
        if self.link.writer.withdraw(self.id) {
            return false;
        }
        if self.cancellable {
            let message = encode::cancelled(self.id, self.meta);
            wire_log::log(self.link.dispatcher.server(), Way::Sent, &message);
            // If the peer is gone, there is nothing left to cancel.
            drop(self.link.writer.send(None, message, 0));
        }
        true
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.abandon();
    }
}

struct Reader {
    lines: LineBuffer,
    message_bytes: usize,
    end: End,
}

/// Fails everything in flight when reading ends, even by a panic of a handler.
struct End {
    dispatcher: Arc<Dispatcher>,
    writer: Arc<Writer>,
}

impl Reader {
    async fn run(mut self, mut source: impl Source, why_ended: WhyEnded) {
        let outlet: Arc<dyn Outlet> = Arc::clone(&self.end.writer) as Arc<dyn Outlet>;
        let mut widened = false;
        let ended = loop {
            match source.read_buf(self.lines.room()).await {
                Ok(0) => break Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => break Err(error),
            }
            while let Some(line) = self.lines.next_line() {
                self.take(line, &outlet);
            }
            if !widened && self.lines.is_within_large() {
                widened = true;
                source.widen();
            }
        };
        let closed = why_ended(ended).await;
        self.end.with(closed);
    }

    fn take(&self, line: Line, outlet: &Arc<dyn Outlet>) {
        let dispatcher = &self.end.dispatcher;
        match line {
            Line::Text(text) => dispatcher.deliver(&text, MessageOrigin::Connection, outlet),
            Line::NotUtf8(text) => dispatcher.deliver_broken(&text, unacceptable("is not UTF-8")),
            Line::TooLarge { id: Some(id) } => dispatcher.reject(id, too_large(self.message_bytes)),
            Line::TooLarge { id: None } => dispatcher.count_noise("(a line over the limit)"),
        }
    }
}

impl End {
    fn with(&self, closed: Closed) {
        let unsent = self.writer.close();
        self.dispatcher.close(closed, |id| !unsent.contains(&id));
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.with(Closed::new(ErrorCode::TransportError, "the connection ended"));
    }
}

/// The error of a call whose answer is larger than we take.
pub(crate) fn too_large(limit: usize) -> Error {
    Error::new(ErrorCode::LimitExceeded, format!("the server's answer is larger than {limit} bytes"))
        .with_hint("ask for less, or raise the limit `message_bytes`")
        .with_may_have_run(true)
}
