//! Owns how requests are read and answers are written: which path leads where.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode, header};
use serde_json::Value;

use super::state::SeenRequest;
use super::{Shared, device, gate, grants, metadata};

pub(crate) type Body = BoxBody<Bytes, hyper::Error>;

/// A request, read to its end.
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) authorization: Option<String>,
    pub(crate) body: Bytes,
}

/// What is answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(status: u16, value: &Value) -> Self {
        Self { status, headers: vec![("content-type", "application/json".to_owned())], body: value.to_string().into() }
    }

    pub(crate) fn text(status: u16, kind: &str, text: &str) -> Self {
        Self { status, headers: vec![("content-type", kind.to_owned())], body: text.into() }
    }

    pub(crate) fn to(place: &str) -> Self {
        Self { status: 302, headers: vec![("location", place.to_owned())], body: Vec::new() }
    }

    pub(crate) fn refusal(status: u16, error: &str, words: &str) -> Self {
        Self::json(status, &serde_json::json!({"error": error, "error_description": words}))
    }
}

/// Answers one request. An error closes the connection without an answer.
pub(crate) async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Body>, std::io::Error> {
    let delay = shared.state().switches.delay;
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| std::io::Error::other("the request broke off"))?.to_bytes();
    let authorization =
        head.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let is_form =
        head.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-www"));
    let mut parameters = members(head.uri.query().unwrap_or_default());
    if is_form {
        parameters.extend(members(&String::from_utf8_lossy(&body)));
    }
    let asked =
        Asked { method: head.method.to_string(), path: head.uri.path().to_owned(), parameters, authorization, body };
    shared.state().seen.push(SeenRequest {
        method: asked.method.clone(),
        path: asked.path.clone(),
        parameters: asked.parameters.clone(),
        authorization: asked.authorization.clone(),
    });
    if asked.path == "/mcp" {
        return gate::pass(&shared, &head.headers, asked).await;
    }
    let answer = match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", path) if path.starts_with("/.well-known/") => metadata::document(&shared, path),
        ("GET", "/authorize") => grants::authorize(&shared, &asked),
        ("POST", "/token") => {
            let wait = shared.state().switches.token_delay;
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            grants::token(&shared, &asked).ok_or_else(|| std::io::Error::other("closed without an answer"))?
        }
        ("POST", "/device_authorization") => device::begin(&shared, &asked),
        ("GET", "/device") => device::typed(&shared, &asked),
        ("POST", "/register") => grants::register(&shared, &asked),
        ("POST", "/revoke") => grants::revoke(&shared, &asked),
        _ => Answer::text(404, "text/html", "<h1>Not Found</h1>"),
    };
    Ok(written(answer))
}

pub(crate) fn written(answer: Answer) -> Response<Body> {
    let body = Full::new(Bytes::from(answer.body)).map_err(|never: Infallible| match never {}).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in answer.headers {
        if let Ok(value) = value.parse() {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// The members of a form or query.
pub(crate) fn members(text: &str) -> BTreeMap<String, String> {
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        })
        .collect()
}

/// Percent signs and plus signs undone.
pub(crate) fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match (byte, hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(value)) => {
                out.push(value);
                at += 3;
            }
            (b'+', _) => {
                out.push(b' ');
                at += 1;
            }
            (byte, _) => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// What separates members, and what is not ASCII, as percent signs.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}
