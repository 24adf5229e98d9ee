//! The test itself as the peer, message by message: for what no server would do on request.

use helve_wire::{ConnectOptions, ProtocolChoice, Session, connect_stream};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::time::timeout;

use crate::support::PATIENCE;

/// What a pipe holds before its writer has to wait.
const PIPE_BYTES: usize = 64 << 10;

/// The server's end of a connection.
pub(crate) struct Hand {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl Hand {
    pub(crate) fn new(stream: DuplexStream) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self { reader: BufReader::new(reader), writer }
    }

    /// A session of the legacy era; this is its server.
    pub(crate) async fn legacy(options: ConnectOptions) -> (Session, Self) {
        Self::legacy_with_room(options, PIPE_BYTES).await
    }

    /// The same over a stream that holds only so many bytes.
    pub(crate) async fn legacy_with_room(options: ConnectOptions, bytes: usize) -> (Session, Self) {
        let greeting = json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} } });
        let (session, mut hand) = greet(options, "2025-11-25", bytes, &greeting).await;
        assert_eq!(hand.read().await["method"], "notifications/initialized");
        (session, hand)
    }

    /// A session of the modern era; this is its server.
    pub(crate) async fn modern(options: ConnectOptions) -> (Session, Self) {
        let greeting = json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {}, "resources": {} } });
        greet(options, "2026-07-28", PIPE_BYTES, &greeting).await
    }

    /// The next message of the client.
    pub(crate) async fn read(&mut self) -> Value {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.reader.read_line(&mut line)).await.unwrap().unwrap();
        assert_ne!(read, 0, "the client has closed its side");
        serde_json::from_str(&line).unwrap()
    }

    /// Takes a request of this method and gives its id.
    pub(crate) async fn request(&mut self, method: &str) -> u64 {
        let message = self.read().await;
        assert_eq!(message["method"], method, "{message}");
        message["id"].as_u64().unwrap()
    }

    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        timeout(PATIENCE, self.writer.write_all(bytes.as_ref())).await.unwrap().unwrap();
    }

    pub(crate) async fn line(&mut self, text: &str) {
        self.write(format!("{text}\n")).await;
    }

    pub(crate) async fn answer(&mut self, id: u64, result: &str) {
        self.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
    }

    /// Asks the client something.
    pub(crate) async fn ask(&mut self, id: &str, method: &str) {
        self.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{}}}}"#)).await;
    }

    /// The two directions, for tests that use them at the same time.
    pub(crate) fn into_parts(self) -> (BufReader<ReadHalf<DuplexStream>>, WriteHalf<DuplexStream>) {
        (self.reader, self.writer)
    }
}

async fn greet(options: ConnectOptions, version: &str, bytes: usize, greeting: &Value) -> (Session, Hand) {
    let (ours, theirs) = tokio::io::duplex(bytes);
    let mut hand = Hand::new(theirs);
    let options = options.with(|options| options.protocol = ProtocolChoice::Pinned(version.to_owned()));
    let greeted = async {
        let id = hand.read().await["id"].as_u64().unwrap();
        hand.answer(id, &greeting.to_string()).await;
    };
    let (session, ()) = tokio::join!(connect_stream(ours, options), greeted);
    (session.unwrap(), hand)
}
