//! Getting messages out: straight from the caller's task when the pipe has room, through a queue when it has not.
//!
//! A direct write saves a wake-up, which costs more than everything else in a small call. With many calls in flight
//! the queue is quicker: its task lets all callers that are ready add theirs and writes them with one system call.
//! A peer that does not read never blocks anybody: what waits longer than the stall limit is taken back, unsent.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use helve_model::ErrorCode;
use tokio::io::AsyncWrite;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::dispatch::{Dispatcher, Outlet};
use crate::error::{Error, Result};
use crate::limits::Limits;
use helve_model::sync::lock;

/// Up to so many calls in flight, a caller writes its own message.
const DIRECT_WRITES: usize = 4;
/// So many queued messages go into one system call.
const GATHERED: usize = 64;
/// So many queued messages do not wait for more: the peer can begin with them while the next are being made.
const FLUSHED_AT_ONCE: usize = 16;
/// Bytes that may wait for a peer that does not read, before notifications are left out.
const NOTIFICATION_BYTES: usize = 256 << 10;
/// How long a failed write waits for the reader to find out how the peer ended.
pub(super) const REASON_TIME: Duration = Duration::from_millis(100);

/// The way to a peer on a byte stream.
pub(crate) struct Writer {
    state: Mutex<State>,
    queued: Notify,
    message_bytes: usize,
    outgoing_bytes: usize,
    write_stall: Duration,
    /// Notifications that were left out.
    dropped: AtomicU64,
}

struct State {
    /// `None` once the peer's input is closed.
    sink: Option<Pin<Box<dyn AsyncWrite + Send>>>,
    queue: VecDeque<Queued>,
    queued_bytes: usize,
    /// Bytes of the first message in the queue that are already out.
    front_written: usize,
    /// Grows with every byte that gets out: how the stall is noticed.
    position: u64,
    /// The queue's task waits for room in the pipe; nobody else may poll the sink then, or the task is never woken.
    waiting: bool,
}

struct Queued {
    id: Option<u64>,
    bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn new(sink: Pin<Box<dyn AsyncWrite + Send>>, limits: &Limits) -> Self {
        Self {
            state: Mutex::new(State {
                sink: Some(sink),
                queue: VecDeque::new(),
                queued_bytes: 0,
                front_written: 0,
                position: 0,
                waiting: false,
            }),
            queued: Notify::new(),
            message_bytes: limits.message_bytes,
            outgoing_bytes: limits.outgoing_bytes,
            write_stall: limits.write_stall,
            dropped: AtomicU64::new(0),
        }
    }

    /// Sends one message, adding its line end. Never waits; order is kept.
    pub(crate) fn send(&self, id: Option<u64>, mut bytes: Vec<u8>, in_flight: usize) -> Result<()> {
        if bytes.len() > self.message_bytes {
            return Err(self.too_large());
        }
        bytes.push(b'\n');
        {
            let mut state = lock(&self.state);
            if state.queued_bytes + bytes.len() > self.outgoing_bytes {
                return Err(self.too_much_waiting());
            }
            let mut written = 0;
            if state.queue.is_empty() && in_flight <= DIRECT_WRITES {
                written = state.write_now(&bytes).map_err(cannot_write)?;
                if written == bytes.len() {
                    return Ok(());
                }
            } else if state.sink.is_none() {
                return Err(cannot_write(io::ErrorKind::BrokenPipe.into()));
            }
            if state.queue.is_empty() {
                state.front_written = written;
            }
            state.queued_bytes += bytes.len() - written;
            state.queue.push_back(Queued { id, bytes });
            if state.queue.len() >= FLUSHED_AT_ONCE && !state.waiting {
                let flushed = state.poll_drain(&mut Context::from_waker(Waker::noop()));
                if matches!(flushed, Poll::Ready(Ok(()))) {
                    return Ok(());
                }
            }
        }
        self.queued.notify_one();
        Ok(())
    }

    /// Sends one notification, unless too much waits to be read already: nobody waits for it.
    pub(crate) fn tell(&self, bytes: Vec<u8>) -> Result<()> {
        if lock(&self.state).queued_bytes + bytes.len() > NOTIFICATION_BYTES.max(bytes.len()) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        self.send(None, bytes, 0)
    }

    /// How many notifications were not sent because the peer did not read.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Takes a request back if no byte of it is out yet.
    pub(crate) fn withdraw(&self, id: u64) -> bool {
        let mut state = lock(&self.state);
        let touched = usize::from(state.front_written > 0);
        let Some(position) = state.queue.iter().skip(touched).position(|message| message.id == Some(id)) else {
            return false;
        };
        let withdrawn = state.queue.remove(touched + position);
        state.queued_bytes -= withdrawn.map_or(0, |message| message.bytes.len());
        true
    }

