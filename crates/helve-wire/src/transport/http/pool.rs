//! Connections to one origin: each serves one exchange at a time and is given back when the answer is read to its end.
//!
//! A pool of our own instead of hyper-util's, for two reasons. There a connection finds its way back through a task
//! of its own, so a quick caller meets an empty pool and connects anew; here sequential calls use one connection, always.
//! And this pool knows whether a request was handed to the connection, so an error can say whether it may have run.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use helve_model::ErrorCode;
use http::header::PROXY_AUTHORIZATION;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
#[cfg(feature = "tls")]
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
#[cfg(feature = "tls")]
use hyper_util::client::legacy::connect::proxy::Tunnel;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};
use tower_service::Service as _;
use url::Position;

use crate::error::{Error, Result};
use crate::transport::http::background::Background;
use crate::transport::http::proxy::Proxy;
use crate::transport::http::target::HttpTarget;
use crate::transport::http::tls;
use helve_model::sync::lock;

/// How long connecting may take: name, address after address, TLS.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How long an address of one family is tried before the other family is tried as well.
const HAPPY_EYEBALLS: Duration = Duration::from_millis(250);
/// Connections kept for later, and for how long. Beyond that the newest are kept.
const IDLE_CONNECTIONS: usize = 64;
const IDLE_TIME: Duration = Duration::from_secs(60);
/// A server that says how long it keeps a connection is believed, with this much to spare.
const IDLE_MARGIN: Duration = Duration::from_secs(1);
/// How long a connection whose last answer is read may take to be ready again.
const READY_TIME: Duration = Duration::from_millis(100);
/// How long to wait for an answered stream to end before a new connection is made instead.
const DRAIN_WAIT: Duration = Duration::from_millis(50);

/// The connections to one server.
pub(crate) struct Pool {
    connector: Connector,
    origin: Uri,
    /// On the way to the server.
    proxy: Option<Proxy>,
    state: Mutex<State>,
    returned: Notify,
    pub(crate) background: Background,
}

#[derive(Default)]
struct State {
    idle: Vec<Idle>,
    /// Connections that are about to be free: their answer is there, its stream has not ended yet.
    draining: usize,
    /// The server did not end its last stream in time: waiting for it again is in vain.
    lingers: bool,
}

struct Idle {
    connection: Connection,
    until: Instant,
}

/// One connection. Dropping it closes it at once.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    task: AbortHandle,
    fresh: bool,
}

pub(crate) enum Connector {
    /// To the server, or to a proxy that passes requests on.
    Plain(HttpConnector),
    #[cfg(feature = "tls")]
    Tls(Box<HttpsConnector<HttpConnector>>),
    /// To the server, by a proxy that only sees bytes.
    #[cfg(feature = "tls")]
    Tunnel(Box<HttpsConnector<Tunnel<HttpConnector>>>),
}

