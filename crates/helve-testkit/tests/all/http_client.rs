//! HTTP/1.1 by hand: enough to send one request and read its answer piece by piece.

use std::net::SocketAddr;

use helve_testkit::HttpServer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{DEADLINE, with_meta};

/// One connection.
pub(crate) struct Http {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
}

/// Why reading stopped.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The body ended as it should.
    Whole,
    /// The connection closed before the end.
    Closed,
    /// The connection was reset.
    Reset,
}

impl Head {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Http {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(address).await.unwrap(), buffer: Vec::new() }
    }

    /// Sends a request; `headers` are added to the usual ones.
    pub(crate) async fn send(&mut self, verb: &str, path: &str, headers: &[(&str, &str)], body: &str) {
        let mut text = format!("{verb} {path} HTTP/1.1\r\ncontent-length: {}\r\n", body.len());
        let defaults = [
            ("host", "localhost"),
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
        ];
        let named = |name: &str| headers.iter().any(|(known, _)| *known == name);
        for (name, value) in defaults.iter().filter(|(name, _)| !named(name)).chain(headers) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        text.push_str(body);
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    pub(crate) async fn head(&mut self) -> Result<Head, End> {
        let end = loop {
            if let Some(at) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break at;
            }
            self.more().await?;
        };
        let text = String::from_utf8(self.buffer.drain(..end + 4).collect()).unwrap();
        let mut lines = text.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_string())).collect();
        Ok(Head { status, headers })
    }

    /// The next piece of a chunked body; nothing at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, End> {
        let line_end = loop {
            if let Some(at) = self.buffer.windows(2).position(|window| window == b"\r\n") {
                break at;
            }
            self.more().await?;
        };
        let size = usize::from_str_radix(std::str::from_utf8(&self.buffer[..line_end]).unwrap(), 16).unwrap();
        while self.buffer.len() < line_end + 2 + size + 2 {
            if let Err(end) = self.more().await {
                // What has come of a piece that was cut counts as come.
                self.buffer.drain(..line_end + 2);
                return Err(end);
            }
        }
        let piece = self.buffer[line_end + 2..line_end + 2 + size].to_vec();
        self.buffer.drain(..line_end + 2 + size + 2);
        Ok((size > 0).then_some(piece))
    }

    /// The rest of the body, and how it ended.
    pub(crate) async fn body(&mut self, head: &Head) -> (Vec<u8>, End) {
        let mut body = Vec::new();
        if head.status == 204 {
            return (body, End::Whole);
        }
        if let Some(length) = head.header("content-length") {
            let length: usize = length.parse().unwrap();
            while self.buffer.len() < length {
                if let Err(end) = self.more().await {
                    return (std::mem::take(&mut self.buffer), end);
                }
            }
            return (self.buffer.drain(..length).collect(), End::Whole);
        }
        loop {
            match self.chunk().await {
                Ok(Some(piece)) => body.extend_from_slice(&piece),
                Ok(None) => return (body, End::Whole),
                Err(end) => return (body, end),
            }
        }
    }

    /// The next event of a stream, as text without its blank line.
    pub(crate) async fn event(&mut self, rest: &mut Vec<u8>) -> Option<String> {
        loop {
            if let Some(at) = rest.windows(2).position(|window| window == b"\n\n") {
                let event = rest.drain(..at + 2).collect::<Vec<u8>>();
                return Some(String::from_utf8(event).unwrap().trim_end().to_string());
            }
            rest.extend_from_slice(&self.chunk().await.unwrap()?);
        }
    }

    async fn more(&mut self) -> Result<(), End> {
        let mut piece = vec![0; 65_536];
        let read = tokio::time::timeout(DEADLINE, self.stream.read(&mut piece)).await.expect("bytes in time");
        match read {
            Ok(0) => Err(End::Closed),
            Ok(count) => {
                self.buffer.extend_from_slice(&piece[..count]);
                Ok(())
            }
            Err(_) => Err(End::Reset),
        }
    }
}

/// Sends one request on a fresh connection and reads all of the answer.
pub(crate) async fn once(
    server: &HttpServer,
    verb: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<(Head, String, End), End> {
    let mut http = Http::connect(server.address()).await;
    http.send(verb, "/mcp", headers, body).await;
    let head = http.head().await?;
    let (body, end) = http.body(&head).await;
    Ok((head, String::from_utf8_lossy(&body).into_owned(), end))
}

/// The messages in a body of events.
pub(crate) fn data(body: &str) -> Vec<Value> {
    let lines = body.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.filter(|text| !text.is_empty()).map(|text| serde_json::from_str(text).unwrap()).collect()
}

/// A request's text and the headers of the modern era for it.
pub(crate) fn modern_request(method: &str, params: Value) -> (String, Vec<(&'static str, String)>) {
    let name = params["name"].as_str().or(params["uri"].as_str()).or(params["taskId"].as_str()).map(str::to_string);
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": with_meta(params) }).to_string();
    let mut headers = vec![("mcp-protocol-version", "2026-07-28".to_string()), ("mcp-method", method.to_string())];
    headers.extend(name.map(|name| ("mcp-name", name)));
    (body, headers)
}

pub(crate) async fn modern(server: &HttpServer, method: &str, params: Value) -> (Head, String) {
    let (body, headers) = modern_request(method, params);
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let (head, body, _) = once(server, "POST", &headers, &body).await.unwrap();
    (head, body)
}

pub(crate) fn initialize_body(version: &str) -> String {
    let params =
        json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "h", "version": "1" } });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string()
}

pub(crate) fn call_body(id: u64, tool: &str, arguments: Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": id } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

/// Opens a legacy session and returns its id.
pub(crate) async fn open_session(server: &HttpServer) -> String {
    let (head, _, _) = once(server, "POST", &[], &initialize_body("2025-11-25")).await.unwrap();
    assert_eq!(head.status, 200);
    head.header("mcp-session-id").unwrap().to_string()
}

/// The headers of a legacy request within a session.
pub(crate) fn within(session: &str) -> [(&str, &str); 2] {
    [("mcp-session-id", session), ("mcp-protocol-version", "2025-11-25")]
}
