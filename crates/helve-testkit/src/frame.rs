//! Owns what travels: how an incoming message is taken apart, and the queue of outgoing frames.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{Notify, mpsc};

/// Producers of many frames wait while more than this is queued.
const QUEUE_HIGH_WATER: u64 = 1 << 20;
/// The block that long fillings are written from.
pub(crate) const FILL_BLOCK: usize = 64 * 1024;

/// One incoming JSON-RPC message with its values left as they were written.
#[derive(Debug, Deserialize)]
pub(crate) struct Incoming<'a> {
    #[serde(borrow)]
    pub(crate) jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) error: Option<&'a RawValue>,
}

/// One thing to write.
#[derive(Clone, Debug)]
pub(crate) enum Frame {
    /// A message; the transport adds its own framing.
    Message { kind: MessageKind, parts: Vec<Part> },
    /// Bytes as they are.
    Raw(Vec<Part>),
    /// The client's connection is closed, but the stream goes on for one who resumes it. Where nobody can, nothing happens.
    Disconnect,
    /// Nothing more is written, though the peer lives on.
    CloseStream,
}

/// What a message is, for transports that treat them differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageKind {
    Response,
    ErrorResponse(i64),
    Other,
}

/// A piece of a frame. Huge pieces are described, not held.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Bytes(Bytes),
    Fill { byte: u8, count: u64 },
}

impl Part {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Fill { count, .. } => *count,
        }
    }

    /// The bytes of this part, made one block at a time.
    pub(crate) fn pieces(self) -> impl Iterator<Item = Bytes> + Send {
        let (bytes, byte, mut left) = match self {
            Self::Bytes(bytes) => (Some(bytes), 0, 0),
            Self::Fill { byte, count } => (None, byte, count),
        };
        let filling = std::iter::from_fn(move || {
            let size = left.min(FILL_BLOCK as u64);
            left -= size;
            (size > 0).then(|| Bytes::from(vec![byte; usize::try_from(size).unwrap_or(FILL_BLOCK)]))
        });
        bytes.into_iter().chain(filling)
    }
}

impl From<String> for Part {
    fn from(text: String) -> Self {
        Self::Bytes(Bytes::from(text))
    }
}

/// Where the peer writes: a queue that never blocks the writer of one message. The stream ends when the last clone is gone.
#[derive(Clone, Debug)]
pub(crate) struct Out {
    sender: mpsc::UnboundedSender<Frame>,
    gauge: Arc<Gauge>,
}

/// The reading end of an [`Out`].
#[derive(Debug)]
pub(crate) struct OutReader {
    receiver: mpsc::UnboundedReceiver<Frame>,
    gauge: Arc<Gauge>,
}

#[derive(Debug, Default)]
struct Gauge {
    queued: AtomicU64,
    drained: Notify,
}

impl Out {
    pub(crate) fn new() -> (Self, OutReader) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let gauge = Arc::new(Gauge::default());
        (Self { sender, gauge: Arc::clone(&gauge) }, OutReader { receiver, gauge })
    }

    /// Queues a frame; the peer ignores a reader that is gone.
    pub(crate) fn send(&self, frame: Frame) {
        let bytes = frame.len();
        self.gauge.queued.fetch_add(bytes, Ordering::Relaxed);
        if self.sender.send(frame).is_err() {
            self.gauge.queued.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    pub(crate) fn send_message(&self, kind: MessageKind, text: String) {
        self.send(Frame::Message { kind, parts: vec![Part::from(text)] });
    }

    pub(crate) fn send_raw(&self, bytes: Vec<u8>) {
        self.send(Frame::Raw(vec![Part::Bytes(Bytes::from(bytes))]));
    }

    /// Waits until the queue is short. For those who write without end.
    pub(crate) async fn room(&self) {
        loop {
            let drained = self.gauge.drained.notified();
            if self.gauge.queued.load(Ordering::Acquire) < QUEUE_HIGH_WATER || self.sender.is_closed() {
                return;
            }
            drained.await;
        }
    }

    /// Resolves when nobody reads any more.
    pub(crate) async fn closed(&self) {
        self.sender.closed().await;
    }
}

impl OutReader {
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        let frame = self.receiver.recv().await?;
        self.took(&frame);
        Some(frame)
    }

    pub(crate) fn try_next(&mut self) -> Option<Frame> {
        let frame = self.receiver.try_recv().ok()?;
        self.took(&frame);
        Some(frame)
    }

    fn took(&self, frame: &Frame) {
        let before = self.gauge.queued.fetch_sub(frame.len(), Ordering::AcqRel);
        if before >= QUEUE_HIGH_WATER {
            self.gauge.drained.notify_waiters();
        }
    }
}

impl Drop for OutReader {
    fn drop(&mut self) {
        self.receiver.close();
        self.gauge.drained.notify_waiters();
    }
}

impl Frame {
    fn len(&self) -> u64 {
        match self {
            Self::Message { parts, .. } | Self::Raw(parts) => parts.iter().map(Part::len).sum(),
            Self::Disconnect | Self::CloseStream => 0,
        }
    }
}
