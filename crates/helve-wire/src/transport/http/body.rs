//! The body of an answer: read in pieces, bounded, and given back to the pool with its connection when it ends.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};

use crate::transport::http::pool::{Connection, Pool};

/// Pieces below this size are copied out of the connection's buffer, so that a small result does not keep it alive.
const COPY_BYTES: usize = 16 << 10;
/// How much of a body nobody wants is read so that its connection can be used again, and for how long.
const DRAIN_BYTES: usize = 64 << 10;
const DRAIN_TIME: Duration = Duration::from_millis(500);

/// A body being read. Dropping it before its end closes the connection.
pub(crate) struct Body {
    incoming: Incoming,
    /// `None` once the end was read.
    connection: Option<Connection>,
    pool: Arc<Pool>,
    length: Option<usize>,
    kept_for: Option<Duration>,
}

/// Why a body could not be had as a whole.
#[derive(Debug)]
pub(crate) enum Unreadable {
    TooLarge,
    Broken(hyper::Error),
}

impl Body {
    pub(crate) fn new(incoming: Incoming, headers: &HeaderMap, connection: Connection, pool: Arc<Pool>) -> Self {
        let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        let mut body = Self { incoming, connection: Some(connection), pool, length, kept_for: kept_for(headers) };
        if body.incoming.is_end_stream() {
            body.end();
        }
        body
    }

    /// The next piece; `None` at the end. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, hyper::Error>> {
        while self.connection.is_some() {
            match self.incoming.frame().await {
                Some(Ok(frame)) => {
                    if self.incoming.is_end_stream() {
                        self.end();
                    }
                    // What is not data is a trailer, and says nothing to us.
                    match frame.into_data() {
                        Ok(data) if data.is_empty() => {}
                        Ok(data) => return Some(Ok(data)),
                        Err(_) => {}
                    }
                }
                Some(Err(error)) => {
                    self.connection = None;
                    return Some(Err(error));
                }
                None => self.end(),
            }
        }
        None
    }

    /// The whole body, if it is not larger than `limit`.
    pub(crate) async fn read(&mut self, limit: usize) -> Result<Bytes, Unreadable> {
        if self.length.is_some_and(|length| length > limit) {
            return Err(Unreadable::TooLarge);
        }
        let Some(first) = self.next().await else { return Ok(Bytes::new()) };
        let first = first.map_err(Unreadable::Broken)?;
        if first.len() > limit {
            return Err(Unreadable::TooLarge);
        }
        if self.connection.is_none() {
            return Ok(if first.len() < COPY_BYTES { Bytes::copy_from_slice(&first) } else { first });
        }
        let mut whole = Vec::with_capacity(self.length.unwrap_or(2 * first.len()));
        whole.extend_from_slice(&first);
        drop(first);
        while let Some(piece) = self.next().await {
            let piece = piece.map_err(Unreadable::Broken)?;
            if whole.len() + piece.len() > limit {
                return Err(Unreadable::TooLarge);
            }
            whole.extend_from_slice(&piece);
        }
        Ok(Bytes::from(whole))
    }

    /// The first bytes of the body, up to `limit`, or as many as there are.
    pub(crate) async fn read_some(&mut self, limit: usize) -> Bytes {
        let mut some = Vec::new();
        while some.len() < limit
            && let Some(Ok(piece)) = self.next().await
        {
            some.extend_from_slice(piece.get(..limit - some.len()).unwrap_or(&piece));
        }
        Bytes::from(some)
    }

    /// Nobody wants the rest. A short one is read, in the background if it is not there yet, so that the connection can
    /// be used again.
    pub(crate) fn discard(mut self) {
        if self.length.is_some_and(|length| length > DRAIN_BYTES) || self.is_at_end() {
            return;
        }
        let pool = Arc::clone(&self.pool);
        let draining = pool.begin_draining();
        pool.background.spawn(async move {
            let rest = async {
                let mut read = 0;
                while let Some(Ok(piece)) = self.next().await {
                    read += piece.len();
                    if read > DRAIN_BYTES {
                        return;
                    }
                }
            };
            draining.ended(tokio::time::timeout(DRAIN_TIME, rest).await.is_ok());
        });
    }

    /// Reads what is there without waiting; true when that was all.
    fn is_at_end(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        loop {
            match pin!(self.next()).poll(&mut context) {
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(_)) | None) => return true,
                Poll::Pending => return false,
            }
        }
    }

    fn end(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.pool.give_back(connection, self.kept_for);
        }
    }
}

/// How long the server says it keeps an idle connection.
fn kept_for(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get("keep-alive")?.to_str().ok()?;
    let seconds = value.split(',').find_map(|part| part.trim().strip_prefix("timeout="))?;
    Some(Duration::from_secs(seconds.trim().parse().ok()?))
}
