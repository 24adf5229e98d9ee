//! Streamable HTTP: every message is a POST, the answer is JSON or a stream of events, and a legacy server may also
//! speak unasked on a stream of its own.
//!
//! A call is driven by its caller's task. Its answer is found by id wherever it comes: in the body of its POST, on the
//! stream that resumes it, or on the stream that was opened once for all.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use helve_model::ErrorCode;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::dispatch::{Dispatcher, Origin, Outlet, unacceptable};
use crate::encode;
use crate::envelope::{self, Incoming};
use crate::error::{Error, Result, RpcError};
use crate::limits::Limits;
use crate::pending::{Answer, Closed, Listener, Slot};
use crate::request::{Outgoing, Times, within};
use crate::sync::lock;
use crate::transport::http::body::Unreadable;
use crate::transport::http::client::{HttpClient, HttpRequest, HttpResponse};
use crate::transport::http::events::{EventStream, Position, deliver};
use crate::transport::http::headers;
use crate::transport::http::refusal::{self, Refusal};
use crate::transport::http::sse::Decoded;
use crate::transport::http::standalone;
use crate::transport::http::target::HttpTarget;
use crate::transport::stream::too_large;

/// How long the opening of the server's own stream is waited for; it goes on opening in the background.
const OPEN_TIME: Duration = Duration::from_secs(1);
/// How long saying goodbye may take.
const CLOSE_TIME: Duration = Duration::from_secs(2);
/// How long to wait before a broken stream is resumed, when the server does not say.
pub(crate) const RESUME_DELAY: Duration = Duration::from_millis(500);
/// A server cannot make us connect more often than this.
pub(crate) const LEAST_DELAY: Duration = Duration::from_millis(50);
/// Attempts to resume the stream of one call that fail one after another.
const RESUME_FAILURES: u32 = 3;

/// The connection to a server that speaks Streamable HTTP.
pub(crate) struct StreamableLink {
    inner: Arc<Inner>,
    outlet: Arc<dyn Outlet>,
}

/// What both sides speak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpProtocol {
    pub(crate) version: String,
    /// Stateless: no session, no resumption, no stream of the server's own; the method stands in a header.
    pub(crate) modern: bool,
}

/// What the tasks of one connection share.
pub(crate) struct Inner {
    pub(crate) client: HttpClient,
    pub(crate) dispatcher: Arc<Dispatcher>,
    message_bytes: usize,
    pub(crate) event_bytes: usize,
    write_time: Duration,
    state: Mutex<State>,
}

struct State {
    protocol: Option<HttpProtocol>,
    session: Option<HeaderValue>,
    /// The headers of every POST at this time.
    post: Arc<HeaderMap>,
    listening: Option<AbortHandle>,
}

/// How the POST of a request ended.
enum Posted {
    /// Its answer, or the failure of its answer, was handed to the dispatcher.
    Delivered,
    Refused(RpcError),
}

/// The way back for answers to the server's questions: each is a POST of its own.
struct Answers(Arc<Inner>);

impl StreamableLink {
    /// Nothing is connected before the first message.
    pub(crate) fn new(target: HttpTarget, dispatcher: Arc<Dispatcher>, limits: &Limits) -> Result<Self> {
        let client = HttpClient::new(target)?;
        let post = Arc::new(post_headers(client.headers(), None, None));
        let inner = Arc::new(Inner {
            client,
            dispatcher,
            message_bytes: limits.message_bytes,
            event_bytes: limits.event_bytes,
            write_time: limits.write_stall,
            state: Mutex::new(State { protocol: None, session: None, post, listening: None }),
        });
        let outlet = Arc::new(Answers(Arc::clone(&inner)));
        Ok(Self { inner, outlet })
    }

    /// From now on this is spoken.
    pub(crate) fn set_protocol(&self, protocol: HttpProtocol) {
        self.inner.change(|state| state.protocol = Some(protocol));
    }

    /// The session the server gave us.
    pub(crate) fn session_id(&self) -> Option<String> {
        let session = lock(&self.inner.state).session.clone()?;
        session.to_str().ok().map(str::to_owned)
    }

    /// Goes on with a session of an earlier connection.
    pub(crate) fn resume_session(&self, id: &str) -> Result<()> {
        let id = HeaderValue::from_str(id)
            .map_err(|_| Error::new(ErrorCode::Config, "the session id has characters in it that cannot be sent"))?;
        self.inner.change(|state| state.session = Some(id));
        Ok(())
    }

