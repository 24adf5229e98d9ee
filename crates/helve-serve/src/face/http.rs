//! Agents over HTTP: a service that a listener hands requests to. Streamable HTTP of both eras on `/mcp`, HTTP+SSE of the
//! first version on `/sse`.
//!
//! A request is answered in the task of its connection. Its answer is one JSON body; only when something has to be said
//! before it, or it takes long, it becomes a stream of events.

mod body;
mod connections;
mod cors;
mod events;
mod guard;
mod headers;
mod legacy;
mod modern;
mod reading;
mod respond;
mod sessions;
mod sse;
mod waiting;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytestring::ByteString;
use helve_model::{PrivateIdle, ServerName};
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use hyper::body::Body as HttpBody;
use tokio::task::AbortHandle;
use tokio::time::Instant;

pub use body::Body;
pub use connections::Connection;
pub use guard::Guard;

use crate::gate::{self, Passed};
use crate::gateway::Gateway;
use crate::ledger::Exceeded;
use crate::principal::{Peer, Principal};
use crate::reach::Reach;
use body::RequestHolds;
use connections::Connections;
use guard::Barred;
use respond::{limited, not_allowed, plain};
use sessions::Sessions;

/// How often sessions are looked through for those that nobody uses.
const SWEPT_EVERY: Duration = Duration::from_secs(30);

/// How often it is looked which sessions were abandoned: at most so often, and not so seldom that it makes a difference.
const LOOKED_EVERY: std::ops::RangeInclusive<Duration> = Duration::from_millis(50)..=Duration::from_secs(5);

/// A gateway as an HTTP service.
pub struct HttpFace {
    shared: Arc<Shared>,
    sweeper: AbortHandle,
}

struct Shared {
    gateway: Arc<Gateway>,
    guard: Guard,
    sessions: Sessions,
    old_sessions: Sessions,
    connections: Arc<Connections>,
}

/// What somebody is told who comes with a browser.
const WHO: &str = "helve serves MCP here: agents come to /mcp (Streamable HTTP) or /sse (HTTP+SSE)";

/// A request whose head was looked at and whose body was read.
struct Incoming {
    method: Method,
    query: String,
    headers: HeaderMap,
    body: ByteString,
    principal: Principal,
    /// What it may see and call at most.
    reach: Reach,
    /// The number of the connection it came on.
    connection: u64,
    /// The message in the body, once somebody has looked.
    read: OnceLock<Result<Passed, gate::Barred>>,
}

impl HttpFace {
    /// A service for this gateway. Must be made within a runtime.
    #[must_use]
    pub fn new(gateway: Arc<Gateway>, guard: Guard) -> Self {
        let connections = Arc::new(Connections::new(gateway.options.limits.connections));
        let (sessions, old_sessions) = (Sessions::default(), Sessions::default());
        let shared = Arc::new(Shared { gateway, guard, sessions, old_sessions, connections });
        let weak = Arc::downgrade(&shared);
        let look_every = looked_every(shared.gateway.options.limits.private_idle);
        let sweeper = tokio::spawn(async move {
            let mut swept = Instant::now();
            loop {
                tokio::time::sleep(look_every).await;
                let Some(shared) = weak.upgrade() else { return };
                let limits = &shared.gateway.options.limits;
                shared.sessions.end_private_servers(limits);
                if swept.elapsed() >= SWEPT_EVERY {
                    swept = Instant::now();
                    shared.sessions.sweep(limits);
                    shared.gateway.forget_idle_agents();
                }
            }
        });
        Self { shared, sweeper: sweeper.abort_handle() }
    }

