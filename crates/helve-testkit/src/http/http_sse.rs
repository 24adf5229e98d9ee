//! Owns HTTP+SSE as of 2024-11-05: a stream opened by GET, and an address for POSTs that it names first.

use std::sync::Arc;

use hyper::header::HeaderValue;
use hyper::{Method, Response, StatusCode};

use super::Shared;
use super::body::Body;
use super::event_log::EventStyle;
use super::exchange::{Exchange, plain};

pub(crate) fn serve(exchange: &Exchange) -> Response<Body> {
    match (&exchange.head.method, exchange.head.uri.path()) {
        (&Method::GET, "/sse") => open(exchange),
        (&Method::POST, "/messages") => post(exchange),
        (_, "/sse" | "/messages") => {
            exchange.record_body();
            plain(StatusCode::METHOD_NOT_ALLOWED, "not here")
        }
        _ => {
            exchange.record_body();
            plain(StatusCode::NOT_FOUND, "nothing here")
        }
    }
}

/// Opens a session; it lasts as long as the stream.
fn open(exchange: &Exchange) -> Response<Body> {
    let shared = &exchange.shared;
    let session = shared.sessions.create(shared, EventStyle::Named);
    session.standalone.push_text(format!("event: endpoint\ndata: /messages?session={}\n\n", session.id));
    let guard = StreamClosed { shared: Arc::clone(shared), session: session.id.clone() };
    let mut response = Response::new(Arc::clone(&session.standalone).body(0, None, guard));
    response.headers_mut().insert("content-type", HeaderValue::from_static("text/event-stream"));
    response
}

fn post(exchange: &Exchange) -> Response<Body> {
    let query = exchange.head.uri.query().unwrap_or_default();
    let session = query.strip_prefix("session=").and_then(|id| exchange.shared.sessions.find(id));
    let Some(session) = session else {
        exchange.record_body();
        return plain(StatusCode::NOT_FOUND, "no such session");
    };
    exchange.shared.peer.receive(&session.connection, &exchange.body, &session.connection.standalone);
    plain(StatusCode::ACCEPTED, "Accepted")
}

/// Ends the session when its stream is gone.
struct StreamClosed {
    shared: Arc<Shared>,
    session: String,
}

impl Drop for StreamClosed {
    fn drop(&mut self) {
        self.shared.sessions.forget(&self.session);
    }
}