    /// Sends a request and waits for its answer. Dropping the future tells the peer in its era's way.
    pub(crate) async fn exchange(
        &self,
        mut request: Outgoing<'_>,
        times: Times,
        listener: Option<Listener>,
    ) -> Result<Answer> {
        let slot = Arc::new(Slot::new(listener));
        self.inner.dispatcher.pending.insert(request.id, Arc::clone(&slot))?;
        let sent = AtomicBool::new(false);
        let in_flight = InFlight {
            inner: &self.inner,
            id: request.id,
            cancellable: request.cancellable,
            meta: request.cancel_meta,
            sent: &sent,
        };
        if request.method == "initialize" {
            // A new session begins: the old one, if any, is over.
            self.inner.change(|state| state.session = None);
        }
        let body = Bytes::from(std::mem::take(&mut request.body));
        let answered = async {
            tokio::select! {
                biased;
                answer = slot.wait() => Ok(answer),
                posted = self.inner.post_request(&request, body, &sent, &self.outlet) => match posted {
                    Ok(Posted::Delivered) => Ok(slot.wait().await),
                    Ok(Posted::Refused(refusal)) => self.unless_answered(request.id, &slot, Ok(Answer::Refused(refusal))).await,
                    Err(error) => self.unless_answered(request.id, &slot, Err(error)).await,
                },
            }
        };
        match within(times, &slot, answered).await {
            Ok(Ok(Answer::Failed(error))) if !sent.load(Ordering::Relaxed) => Err(error.with_may_have_run(false)),
            Ok(answer) => answer,
            Err(elapsed) => Err(elapsed.into_error(in_flight.abandon())),
        }
    }

    /// Sends a notification and waits until the server has taken it.
    pub(crate) async fn notify(&self, message: Vec<u8>) -> Result<()> {
        self.inner.post_message(message).await
    }

    /// Opens the stream on which a legacy server speaks unasked. Returns when the server has begun it (true), has none
    /// (false), or takes too long (false; it may still begin).
    pub(crate) async fn open_stream(&self) -> bool {
        if lock(&self.inner.state).protocol.as_ref().is_some_and(|protocol| protocol.modern) {
            return false;
        }
        let (begun, has_begun) = oneshot::channel();
        let listening = standalone::listen(Arc::clone(&self.inner), Arc::clone(&self.outlet), begun);
        let listening = self.inner.client.pool.background.spawn(listening);
        let before = std::mem::replace(&mut lock(&self.inner.state).listening, listening);
        if let Some(before) = before {
            before.abort();
        }
        matches!(timeout(OPEN_TIME, has_begun).await, Ok(Ok(true)))
    }

    /// Ends the session at the server, and everything here.
    pub(crate) async fn close(&self) {
        let listening = lock(&self.inner.state).listening.take();
        if let Some(listening) = listening {
            listening.abort();
        }
        self.end_calls();
        self.inner.client.pool.background.finish(CLOSE_TIME).await;
        let session = std::mem::take(&mut lock(&self.inner.state).session);
        if let Some(session) = session {
            // A server that keeps the session all the same ends it by its own clock.
            drop(timeout(CLOSE_TIME, self.inner.delete(session)).await);
        }
        self.inner.client.pool.close();
    }

    /// Another stream may have answered while the POST failed: then that answer counts.
    async fn unless_answered(&self, id: u64, slot: &Slot, otherwise: Result<Answer>) -> Result<Answer> {
        match self.inner.dispatcher.pending.remove(id) {
            Some(_) => otherwise,
            None => Ok(slot.wait().await),
        }
    }

    fn end_calls(&self) {
        let closed = Closed::new(ErrorCode::TransportError, "the connection was closed");
        self.inner.dispatcher.close(closed, |_| true);
    }
}

impl Drop for StreamableLink {
    fn drop(&mut self) {
        self.end_calls();
        self.inner.client.pool.close();
    }
}

