//! Waits on loopback for the browser (RFC 8252). One login is one state, not one connection: browsers connect ahead and ask
//! for icons, and other programs may knock; a wrong state gets an error and the wait goes on.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use crate::error::{Advice, AuthError, ErrorKind, Result};
use crate::reception::{RedirectAnswer, page};
use crate::settings::{Callback, CallbackHost};

/// Longest head of a request.
const HEAD_BYTES: usize = 8 << 10;
/// How long a request may take to arrive, and an answer to leave.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// Connections at one time; one more closes the oldest, so that nobody can keep the browser out.
const CONNECTIONS: usize = 16;
/// Where the browser is sent to.
const PATH: &str = "/callback";

/// A place on this machine that a browser can be sent to. Dropping it closes the port.
#[derive(Debug)]
pub(crate) struct Reception {
    listeners: Vec<TcpListener>,
    host: String,
    pub(crate) redirect: String,
}

/// An answer, whoever wants to know whether it was the right one, and what ends with the connection that brought it.
type Arrival = (RedirectAnswer, oneshot::Sender<bool>, oneshot::Receiver<Infallible>);

impl Reception {
    /// Opens the configured port, or that of a kept redirect address, or any.
    pub(crate) async fn open(callback: &Callback, kept: Option<&str>) -> Result<Self> {
        let wanted = callback.port.or_else(|| kept.and_then(port_of)).unwrap_or(0);
        let first = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, wanted))).await.map_err(|error| {
            AuthError::new(ErrorKind::Settings, format!("cannot listen on 127.0.0.1:{wanted}: {}", error.kind()))
                .with_advice(Advice::FreePort { port: wanted })
        })?;
        let port = first.local_addr().map_err(|error| AuthError::settings(error.to_string()))?.port();
        let mut listeners = vec![first];
        if callback.host == CallbackHost::Localhost
            && let Ok(second) = TcpListener::bind(SocketAddr::from((Ipv6Addr::LOCALHOST, port))).await
        {
            listeners.push(second);
        }
        let host = format!("{}:{port}", callback.host.as_str());
        Ok(Self { listeners, redirect: format!("http://{host}{PATH}"), host })
    }

    /// A redirect address that nobody waits at: the person will paste what the browser shows.
    pub(crate) fn address_only(callback: &Callback, kept: Option<&str>) -> String {
        /// Any number will do: nothing listens there, and a registration wants one that stays.
        const UNUSED: u16 = 33_418;
        let port = callback.port.or_else(|| kept.and_then(port_of)).unwrap_or(UNUSED);
        format!("http://{}:{port}{PATH}", callback.host.as_str())
    }

    /// Waits for the answer that `is_mine` takes.
    pub(crate) async fn wait(&self, is_mine: impl Fn(&RedirectAnswer) -> bool) -> RedirectAnswer {
        let (arrived, mut arrivals) = mpsc::channel::<Arrival>(1);
        let host: Arc<str> = Arc::from(self.host.as_str());
        let mut connections = JoinSet::new();
        let mut oldest: VecDeque<AbortHandle> = VecDeque::new();
        loop {
            tokio::select! {
                Some((answer, verdict, served)) = arrivals.recv() => {
                    let right = is_mine(&answer);
                    // Whoever brought it may be gone by now.
                    let _: Result<(), bool> = verdict.send(right);
                    if right {
                        // The browser gets its page before the port is closed.
                        drop(timeout(Duration::from_millis(200), served).await);
                        return answer;
                    }
                }
                stream = accept(&self.listeners) => {
                    oldest.retain(|connection| !connection.is_finished());
                    if oldest.len() >= CONNECTIONS && let Some(connection) = oldest.pop_front() {
                        connection.abort();
                    }
                    let (arrived, host) = (arrived.clone(), Arc::clone(&host));
                    oldest.push_back(connections.spawn(serve(stream, host, arrived)));
                }
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
            }
        }
    }
}

/// The next connection to one of the listeners.
async fn accept(listeners: &[TcpListener]) -> TcpStream {
    loop {
        let accepted = match listeners {
            [only] => only.accept().await,
            [first, second, ..] => tokio::select! {
                accepted = first.accept() => accepted,
                accepted = second.accept() => accepted,
            },
            [] => std::future::pending().await,
        };
        match accepted {
            Ok((stream, _)) => return stream,
            // Out of descriptors, most likely: the next one may be free in a moment.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn serve(mut stream: TcpStream, host: Arc<str>, arrived: mpsc::Sender<Arrival>) {
    // Dropped with everything else of this connection, which is how its end is told.
    let (_serving, served) = oneshot::channel::<Infallible>();
    let Ok(Some(head)) = timeout(REQUEST_TIME, head_of(&mut stream)).await else { return };
    let response = match read(&head, &host) {
        Err(status) => page::response(status, ""),
        Ok(answer) => {
            let (verdict, judged) = oneshot::channel();
            if arrived.send((answer, verdict, served)).await.is_err() {
                return;
            }
            match judged.await {
                Ok(true) => page::response("200 OK", page::RECEIVED),
                _ => page::response("400 Bad Request", ""),
            }
        }
    };
    let answered = async {
        stream.write_all(response.as_bytes()).await?;
        stream.shutdown().await
    };
    // A browser that does not take its page has its answer in the program all the same.
    drop(timeout(REQUEST_TIME, answered).await);
}

/// Everything up to the empty line.
async fn head_of(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        let count = stream.read(&mut buffer).await.ok()?;
        if count == 0 || head.len() + count > HEAD_BYTES {
            return None;
        }
        head.extend_from_slice(buffer.get(..count)?);
    }
    String::from_utf8(head).ok()
}

/// The answer in a request, or the status it is refused with.
fn read(head: &str, host: &str) -> Result<RedirectAnswer, &'static str> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut hosts = lines.filter_map(|line| line.split_once(':')).filter(|(name, _)| name.eq_ignore_ascii_case("host"));
    // A page elsewhere that reaches us under another name is not the browser we wait for.
    let is_ours = |value: &str| value.trim().eq_ignore_ascii_case(host);
    match (hosts.next(), hosts.next()) {
        (Some((_, value)), None) if is_ours(value) => {}
        _ => return Err("421 Misdirected Request"),
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if path != PATH {
        return Err("404 Not Found");
    }
    if method != "GET" {
        return Err("405 Method Not Allowed");
    }
    RedirectAnswer::from_query(query).ok_or("400 Bad Request")
}

/// The port of a redirect address.
fn port_of(redirect: &str) -> Option<u16> {
    url::Url::parse(redirect).ok()?.port()
}

#[cfg(test)]
#[path = "loopback_tests.rs"]
mod tests;
