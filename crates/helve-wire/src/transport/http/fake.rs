//! A server for the tests of the HTTP links: speaks HTTP by hand, so that every byte of an answer can be chosen.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::handler::{BoxFuture, ClientCapabilities, Notification, PeerHandler, PeerQuestion};
use helve_model::sync::lock;

/// Long enough for anything that happens at all on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Fake {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) verb: String,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
    pub(crate) at: tokio::time::Instant,
}

/// The way back.
pub(crate) struct Reply {
    stream: TcpStream,
    open: bool,
    pub(crate) written: u64,
}

type Handler = Arc<dyn Fn(Seen, Reply) -> BoxFuture<'static, Reply> + Send + Sync>;

impl Fake {
    pub(crate) async fn start<F, R>(handler: F) -> Self
    where
        F: Fn(Seen, Reply) -> R + Send + Sync + 'static,
        R: Future<Output = Reply> + Send + 'static,
    {
        let handler: Handler = Arc::new(move |seen, reply| Box::pin(handler(seen, reply)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        let accepting = (Arc::clone(&seen), Arc::clone(&connections));
        tasks.spawn(async move {
            let (seen, connections) = accepting;
            let mut exchanges = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                connections.fetch_add(1, Ordering::SeqCst);
                exchanges.spawn(serve(stream, Arc::clone(&seen), Arc::clone(&handler)));
            }
        });
        Self { url, seen, connections, _tasks: tasks }
    }

    /// Answers every request with the bytes that `answer` makes.
    pub(crate) async fn answering(answer: impl Fn(&Seen) -> String + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        Self::start(move |seen, mut reply| {
            let text = answer(&seen);
            async move {
                reply.write(text).await;
                reply
            }
        })
        .await
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        lock(&self.seen).clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Waits for the first request that `wanted` picks.
    pub(crate) async fn wait_for(&self, wanted: impl Fn(&Seen) -> bool) -> Seen {
        tokio::time::timeout(PATIENCE, async {
            loop {
                if let Some(seen) = self.seen().into_iter().find(|seen| wanted(seen)) {
                    return seen;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await
        .expect("the request never came")
    }
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    pub(crate) fn id(&self) -> u64 {
        self.json()["id"].as_u64().unwrap_or_default()
    }

    pub(crate) fn is(&self, method: &str) -> bool {
        self.json()["method"] == method
    }
}

impl Reply {
    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        if self.stream.write_all(bytes.as_ref()).await.is_err() {
            self.open = false;
        } else {
            self.written += bytes.as_ref().len() as u64;
        }
    }

    /// The head of a stream of events.
    pub(crate) async fn begin_events(&mut self) {
        self.write(EVENTS_HEAD).await;
    }

    /// One chunk of a stream.
    pub(crate) async fn chunk(&mut self, text: &str) {
        self.write(chunk(text)).await;
    }

    pub(crate) async fn end_events(&mut self) {
        self.write("0\r\n\r\n").await;
    }

    /// Closes the connection, in order.
    pub(crate) const fn close(&mut self) {
        self.open = false;
    }

    /// Closes the connection with a reset.
    pub(crate) fn reset(&mut self) {
        self.open = false;
        #[expect(deprecated, reason = "the one second nobody waits for here is zero")]
        self.stream.set_linger(Some(Duration::ZERO)).unwrap();
    }

    /// Waits until the client has closed the connection.
    pub(crate) async fn closed(&mut self) {
        let mut rest = [0; 64];
        while !matches!(self.stream.read(&mut rest).await, Ok(0) | Err(_)) {}
        self.open = false;
    }

    pub(crate) const fn is_open(&self) -> bool {
        self.open
    }
}

pub(crate) const EVENTS_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

pub(crate) fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// A whole answer of this status.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
}

/// A whole JSON answer.
pub(crate) fn json(body: &str) -> String {
    answer("200 OK", "content-type: application/json\r\n", body)
}

/// The result of a request.
pub(crate) fn result(id: u64) -> String {
    let result = helve_model::json::ObjectWriter::new().number("id", id);
    helve_model::json::ObjectWriter::new().text("jsonrpc", "2.0").number("id", id).object("result", result).into_text()
}

pub(crate) fn accepted() -> String {
    answer("202 Accepted", "", "")
}

async fn serve(stream: TcpStream, seen: Arc<Mutex<Vec<Seen>>>, handler: Handler) {
    let mut reply = Reply { stream, open: true, written: 0 };
    let mut buffer = Vec::new();
    while reply.open {
        let Some(request) = read_request(&mut reply.stream, &mut buffer).await else { return };
        lock(&seen).push(request.clone());
        reply = handler(request, reply).await;
    }
}

pub(crate) async fn read_request(stream: &mut (impl AsyncRead + Unpin), buffer: &mut Vec<u8>) -> Option<Seen> {
    loop {
        if let Some((request, length)) = parse(buffer) {
            drop(buffer.drain(..length));
            return Some(request);
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

fn parse(buffer: &[u8]) -> Option<(Seen, usize)> {
    let end = buffer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8(buffer[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
    let body = buffer.get(end..end + length)?;
    let request = Seen {
        verb: first.next()?.to_owned(),
        path: first.next()?.to_owned(),
        headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
        at: tokio::time::Instant::now(),
    };
    Some((request, end + length))
}

/// Keeps what it hears, and accepts every form.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) heard: Mutex<Vec<String>>,
    pub(crate) asked: Mutex<Vec<PeerQuestion>>,
}

impl PeerHandler for Recorder {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities { elicitation_form: true, ..ClientCapabilities::default() }
    }

    fn notification(&self, notification: Notification) {
        lock(&self.heard).push(notification.method);
    }

    fn question(&self, question: PeerQuestion) -> BoxFuture<'_, Result<helve_model::json::RawJson, crate::RpcError>> {
        lock(&self.asked).push(question);
        Box::pin(async { Ok(helve_model::json::RawJson::from_static(r#"{"action":"accept"}"#)) })
    }
}
