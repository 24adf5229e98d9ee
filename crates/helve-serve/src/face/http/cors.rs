//! What a browser has to be told before it lets a page of another origin speak to us, and read what we say.
//!
//! Only pages whose origin the person named are let in so: any program on this machine can serve a page.

use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};

use super::body::Body;
use super::guard::Guard;
use super::respond::plain;

/// What pages may do here.
const METHODS: &str = "GET, POST, DELETE";

/// What pages may read of an answer besides its body.
const EXPOSED: &str = "Mcp-Session-Id, WWW-Authenticate";

/// How long, in seconds, a browser need not ask again.
const MAX_AGE: &str = "600";

/// The origin of the page that a request comes from, if the person named it.
pub(super) fn named_origin(guard: &Guard, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    let text = origin.to_str().ok()?;
    guard.origins.iter().any(|named| named == text).then(|| origin.clone())
}

/// Is this a browser's question whether a page may send what it wants to send?
pub(super) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to that question. A page brings its token afterwards; here it cannot.
pub(super) fn preflight(headers: &HeaderMap) -> Response<Body> {
    let mut response = plain(StatusCode::NO_CONTENT, "");
    let told = response.headers_mut();
    told.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    told.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
    // Arguments may be mirrored in headers of any name.
    if let Some(wanted) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        told.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    response
}

/// The page of this origin may read the answer.
pub(super) fn open(response: &mut Response<Body>, origin: HeaderValue) {
    let told = response.headers_mut();
    told.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    told.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    told.append(header::VARY, HeaderValue::from_static("Origin"));
}