    /// Answers one request.
    pub async fn handle<B>(&self, request: Request<B>, peer: Peer) -> Response<Body>
    where
        B: HttpBody + Send,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let page = cors::named_origin(&self.shared.guard, request.headers());
        let mut response = self.answer(request, peer).await;
        if let Some(page) = page {
            cors::open(&mut response, page);
        }
        response
    }

    async fn answer<B>(&self, request: Request<B>, peer: Peer) -> Response<Body>
    where
        B: HttpBody + Send,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        let ledger = &self.shared.gateway.ledger;
        let page = cors::named_origin(&self.shared.guard, &head.headers);
        let principal = match self.shared.guard.admit(&head.uri, &head.headers, peer) {
            Err(Barred::Token) | Ok(_) if page.is_some() && cors::is_preflight(&head.method, &head.headers) => {
                return cors::preflight(&head.headers);
            }
            Ok(principal) => principal,
            Err(barred) => {
                ledger.pace.enter(&None).await;
                self.shared.gateway.tell_barred(&barred.to_string());
                return bar(barred);
            }
        };
        if let Err(barred) = self.shared.guard.counts(&head.headers) {
            self.shared.gateway.tell_barred(&barred.to_string());
            return bar(barred);
        }
        let busy = match self.shared.connections.ask(peer.connection, &principal) {
            Ok(busy) => busy,
            Err(exceeded) => return turn_away(exceeded),
        };
        ledger.pace.enter(&Some(principal.clone())).await;
        let (body, bytes) = match reading::read(body, &self.shared.gateway, &principal).await {
            Ok(read) => read,
            Err(refusal) => return *refusal,
        };
        let mut response = self.answer_whole(head, body, principal, peer.connection).await;
        response.body_mut().hold(RequestHolds { _busy: busy, _bytes: bytes });
        response
    }

    /// Answers a request whose body was read.
    async fn answer_whole(
        &self,
        head: http::request::Parts,
        body: ByteString,
        principal: Principal,
        connection: u64,
    ) -> Response<Body> {
        let query = head.uri.query().unwrap_or_default().to_owned();
        let (within, path) = match within(head.uri.path()) {
            Some((server, path)) => (Some(server), path.to_owned()),
            None => (None, head.uri.path().to_owned()),
        };
        let within = match within.map(|server| ServerName::new(decoded(server))).transpose() {
            Ok(within) if within.as_ref().is_none_or(|server| self.has_server(server)) => within,
            _ => return plain(StatusCode::NOT_FOUND, "there is no server of this name"),
        };
        let reach = Reach::new(self.shared.guard.authenticate.scope(&principal), within);
        let (method, headers) = (head.method, head.headers);
        let read = OnceLock::new();
        let incoming = Incoming { method, query, headers, body, principal, reach, connection, read };
        let asks_who = path == "/" && incoming.method == Method::GET && incoming.header(legacy::SESSION).is_none();
        match path.as_str() {
            "/" if asks_who => plain(StatusCode::OK, WHO),
            "/mcp" | "/mcp/" | "/" => streamable(&self.shared, incoming).await,
            "/sse" => sse::open(&self.shared, &incoming),
            sse::MESSAGES => sse::post(&self.shared, &incoming),
            _ => plain(StatusCode::NOT_FOUND, "agents are served at /mcp"),
        }
    }

    /// Why a request may not come in whoever sends it: for whom it is meant, or which page it comes from. Whoever serves
    /// something else beside agents asks this first.
    #[must_use]
    pub fn bars(&self, uri: &http::Uri, headers: &HeaderMap) -> Option<(StatusCode, String)> {
        let barred = self.shared.guard.check_names(uri, headers).err()?;
        Some((bar(barred).status(), barred.to_string()))
    }

    /// Why a request may not come in that goes round in a circle: it came through this very gateway, or from too deep.
    #[must_use]
    pub fn bars_circle(&self, headers: &HeaderMap) -> Option<(StatusCode, String)> {
        let barred = self.shared.guard.counts(headers).err()?;
        Some((bar(barred).status(), barred.to_string()))
    }

    fn has_server(&self, server: &ServerName) -> bool {
        self.shared.gateway.host.snapshot().server(server.as_str()).is_some()
    }

    /// Ends everything that a principal has here, at once: sessions, open streams, connections, what runs for it.
    pub fn end_principal(&self, principal: &Principal) {
        self.shared.sessions.end_principal(principal);
        self.shared.old_sessions.end_principal(principal);
        self.shared.gateway.end_principal(principal);
        self.shared.connections.end_principal(principal);
    }

    /// True when the user of the machine that a connection belongs to decides. Where tokens say who comes, it does not.
    #[must_use]
    pub fn wants_user(&self) -> bool {
        self.shared.guard.authenticate.wants_user()
    }

    /// A connection has come, and is served until what this gives is dropped. It may have to make room for another.
    #[must_use]
    pub fn connected(&self, peer: Peer) -> Connection {
        self.shared.connections.add(peer.connection)
    }

    /// A connection has ended.
    pub fn connection_ended(&self, peer: Peer) {
        self.shared.gateway.forget_connection(peer.connection);
    }

    /// How many sessions there are.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.shared.sessions.len()
    }
}