impl Inner {
    /// The headers of a GET or DELETE in this session.
    pub(crate) fn session_headers(&self) -> HeaderMap {
        let state = lock(&self.state);
        let mut headers = self.client.headers().clone();
        if let Some(session) = &state.session {
            headers.insert(headers::SESSION_ID, session.clone());
        }
        if let Some(version) = state.protocol.as_ref().and_then(version_header) {
            headers.insert(headers::PROTOCOL_VERSION, version);
        }
        headers
    }

    pub(crate) fn has_session(&self) -> bool {
        lock(&self.state).session.is_some()
    }

    /// Asks for a stream of events, beginning after `position`.
    pub(crate) async fn get_stream(&self, position: &Position) -> Result<HttpResponse> {
        let mut headers = self.session_headers();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = position.last_event_id.as_deref().and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(headers::LAST_EVENT_ID, id);
        }
        let request = HttpRequest { method: Method::GET, url: None, headers: &headers, more: &[], body: Bytes::new() };
        self.client.send(&request, &AtomicBool::new(false)).await
    }

    /// POSTs a request and sees to it that whatever comes back reaches the dispatcher.
    async fn post_request(
        &self,
        request: &Outgoing<'_>,
        body: Bytes,
        sent: &AtomicBool,
        outlet: &Arc<dyn Outlet>,
    ) -> Result<Posted> {
        let (headers, protocol) = {
            let state = lock(&self.state);
            (Arc::clone(&state.post), state.protocol.clone())
        };
        let modern = protocol.as_ref().map_or(request.protocol_version.is_some(), |protocol| protocol.modern);
        let mut more = Vec::new();
        if protocol.is_none()
            && let Some(version) = request.protocol_version
        {
            more.push((headers::PROTOCOL_VERSION, headers::encoded(version)));
        }
        if modern {
            more.push((headers::METHOD, headers::encoded(request.method)));
            if let Some(subject) = request.subject {
                more.push((headers::NAME, headers::encoded(subject)));
            }
            for (name, value) in &request.headers {
                if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
                    more.push((name, value));
                }
            }
        }
        let post = HttpRequest { method: Method::POST, url: None, headers: &headers, more: &more, body };
        let response = self.client.send(&post, sent).await?;
        if !response.status.is_success() {
            let had_session = headers.contains_key(headers::SESSION_ID);
            return self.refused(response, had_session && !modern).await;
        }
        if !modern && request.method == "initialize" {
            let session = response.headers.get(headers::SESSION_ID).cloned();
            self.change(|state| state.session = session);
        }
        if let Some(encoding) = response.foreign_encoding() {
            return Err(refusal::of_encoding(&response, &encoding));
        }
        if matches!(response.status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            let status = response.status;
            response.body.discard();
            return Err(no_answer(status));
        }
        match response.content_type().as_deref() {
            Some("text/event-stream") => {
                let events = EventStream::new(response.body, self.event_bytes, Position::default());
                self.read_events(request.id, events, !modern, outlet).await
            }
            Some("application/json") | None => self.read_json(request.id, response, outlet).await,
            Some(_) => Err(refusal::of_content(response).await),
        }
    }

    async fn refused(&self, response: HttpResponse, in_session: bool) -> Result<Posted> {
        let is_not_found = response.status == StatusCode::NOT_FOUND;
        match refusal::of_status(response, self.message_bytes).await {
            // A method nobody knows is 404 too, and says so.
            Refusal::Rpc(refusal) if !is_not_found || !in_session || refusal.code == -32601 => {
                Ok(Posted::Refused(refusal))
            }
            Refusal::Rpc(refusal) => Err(session_expired().with_source(refusal)),
            Refusal::Other(_) if is_not_found && in_session => Err(session_expired()),
            Refusal::Other(error) => Err(error),
        }
    }

    async fn read_json(&self, id: u64, mut response: HttpResponse, outlet: &Arc<dyn Outlet>) -> Result<Posted> {
        let status = response.status;
        let body = match response.body.read(self.message_bytes).await {
            Ok(body) => body,
            Err(Unreadable::TooLarge) => return Err(too_large(self.message_bytes)),
            Err(Unreadable::Broken(error)) => return Err(cut_off().with_source(error)),
        };
        if body.iter().all(u8::is_ascii_whitespace) {
            return Err(no_answer(status));
        }
        deliver(&self.dispatcher, body.clone(), Origin::Request(id), outlet);
        if self.dispatcher.pending.get(id).is_none() {
            return Ok(Posted::Delivered);
        }
        let shown = refusal::excerpt(&body);
        Err(unacceptable(&format!("is not the one to this request: {shown}")).with_http_status(status.as_u16()))
    }

    /// Reads the stream that carries the answer to a request, and the streams that resume it.
    async fn read_events(
        &self,
        id: u64,
        mut events: EventStream,
        resumable: bool,
        outlet: &Arc<dyn Outlet>,
    ) -> Result<Posted> {
        loop {
            let broken = match events.next().await {
                Some(Ok(Decoded::Event(event))) => {
                    if let Some(data) = event.data {
                        deliver(&self.dispatcher, data, Origin::Request(id), outlet);
                        if self.dispatcher.pending.get(id).is_none() {
                            events.finish();
                            return Ok(Posted::Delivered);
                        }
                    }
                    continue;
                }
                Some(Ok(Decoded::TooLarge { id: Some(other) })) if other != id => {
                    self.dispatcher.reject(other, too_large(self.event_bytes));
                    continue;
                }
                Some(Ok(Decoded::TooLarge { .. })) => return Err(too_large(self.event_bytes)),
                Some(Err(error)) => Some(error),
                None => None,
            };
            if !resumable || events.position.last_event_id.is_none() {
                let error = cut_off();
                return Err(match broken {
                    Some(broken) => error.with_source(broken),
                    None => error,
                });
            }
            events = self.resume(std::mem::take(&mut events.position)).await?;
        }
    }

    /// Asks for the rest of a stream that ended before its answer came.
    async fn resume(&self, position: Position) -> Result<EventStream> {
        let mut failures = 0;
        loop {
            tokio::time::sleep(position.retry.unwrap_or(RESUME_DELAY).max(LEAST_DELAY)).await;
            let error = match self.get_stream(&position).await {
                Ok(response) if is_event_stream(&response) => {
                    return Ok(EventStream::new(response.body, self.event_bytes, position));
                }
                Ok(response) => {
                    let temporary =
                        response.status.is_server_error() || response.status == StatusCode::TOO_MANY_REQUESTS;
                    let expired = response.status == StatusCode::NOT_FOUND && self.has_session();
                    let error = not_resumed(&format!("the server answered {}", response.status));
                    response.body.discard();
                    if !temporary {
                        return Err(if expired { error.with_session_expired() } else { error });
                    }
                    error
                }
                Err(error) => not_resumed(error.message()).with_source(error),
            };
            failures += 1;
            if failures >= RESUME_FAILURES {
                return Err(error);
            }
        }
    }

    /// POSTs a message that has no answer.
    async fn post_message(&self, message: Vec<u8>) -> Result<()> {
        let (headers, modern) = {
            let state = lock(&self.state);
            (Arc::clone(&state.post), state.protocol.as_ref().is_some_and(|protocol| protocol.modern))
        };
        let body = Bytes::from(message);
        let mut more = Vec::new();
        if modern && let Some(method) = method_of(&body) {
            more.push((headers::METHOD, headers::encoded(&method)));
        }
        let request = HttpRequest { method: Method::POST, url: None, headers: &headers, more: &more, body };
        let posted = async {
            let response = self.client.send(&request, &AtomicBool::new(false)).await?;
            if response.status.is_success() {
                // Some servers answer what needs no answer.
                response.body.discard();
                return Ok(());
            }
            let had_session = headers.contains_key(headers::SESSION_ID);
            match self.refused(response, had_session && !modern).await? {
                Posted::Delivered => Ok(()),
                Posted::Refused(refusal) => {
                    Err(Error::new(ErrorCode::ProtocolError, "the server refused a notification").with_source(refusal))
                }
            }
        };
        match timeout(self.write_time, posted).await {
            Ok(posted) => posted,
            Err(_) => Err(not_taken(self.write_time)),
        }
    }

    async fn delete(&self, session: HeaderValue) -> Result<()> {
        let mut headers = self.session_headers();
        headers.insert(headers::SESSION_ID, session);
        let request =
            HttpRequest { method: Method::DELETE, url: None, headers: &headers, more: &[], body: Bytes::new() };
        let response = self.client.send(&request, &AtomicBool::new(false)).await?;
        // Many servers do not let a client end a session; nobody is worse off for having asked.
        response.body.discard();
        Ok(())
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = lock(&self.state);
        change(&mut state);
        state.post = Arc::new(post_headers(self.client.headers(), state.protocol.as_ref(), state.session.as_ref()));
    }
}

