//! How long an agent may take to say what it wants: from the moment it connects, and from the first byte of each further
//! request. Between two requests a connection may be silent for as long as it likes, since an agent that keeps it open is
//! still there.

use std::io;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use helve_serve::face::http::Connection;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, sleep};

/// When the head of a request began that is not there yet.
#[derive(Debug)]
pub(super) struct Heads<'a> {
    since: Mutex<Option<Instant>>,
    place: &'a Connection,
}

/// A stream that notes when something comes.
#[derive(Debug)]
pub(super) struct Noted<'a, S> {
    stream: S,
    heads: &'a Heads<'a>,
}

impl<'a> Heads<'a> {
    /// The connection has come: its first request is due.
    pub(super) fn new(place: &'a Connection) -> Self {
        Self { since: Mutex::new(Some(Instant::now())), place }
    }

    pub(super) const fn noting<S>(&'a self, stream: S) -> Noted<'a, S> {
        Noted { stream, heads: self }
    }

    /// A head is there.
    pub(super) fn is_read(&self) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Something came. While a request is being answered it belongs to that one, or waits until it is.
    fn came(&self) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if since.is_none() && !self.place.is_busy() {
            *since = Some(Instant::now());
        }
    }

    /// Returns when a head has taken so long. Cancel safe.
    pub(super) async fn late(&self, within: Duration) {
        loop {
            let since = *self.since.lock().unwrap_or_else(PoisonError::into_inner);
            let left = since.map_or(within, |since| within.saturating_sub(since.elapsed()));
            if left.is_zero() {
                return;
            }
            sleep(left).await;
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Noted<'_, S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            this.heads.came();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Noted<'_, S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
#[path = "punctual_tests.rs"]
mod tests;
