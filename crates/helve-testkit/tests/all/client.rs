//! A client that knows nothing but lines of JSON.

use std::time::Duration;

use helve_testkit::{Recorder, Scenario};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

pub(crate) const DEADLINE: Duration = Duration::from_secs(10);

pub(crate) struct Client {
    reader: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// What came besides the answers, since last taken.
    pub(crate) others: Vec<Value>,
    next_id: u64,
}

impl Client {
    pub(crate) fn in_process(scenario: &Scenario) -> (Self, Recorder) {
        let peer = scenario.in_process();
        let (reader, writer) = tokio::io::split(peer.stream);
        (Self::over(reader, writer), peer.recorder)
    }

    pub(crate) fn over(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let reader: Box<dyn AsyncRead + Send + Unpin> = Box::new(reader);
        Self { reader: BufReader::new(reader), writer: Box::new(writer), others: Vec::new(), next_id: 0 }
    }

    /// A legacy client that has made its handshake.
    pub(crate) async fn legacy(scenario: &Scenario, version: &str) -> (Self, Recorder) {
        let (mut client, recorder) = Self::in_process(scenario);
        client.initialize(version).await;
        (client, recorder)
    }

    pub(crate) async fn initialize(&mut self, version: &str) -> Value {
        self.initialize_with(version, json!({})).await
    }

    /// The handshake of a client that can do this.
    pub(crate) async fn initialize_with(&mut self, version: &str, capabilities: Value) -> Value {
        let params = json!({ "protocolVersion": version, "capabilities": capabilities,
                             "clientInfo": { "name": "by hand", "version": "1" } });
        let answer = self.request("initialize", params).await;
        // A server that refused may be gone already.
        if answer.get("error").is_none() {
            self.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        }
        answer
    }

    pub(crate) async fn write(&mut self, line: &str) {
        self.writer.write_all(line.as_bytes()).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
        self.writer.flush().await.unwrap();
    }

    pub(crate) async fn close_writer(&mut self) {
        self.writer.shutdown().await.unwrap();
        self.writer = Box::new(tokio::io::sink());
    }

    /// One line with its end, or nothing at the end of the stream.
    pub(crate) async fn line(&mut self) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        let reading = self.reader.read_until(b'\n', &mut line);
        let count = tokio::time::timeout(DEADLINE, reading).await.expect("a line in time").unwrap_or(0);
        (count > 0).then_some(line)
    }

    pub(crate) async fn message(&mut self) -> Value {
        let line = self.line().await.expect("a line");
        serde_json::from_slice(&line).unwrap_or_else(|_| panic!("not JSON: {}", String::from_utf8_lossy(&line)))
    }

    /// The next message with this id; the others are put aside.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.message().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.others.push(message);
        }
    }

    /// Sends a request and returns its id.
    pub(crate) async fn start(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params });
        self.write(&message.to_string()).await;
        self.next_id
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        self.answer(id).await
    }

    /// Calls a tool and returns the result.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        assert!(answer.get("result").is_some(), "no result: {answer}");
        answer["result"].clone()
    }

    pub(crate) async fn modern(&mut self, method: &str, params: Value) -> Value {
        self.request(method, with_meta(params)).await
    }
}

/// Adds the metadata of the modern era to parameters.
pub(crate) fn with_meta(mut params: Value) -> Value {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "by hand", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {
            "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {},
            "extensions": { "io.modelcontextprotocol/tasks": {} } },
    });
    if let Some(own) = params.get("_meta").and_then(Value::as_object) {
        for (key, value) in own {
            meta[key] = value.clone();
        }
    }
    params["_meta"] = meta;
    params
}
