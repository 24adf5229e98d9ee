//! Owns the bodies of answers: described parts, streams of events, and bodies that break off.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Body as HttpBody, Frame};

use super::tap::Breaker;
use crate::frame::Part;
use crate::http_script::CutKind;

/// The body of any answer.
pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// A body that is in memory.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A body made of parts, `times` times over; huge parts are never in memory.
pub(crate) fn parts(parts: Vec<Part>, times: u64) -> Body {
    let pieces = (0..times).flat_map(move |_| parts.clone()).flat_map(Part::pieces);
    StreamBody::new(stream::iter(pieces.map(|bytes| Ok(Frame::data(bytes))))).boxed_unsync()
}

/// Comment lines for as long as somebody reads.
pub(crate) fn comments(pause: Duration) -> Body {
    StreamBody::new(stream::unfold((), move |()| async move {
        tokio::time::sleep(pause).await;
        Some((Ok(Frame::data(Bytes::from_static(b": still here\n\n"))), ()))
    }))
    .boxed_unsync()
}

/// A body that never gives anything.
pub(crate) fn silent() -> Body {
    StreamBody::new(stream::pending::<io::Result<Frame<Bytes>>>()).boxed_unsync()
}

/// Breaks the connection after `bytes` bytes of `body`.
pub(crate) fn cut(body: Body, bytes: u64, how: CutKind, breaker: Breaker) -> Body {
    CutBody { body, left: bytes, how, breaker }.boxed_unsync()
}

struct CutBody {
    body: Body,
    left: u64,
    how: CutKind,
    breaker: Breaker,
}

impl HttpBody for CutBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.left == 0 {
            // hyper flushes when a body has nothing to give; the connection breaks right after that.
            self.breaker.break_after_flush(self.how);
            return Poll::Pending;
        }
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let Poll::Ready(Some(Ok(frame))) = polled else { return polled };
        let Ok(mut bytes) = frame.into_data() else { return Poll::Ready(None) };
        let size = usize::try_from(self.left).unwrap_or(usize::MAX);
        bytes.truncate(size);
        self.left -= bytes.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }
}