impl Pool {
    pub(crate) fn new(target: &HttpTarget) -> Result<Self> {
        let origin = &target.url[..Position::AfterPort];
        let origin: Uri = origin
            .parse()
            .map_err(|error| Error::new(ErrorCode::Config, format!("the server's address is not a URL: {error}")))?;
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIME));
        tcp.set_happy_eyeballs_timeout(Some(HAPPY_EYEBALLS));
        let proxy = target.proxies.as_ref().and_then(|proxies| proxies.on_the_way_to(&origin));
        if let Some(proxy) = &proxy
            && proxy.address.scheme_str() != Some("http")
        {
            let scheme = proxy.address.scheme_str().unwrap_or_default();
            let message = format!("the proxy {} is one for `{scheme}:`, which is not spoken here", proxy.shown());
            return Err(Error::new(ErrorCode::Config, message)
                .with_hint("name a proxy whose address begins with http://, or leave the server out with NO_PROXY"));
        }
        let connector = if target.url.scheme() == "https" {
            tls::connector(target, proxy.as_ref(), tcp)?
        } else {
            Connector::Plain(tcp)
        };
        Ok(Self {
            connector,
            origin,
            proxy,
            state: Mutex::default(),
            returned: Notify::new(),
            background: Background::default(),
        })
    }

    /// Sends a request and waits for the head of the answer. `sent` tells from then on whether the server may have it.
    pub(crate) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
        sent: &AtomicBool,
    ) -> Result<(Response<Incoming>, Connection)> {
        self.address_for_proxy(&mut request);
        loop {
            let mut connection = self.take().await?;
            sent.store(true, Ordering::Relaxed);
            let mut failure = match connection.sender.try_send_request(request).await {
                Ok(response) => return Ok((response, connection)),
                Err(failure) => failure,
            };
            let unsent = failure.take_message();
            sent.store(unsent.is_none(), Ordering::Relaxed);
            match unsent {
                // The server closed a connection that nobody used: the next one may live.
                Some(unsent) if !connection.fresh => request = unsent,
                unsent => return Err(broken(failure.into_error()).with_may_have_run(unsent.is_none())),
            }
        }
    }

    /// A proxy that passes requests on has to be told where to.
    fn address_for_proxy(&self, request: &mut Request<Full<Bytes>>) {
        let (Some(proxy), Connector::Plain(_)) = (&self.proxy, &self.connector) else { return };
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let whole = format!("{}{path}", self.origin.to_string().trim_end_matches('/'));
        if let Ok(whole) = whole.parse() {
            *request.uri_mut() = whole;
        }
        if let Some(authorization) = &proxy.authorization {
            drop(request.headers_mut().insert(PROXY_AUTHORIZATION, authorization.clone()));
        }
    }

    /// Takes a connection back whose answer was read to the end.
    pub(crate) fn give_back(&self, mut connection: Connection, kept_for: Option<Duration>) {
        if !connection.sender.is_closed() {
            connection.fresh = false;
            let time = kept_for.map_or(IDLE_TIME, |time| time.saturating_sub(IDLE_MARGIN).min(IDLE_TIME));
            let now = Instant::now();
            let mut state = lock(&self.state);
            // The oldest stand first.
            while state.idle.len() >= IDLE_CONNECTIONS || state.idle.first().is_some_and(|oldest| oldest.until < now) {
                drop(state.idle.remove(0));
            }
            state.idle.push(Idle { connection, until: now + time });
        }
        self.returned.notify_one();
    }

    /// A connection will be given back, or closed, soon.
    pub(crate) fn begin_draining(self: &Arc<Self>) -> Draining {
        lock(&self.state).draining += 1;
        Draining(Arc::clone(self))
    }

    /// Closes what nobody uses, and ends what is done in the background.
    pub(crate) fn close(&self) {
        self.background.end();
        lock(&self.state).idle.clear();
    }

    async fn take(&self) -> Result<Connection> {
        let mut waits_until = None;
        loop {
            let idle = lock(&self.state).idle.pop();
            match idle {
                Some(idle) if idle.until < Instant::now() => {}
                Some(mut idle) => {
                    if idle.connection.is_ready().await {
                        return Ok(idle.connection);
                    }
                }
                None => {
                    let until = *waits_until.get_or_insert_with(|| Instant::now() + DRAIN_WAIT);
                    if !self.waits_for_one(until).await {
                        // Rare and large: kept out of every call's own size.
                        return Box::pin(self.connect()).await;
                    }
                }
            }
        }
    }

    /// Waits for a connection that is about to be free; false when there is none, or it takes too long.
    async fn waits_for_one(&self, until: Instant) -> bool {
        let is_worth_it = {
            let state = lock(&self.state);
            state.draining > 0 && !state.lingers
        };
        if !is_worth_it {
            return false;
        }
        let returned = timeout_at(until, self.returned.notified()).await.is_ok();
        lock(&self.state).lingers = !returned;
        returned
    }

    async fn connect(&self) -> Result<Connection> {
        let connecting = async {
            match &self.connector {
                Connector::Plain(connector) => {
                    let address = self.proxy.as_ref().map_or(&self.origin, |proxy| &proxy.address);
                    handshake(connector.clone().call(address.clone()).await?).await
                }
                #[cfg(feature = "tls")]
                Connector::Tunnel(connector) => handshake(connector.clone().call(self.origin.clone()).await?).await,
                #[cfg(feature = "tls")]
                Connector::Tls(connector) => handshake(connector.clone().call(self.origin.clone()).await?).await,
            }
        };
        match timeout(CONNECT_TIME, connecting).await {
            Ok(connected) => connected.map_err(|error| self.cannot_connect(error)),
            Err(_) => Err(self.cannot_connect(io::Error::from(io::ErrorKind::TimedOut).into())),
        }
    }

    fn cannot_connect(&self, error: Box<dyn StdError + Send + Sync>) -> Error {
        let mut reason = error.to_string();
        let mut hint = "check the server's address, and that the server runs";
        let mut cause: Option<&(dyn StdError + 'static)> = Some(error.as_ref());
        while let Some(error) = cause {
            if let Some(error) = tls::error(error) {
                reason = format!("TLS failed: {error}");
                hint = "check the server's certificate, or add the authority that signed it";
            }
            cause = match error.downcast_ref::<io::Error>() {
                None => error.source(),
                // What it wraps is not its source, but the next in the chain all the same.
                Some(error) => match error.get_ref() {
                    Some(inner) => Some(inner),
                    None => {
                        reason = error.kind().to_string();
                        None
                    }
                },
            };
        }
        let origin = self.origin.to_string();
        let origin = origin.trim_end_matches('/');
        let way = self.proxy.as_ref().map(|proxy| format!(" through the proxy {}", proxy.shown())).unwrap_or_default();
        Error::new(ErrorCode::TransportError, format!("cannot connect to {origin}{way}: {reason}"))
            .with_hint(hint)
            .with_source(error)
    }
}

