//! How an answer gets its form: one body of JSON, or a stream of events when something comes before it.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use helve_model::json::RawJson;
use helve_wire::{BoxFuture, RpcError};
use http::{HeaderValue, Response, StatusCode, header};
use tokio::time::sleep;

use super::body::{Body, Events, OnLeave};
use super::events::EventStream;
use crate::ledger::{Exceeded, RETRY_AFTER};
use crate::message::Message;
use crate::outbox::Outlet as _;

/// An answer that takes longer becomes a stream: the agent sees that somebody works, and can come back to it.
const STREAMED_AFTER: Duration = Duration::from_secs(1);

/// What is done for a request: it ends with the answer, or without one when the agent took the request back.
pub(super) type Work = BoxFuture<'static, Option<Answered>>;

/// The answer to a request.
pub(super) struct Answered {
    pub(super) message: Message,
    /// The status it has as a body of its own.
    pub(super) status: StatusCode,
}

/// How a stream is given, should it come to one.
pub(super) trait Streaming {
    /// The agent can read one.
    fn is_possible(&self) -> bool;
    /// The stream begins; gives what is to be done when its reader goes.
    fn begin(&self, stream: &Arc<EventStream>) -> Option<OnLeave>;
}

/// Works until there is an answer, or something to say before it.
pub(super) async fn respond(mut work: Work, stream: Arc<EventStream>, streaming: impl Streaming) -> Response<Body> {
    let mut long = pin!(sleep(STREAMED_AFTER));
    let answered = poll_fn(|context| {
        if let Poll::Ready(answered) = work.as_mut().poll(context) {
            return Poll::Ready(Some(answered));
        }
        if !streaming.is_possible() {
            return Poll::Pending;
        }
        let is_streamed = stream.poll_arrived(context).is_ready() || long.as_mut().poll(context).is_ready();
        if is_streamed { Poll::Ready(None) } else { Poll::Pending }
    })
    .await;
    match answered {
        Some(answered) if !stream.is_waiting() || !streaming.is_possible() => match answered {
            Some(answered) => json(answered.status, answered.message),
            // Taken back: there is nothing to say, and nobody to hear it.
            None => plain(StatusCode::ACCEPTED, ""),
        },
        Some(answered) => {
            finish(&stream, answered);
            events(stream, None, streaming)
        }
        None => {
            let filled = Arc::clone(&stream);
            let rest: BoxFuture<'static, ()> = Box::pin(async move { finish(&filled, work.await) });
            events(stream, Some(rest), streaming)
        }
    }
}

fn finish(stream: &EventStream, answered: Option<Answered>) {
    if let Some(answered) = answered {
        stream.send(answered.message);
    }
    stream.end();
}

fn events(stream: Arc<EventStream>, work: Option<BoxFuture<'static, ()>>, streaming: impl Streaming) -> Response<Body> {
    let on_leave = streaming.begin(&stream);
    // A stream that nobody has read yet can be read from its beginning.
    let reader = stream.read_from(None).unwrap_or_default();
    let mut events = Events::new(stream, reader);
    (events.work, events.on_leave) = (work, on_leave);
    event_stream(events)
}

/// A response that is a stream of events.
pub(super) fn event_stream(events: Events) -> Response<Body> {
    let mut response = Response::new(Body::events(events));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// One message as a body of JSON.
pub(super) fn json(status: StatusCode, message: Message) -> Response<Body> {
    let held = message.held();
    let mut response = Response::new(Body::parts(message.parts()).holding(held));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A refusal as a body of JSON.
pub(super) fn refused(status: StatusCode, id: Option<&RawJson>, error: &RpcError) -> Response<Body> {
    let null = RawJson::from_static("null");
    json(status, Message::answer(id.unwrap_or(&null), &Err(error.clone())))
}

/// The refusal of one who holds as much as it may, with when to try again.
pub(super) fn limited(id: Option<&RawJson>, exceeded: Exceeded) -> Response<Body> {
    let mut response = refused(StatusCode::TOO_MANY_REQUESTS, id, &RpcError::from(exceeded));
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER.as_secs()));
    response
}

/// The refusal of a method that is not one of these.
pub(super) fn not_allowed(allowed: &'static str) -> Response<Body> {
    let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, &format!("only {allowed} is answered here"));
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

/// A line of text, or nothing.
pub(super) fn plain(status: StatusCode, text: &str) -> Response<Body> {
    let mut response =
        Response::new(if text.is_empty() { Body::empty() } else { Body::parts([Bytes::from(format!("{text}\n"))]) });
    *response.status_mut() = status;
    if !text.is_empty() {
        let kind = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    response
}
