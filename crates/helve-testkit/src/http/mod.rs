//! Owns the HTTP forms: the listener, what it counts, and how it is killed.

mod body;
mod event_log;
mod exchange;
mod faults;
mod headers;
mod http_sse;
mod session;
mod streamable;
mod tap;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};

use crate::ending::Ending;
use crate::peer::Peer;
use crate::recorder::Recorder;
use crate::scenario::Scenario;
use faults::Faults;
use session::Sessions;
use tap::Tap;

/// A peer that listens on a free port of 127.0.0.1. Dropping it kills it.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// What all connections of a server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) peer: Peer,
    pub(crate) ending: Ending,
    pub(crate) form: Form,
    pub(crate) address: SocketAddr,
    pub(crate) sessions: Sessions,
    pub(crate) faults: Faults,
    connections: AtomicU64,
    requests: AtomicU64,
    hang_up: Notify,
}

/// Which HTTP transport a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Streamable,
    HttpSse,
}

impl Scenario {
    /// Serves Streamable HTTP, in the eras of the scenario.
    pub async fn serve_http(&self) -> std::io::Result<HttpServer> {
        HttpServer::start(self, Form::Streamable, Ending::task()).await
    }

    /// Serves HTTP+SSE as of 2024-11-05.
    pub async fn serve_sse(&self) -> std::io::Result<HttpServer> {
        HttpServer::start(self, Form::HttpSse, Ending::task()).await
    }
}

impl HttpServer {
    pub(crate) async fn start(scenario: &Scenario, form: Form, ending: Ending) -> std::io::Result<Self> {
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            peer: Peer::new(scenario.clone()),
            ending,
            form,
            address,
            sessions: Sessions::default(),
            faults: Faults::new(&scenario.http.faults),
            connections: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            hang_up: Notify::new(),
        });
        let accepting = tokio::spawn(accept_all(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, accepting })
    }

    /// The URL of the endpoint. Streamable HTTP answers under `/moved` as well, for redirects.
    pub fn url(&self) -> String {
        match self.shared.form {
            Form::Streamable => format!("http://{}/mcp", self.address),
            Form::HttpSse => format!("http://{}/sse", self.address),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn recorder(&self) -> &Recorder {
        self.shared.peer.recorder()
    }

    /// How many TCP connections were accepted so far.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// How many HTTP requests came so far.
    pub fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::Relaxed)
    }

    /// How many sessions were opened so far.
    pub fn sessions(&self) -> u64 {
        self.shared.sessions.opened()
    }

    /// How many sessions are open now.
    pub fn open_sessions(&self) -> usize {
        self.shared.sessions.open()
    }

    /// Forgets all sessions, as after a restart.
    pub fn forget_sessions(&self) {
        self.shared.sessions.forget_all();
    }

    /// Closes every connection in the middle of what it does, and goes on listening.
    pub fn close_connections(&self) {
        self.shared.hang_up.notify_waiters();
    }

    /// Ends the server at once: nothing listens, every connection is closed in the middle of what it does.
    pub async fn kill(mut self) {
        self.accepting.abort();
        // It was aborted: there is no result to look at.
        drop((&mut self.accepting).await);
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept_all(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, which ends all connections.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = shared.ending.ended() => return,
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                shared.connections.fetch_add(1, Ordering::Relaxed);
                connections.spawn(serve_connection(stream, Arc::clone(&shared)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve_connection(stream: TcpStream, shared: Arc<Shared>) {
    // Small events must not wait for each other.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let (tap, breaker) = Tap::new(stream);
    let service = service_fn(|request| {
        shared.requests.fetch_add(1, Ordering::Relaxed);
        exchange::serve(Arc::clone(&shared), breaker.clone(), request)
    });
    let serving = http1::Builder::new().serve_connection(TokioIo::new(tap), service);
    tokio::select! {
        // A connection that breaks is part of the game.
        _ = serving => {}
        () = shared.hang_up.notified() => {}
    }
}
