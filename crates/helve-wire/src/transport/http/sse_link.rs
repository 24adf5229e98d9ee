//! HTTP+SSE, the transport of 2024-11-05: one stream for everything the server says, and a second address, named on that
//! stream, for everything we say.
//!
//! When the stream ends the connection has ended: what is in flight fails, and the host connects again.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::Bytes;
use helve_model::ErrorCode;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use url::Url;

use crate::dispatch::{Dispatcher, MessageOrigin, Outlet};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::pending::{Answer, Closed, Listener, Slot};
use crate::request::{Outgoing, Times, within};
use crate::transport::http::client::{HttpClient, HttpRequest};
use crate::transport::http::events::{EventStream, Position, deliver};
use crate::transport::http::in_flight::InFlight;
use crate::transport::http::posting::is_event_stream;
use crate::transport::http::refusal::{self, HttpRefusal, excerpt, not_taken};
use crate::transport::http::sse::Decoded;
use crate::transport::http::target::{HttpTarget, shown};
use crate::transport::stream::too_large;

/// How long messages on their way are waited for when the connection is closed.
const CLOSE_TIME: Duration = Duration::from_secs(2);

/// The connection to a server that speaks HTTP+SSE.
pub(crate) struct SseLink {
    poster: Arc<Poster>,
    outlet: Arc<dyn Outlet>,
    reading: Option<AbortHandle>,
}

/// The way to the server.
struct Poster {
    client: HttpClient,
    endpoint: Url,
    headers: HeaderMap,
    dispatcher: Arc<Dispatcher>,
    message_bytes: usize,
    write_time: Duration,
}

/// The way back for what nobody waits for: each is a POST of its own.
struct Answers(Arc<Poster>);

impl SseLink {
    /// Opens the stream and waits, no longer than `time`, until the server has said where to send messages.
    pub(crate) async fn connect(
        target: HttpTarget,
        dispatcher: Arc<Dispatcher>,
        limits: &Limits,
        time: Duration,
    ) -> Result<Self> {
        let client = HttpClient::new(target)?;
        let (events, endpoint) = match timeout(time, open(&client, limits)).await {
            Ok(opened) => opened?,
            Err(_) => return Err(no_endpoint(&format!("did not name its endpoint within {} s", time.as_secs_f64()))),
        };
        let mut headers = client.headers().clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let poster = Arc::new(Poster {
            client,
            endpoint,
            headers,
            dispatcher,
            message_bytes: limits.message_bytes,
            write_time: limits.write_stall,
        });
        let outlet: Arc<dyn Outlet> = Arc::new(Answers(Arc::clone(&poster)));
        let reading = read(End(Arc::clone(&poster.dispatcher)), events, limits.event_bytes, Arc::clone(&outlet));
        let reading = poster.client.pool.background.spawn(reading);
        Ok(Self { poster, outlet, reading })
    }

