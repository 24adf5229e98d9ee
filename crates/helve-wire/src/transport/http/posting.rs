//! What becomes of a POST: its headers, and where everything that comes back goes.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use bytestring::ByteString;
use helve_model::ErrorCode;
use helve_model::protocol::{code, methods};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use tokio::time::timeout;

use crate::dispatch::{Dispatcher, MessageOrigin, Outlet, unacceptable};
use crate::envelope::{self, Incoming};
use crate::era::speech::{Speech, before_agreement};
use crate::error::{Error, Result, RpcError};
use crate::limits::Limits;
use crate::request::Outgoing;
use crate::transport::http::body::Unreadable;
use crate::transport::http::client::{HttpClient, HttpRequest, HttpResponse};
use crate::transport::http::events::{EventStream, Position, deliver};
use crate::transport::http::headers;
use crate::transport::http::refusal::{self, HttpRefusal, cut_off, no_answer, not_resumed, not_taken, session_expired};
use crate::transport::http::sse::Decoded;
use crate::transport::http::target::HttpTarget;
use crate::transport::stream::too_large;
use helve_model::sync::lock;

/// How long to wait before a broken stream is resumed, when the server does not say.
pub(crate) const RESUME_DELAY: Duration = Duration::from_millis(500);
/// A server cannot make us connect more often than this.
pub(crate) const LEAST_DELAY: Duration = Duration::from_millis(50);
/// Attempts to resume the stream of one call that fail one after another.
const RESUME_FAILURES: u32 = 3;

/// Codes by which servers say that they do not know a session.
const SERVER_CODES: std::ops::RangeInclusive<i64> = code::LEGACY;

/// What both sides speak.
#[derive(Debug, Clone)]
pub(crate) struct HttpProtocol {
    pub(crate) version: String,
    pub(crate) speech: &'static dyn Speech,
}

/// What the tasks of one connection share.
pub(crate) struct Poster {
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
}

/// How the POST of a request ended.
pub(crate) enum Posted {
    /// Its answer, or the failure of its answer, was handed to the dispatcher.
    Delivered,
    Refused(RpcError),
}

impl Poster {
    pub(crate) fn new(target: HttpTarget, dispatcher: Arc<Dispatcher>, limits: &Limits) -> Result<Self> {
        let client = HttpClient::new(target)?;
        let post = Arc::new(post_headers(client.headers(), None, None));
        Ok(Self {
            client,
            dispatcher,
            message_bytes: limits.message_bytes,
            event_bytes: limits.event_bytes,
            write_time: limits.write_stall,
            state: Mutex::new(State { protocol: None, session: None, post }),
        })
    }

    pub(crate) fn set_protocol(&self, protocol: HttpProtocol) {
        self.change(|state| state.protocol = Some(protocol));
    }

