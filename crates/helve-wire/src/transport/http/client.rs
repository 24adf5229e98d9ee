//! One request, one answer: headers, credentials, redirects within the origin. What the answer means is decided by the
//! links.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use helve_model::ErrorCode;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HOST, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use url::{Position, Url};

use crate::error::{Error, Result};
use crate::nesting::Nesting;
use crate::transport::http::body::Body;
use crate::transport::http::headers::{HOPS, TRAIL};
use crate::transport::http::pool::Pool;
use crate::transport::http::refusal::excerpt;
use crate::transport::http::target::{AfterRefusal, HeaderSource, HttpTarget, Outgoing, Refused, shown, supplied};

/// Redirects followed for one request.
const REDIRECTS: usize = 5;
/// Headers that a request has besides the fixed ones: those of the transport, of the session, of a login and of nested hosts.
const HEADERS_BESIDES: usize = 12;

/// How often one request is sent again because its headers were refused: signing in, more rights, more rights again.
const REPEATS: usize = 3;
/// What a server wants the next proof of possession to repeat.
const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// The way to one origin.
#[derive(Debug)]
pub(crate) struct HttpClient {
    pub(crate) pool: Arc<Pool>,
    url: Url,
    uri: Uri,
    headers: HeaderMap,
    source: Option<Source>,
    nesting: Option<Nesting>,
}

struct Source(Arc<dyn HeaderSource>);

/// A request to be sent, perhaps more than once.
pub(crate) struct HttpRequest<'a> {
    pub(crate) method: Method,
    /// Where to, if not to the target's own address. Must have its origin.
    pub(crate) url: Option<&'a Url>,
    pub(crate) headers: &'a HeaderMap,
    /// The headers of this request alone.
    pub(crate) more: &'a [(HeaderName, HeaderValue)],
    pub(crate) body: Bytes,
}

/// The head of an answer, with its body still to be read.
pub(crate) struct HttpResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

impl HttpClient {
    pub(crate) fn new(target: HttpTarget) -> Result<Self> {
        let pool = Arc::new(Pool::new(&target)?);
        let mut headers = target.headers;
        let host = &target.url[Position::BeforeHost..Position::AfterPort];
        let host = HeaderValue::from_str(host).map_err(|_| unusable(&target.url))?;
        // What comes to them with each request finds room: the map is cloned for it.
        headers.reserve(HEADERS_BESIDES);
        headers.insert(HOST, host);
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let uri = path_of(&target.url)?;
        Ok(Self { pool, url: target.url, uri, headers, source: target.source.map(Source), nesting: target.nesting })
    }

    /// The headers every request has.
    pub(crate) const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The address, as it may be shown.
    pub(crate) fn address(&self) -> &str {
        shown(&self.url)
    }

    /// Resolves an address the server gave; `None` when it is none, or lies outside the origin.
    pub(crate) fn resolve(&self, address: &str) -> Option<Url> {
        self.url.join(address).ok().filter(|url| url.origin() == self.url.origin())
    }

    /// Sends a request and waits for the head of its answer. `sent` tells whether the server may have it.
    pub(crate) async fn send(&self, request: &HttpRequest<'_>, sent: &AtomicBool) -> Result<HttpResponse> {
        let mut uri = match request.url {
            None => self.uri.clone(),
            Some(url) => path_of(url)?,
        };
        let mut at = request.url.cloned();
        let mut refusals = 0;
        let mut redirects = 0;
        loop {
            let address = at.as_ref().unwrap_or(&self.url);
            let more = match &self.source {
                Some(source) => source.0.headers(Outgoing { method: &request.method, address }).await?,
                None => Vec::new(),
            };
            let response = self.send_once(request, uri.clone(), &more, sent).await?;
            if let Some(source) = &self.source
                && self.repeats(source, request, address, &response, &more, refusals).await?
            {
                refusals += 1;
                response.body.discard();
                continue;
            }
            if !response.status.is_redirection() || response.status == StatusCode::NOT_MODIFIED {
                return Ok(response);
            }
            let to = self.redirect(&request.method, at.as_ref().unwrap_or(&self.url), &response, redirects)?;
            response.body.discard();
            uri = path_of(&to)?;
            at = Some(to);
            redirects += 1;
        }
    }