    /// Sends a request and waits for its answer, which comes on the stream. Dropping the future tells the peer.
    pub(crate) async fn exchange(
        &self,
        mut request: Outgoing<'_>,
        times: Times,
        listener: Option<Listener>,
    ) -> Result<Answer> {
        let slot = Arc::new(Slot::new(listener, request.wants_progress));
        self.poster.dispatcher.pending.insert(request.id, Arc::clone(&slot))?;
        let sent = Arc::new(AtomicBool::new(false));
        let in_flight = InFlight {
            dispatcher: &self.poster.dispatcher,
            outlet: &self.outlet,
            id: request.id,
            tells: request.cancellable,
            meta: request.cancel_meta,
            sent: &sent,
        };
        let body = Bytes::from(std::mem::take(&mut request.body));
        let mut posting = Box::pin(Arc::clone(&self.poster).post(body, Arc::clone(&sent)));
        let answered = pin!(async {
            tokio::select! {
                biased;
                answer = slot.wait() => {
                    self.poster.finish_aside(posting);
                    Ok(answer)
                }
                posted = &mut posting => match posted {
                    Ok(()) => Ok(slot.wait().await),
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
        Arc::clone(&self.poster).post_in_time(message).await
    }

    /// Ends the stream, and with it the connection.
    pub(crate) async fn close(&self) {
        self.end();
        self.poster.client.pool.background.finish(CLOSE_TIME).await;
        self.poster.client.pool.close();
    }

    /// Ends the connection; nothing is said and nothing waited for.
    pub(crate) fn abandon(&self) {
        self.end();
        self.poster.client.pool.close();
    }

    fn end(&self) {
        let closed = Closed::new(ErrorCode::TransportError, "the connection was closed");
        self.poster.dispatcher.close(closed, |_| true);
        if let Some(reading) = &self.reading {
            reading.abort();
        }
    }
}

impl Drop for SseLink {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl Poster {
    /// Sends one message; what the server answers to that is only whether it takes it.
    async fn post(self: Arc<Self>, body: Bytes, sent: Arc<AtomicBool>) -> Result<()> {
        let request =
            HttpRequest { method: Method::POST, url: Some(&self.endpoint), headers: &self.headers, more: &[], body };
        let response = self.client.send(&request, &sent).await?;
        if response.status.is_success() {
            response.body.discard();
            return Ok(());
        }
        match refusal::of_status(response, self.message_bytes).await {
            HttpRefusal::Rpc(refusal) => {
                Err(Error::new(ErrorCode::ProtocolError, "the server refused a message").with_source(refusal))
            }
            HttpRefusal::Other(error) => Err(error),
        }
    }

    async fn post_in_time(self: Arc<Self>, message: Vec<u8>) -> Result<()> {
        if let Some(closed) = self.dispatcher.pending.closed() {
            return Err(closed.to_error());
        }
        let time = self.write_time;
        match timeout(time, self.post(Bytes::from(message), Arc::default())).await {
            Ok(posted) => posted,
            Err(_) => Err(not_taken(time)),
        }
    }

    /// The answer was quicker than the receipt of the question, which is still read: so its connection can be used again.
    fn finish_aside(&self, posting: impl Future<Output = Result<()>> + Send + 'static) {
        let time = self.write_time;
        self.client.pool.background.spawn(async move {
            drop(timeout(time, posting).await);
        });
    }
}

impl Outlet for Answers {
    fn send(&self, message: Vec<u8>) {
        let poster = Arc::clone(&self.0);
        self.0.client.pool.background.spawn(async move {
            if let Err(error) = poster.post_in_time(message).await {
                tracing::debug!(%error, "a message that nobody waits for was not taken by the server");
            }
        });
    }
}

/// Opens the stream and finds the address for messages on it.
async fn open(client: &HttpClient, limits: &Limits) -> Result<(EventStream, Url)> {
    let mut headers = client.headers().clone();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    let request = HttpRequest { method: Method::GET, url: None, headers: &headers, more: &[], body: Bytes::new() };
    let response = client.send(&request, &AtomicBool::new(false)).await?;
    if !response.status.is_success() {
        return Err(match refusal::of_status(response, limits.message_bytes).await {
            HttpRefusal::Rpc(refusal) => {
                Error::new(ErrorCode::ProtocolError, "the server refused its event stream").with_source(refusal)
            }
            HttpRefusal::Other(error) => error,
        });
    }
    if !is_event_stream(&response) {
        return Err(refusal::of_content(response, "a stream of events").await.with_may_have_run(false));
    }
    let mut events = EventStream::new(response.body, limits.event_bytes, Position::default());
    loop {
        match events.next().await {
            Some(Ok(Decoded::Event(event))) if event.event.as_deref() == Some("endpoint") => {
                let address = event.data.unwrap_or_default();
                let address = String::from_utf8_lossy(&address);
                return match client.resolve(address.trim()) {
                    Some(endpoint) => Ok((events, endpoint)),
                    None => Err(no_endpoint(&format!(
                        "names an endpoint outside its own origin: {}",
                        excerpt(address.as_bytes())
                    ))),
                };
            }
            Some(Ok(Decoded::Event(_) | Decoded::TooLarge { .. })) => {}
            Some(Err(error)) => return Err(no_endpoint("broke off its event stream").with_source(error)),
            None => return Err(no_endpoint("ended its event stream")),
        }
    }
}

/// Reads the stream to its end, and ends the connection with it.
async fn read(end: End, mut events: EventStream, event_bytes: usize, outlet: Arc<dyn Outlet>) {
    let broken = loop {
        match events.next().await {
            Some(Ok(Decoded::Event(event))) => {
                // What is not a message (a second endpoint, a ping) is not for the dispatcher.
                let is_message = event.event.as_deref().is_none_or(|kind| kind == "message");
                if is_message && let Some(data) = event.data {
                    deliver(&end.0, data, MessageOrigin::Connection, &outlet);
                }
            }
            Some(Ok(Decoded::TooLarge { id: Some(id) })) => end.0.reject(id, too_large(event_bytes)),
            Some(Ok(Decoded::TooLarge { id: None })) => {}
            Some(Err(error)) => break Some(error),
            None => break None,
        }
    };
    let message = match broken {
        Some(error) => format!("the server's event stream broke: {error}"),
        None => "the server ended its event stream".to_owned(),
    };
    let closed = Closed::new(ErrorCode::TransportError, message);
    end.0.close(closed.with_hint("connect again; the server may have been restarted"), |_| true);
}

/// Fails everything in flight when reading ends, even by a panic of a handler.
struct End(Arc<Dispatcher>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.close(Closed::new(ErrorCode::TransportError, "the connection ended"), |_| true);
    }
}

fn no_endpoint(what: &str) -> Error {
    Error::new(ErrorCode::ProtocolError, format!("the server {what}"))
        .with_hint("check the server's address: that of an HTTP+SSE server often ends in /sse")
}

impl fmt::Debug for SseLink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SseLink").field("endpoint", &shown(&self.poster.endpoint)).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "sse_link_tests.rs"]
mod tests;