    /// `None` while nothing is agreed upon.
    pub(crate) fn speech(&self) -> Option<&'static dyn Speech> {
        lock(&self.state).protocol.as_ref().map(|protocol| protocol.speech)
    }

    pub(crate) fn session(&self) -> Option<HeaderValue> {
        lock(&self.state).session.clone()
    }

    pub(crate) fn set_session(&self, session: Option<HeaderValue>) {
        self.change(|state| state.session = session);
    }

    /// The headers of a GET or DELETE in this session.
    fn session_headers(&self) -> HeaderMap {
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
    pub(crate) async fn post_request(
        &self,
        request: &Outgoing<'_>,
        body: Bytes,
        sent: &AtomicBool,
        outlet: &Arc<dyn Outlet>,
    ) -> Result<Posted> {
        let (headers, agreed) = {
            let state = lock(&self.state);
            (Arc::clone(&state.post), state.protocol.as_ref().map(|protocol| protocol.speech))
        };
        let speech = agreed.unwrap_or_else(|| before_agreement(request.protocol_version));
        let has_sessions = speech.has_http_sessions();
        let mut more = Vec::new();
        if agreed.is_none()
            && let Some(version) = request.protocol_version
        {
            more.push((headers::PROTOCOL_VERSION, headers::encoded(version)));
        }
        if speech.repeats_in_headers() {
            more.push((headers::METHOD, headers::encoded(request.method)));
            if let Some(subject) = request.subject {
                more.push((headers::NAME, headers::encoded(subject)));
            }
            for (name, value) in &request.headers {
                if let Ok(name) = name.parse::<HeaderName>() {
                    more.push((name, headers::encoded(value)));
                }
            }
        }
        let post = HttpRequest { method: Method::POST, url: None, headers: &headers, more: &more, body };
        let response = self.client.send(&post, sent).await?;
        if !response.status.is_success() {
            let had_session = headers.contains_key(headers::SESSION_ID);
            return Box::pin(self.refused(response, had_session && has_sessions)).await;
        }
        if has_sessions && request.method == methods::INITIALIZE {
            let session = response.headers.get(headers::SESSION_ID).cloned();
            self.set_session(session);
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
                self.read_events(request.id, events, has_sessions, outlet).await
            }
            kind if kind.is_none_or(is_json) => self.read_json(request.id, response, outlet).await,
            _ => Err(Box::pin(refusal::of_content(response, "JSON or events")).await),
        }
    }

    async fn refused(&self, response: HttpResponse, in_session: bool) -> Result<Posted> {
        let status = response.status;
        let is_not_found = status == StatusCode::NOT_FOUND;
        match refusal::of_status(response, self.message_bytes).await {
            // Nobody ran a request that was refused so; many a server says so to a session it has forgotten.
            HttpRefusal::Rpc(refusal)
                if in_session && status == StatusCode::BAD_REQUEST && is_about_sessions(&refusal) =>
            {
                Err(session_expired(status).with_source(refusal))
            }
            // A method nobody knows is 404 too, and says so.
            HttpRefusal::Rpc(refusal) if !is_not_found || !in_session || refusal.code == code::METHOD_NOT_FOUND => {
                Ok(Posted::Refused(refusal))
            }
            HttpRefusal::Rpc(refusal) => Err(session_expired(status).with_source(refusal)),
            HttpRefusal::Other(_) if is_not_found && in_session => Err(session_expired(status)),
            HttpRefusal::Other(error) => Err(error),
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
        deliver(&self.dispatcher, body.clone(), MessageOrigin::Request(id), outlet);
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
                        deliver(&self.dispatcher, data, MessageOrigin::Request(id), outlet);
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
            events = Box::pin(self.resume(std::mem::take(&mut events.position))).await?;
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
                    let expired = response.status == StatusCode::NOT_FOUND && self.session().is_some();
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
    pub(crate) async fn post_message(&self, message: Vec<u8>) -> Result<()> {
        let (headers, speech) = {
            let state = lock(&self.state);
            (Arc::clone(&state.post), state.protocol.as_ref().map(|protocol| protocol.speech))
        };
        let speech = speech.unwrap_or_else(|| before_agreement(None));
        if let Some(closed) = self.dispatcher.pending.closed() {
            return Err(closed.to_error());
        }
        let body = Bytes::from(message);
        let mut more = Vec::new();
        if speech.repeats_in_headers()
            && let Some(method) = method_of(&body)
        {
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
            match Box::pin(self.refused(response, had_session && speech.has_http_sessions())).await? {
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

    pub(crate) async fn delete(&self, session: HeaderValue) -> Result<()> {
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

pub(crate) fn is_event_stream(response: &HttpResponse) -> bool {
    response.status.is_success()
        && response.content_type().as_deref() == Some("text/event-stream")
        && response.foreign_encoding().is_none()
}

fn is_json(kind: &str) -> bool {
    kind == "application/json" || kind.ends_with("+json")
}

/// May a refusal be about the session? The protocol has no code for that: servers say that the request as such is wrong,
/// or use a code of their own. What is wrong with a method or its parameters has another code.
fn is_about_sessions(refusal: &RpcError) -> bool {
    refusal.code == code::INVALID_REQUEST || SERVER_CODES.contains(&refusal.code)
}

fn post_headers(fixed: &HeaderMap, protocol: Option<&HttpProtocol>, session: Option<&HeaderValue>) -> HeaderMap {
    let mut headers = fixed.clone();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(version) = protocol.and_then(version_header) {
        headers.insert(headers::PROTOCOL_VERSION, version);
    }
    if let Some(session) = session.filter(|_| protocol.is_none_or(|protocol| protocol.speech.has_http_sessions())) {
        headers.insert(headers::SESSION_ID, session.clone());
    }
    headers
}

fn version_header(protocol: &HttpProtocol) -> Option<HeaderValue> {
    HeaderValue::from_str(&protocol.version).ok()
}

fn method_of(message: &Bytes) -> Option<String> {
    match envelope::read(&ByteString::try_from(message.clone()).ok()?) {
        Incoming::Notification { method, .. } | Incoming::Request { method, .. } => Some(method),
        Incoming::Answer { .. } | Incoming::Unacceptable { .. } | Incoming::Noise => None,
    }
}
