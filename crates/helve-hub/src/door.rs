//! The door of page, API and operation: every request is checked for whom it is meant and where it comes from, then for who
//! sends it. A cookie counts at pages and API, an admin token at the API, an agent's token at the feed alone.

use std::sync::Arc;

use bytes::Bytes;
use helve_serve::Peer;
use helve_store::TokenKind;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};

use crate::actor::Actor;
use crate::answer::{self, Body};
use crate::api;
use crate::error::HubError;
use crate::feed;
use crate::hub::Hub;
use crate::page;
use crate::sessions::Session;

/// The longest body of a page's form or a request to the API.
pub const LONGEST_BODY: usize = 8 << 20;

/// The header by which scripts of the page carry the session's token.
const CSRF_HEADER: &str = "x-csrf-token";

/// The header by which the script of the page says that it asks.
const SCRIPT_HEADER: &str = "hx-request";

/// Whom a request is for, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestTarget {
    /// The gateway that agents talk to.
    Agents,
    /// The hub itself: its page and its API.
    Hub,
}

impl RequestTarget {
    /// The target of a path.
    #[must_use]
    pub fn of(path: &str) -> Self {
        let is_server = || path.strip_prefix("/s/").and_then(|rest| rest.split_once('/')).is_some();
        match path {
            "/mcp" | "/mcp/" | "/sse" | "/messages" => Self::Agents,
            _ if is_server() => Self::Agents,
            _ => Self::Hub,
        }
    }

    /// Whether what a request asks for ends when whoever asked has gone: a call does, so that no answer to a question about it
    /// runs something for nobody; a change that has begun does not.
    #[must_use]
    pub fn ends_with_its_caller(path: &str) -> bool {
        path.strip_prefix("/api/v1/tools/").is_some_and(|rest| rest.ends_with("/call"))
    }
}

/// A session with the secret of its cookie.
pub(crate) struct SignedIn {
    pub(crate) cookie: String,
    pub(crate) session: Session,
    /// The page's script asks, which can follow what takes long.
    pub(crate) has_script: bool,
}

