//! Owns breaking a TCP connection at an exact place: after all bytes so far have left, or before any more.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::http_script::CutKind;

/// A connection that can be broken from within.
#[derive(Debug)]
pub(crate) struct Tap {
    stream: TcpStream,
    breaker: Breaker,
}

/// Breaks the connection it belongs to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Breaker {
    state: Arc<BreakerState>,
}

#[derive(Debug, Default)]
struct BreakerState {
    after_flush: AtomicBool,
    reset: AtomicBool,
}

impl Breaker {
    /// Breaks the connection as soon as everything written so far has left.
    pub(crate) fn break_after_flush(&self, how: CutKind) {
        self.state.reset.store(how == CutKind::Reset, Ordering::Release);
        self.state.after_flush.store(true, Ordering::Release);
    }
}

impl Tap {
    pub(crate) fn new(stream: TcpStream) -> (Self, Breaker) {
        let breaker = Breaker::default();
        (Self { stream, breaker: breaker.clone() }, breaker)
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        if self.breaker.state.reset.load(Ordering::Acquire) {
            // Without lingering, closing sends a reset. If that cannot be set, the close is an ordinary one.
            drop(self.stream.set_zero_linger());
        }
    }
}

impl AsyncRead for Tap {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Tap {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    /// Called when everything before has been handed to the kernel: the place to break.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.breaker.state.after_flush.load(Ordering::Acquire) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
