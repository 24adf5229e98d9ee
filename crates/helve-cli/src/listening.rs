//! Listening for agents on a socket, and driving their connections.

mod punctual;
mod tls;

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use helve_serve::face::http::{Connection, HttpFace};
use helve_serve::{Peer, behind_the_others};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
#[cfg(all(peer_user, warden))]
use tokio::io::AsyncWriteExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::peer;
use punctual::Heads;
pub(crate) use tls::acceptor;

/// How long an agent may take to say what it wants, once it has connected or begun to.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// How long a connection may take until nobody else can read it.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);

/// How long whoever is refused may take to hear so.
#[cfg(all(peer_user, warden))]
const REFUSAL_WITHIN: Duration = Duration::from_secs(1);

/// How long nothing is accepted after the machine refused to: out of files, most likely.
const REFUSED_FOR: Duration = Duration::from_millis(100);

/// Connections that wait to be accepted. Whoever comes when so many wait has to knock again, a second later.
const WAITING: u32 = 1_024;

/// After so many connections everything else that is ready has its turn.
const ACCEPTED_AT_A_TIME: u64 = 8;

/// Files that are not for connections: those of servers, lists and records.
const FILES_BESIDES: u64 = 256;

/// What answers the requests of a connection.
pub(crate) trait Answers: Send + Sync + 'static {
    /// What it answers with.
    type Body: hyper::body::Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;

    /// The door for agents: it knows which connections there are.
    fn face(&self) -> &HttpFace;

    /// Answers one request.
    fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        peer: Peer,
    ) -> impl Future<Output = Response<Self::Body>> + Send;
}

impl Answers for HttpFace {
    type Body = helve_serve::face::http::Body;

    fn face(&self) -> &HttpFace {
        self
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>, peer: Peer) -> Response<Self::Body> {
        self.handle(request, peer).await
    }
}

/// As many connections as the machine lets a process have files for, besides those it needs otherwise.
pub(crate) fn connections_at_most(wanted: usize) -> usize {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    let room = files.saturating_sub(FILES_BESIDES).max(files / 2);
    wanted.min(usize::try_from(room).unwrap_or(usize::MAX))
}

/// Listens at an address. Must be called within a runtime.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // The address of a listener that has just ended can be had again.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING)
}

/// Serves whoever comes, for ever. In a task of its own, so that those who come wait behind those who are there.
pub(crate) async fn serve<A: Answers>(listener: TcpListener, tls: Option<TlsAcceptor>, answers: Arc<A>) {
    let mut number = 0;
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                number += 1;
                tokio::spawn(connection(stream, address, number, tls.clone(), Arc::clone(&answers)));
                if number % ACCEPTED_AT_A_TIME == 0 {
                    behind_the_others().await;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "no connection could be accepted");
                tokio::time::sleep(REFUSED_FOR).await;
            }
        }
    }
}

async fn connection<A: Answers>(
    stream: TcpStream,
    address: SocketAddr,
    number: u64,
    tls: Option<TlsAcceptor>,
    answers: Arc<A>,
) {
    let face = answers.face();
    #[cfg(all(peer_user, warden))]
    if is_confined(&stream, address).await {
        tracing::warn!("a server that runs in a sandbox tried to be an agent here, and was refused");
        return refuse(stream).await;
    }
    // Before a byte is read: an agent that has closed its end is nobody's any more.
    let user = match stream.local_addr() {
        Ok(local) if face.wants_user() && address.ip().is_loopback() => {
            peer::user_of(address, local, || stream.peer_addr().is_ok())
        }
        _ => None,
    };
    // An answer must not wait for more to send.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "the connection may be slow");
    }
    let peer = Peer { connection: number, user };
    let place = face.connected(peer);
    match tls {
        None => drive(stream, peer, &place, &answers).await,
        Some(tls) => {
            let safe = tokio::select! {
                safe = tokio::time::timeout(HANDSHAKE_WITHIN, tls.accept(stream)) => safe,
                () = place.has_to_leave() => return face.connection_ended(peer),
            };
            match safe {
                Ok(Ok(stream)) => drive(stream, peer, &place, &answers).await,
                Ok(Err(error)) => tracing::debug!(%error, ?peer, "the connection was not made safe"),
                Err(_) => tracing::debug!(?peer, "the connection took too long to be made safe"),
            }
        }
    }
    face.connection_ended(peer);
}

/// Answers the requests of a connection.
async fn drive<A: Answers>(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    peer: Peer,
    place: &Connection,
    answers: &Arc<A>,
) {
    let heads = Heads::new(place);
    let service = service_fn(|request| {
        heads.is_read();
        let answers = Arc::clone(answers);
        async move { Ok::<_, Infallible>(answers.answer(request, peer).await) }
    });
    let mut builder = http1::Builder::new();
    // It would count the silence between two requests too.
    builder.timer(TokioTimer::new()).header_read_timeout(None::<Duration>);
    tokio::select! {
        served = builder.serve_connection(TokioIo::new(heads.noting(stream)), service) => {
            if let Err(error) = served {
                tracing::debug!(%error, "the connection broke");
            }
        }
        () = heads.late(HEAD_WITHIN) => tracing::debug!(?peer, "the connection was closed: a request took too long to come"),
        () = place.has_to_leave() => tracing::debug!(?peer, "the connection was closed to make room for another"),
    }
}

/// True when a server in a sandbox is at the other end: it must not have others do what it may not.
#[cfg(all(peer_user, warden))]
async fn is_confined(stream: &TcpStream, address: SocketAddr) -> bool {
    let Ok(local) = stream.local_addr() else { return false };
    // From another machine, unless it comes from one of our own addresses.
    if !address.ip().is_loopback() && address.ip() != local.ip() {
        return false;
    }
    // What could not be found out is not known, as where the system does not tell.
    tokio::task::spawn_blocking(move || peer::is_confined(address, local)).await.unwrap_or(false)
}

#[cfg(all(peer_user, warden))]
async fn refuse(stream: TcpStream) {
    let body = "this server runs in a sandbox of helve's and cannot be its agent\n";
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    let mut stream = stream;
    // Whether it hears is its own business.
    drop(tokio::time::timeout(REFUSAL_WITHIN, stream.write_all(answer.as_bytes())).await);
}