impl Hub {
    /// Answers a request for the hub itself.
    pub async fn handle(self: Arc<Self>, request: Request<Bytes>, peer: Peer) -> Response<Body> {
        let (head, body) = request.into_parts();
        if let Some((status, why)) = self.face.bars(&head.uri, &head.headers) {
            return answer::plain(status, why);
        }
        let path: Vec<String> = head.uri.path().split('/').filter(|part| !part.is_empty()).map(decoded).collect();
        let parts: Vec<&str> = path.iter().map(String::as_str).collect();
        let query: Vec<(String, String)> =
            url::form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes()).into_owned().collect();
        let is_get = matches!(head.method, Method::GET | Method::HEAD);
        match parts.as_slice() {
            ["healthz"] => answer::plain(StatusCode::OK, "ok\n"),
            ["readyz"] => self.is_ready(),
            ["metrics"] => self.metrics(&head.headers, peer),
            ["assets", ..] if is_get => asset(head.uri.path()),
            ["feed"] => feed::answer(&self, &head.method, &head.headers),
            ["sign-in", secret] if is_get => self.sign_in(secret),
            ["api", "v1", ..] => {
                let actor = match self.api_actor(&head.method, &head.headers) {
                    Ok(actor) => actor,
                    Err(refusal) => return *refusal,
                };
                let behind = path.get(2..).unwrap_or_default();
                let call = api::Call { method: &head.method, path: behind, query: &query, body };
                api::answer(&self, actor, call).await
            }
            _ => {
                let Some(signed_in) = self.signed_in(&head.headers) else {
                    return page::link_needed("");
                };
                let fields = if is_get {
                    Vec::new()
                } else {
                    match self.posted(&head.headers, &body, &signed_in) {
                        Ok(fields) => fields,
                        Err(error) => return page::refused(&error),
                    }
                };
                page::answer(&self, signed_in, &head.method, &parts, &query, &fields).await
            }
        }
    }

    fn is_ready(&self) -> Response<Body> {
        let health = self.store.health();
        match health.trouble {
            None if health.is_in_place => answer::plain(StatusCode::OK, "ready\n"),
            trouble => {
                let why = trouble.unwrap_or_else(|| "the store's file is gone".to_owned());
                answer::plain(StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n"))
            }
        }
    }

    fn metrics(&self, headers: &HeaderMap, peer: Peer) -> Response<Body> {
        let is_owner = self.options.owner.is_some() && peer.user == self.options.owner && bearer(headers).is_none();
        if !is_owner && self.admin(headers).is_err() {
            return answer::plain(StatusCode::UNAUTHORIZED, "an admin token is needed: Authorization: Bearer …\n");
        }
        let up = |report: &helve::ServerReport| {
            (report.name.to_string(), report.status == helve_model::ServerStatus::Connected)
        };
        let servers: Vec<(String, bool)> = self.host().status().iter().map(up).collect();
        let (agents, waiting) = (self.face.sessions(), self.approvals.open());
        let text = self.metrics.exposition(&self.store.health(), &servers, agents, waiting);
        answer::of(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
    }

    fn sign_in(&self, secret: &str) -> Response<Body> {
        let cookie = match self.sessions.sign_in(secret, self.now()) {
            Ok(cookie) => cookie,
            Err(error) => return page::link_needed(error.message()),
        };
        let mut response = answer::see_other("/");
        let (name, secure) = (self.cookie_name(), if self.options.is_secure { "; Secure" } else { "" });
        let value = format!("{name}={cookie}; Path=/; HttpOnly; SameSite=Lax{secure}");
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(header::SET_COOKIE, value);
        }
        response
    }

    /// A browser drops a cookie of the one name without https, and takes the other from nobody else with it.
    fn cookie_name(&self) -> &'static str {
        if self.options.is_secure { "__Host-hub" } else { "hub" }
    }

    pub(crate) fn signed_in(&self, headers: &HeaderMap) -> Option<SignedIn> {
        // A token does not count as a session: whoever brings one gets no page.
        if headers.contains_key(header::AUTHORIZATION) {
            return None;
        }
        let name = self.cookie_name();
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut own = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|cookie| {
            let (key, value) = cookie.trim().split_once('=')?;
            (key == name).then_some(value)
        });
        let has_script = headers.contains_key(SCRIPT_HEADER);
        own.find_map(|cookie| {
            let session = self.sessions.find(cookie, self.now())?;
            Some(SignedIn { cookie: cookie.to_owned(), session, has_script })
        })
    }

    /// The holder of an admin token.
    fn admin(&self, headers: &HeaderMap) -> Result<Actor, HubError> {
        let token = bearer(headers).ok_or_else(|| HubError::forbidden("an admin token is needed"))?;
        match self.tokens.holder(token, self.now()) {
            Some(holder) if holder.kind == TokenKind::Admin => {
                Ok(Actor::Admin { name: holder.name, approver: holder.approver })
            }
            Some(_) => Err(HubError::forbidden("this is an agent's token: it opens /mcp and nothing else")),
            None => Err(HubError::forbidden("this token does not count")),
        }
    }

    fn api_actor(&self, method: &Method, headers: &HeaderMap) -> Result<Actor, Box<Response<Body>>> {
        if headers.contains_key(header::AUTHORIZATION) {
            return self.admin(headers).map_err(|error| {
                let mut response = api::refused(&error);
                let is_known = bearer(headers).is_some_and(|token| self.tokens.holder(token, self.now()).is_some());
                if !is_known {
                    *response.status_mut() = StatusCode::UNAUTHORIZED;
                }
                Box::new(response)
            });
        }
        let Some(signed_in) = self.signed_in(headers) else {
            let error = HubError::forbidden("an admin token is needed: Authorization: Bearer …");
            let mut response = api::refused(&error);
            *response.status_mut() = StatusCode::UNAUTHORIZED;
            return Err(Box::new(response));
        };
        let carried = headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_own = self.is_same_origin(headers) && signed_in.session.is_own(carried);
        if matches!(*method, Method::GET | Method::HEAD) || is_own {
            Ok(Actor::Session)
        } else {
            Err(Box::new(api::refused(&forged())))
        }
    }

    /// Does a request that changes something come from a page of ours?
    fn is_same_origin(&self, headers: &HeaderMap) -> bool {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let site = text("sec-fetch-site").is_none_or(|site| site == "same-origin" || site == "none");
        let host = text("host").unwrap_or_default();
        let own = if self.options.is_secure { "https" } else { "http" };
        let is_ours = |origin: &str| origin.split_once("://") == Some((own, host));
        site && text("origin").is_none_or(is_ours)
    }

    /// The fields of a form, if it is one of the session's own.
    fn posted(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        signed_in: &SignedIn,
    ) -> Result<Vec<(String, String)>, HubError> {
        if !self.is_same_origin(headers) {
            return Err(forged());
        }
        let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let fields = if kind.starts_with("multipart/form-data") {
            helve_page::posted::multipart(kind, body).ok_or_else(|| HubError::invalid("the form cannot be read"))?
        } else {
            helve_page::posted::urlencoded(body)
        };
        let fields: Vec<(String, String)> = fields.into_iter().collect();
        let carried = fields.iter().find(|(key, _)| key == "csrf").map_or("", |(_, value)| value.as_str());
        if signed_in.session.is_own(carried) { Ok(fields) } else { Err(forged()) }
    }
}

fn forged() -> HubError {
    HubError::forbidden("this did not come from a page of this session: nothing was done")
        .hint("go back, load the page again, and try once more")
}

pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

fn asset(path: &str) -> Response<Body> {
    match helve_page::assets().iter().find(|asset| asset.path == path) {
        Some(asset) => {
            let mut response = answer::of(StatusCode::OK, asset.media_type, Bytes::from_static(asset.bytes));
            let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
            response.headers_mut().insert(header::CACHE_CONTROL, forever);
            response
        }
        None => answer::plain(StatusCode::NOT_FOUND, "there is no such file"),
    }
}

/// A part of a path, with what is written as `%xx`.
fn decoded(part: &str) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [first, behind @ ..] = rest {
        let digits = (*first == b'%').then(|| behind.get(..2)).flatten();
        let byte = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
