//! Owns Streamable HTTP of both eras: POST, GET and DELETE on one endpoint.

use std::io;
use std::sync::Arc;

use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Response, StatusCode};
use serde_json::{Value, json};

use super::body::{self, Body};
use super::event_log::{EventLog, EventStyle};
use super::exchange::{Exchange, plain};
use super::headers;
use super::session::Session;
use crate::frame::{Frame, MessageKind, Out, OutReader, Part};
use crate::http_script::{HttpAnswer, UnknownSession};
use crate::meta::{HEADER_MISMATCH, MISSING_CAPABILITY, PROTOCOL_VERSION, UNSUPPORTED_VERSION};
use crate::peer::{Connection, Peer};
use crate::scenario::Era;

const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

pub(crate) async fn serve(exchange: Exchange) -> io::Result<Response<Body>> {
    let path = exchange.head.uri.path();
    if path != "/mcp" && path != "/moved" {
        exchange.record_body();
        return Ok(plain(StatusCode::NOT_FOUND, "nothing here"));
    }
    let legacy = exchange.shared.peer.scenario().era != Era::Modern;
    match exchange.head.method {
        Method::POST => post(exchange).await,
        Method::GET if legacy => Ok(get(&exchange)),
        Method::DELETE if legacy => Ok(delete(&exchange)),
        _ => Ok(plain(StatusCode::METHOD_NOT_ALLOWED, "not here")),
    }
}

