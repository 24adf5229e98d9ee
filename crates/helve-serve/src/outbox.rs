//! What waits for an agent that reads from a byte stream: in order, bounded, and written in as few calls as possible.
//!
//! An agent that does not read loses notifications, the oldest before the newer ones, and is not read from until it does.
//! Answers are never dropped: an agent that leaves even those unread loses its connection in the end.

use std::collections::VecDeque;
use std::io;
use std::sync::Mutex;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;

use crate::limits::Limits;
use crate::message::{Kind, Message};
use helve_model::sync::lock;

/// So much is put into one buffer and one system call; larger messages are written part by part, uncopied.
const GATHERED_BYTES: usize = 64 << 10;

/// Where messages to an agent go.
pub(crate) trait Outlet: Send + Sync {
    /// Takes a message. Never waits.
    fn send(&self, message: Message);

    /// False when nobody can hear what is said here now: then nothing is asked here.
    fn is_heard(&self) -> bool {
        true
    }
}

/// Where messages go that nobody could read.
#[derive(Debug)]
pub(crate) struct Nowhere;

impl Outlet for Nowhere {
    fn send(&self, message: Message) {
        drop(message);
    }
}

/// The queue of one stream.
#[derive(Debug)]
pub(crate) struct Outbox {
    waiting: usize,
    unread: usize,
    state: Mutex<State>,
    arrived: Notify,
    drained: Notify,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Message>,
    bytes: usize,
    overflowed: bool,
    /// Nothing more will come.
    closed: bool,
}

impl Outbox {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            waiting: limits.waiting_bytes,
            unread: limits.unread_bytes,
            state: Mutex::default(),
            arrived: Notify::new(),
            drained: Notify::new(),
        }
    }

    /// Writes what comes until the queue is closed and empty.
    ///
    /// # Errors
    /// The stream is closed, or the agent left more unread than it may.
    pub(crate) async fn write_into(&self, mut sink: impl AsyncWrite + Unpin) -> io::Result<()> {
        let mut buffer = Vec::new();
        loop {
            let arrived = self.arrived.notified();
            match self.take(&mut buffer)? {
                Some(large) => {
                    for part in large.parts() {
                        sink.write_all(&part).await?;
                    }
                    sink.write_all(b"\n").await?;
                }
                None if buffer.is_empty() => {
                    if lock(&self.state).closed {
                        return Ok(());
                    }
                    arrived.await;
                    continue;
                }
                None => {
                    sink.write_all(&buffer).await?;
                    buffer.clear();
                }
            }
            sink.flush().await?;
        }
    }

    /// Nothing more will come; what is there is still written.
    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
        self.arrived.notify_one();
    }

    /// True when so much waits that the agent should read before it asks for more.
    pub(crate) fn is_full(&self) -> bool {
        lock(&self.state).bytes > self.waiting
    }

    /// Waits until the agent has read so much that it may ask for more. Cancel safe.
    pub(crate) async fn drained(&self) {
        loop {
            let drained = self.drained.notified();
            if !self.is_full() {
                return;
            }
            drained.await;
        }
    }

    /// Puts small messages into the buffer, or gives one large one.
    fn take(&self, buffer: &mut Vec<u8>) -> io::Result<Option<Message>> {
        let mut state = lock(&self.state);
        if state.overflowed {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the agent does not read what it asked for"));
        }
        while let Some(message) = state.queue.front() {
            let is_large = message.len() > GATHERED_BYTES;
            if !buffer.is_empty() && buffer.len() + message.len() > GATHERED_BYTES {
                return Ok(None);
            }
            let Some(message) = state.queue.pop_front() else { return Ok(None) };
            let was_full = state.bytes > self.waiting;
            state.bytes -= message.len();
            if was_full && state.bytes <= self.waiting {
                self.drained.notify_one();
            }
            if is_large {
                return Ok(Some(message));
            }
            message.write_to(buffer);
            buffer.push(b'\n');
        }
        Ok(None)
    }
}

impl Outlet for Outbox {
    fn send(&self, message: Message) {
        {
            let mut state = lock(&self.state);
            state.bytes += message.len();
            state.queue.push_back(message);
            while state.bytes > self.waiting {
                let Some(oldest) = state.queue.iter().position(|waiting| waiting.kind() == Kind::Notification) else {
                    state.overflowed |= state.bytes > self.unread && state.queue.len() > 1;
                    break;
                };
                let dropped = state.queue.remove(oldest).map_or(0, |message| message.len());
                state.bytes -= dropped;
            }
        }
        self.arrived.notify_one();
    }
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;