impl Outlet for Answers {
    fn send(&self, message: Vec<u8>) {
        post_aside(&self.0, message);
    }
}

/// Sends a message nobody waits for.
fn post_aside(inner: &Arc<Inner>, message: Vec<u8>) {
    let poster = Arc::clone(inner);
    let posting = async move {
        if let Err(error) = poster.post_message(message).await {
            tracing::debug!(%error, "a message the server did not wait for was not taken");
        }
    };
    inner.client.pool.background.spawn(posting);
}

/// A request that is cancelled at the peer unless it was answered.
struct InFlight<'link> {
    inner: &'link Arc<Inner>,
    id: u64,
    cancellable: bool,
    meta: &'link str,
    sent: &'link AtomicBool,
}

impl InFlight<'_> {
    /// Gives the request up; true when the peer may have begun with it.
    fn abandon(&self) -> bool {
        let sent = self.sent.load(Ordering::Relaxed);
        if self.inner.dispatcher.pending.remove(self.id).is_none() || !sent {
            return sent;
        }
        // A modern server sees that the stream is gone, and wants to hear nothing else.
        let legacy = lock(&self.inner.state).protocol.as_ref().is_some_and(|protocol| !protocol.modern);
        if self.cancellable && legacy {
            let cancelled = encode::cancelled(self.id, self.meta);
            post_aside(self.inner, cancelled);
        }
        true
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.abandon();
    }
}

