//! Owns one HTTP request from its arrival to its answer: recording, faults, the checks all forms share.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming as RequestBody;
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode};

use super::body::{self, Body};
use super::faults::Struck;
use super::tap::Breaker;
use super::{Form, Shared, http_sse, streamable};
use crate::frame::Incoming;
use crate::recorder::RecordedEvent;

/// One request, read whole.
pub(crate) struct Exchange {
    pub(crate) shared: Arc<Shared>,
    pub(crate) breaker: Breaker,
    pub(crate) head: Parts,
    pub(crate) body: Bytes,
    /// The JSON-RPC method in the body, if there is one.
    pub(crate) rpc_method: Option<String>,
    /// The JSON-RPC id in the body, as written.
    pub(crate) rpc_id: Option<String>,
}

/// Answers one request. An error closes the connection without a word.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    breaker: Breaker,
    request: Request<RequestBody>,
) -> io::Result<Response<Body>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let (rpc_method, rpc_id) = match serde_json::from_slice::<Incoming<'_>>(&body) {
        Ok(message) => (message.method.map(|method| method.to_string()), message.id.map(|id| id.get().to_string())),
        Err(_) => (None, None),
    };
    let exchange = Exchange { shared, breaker, head, body, rpc_method, rpc_id };
    exchange.record();
    match exchange.shared.faults.strike(&exchange) {
        None => exchange.answer().await,
        Some(Struck::Answer(response)) => {
            exchange.record_body();
            Ok(response)
        }
        Some(Struck::Broken) => {
            exchange.record_body();
            Err(io::ErrorKind::ConnectionReset.into())
        }
        Some(Struck::ForgetSession) => {
            exchange.shared.sessions.forget(exchange.header("mcp-session-id").unwrap_or_default());
            exchange.record_body();
            Ok(plain(StatusCode::NOT_FOUND, "no such session"))
        }
        Some(Struck::Late(pause)) => {
            tokio::time::sleep(pause).await;
            exchange.answer().await
        }
        Some(Struck::Cut { body_bytes, how }) => {
            let breaker = exchange.breaker.clone();
            Ok(exchange.answer().await?.map(|whole| body::cut(whole, body_bytes, how, breaker)))
        }
    }
}

impl Exchange {
    async fn answer(self) -> io::Result<Response<Body>> {
        let own = [self.shared.address.to_string(), format!("localhost:{}", self.shared.address.port())];
        let is_own = |host: &str| own.iter().any(|known| known == host);
        if let Some(origin) = self.header("origin")
            && !origin.strip_prefix("http://").is_some_and(is_own)
        {
            return Ok(plain(StatusCode::FORBIDDEN, "this origin may not talk to me"));
        }
        if self.shared.peer.scenario().http.check_host && !self.header("host").is_some_and(is_local) {
            return Ok(plain(StatusCode::FORBIDDEN, "this is not my name"));
        }
        match self.shared.form {
            Form::Streamable => streamable::serve(self).await,
            Form::HttpSse => Ok(http_sse::serve(&self)),
        }
    }

    /// A header as text; the name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn violation(&self, text: &str) {
        self.shared.peer.recorder().add(RecordedEvent::Violation(text.to_string()));
    }

    /// Records the body of a request that the peer itself does not get to see.
    pub(crate) fn record_body(&self) {
        if !self.body.is_empty() {
            self.shared.peer.recorder().add_frame(&self.body);
        }
    }

    fn record(&self) {
        let headers = self.head.headers.iter();
        let headers =
            headers.map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
        let path = self.head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
        let verb = self.head.method.to_string();
        self.shared.peer.recorder().add(RecordedEvent::Http { verb, path, headers: headers.collect() });
    }
}

/// Whether a `Host` names this machine, with or without a port.
fn is_local(host: &str) -> bool {
    let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(name, _)| name);
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

pub(crate) fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(body::full(text));
    *response.status_mut() = status;
    response
}
