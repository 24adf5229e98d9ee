//! What the hub answers with over HTTP: bytes at once, or events as they come. Every page says what a browser may do with it.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use hyper::body::Frame;
use tokio::sync::mpsc;

/// The body of an answer.
#[derive(Debug)]
pub enum Body {
    /// All of it.
    Whole(Option<Bytes>),
    /// Events, until the sender ends.
    Events(mpsc::Receiver<Bytes>),
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Events(events) => events.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event)))),
        }
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            Self::Whole(bytes) => {
                hyper::body::SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Self::Events(_) => hyper::body::SizeHint::default(),
        }
    }
}

pub(crate) fn of(status: StatusCode, media_type: &'static str, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::Whole(Some(text.into())));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A page.
pub(crate) fn html(status: StatusCode, text: String) -> Response<Body> {
    let mut response = of(status, "text/html; charset=utf-8", text);
    let headers = response.headers_mut();
    let policy = HeaderValue::from_static(helve_page::CONTENT_SECURITY_POLICY);
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    // Not `no-referrer`: under it a browser sends `Origin: null` with the page's own forms, which the door refuses.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    response
}

pub(crate) fn json(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    of(status, "application/json", text)
}

pub(crate) fn plain(status: StatusCode, text: impl Into<String>) -> Response<Body> {
    of(status, "text/plain; charset=utf-8", text.into())
}

/// Leads to another page after something was done.
pub(crate) fn see_other(path: &str) -> Response<Body> {
    let mut response = plain(StatusCode::SEE_OTHER, "");
    // A path that cannot be a header leads to the beginning.
    let target = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(header::LOCATION, target);
    response
}

pub(crate) fn events(events: mpsc::Receiver<Bytes>) -> Response<Body> {
    let mut response = of(StatusCode::OK, "text/event-stream", "");
    *response.body_mut() = Body::Events(events);
    response
}