pub(crate) fn is_event_stream(response: &HttpResponse) -> bool {
    response.status.is_success()
        && response.content_type().as_deref() == Some("text/event-stream")
        && response.foreign_encoding().is_none()
}

fn post_headers(fixed: &HeaderMap, protocol: Option<&HttpProtocol>, session: Option<&HeaderValue>) -> HeaderMap {
    let mut headers = fixed.clone();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(version) = protocol.and_then(version_header) {
        headers.insert(headers::PROTOCOL_VERSION, version);
    }
    if let Some(session) = session.filter(|_| !protocol.is_some_and(|protocol| protocol.modern)) {
        headers.insert(headers::SESSION_ID, session.clone());
    }
    headers
}

fn version_header(protocol: &HttpProtocol) -> Option<HeaderValue> {
    HeaderValue::from_str(&protocol.version).ok()
}

fn method_of(message: &Bytes) -> Option<String> {
    match envelope::read(&bytestring::ByteString::try_from(message.clone()).ok()?) {
        Incoming::Notification { method, .. } | Incoming::Request { method, .. } => Some(method),
        Incoming::Answer { .. } | Incoming::Unacceptable { .. } | Incoming::Noise => None,
    }
}

fn cut_off() -> Error {
    Error::new(ErrorCode::TransportError, "the connection ended before the server's answer was complete")
        .with_hint("look into the server's log: it may have crashed")
        .with_may_have_run(true)
}

fn not_resumed(why: &str) -> Error {
    Error::new(ErrorCode::TransportError, format!("the server's answer broke off and cannot be resumed: {why}"))
        .with_hint("look into the server's log: it may have crashed or been restarted")
        .with_may_have_run(true)
}

fn not_taken(time: Duration) -> Error {
    let seconds = time.as_secs_f64();
    Error::new(ErrorCode::Timeout, format!("the server did not take a message within {seconds} s"))
        .with_hint("the server is stuck; restart it, or raise the limit `write_stall`")
        .with_may_have_run(true)
}

fn no_answer(status: StatusCode) -> Error {
    Error::new(ErrorCode::ProtocolError, format!("the server took the request ({status}) but gave no answer"))
        .with_hint("the server does not follow the protocol; report it to its authors")
        .with_http_status(status.as_u16())
        .with_may_have_run(true)
}

fn session_expired() -> Error {
    Error::new(ErrorCode::TransportError, "the server no longer knows this session")
        .with_hint("connect again")
        .with_http_status(StatusCode::NOT_FOUND.as_u16())
        .with_session_expired()
}

impl fmt::Debug for StreamableLink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StreamableLink").field("address", &self.inner.client.address()).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "streamable_tests.rs"]
mod tests;