async fn post(exchange: Exchange) -> io::Result<Response<Body>> {
    let accept = exchange.header("accept").unwrap_or_default();
    if !accept.contains("application/json") || !accept.contains("text/event-stream") {
        exchange.violation("a POST must accept both application/json and text/event-stream");
        exchange.record_body();
        return Ok(plain(StatusCode::NOT_ACCEPTABLE, "accept both content types"));
    }
    if !exchange.header("content-type").unwrap_or_default().starts_with("application/json") {
        exchange.violation("a POST must be application/json");
        exchange.record_body();
        return Ok(plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send application/json"));
    }
    let message: Value = serde_json::from_slice(&exchange.body).unwrap_or_default();
    if is_modern(&exchange, &message) { modern(exchange, &message).await } else { legacy(exchange, &message).await }
}

fn is_modern(exchange: &Exchange, message: &Value) -> bool {
    let scenario = exchange.shared.peer.scenario();
    let named = exchange.header("mcp-protocol-version");
    let in_header = named.is_some_and(|version| scenario.modern_versions.iter().any(|known| known == version));
    let in_body = message["params"]["_meta"].get(PROTOCOL_VERSION).is_some();
    match scenario.era {
        Era::Modern => true,
        Era::Legacy => false,
        Era::Dual => in_header || in_body,
    }
}

async fn modern(exchange: Exchange, message: &Value) -> io::Result<Response<Body>> {
    let shared = Arc::clone(&exchange.shared);
    let id = exchange.rpc_id.clone();
    if shared.peer.scenario().http.check_headers
        && id.is_some()
        && let Err(text) = headers::check(&exchange, message)
    {
        exchange.record_body();
        exchange.violation(&text);
        return Ok(rpc_error(StatusCode::BAD_REQUEST, id.as_deref(), HEADER_MISMATCH, &text));
    }
    // Nothing outlives a modern request, so what belongs to no request goes nowhere.
    let (nowhere, _) = Out::new();
    let connection = Connection::new(nowhere, shared.ending.clone());
    let (out, mut queue) = Out::new();
    shared.peer.receive(&connection, &exchange.body, &out);
    drop(out);
    let Some(id) = id else { return Ok(plain(StatusCode::ACCEPTED, "")) };
    let hang_up = HangUp { peer: shared.peer.clone(), connection, id };
    let first = queue.try_next();
    if let Some(Frame::Message { kind: MessageKind::ErrorResponse(code), parts }) = &first {
        return Ok(json_parts(error_status(*code, exchange.rpc_method.as_deref()), parts.clone()));
    }
    let streams = shared.peer.scenario().http.answer == HttpAnswer::Sse;
    if streams || exchange.rpc_method.as_deref() == Some("subscriptions/listen") {
        let log = EventLog::new(EventStyle::Plain);
        return Ok(event_stream(log, first, queue, None, hang_up));
    }
    Ok(json_answer(first, queue, None, hang_up).await)
}

async fn legacy(exchange: Exchange, message: &Value) -> io::Result<Response<Body>> {
    let shared = Arc::clone(&exchange.shared);
    let script = &shared.peer.scenario().http;
    let opening = exchange.rpc_method.as_deref() == Some("initialize");
    let session = if opening && (script.sessions || shared.sessions.open() == 0) {
        shared.sessions.create(&shared, standalone_style(&exchange))
    } else {
        match find_session(&exchange) {
            Ok(session) => session,
            Err(refusal) => {
                exchange.record_body();
                return Ok(*refusal);
            }
        }
    };
    if !opening && let Err(refusal) = check_version(&exchange, &session) {
        exchange.record_body();
        return Ok(*refusal);
    }
    let (out, mut queue) = Out::new();
    shared.peer.receive(&session.connection, &exchange.body, &out);
    drop(out);
    let is_request = exchange.rpc_id.is_some() && message.get("method").is_some();
    if !is_request {
        return Ok(plain(StatusCode::ACCEPTED, ""));
    }
    let first = queue.try_next();
    let mut response = match script.answer {
        HttpAnswer::Sse => {
            let log = session.new_stream(script.resumable, script.retry_ms);
            event_stream(log, first, queue, script.close_after_events, ())
        }
        HttpAnswer::Json => json_answer(first, queue, Some(&session.connection.standalone), ()).await,
    };
    if opening
        && script.sessions
        && let Ok(value) = HeaderValue::from_str(&session.id)
    {
        response.headers_mut().insert(SESSION_HEADER, value);
    }
    Ok(response)
}

fn get(exchange: &Exchange) -> Response<Body> {
    let script = &exchange.shared.peer.scenario().http;
    if !script.get_stream {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "no stream here");
    }
    if !exchange.header("accept").unwrap_or_default().contains("text/event-stream") {
        exchange.violation("a GET must accept text/event-stream");
        return plain(StatusCode::NOT_ACCEPTABLE, "accept text/event-stream");
    }
    let session = match find_session(exchange) {
        Ok(session) => session,
        Err(refusal) => return *refusal,
    };
    let (log, start) = match exchange.header("last-event-id") {
        Some(event) => match session.resume(event) {
            Some(place) => place,
            None => return plain(StatusCode::BAD_REQUEST, "no such event"),
        },
        None if session.standalone.has_reader() => return plain(StatusCode::CONFLICT, "there is a stream already"),
        None => (Arc::clone(&session.standalone), session.standalone.unread()),
    };
    let body = log.body(start, script.close_after_events, ());
    with_type(StatusCode::OK, "text/event-stream", body)
}

fn delete(exchange: &Exchange) -> Response<Body> {
    match exchange.header("mcp-session-id") {
        None => plain(StatusCode::BAD_REQUEST, "which session?"),
        Some(id) if exchange.shared.sessions.forget(id) => plain(StatusCode::NO_CONTENT, ""),
        Some(_) => plain(StatusCode::NOT_FOUND, "no such session"),
    }
}

fn find_session(exchange: &Exchange) -> Result<Arc<Session>, Box<Response<Body>>> {
    let sessions = &exchange.shared.sessions;
    let script = &exchange.shared.peer.scenario().http;
    let told_apart = script.sessions;
    let id = exchange.header("mcp-session-id");
    let session = if told_apart { id.and_then(|id| sessions.find(id)) } else { sessions.only() };
    match session {
        Some(session) => Ok(session),
        None if told_apart && id.is_some() && script.unknown_session == UnknownSession::NotFound => {
            Err(Box::new(plain(StatusCode::NOT_FOUND, "no such session")))
        }
        None => {
            let text = "Bad Request: no session; initialize first";
            Err(Box::new(rpc_error(StatusCode::BAD_REQUEST, exchange.rpc_id.as_deref(), -32000, text)))
        }
    }
}