impl Connection {
    /// Waits until the last exchange has left the connection; false when it is closed.
    async fn is_ready(&mut self) -> bool {
        self.sender.is_ready() || matches!(timeout(READY_TIME, self.sender.ready()).await, Ok(Ok(())))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The expectation that a connection is given back soon.
pub(crate) struct Draining(Arc<Pool>);

impl Draining {
    /// Tells whether the stream ended in time, and so whether the next one is worth waiting for.
    pub(crate) fn ended(&self, in_time: bool) {
        lock(&self.0.state).lingers = !in_time;
    }
}

impl Drop for Draining {
    fn drop(&mut self) {
        lock(&self.0.state).draining -= 1;
        self.0.returned.notify_one();
    }
}

async fn handshake<S>(stream: S) -> Result<Connection, Box<dyn StdError + Send + Sync>>
where
    S: hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
{
    let (sender, connection) = http1::Builder::new().handshake(stream).await?;
    let task = tokio::spawn(async move {
        // How it ended is told to the exchange that used it.
        drop(connection.await);
    });
    Ok(Connection { sender, task: task.abort_handle(), fresh: true })
}

/// The connection broke while a request was on its way.
fn broken(error: hyper::Error) -> Error {
    if error.is_parse() {
        return Error::new(ErrorCode::ProtocolError, "the server does not speak HTTP")
            .with_hint("check the server's address, and its port")
            .with_source(error);
    }
    Error::new(ErrorCode::TransportError, "the connection broke before the server answered")
        .with_hint("look into the server's log: it may have crashed")
        .with_source(error)
}

impl fmt::Debug for Pool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.state);
        formatter
            .debug_struct("Pool")
            .field("origin", &self.origin)
            .field("idle", &state.idle.len())
            .finish_non_exhaustive()
    }
}
