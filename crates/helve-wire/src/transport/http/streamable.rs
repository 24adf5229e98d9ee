//! Streamable HTTP: every message is a POST, the answer is JSON or a stream of events, and a legacy server may also
//! speak unasked on a stream of its own.
//!
//! A call is driven by its caller's task. Its answer is found by id wherever it comes: in the body of its POST, on the
//! stream that resumes it, or on the stream that was opened once for all.

use helve_model::protocol::methods;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use helve_model::ErrorCode;
use hyper::header::HeaderValue;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::dispatch::{Dispatcher, Outlet};
use crate::error::Result;
use crate::limits::Limits;
use crate::pending::{Answer, Closed, Listener, Slot};
use crate::request::{Outgoing, Times, within};
use crate::transport::http::in_flight::InFlight;
use crate::transport::http::posting::{HttpProtocol, Posted, Poster};
use crate::transport::http::standalone;
use crate::transport::http::target::HttpTarget;
use helve_model::sync::lock;

/// How long the opening of the server's own stream is waited for; it goes on opening in the background.
const OPEN_TIME: Duration = Duration::from_secs(1);
/// How long saying goodbye may take.
const CLOSE_TIME: Duration = Duration::from_secs(2);

/// The connection to a server that speaks Streamable HTTP.
pub(crate) struct StreamableLink {
    poster: Arc<Poster>,
    outlet: Arc<dyn Outlet>,
    listening: Mutex<Option<AbortHandle>>,
    /// Another process goes on with the session.
    leaves_open: AtomicBool,
}

/// The way back for what nobody waits for (answers to questions, cancellations): each is a POST of its own.
struct Answers(Arc<Poster>);

impl StreamableLink {
    /// Nothing is connected before the first message.
    pub(crate) fn new(target: HttpTarget, dispatcher: Arc<Dispatcher>, limits: &Limits) -> Result<Self> {
        let poster = Arc::new(Poster::new(target, dispatcher, limits)?);
        let outlet = Arc::new(Answers(Arc::clone(&poster)));
        Ok(Self { poster, outlet, listening: Mutex::default(), leaves_open: AtomicBool::new(false) })
    }

    /// From now on this is spoken.
    pub(crate) fn set_protocol(&self, protocol: HttpProtocol) {
        self.poster.set_protocol(protocol);
    }

    /// Goes on with a session of an earlier process; `None` when no server can have given such an id.
    pub(crate) fn resume(&self, id: &str) -> Option<()> {
        let mut id = HeaderValue::from_str(id).ok()?;
        id.set_sensitive(true);
        self.poster.set_session(Some(id));
        Some(())
    }

    /// The session is to outlive this connection.
    pub(crate) fn leave_open(&self) {
        self.leaves_open.store(true, Ordering::Relaxed);
    }

    /// The session the server gave us.
    pub(crate) fn session_id(&self) -> Option<String> {
        self.poster.session()?.to_str().ok().map(str::to_owned)
    }

    /// Sends a request and waits for its answer. Dropping the future tells the peer in its era's way.
    pub(crate) async fn exchange(
        &self,
        mut request: Outgoing<'_>,
        times: Times,
        listener: Option<Listener>,
    ) -> Result<Answer> {
        let slot = Arc::new(Slot::new(listener, request.wants_progress));
        self.poster.dispatcher.pending.insert(request.id, Arc::clone(&slot))?;
        let sent = AtomicBool::new(false);
        let in_flight = InFlight {
            dispatcher: &self.poster.dispatcher,
            outlet: &self.outlet,
            id: request.id,
            tells: request.cancellable && self.poster.speech().is_some_and(|speech| speech.has_http_sessions()),
            meta: request.cancel_meta,
            sent: &sent,
        };
        if request.method == methods::INITIALIZE {
            // A new session begins: the old one, if any, is over.
            self.poster.set_session(None);
        }
        let body = Bytes::from(std::mem::take(&mut request.body));
        let answered = pin!(async {
            tokio::select! {
                biased;
                answer = slot.wait() => Ok(answer),
                posted = self.poster.post_request(&request, body, &sent, &self.outlet) => match posted {
                    Ok(Posted::Delivered) => Ok(slot.wait().await),
                    Ok(Posted::Refused(refusal)) => in_flight.unless_answered(&slot, Ok(Answer::Refused(refusal))).await,
                    Err(error) => in_flight.unless_answered(&slot, Err(error)).await,
                },
            }
        });
        match within(times, &self.poster.dispatcher.pending, &slot, answered).await {
            Ok(answer) => in_flight.judge(answer),
            Err(elapsed) => Err(elapsed.into_error(in_flight.abandon())),
        }
    }

    /// Sends a notification and waits until the server has taken it.
    pub(crate) async fn notify(&self, message: Vec<u8>) -> Result<()> {
        self.poster.post_message(message).await
    }

    /// Opens the stream on which a legacy server speaks unasked. Returns when the server has begun it (true), has none
    /// (false), or takes too long (false; it may still begin).
    pub(crate) async fn open_stream(&self) -> bool {
        if self.poster.speech().is_some_and(|speech| !speech.has_http_sessions()) {
            return false;
        }
        let (begun, has_begun) = oneshot::channel();
        let listening = standalone::listen(Arc::clone(&self.poster), Arc::clone(&self.outlet), begun);
        let listening = self.poster.client.pool.background.spawn(listening);
        let before = std::mem::replace(&mut *lock(&self.listening), listening);
        if let Some(before) = before {
            before.abort();
        }
        matches!(timeout(OPEN_TIME, has_begun).await, Ok(Ok(true)))
    }

    /// Ends the session at the server, and everything here.
    pub(crate) async fn close(&self) {
        let listening = lock(&self.listening).take();
        if let Some(listening) = listening {
            listening.abort();
        }
        self.end_calls();
        self.poster.client.pool.background.finish(CLOSE_TIME).await;
        if let Some(session) = self.poster.session().filter(|_| !self.leaves_open.load(Ordering::Relaxed)) {
            self.poster.set_session(None);
            // A server that keeps the session all the same ends it by its own clock.
            drop(timeout(CLOSE_TIME, self.poster.delete(session)).await);
        }
        self.poster.client.pool.close();
    }

    /// Ends the connection; nothing is said and nothing waited for.
    pub(crate) fn abandon(&self) {
        self.end_calls();
        self.poster.client.pool.close();
    }

    fn end_calls(&self) {
        let closed = Closed::new(ErrorCode::TransportError, "the connection was closed");
        self.poster.dispatcher.close(closed, |_| true);
    }
}

impl Drop for StreamableLink {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl Outlet for Answers {
    fn send(&self, message: Vec<u8>) {
        let poster = Arc::clone(&self.0);
        self.0.client.pool.background.spawn(async move {
            if let Err(error) = poster.post_message(message).await {
                tracing::debug!(%error, "a message that nobody waits for was not taken by the server");
            }
        });
    }
}

impl fmt::Debug for StreamableLink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StreamableLink").field("address", &self.poster.client.address()).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "streamable_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "fault_tests.rs"]
mod fault_tests;

#[cfg(test)]
#[path = "standalone_tests.rs"]
mod standalone_tests;

#[cfg(test)]
#[cfg(feature = "tls")]
#[path = "tls_tests.rs"]
mod tls_tests;