/// How often it is looked which sessions were abandoned, where their servers run on for so long.
fn looked_every(idle: PrivateIdle) -> Duration {
    match idle {
        PrivateIdle::After(time) => (time / 8).clamp(*LOOKED_EVERY.start(), *LOOKED_EVERY.end()),
        PrivateIdle::Never => *LOOKED_EVERY.end(),
    }
}

/// The server whose own address this is, and the path there: `/s/NAME/mcp`.
fn within(path: &str) -> Option<(&str, &str)> {
    let (server, rest) = path.strip_prefix("/s/")?.split_once('/')?;
    (rest == "mcp" || rest == "mcp/").then_some((server, "/mcp"))
}

/// A part of a path, with what is written as `%xx`. What is not text then is nobody's name.
fn decoded(part: &str) -> String {
    if !part.contains('%') {
        return part.to_owned();
    }
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [first, behind @ ..] = rest {
        let digits = (*first == b'%').then(|| behind.get(..2)).flatten();
        let byte = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = byte.and_then(|_| behind.get(2..)).unwrap_or(behind);
    }
    String::from_utf8(bytes).unwrap_or_default()
}

async fn streamable(shared: &Arc<Shared>, incoming: Incoming) -> Response<Body> {
    match incoming.method {
        Method::POST => {
            if !incoming.header("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
                return plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send application/json");
            }
            if modern::is_stateless(&incoming) {
                modern::post(shared, incoming).await
            } else {
                legacy::post(shared, incoming).await
            }
        }
        // The newer era has neither streams beside its requests nor sessions to end.
        Method::GET | Method::DELETE if modern::says_so(&incoming) => not_allowed("POST"),
        Method::GET => legacy::get(shared, &incoming),
        Method::DELETE => legacy::delete(shared, &incoming),
        _ => not_allowed("POST, GET, DELETE"),
    }
}

/// Refuses a principal that has as many connections as it may, and closes this one.
fn turn_away(exceeded: Exceeded) -> Response<Body> {
    let mut response = limited(None, exceeded);
    response.headers_mut().insert(header::CONNECTION, http::HeaderValue::from_static("close"));
    response
}

fn bar(barred: Barred) -> Response<Body> {
    let status = match barred {
        Barred::Doubled => StatusCode::BAD_REQUEST,
        Barred::Host | Barred::Origin | Barred::User => StatusCode::FORBIDDEN,
        Barred::Token => StatusCode::UNAUTHORIZED,
        Barred::Circle => StatusCode::LOOP_DETECTED,
    };
    let mut response = plain(status, &barred.to_string());
    if barred == Barred::Token {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, http::HeaderValue::from_static("Bearer"));
    }
    response
}

impl Incoming {
    /// What the body says, for whoever only looks.
    fn message(&self) -> &Result<Passed, gate::Barred> {
        self.read.get_or_init(|| gate::read(&self.body))
    }

    /// The same, for whoever answers.
    fn take_message(&mut self) -> Result<Passed, gate::Barred> {
        self.read.take().unwrap_or_else(|| gate::read(&self.body))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Can the agent read a stream of events? One that does not say what it accepts, accepts everything.
    fn accepts_events(&self) -> bool {
        self.header("accept").is_none_or(|accept| accept.contains("text/event-stream") || accept.contains("*/*"))
    }
}

impl Drop for HttpFace {
    fn drop(&mut self) {
        self.sweeper.abort();
    }
}

impl fmt::Debug for HttpFace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpFace").field("sessions", &self.sessions()).finish_non_exhaustive()
    }
}
