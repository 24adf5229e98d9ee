//! Owns the fake authorization server, with a protected MCP server behind it: every quirk and every fault on a switch.
//!
//! It knows nothing of helve's own OAuth: it is the second opinion. One listener serves the metadata, the endpoints and the
//! protected address `/mcp`, which leads to a peer of a [`Scenario`] once the token is right.

mod browser;
mod device;
mod gate;
mod grants;
mod metadata;
mod plumbing;
mod state;
mod switches;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use crate::http::HttpServer;
use crate::scenario::Scenario;
use state::State;

pub use browser::{Visit, visit};
pub use state::SeenRequest;
pub use switches::{ChallengeKind, DeviceKind, IssuerInRedirect, RegistrationKind, Switches, TokenShape};

/// A running authorization server. Dropping it kills it.
#[derive(Debug)]
pub struct Authority {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
    inner: HttpServer,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) address: SocketAddr,
    /// Where the protected server really is.
    pub(crate) inner: SocketAddr,
    state: Mutex<State>,
}

impl Shared {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Authority {
    /// Starts an authorization server with a server of this scenario behind it.
    pub async fn start(scenario: &Scenario, switches: Switches) -> std::io::Result<Self> {
        let inner = scenario.serve_http().await?;
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let state = Mutex::new(State::new(switches));
        let shared = Arc::new(Shared { address, inner: inner.address(), state });
        let accepting = tokio::spawn(accept_all(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, accepting, inner })
    }

    /// The address of the protected server.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.base())
    }

    /// The origin of everything.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The protected server itself.
    pub fn server(&self) -> &HttpServer {
        &self.inner
    }

    /// Changes what it does from now on.
    pub fn set(&self, change: impl FnOnce(&mut Switches)) {
        change(&mut self.shared.state().switches);
    }

    /// Every access token ends now. Those who hold one are told so by 401 only.
    pub fn end_access_tokens(&self) {
        self.shared.state().end_access_tokens();
    }

    /// Every refresh token is dead from now on.
    pub fn end_refresh_tokens(&self) {
        self.shared.state().end_refresh_tokens();
    }

    /// Every registration is forgotten.
    pub fn forget_clients(&self) {
        self.shared.state().clients.clear();
    }

    /// What it was asked, in order.
    pub fn seen(&self) -> Vec<SeenRequest> {
        self.shared.state().seen.clone()
    }

    /// How many requests came to a path.
    pub fn count(&self, path: &str) -> usize {
        self.shared.state().seen.iter().filter(|seen| seen.path == path).count()
    }

    /// Every token that is good, of both kinds.
    pub fn issued(&self) -> Vec<String> {
        let state = self.shared.state();
        state.access.keys().chain(state.refresh.keys()).cloned().collect()
    }

    /// How many tokens were renewed.
    pub fn refreshes(&self) -> usize {
        self.shared.state().refreshes
    }

    /// How often somebody asked about a code sooner than they were told to.
    pub fn hasty_questions(&self) -> usize {
        self.shared.state().hasty
    }

    /// How often a refresh token came that had been used before: with that, the whole login is revoked.
    pub fn reuses(&self) -> usize {
        self.shared.state().reuses
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept_all(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                drop(stream.set_nodelay(true));
                let shared = Arc::clone(&shared);
                connections.spawn(async move {
                    let service = service_fn(|request| plumbing::answer(Arc::clone(&shared), request));
                    // A connection that breaks is part of the game.
                    drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}
