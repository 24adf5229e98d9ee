//! The way out of a sandbox that is held to named hosts: a proxy on the listener that was born inside. It alone decides where a
//! connection leads, by the name that is asked for and by where that name leads.

mod address;
mod request;

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use helve_sandbox::HostPattern;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use request::{Request, Target};

/// Connections at once; the next one waits.
const MAX_CONNECTIONS: usize = 256;
/// The longest head of a request.
const MAX_HEAD: usize = 16 * 1024;
/// How long a program may take to say where it wants to go.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long a name may take to be found, and each of its addresses to answer.
const CONNECT_TIME: Duration = Duration::from_secs(15);
/// How many refused hosts are remembered.
const MAX_REFUSED: usize = 32;
/// How soon the next connection is tried after one could not be taken.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// Hosts that a program asked for in vain.
#[derive(Debug, Clone, Default)]
pub struct RefusedHosts(Arc<Mutex<BTreeSet<String>>>);

impl RefusedHosts {
    /// Each as `host:port`, and why where that is not plain.
    #[must_use]
    pub fn list(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn note(&self, host: String) {
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() < MAX_REFUSED {
            hosts.insert(host);
        }
    }
}

/// Takes connections until it is dropped.
pub(super) async fn run(
    listener: std::net::TcpListener,
    hosts: Arc<[HostPattern]>,
    refused: RefusedHosts,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = tokio::task::JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return Ok(()) };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "a connection out of a sandbox was lost");
                tokio::time::sleep(ACCEPT_AGAIN).await;
                continue;
            }
        };
        let (hosts, refused) = (Arc::clone(&hosts), refused.clone());
        connections.spawn(async move {
            if let Err(error) = serve(stream, &hosts, &refused).await {
                tracing::debug!(%error, "a connection out of a sandbox ended");
            }
            drop(place);
        });
    }
}

async fn serve(mut inside: TcpStream, hosts: &[HostPattern], refused: &RefusedHosts) -> io::Result<()> {
    let Ok(head) = timeout(HEAD_TIME, read_head(&mut inside)).await else { return Ok(()) };
    let Some((head, behind)) = head? else {
        return answer(&mut inside, "400 Bad Request", "not a request to a proxy").await;
    };
    let (target, first) = match request::read(&head) {
        Some(Request::Tunnel(target)) => (target, None),
        Some(Request::Plain(target, first)) => (target, Some(first)),
        None => return answer(&mut inside, "400 Bad Request", "not a request to a proxy").await,
    };
    let Target { host, port } = &target;
    let Some(may_be_private) = allowance(hosts, &target) else {
        refused.note(format!("{host}:{port}"));
        let why = format!("the sandbox of this server does not name {host}:{port}");
        return answer(&mut inside, "403 Forbidden", &why).await;
    };
    let mut outside = match timeout(CONNECT_TIME, connect(&target, may_be_private)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(NoWay::Private)) => {
            refused.note(format!("{host}:{port} (on this machine or in a private network)"));
            let why = format!(
                "{host} is on this machine or in a private network, and the sandbox does not say `private:{host}`"
            );
            return answer(&mut inside, "403 Forbidden", &why).await;
        }
        Ok(Err(NoWay::Broken(error))) => return answer(&mut inside, "502 Bad Gateway", &error.to_string()).await,
        Err(_) => return answer(&mut inside, "504 Gateway Timeout", "the host does not answer").await,
    };
    match first {
        Some(first) => outside.write_all(&first).await?,
        None => inside.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
    }
    outside.write_all(&behind).await?;
    copy_bidirectional(&mut inside, &mut outside).await?;
    Ok(())
}

/// Whether a target that is in the list may be on this machine or in a private network; `None` when it is not in the list.
fn allowance(hosts: &[HostPattern], target: &Target) -> Option<bool> {
    let matching: Vec<&HostPattern> =
        hosts.iter().filter(|pattern| pattern.matches(&target.host, target.port)).collect();
    (!matching.is_empty()).then(|| matching.iter().any(|pattern| pattern.may_be_private()))
}

enum NoWay {
    /// The name leads to where the list does not reach.
    Private,
    Broken(io::Error),
}

impl From<io::Error> for NoWay {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

async fn connect(target: &Target, may_be_private: bool) -> Result<TcpStream, NoWay> {
    let name = target.host.trim_start_matches('[').trim_end_matches(']');
    let found: Vec<SocketAddr> = lookup_host((name, target.port)).await?.collect();
    // The very addresses that were looked at are connected to: a name that leads elsewhere the next time gains nothing.
    let allowed: Vec<SocketAddr> =
        found.iter().copied().filter(|found| may_be_private || address::is_public(found.ip())).collect();
    if allowed.is_empty() && !found.is_empty() {
        return Err(NoWay::Private);
    }
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name leads nowhere");
    for address in allowed {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(NoWay::Broken(last))
}

/// The head, and what came behind it already. `None` when it is too long or never ends.
async fn read_head(stream: &mut TcpStream) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut read = Vec::new();
    loop {
        if let Some(end) = memchr::memmem::find(&read, b"\r\n\r\n") {
            let behind = read.split_off(end + 4);
            return Ok(Some((read, behind)));
        }
        if read.len() > MAX_HEAD || stream.read_buf(&mut read).await? == 0 {
            return Ok(None);
        }
    }
}

async fn answer(stream: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    let body = format!("helve: {why}\n");
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await?;
    stream.shutdown().await
}