/// The version header: required from 2025-06-18 on, and never one that is not known.
fn check_version(exchange: &Exchange, session: &Session) -> Result<(), Box<Response<Body>>> {
    let agreed = session.connection.state().legacy_version.clone().unwrap_or_default();
    match exchange.header("mcp-protocol-version") {
        Some(version) if exchange.shared.peer.scenario().legacy_versions.iter().any(|known| known == version) => {
            if version != agreed {
                exchange.violation(&format!("mcp-protocol-version is {version}, agreed was {agreed}"));
            }
            Ok(())
        }
        Some(version) => {
            let text = format!("Bad Request: unsupported protocol version {version}");
            Err(Box::new(rpc_error(StatusCode::BAD_REQUEST, exchange.rpc_id.as_deref(), -32000, &text)))
        }
        None => {
            if agreed.as_str() >= "2025-06-18" {
                exchange.violation("mcp-protocol-version is missing");
            }
            Ok(())
        }
    }
}

fn standalone_style(exchange: &Exchange) -> EventStyle {
    let script = &exchange.shared.peer.scenario().http;
    if script.resumable { EventStyle::Numbered { stream: 0, retry_ms: script.retry_ms } } else { EventStyle::Plain }
}

/// Answers with a stream of events that ends with the request.
fn event_stream<G: Send + 'static>(
    log: Arc<EventLog>,
    first: Option<Frame>,
    queue: OutReader,
    limit: Option<usize>,
    guard: G,
) -> Response<Body> {
    let body = Arc::clone(&log).body(0, limit, guard);
    tokio::spawn(log.pump(first, queue));
    let mut response = with_type(StatusCode::OK, "text/event-stream", body);
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response.headers_mut().insert("cache-control", HeaderValue::from_static("no-cache"));
    response
}

/// Answers with one JSON object once it is there; what comes before it goes to `others`, if anywhere.
async fn json_answer<G>(
    mut next: Option<Frame>,
    mut queue: OutReader,
    others: Option<&Out>,
    guard: G,
) -> Response<Body> {
    loop {
        let frame = match next.take() {
            Some(frame) => frame,
            None => match queue.next().await {
                Some(frame) => frame,
                None => {
                    drop(guard);
                    return plain(StatusCode::INTERNAL_SERVER_ERROR, "the peer has no answer");
                }
            },
        };
        match frame {
            Frame::Message { kind: MessageKind::Response | MessageKind::ErrorResponse(_), parts }
            | Frame::Raw(parts) => {
                drop(guard);
                return json_parts(StatusCode::OK, parts);
            }
            Frame::Message { kind: MessageKind::Other, .. } => {
                if let Some(others) = others {
                    others.send(frame);
                }
            }
            Frame::Disconnect | Frame::CloseStream => {}
        }
    }
}

fn error_status(code: i64, method: Option<&str>) -> StatusCode {
    match code {
        -32601 => StatusCode::NOT_FOUND,
        HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION => StatusCode::BAD_REQUEST,
        // Metadata that is missing makes a bad request; a tool or resource that is missing does not.
        -32602 if !matches!(method, Some("tools/call" | "resources/read" | "prompts/get")) => StatusCode::BAD_REQUEST,
        -32700 => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

fn rpc_error(status: StatusCode, id: Option<&str>, code: i64, text: &str) -> Response<Body> {
    let error = json!({ "code": code, "message": text });
    let id = id.unwrap_or("null");
    with_type(status, "application/json", body::full(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)))
}

fn json_parts(status: StatusCode, parts: Vec<Part>) -> Response<Body> {
    let length: u64 = parts.iter().map(Part::len).sum();
    let mut response = with_type(status, "application/json", body::parts(parts, 1));
    response.headers_mut().insert("content-length", HeaderValue::from(length));
    response
}

fn with_type(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", HeaderValue::from_static(content_type));
    response
}

/// Cancels a modern request when its answer is dropped before its end: hanging up is how such a request is cancelled.
struct HangUp {
    peer: Peer,
    connection: Arc<Connection>,
    id: String,
}

impl Drop for HangUp {
    fn drop(&mut self) {
        self.connection.cancel(self.peer.recorder(), &self.id);
        self.peer.inner.listeners.remove(&self.connection, &self.id);
    }
}
