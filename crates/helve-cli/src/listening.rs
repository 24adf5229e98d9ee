//! Listening for agents on a socket, and driving their connections.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use helve_serve::Peer;
use helve_serve::face::http::HttpFace;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use crate::peer;

/// How long an agent may take to say what it wants.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// How long nothing is accepted after the machine refused to: out of files, most likely.
const REFUSED_FOR: Duration = Duration::from_millis(100);

/// Serves whoever comes, for ever.
pub(crate) async fn serve(listener: TcpListener, face: Arc<HttpFace>) {
    let connections = AtomicU64::new(0);
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                let number = connections.fetch_add(1, Ordering::Relaxed) + 1;
                tokio::spawn(connection(stream, address, number, Arc::clone(&face)));
            }
            Err(error) => {
                tracing::warn!(%error, "no connection could be accepted");
                tokio::time::sleep(REFUSED_FOR).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, address: SocketAddr, number: u64, face: Arc<HttpFace>) {
    // An answer must not wait for more to send.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "the connection may be slow");
    }
    let user = match stream.local_addr() {
        Ok(local) if address.ip().is_loopback() => peer::user_of(address, local),
        _ => None,
    };
    let peer = Peer { connection: number, user };
    let service = service_fn(|request| {
        let face = Arc::clone(&face);
        async move { Ok::<_, Infallible>(face.handle(request, peer).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN);
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "the connection broke");
    }
    face.connection_ended(peer);
}