    /// Closes the peer's input; gives the requests of which no byte got out.
    pub(crate) fn close(&self) -> Vec<u64> {
        let mut state = lock(&self.state);
        if let Some(mut sink) = state.sink.take() {
            // Dropping one half of a stream does not end it. What cannot be ended at once ends with the other half.
            drop(sink.as_mut().poll_shutdown(&mut Context::from_waker(Waker::noop())));
        }
        let unsent = state.take_untouched();
        state.queue.clear();
        state.queued_bytes = 0;
        unsent
    }

    /// Writes what is queued, for as long as the connection lives.
    pub(crate) async fn run(self: Arc<Self>, dispatcher: Arc<Dispatcher>) {
        loop {
            self.queued.notified().await;
            // Everybody who is ready to send adds theirs first: one system call for all.
            tokio::task::yield_now().await;
            loop {
                let before = lock(&self.state).position;
                match timeout(self.write_stall, poll_fn(|context| lock(&self.state).poll_queue(context))).await {
                    Ok(Ok(())) => break,
                    Ok(Err(error)) => return self.give_up(&error, &dispatcher).await,
                    Err(_) if lock(&self.state).position == before => {
                        let unsent = lock(&self.state).take_untouched();
                        for id in unsent {
                            dispatcher.reject(id, self.not_read());
                        }
                    }
                    Err(_) => {}
                }
            }
        }
    }

    /// Nothing can be written any more. Of a peer that has ended, the reader tells everybody; of one that has only
    /// closed its input, nobody else would tell those who wait for answers to what is still here.
    async fn give_up(&self, error: &io::Error, dispatcher: &Dispatcher) {
        if timeout(REASON_TIME, dispatcher.ended()).await.is_ok() {
            return;
        }
        let half_written = lock(&self.state).queue.front().and_then(|message| message.id);
        let unsent = self.close();
        for id in half_written.into_iter().filter(|id| !unsent.contains(id)).chain(unsent.iter().copied()) {
            dispatcher.reject(id, cannot_write(error.kind().into()));
        }
    }

    fn too_large(&self) -> Error {
        let limit = self.message_bytes;
        Error::new(ErrorCode::LimitExceeded, format!("the message is larger than {limit} bytes, and was not sent"))
            .with_hint("send less, or raise the limit `message_bytes`")
    }

    fn too_much_waiting(&self) -> Error {
        let limit = self.outgoing_bytes;
        Error::new(ErrorCode::LimitExceeded, format!("more than {limit} bytes wait to be read by the server"))
            .with_hint("the server does not read its input; restart it, or raise the limit `outgoing_bytes`")
    }

    fn not_read(&self) -> Error {
        let seconds = self.write_stall.as_secs_f64();
        Error::new(ErrorCode::TransportError, format!("the server has not read its input for {seconds} s"))
            .with_hint("the server is stuck; restart it, or raise the limit `write_stall`")
    }
}

impl State {
    /// Writes as much as fits without waiting.
    fn write_now(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(sink) = &mut self.sink else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let mut context = Context::from_waker(Waker::noop());
        let mut written = 0;
        while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            match sink.as_mut().poll_write(&mut context, rest) {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(count)) => written += count,
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => break,
            }
        }
        self.position += written as u64;
        Ok(written)
    }

    /// The queue's task writes.
    fn poll_queue(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let drained = self.poll_drain(context);
        self.waiting = drained.is_pending();
        drained
    }

    fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(sink) = &mut self.sink else { return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())) };
        while !self.queue.is_empty() {
            let skip = self.front_written;
            let slices: Vec<IoSlice<'_>> = self
                .queue
                .iter()
                .take(GATHERED)
                .enumerate()
                .map(|(index, message)| {
                    let from = if index == 0 { skip } else { 0 };
                    IoSlice::new(message.bytes.get(from..).unwrap_or_default())
                })
                .collect();
            let mut count = ready!(sink.as_mut().poll_write_vectored(context, &slices))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.position += count as u64;
            self.queued_bytes -= count;
            while let Some(front) = self.queue.front() {
                let left = front.bytes.len() - self.front_written;
                if count < left {
                    self.front_written += count;
                    break;
                }
                count -= left;
                self.front_written = 0;
                drop(self.queue.pop_front());
            }
        }
        sink.as_mut().poll_flush(context)
    }

    fn take_untouched(&mut self) -> Vec<u64> {
        let touched = usize::from(self.front_written > 0);
        let untouched: Vec<Queued> = self.queue.drain(touched.min(self.queue.len())..).collect();
        self.queued_bytes -= untouched.iter().map(|message| message.bytes.len()).sum::<usize>();
        untouched.into_iter().filter_map(|message| message.id).collect()
    }
}

impl Outlet for Writer {
    fn send(&self, message: Vec<u8>) {
        // Nobody waits for this; if the peer is gone, the reader notices.
        drop(Self::send(self, None, message, 0));
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Writer").field("queued_bytes", &lock(&self.state).queued_bytes).finish_non_exhaustive()
    }
}

fn cannot_write(error: io::Error) -> Error {
    Error::new(ErrorCode::TransportError, "the server's input is closed")
        .with_hint("the server does not read any more; restart it")
        .with_source(error)
}