    async fn send_once(
        &self,
        request: &HttpRequest<'_>,
        uri: Uri,
        more: &[(HeaderName, HeaderValue)],
        sent: &AtomicBool,
    ) -> Result<HttpResponse> {
        let mut headers = request.headers.clone();
        for (name, value) in request.more {
            headers.append(name, value.clone());
        }
        for (name, value) in more {
            supplied(name)?;
            drop(headers.insert(name, value.clone()));
        }
        if let Some(nesting) = &self.nesting {
            let (depth, trail) = nesting.headers();
            headers.insert(HOPS, depth);
            headers.insert(TRAIL, trail);
        }
        let mut outgoing = Request::new(Full::new(request.body.clone()));
        *outgoing.method_mut() = request.method.clone();
        *outgoing.uri_mut() = uri;
        *outgoing.headers_mut() = headers;
        let (response, connection) = self.pool.send(outgoing, sent).await?;
        let (head, incoming) = response.into_parts();
        let body = Body::new(incoming, &head.headers, connection, Arc::clone(&self.pool));
        Ok(HttpResponse { status: head.status, headers: head.headers, body })
    }

    /// Tells the source of headers about an answer; true when the request is to be sent again.
    async fn repeats(
        &self,
        source: &Source,
        request: &HttpRequest<'_>,
        address: &Url,
        response: &HttpResponse,
        headers: &[(HeaderName, HeaderValue)],
        earlier: usize,
    ) -> Result<bool> {
        let nonce = response.headers.get(DPOP_NONCE);
        if let Some(nonce) = nonce {
            source.0.nonce(nonce);
        }
        let status = response.status;
        if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) || earlier >= REPEATS {
            return Ok(false);
        }
        let challenge = response.challenge();
        let wants_more = challenge.as_ref().is_some_and(|challenge| challenge.contains("insufficient_scope"));
        if status == StatusCode::FORBIDDEN && !wants_more {
            return Ok(false);
        }
        let challenge = challenge.as_deref();
        let refused = Refused { method: &request.method, address, status, challenge, nonce, headers, earlier };
        match source.0.refused(refused).await {
            AfterRefusal::Repeat => Ok(true),
            AfterRefusal::Leave => Ok(false),
            AfterRefusal::Fail(error) => {
                Err(error.with_challenge(challenge.map(ToOwned::to_owned)).with_http_status(status.as_u16()))
            }
        }
    }

    /// Where a redirect leads, if it may be followed.
    fn redirect(&self, method: &Method, from: &Url, response: &HttpResponse, redirects: usize) -> Result<Url> {
        let status = response.status;
        let refused = |message: String| Error::new(ErrorCode::ProtocolError, message).with_http_status(status.as_u16());
        if redirects >= REDIRECTS {
            return Err(refused(format!("the server redirects more than {REDIRECTS} times"))
                .with_hint("set the server's address to where it leads in the end"));
        }
        let location = response.headers.get(LOCATION).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let Some(to) = location.as_deref().and_then(|location| from.join(location).ok()) else {
            return Err(refused(format!("the server redirects ({status}) without saying where to")));
        };
        let place = excerpt(shown(&to).as_bytes());
        if to.origin() != self.url.origin() {
            return Err(refused(format!("the server redirects to another origin: {place}"))
                .with_hint(format!("if that is right, set the server's address to {place}")));
        }
        let keeps_method = matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
        if !keeps_method && *method != Method::GET {
            return Err(refused(format!("the server redirects with {status}, which loses the request, to {place}"))
                .with_hint(format!("set the server's address to {place}")));
        }
        Ok(to)
    }
}

impl HttpResponse {
    /// What the server wants to be authorised with.
    pub(crate) fn challenge(&self) -> Option<String> {
        let challenges: Vec<String> = self
            .headers
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect();
        (!challenges.is_empty()).then(|| challenges.join(", "))
    }

    /// The media type, without parameters, in lower case.
    pub(crate) fn content_type(&self) -> Option<String> {
        let value = String::from_utf8_lossy(self.headers.get(CONTENT_TYPE)?.as_bytes());
        Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
    }

    /// The encoding of the body, when it is one we did not ask for.
    pub(crate) fn foreign_encoding(&self) -> Option<String> {
        let value = self.headers.get(CONTENT_ENCODING)?;
        let value = String::from_utf8_lossy(value.as_bytes());
        let foreign = !value.is_empty() && !value.eq_ignore_ascii_case("identity");
        foreign.then(|| excerpt(value.as_bytes()))
    }
}

/// The part of an address that stands in a request.
fn path_of(url: &Url) -> Result<Uri> {
    url[Position::BeforePath..Position::AfterQuery].parse().map_err(|_| unusable(url))
}

fn unusable(url: &Url) -> Error {
    Error::new(ErrorCode::Config, format!("the address {} cannot be requested", shown(url)))
}

impl std::fmt::Debug for Source {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("HeaderSource")
    }
}
