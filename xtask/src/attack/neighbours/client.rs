//! Owns the smallest client over HTTP: one connection, one request at a time, and every byte of it in view.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::attack::arena::PATIENCE;

/// One connection of a token.
#[derive(Debug)]
pub(super) struct Client {
    reader: BufReader<TcpStream>,
    address: String,
    token: String,
    session: Option<String>,
    next: u64,
}

/// A response whose body was read.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    session: Option<String>,
    pub(super) body: String,
}

impl Client {
    pub(super) fn connect(address: &str, token: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).context("cannot connect")?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let (address, token) = (address.to_owned(), token.to_owned());
        Ok(Self { reader: BufReader::new(stream), address, token, session: None, next: 1 })
    }

    /// Another connection that goes on with the session of this one.
    pub(super) fn again(&self) -> Result<Self> {
        Ok(Self { session: self.session.clone(), ..Self::connect(&self.address, &self.token)? })
    }

    /// The handshake of the legacy era.
    pub(super) fn initialize(&mut self) -> Result<()> {
        let client = json!({"name": "attack", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        self.session = None;
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        self.send(&message, &[])?;
        let reply = self.reply()?;
        ensure!(reply.status == 200, "no session: {} {}", reply.status, reply.body);
        self.session = reply.session;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), &[])?;
        self.reply()?;
        Ok(())
    }

    /// Sends a request in the session and reads its answer.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.next += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        self.send(&message, &[])?;
        let reply = self.reply()?;
        let data = reply.body.lines().filter_map(|line| line.strip_prefix("data: ")).rfind(|data| !data.is_empty());
        let text = data.unwrap_or(&reply.body);
        serde_json::from_str(text).with_context(|| format!("{} {}", reply.status, reply.body))
    }

    /// Sends a message and reads nothing.
    pub(super) fn send(&mut self, message: &Value, headers: &[(&str, &str)]) -> Result<()> {
        let text = self.written(message, headers);
        Ok(self.reader.get_mut().write_all(text.as_bytes())?)
    }

    /// Sends what is written already.
    pub(super) fn send_text(&mut self, text: &str) -> Result<()> {
        Ok(self.reader.get_mut().write_all(text.as_bytes())?)
    }

    /// A message as it goes over the wire.
    pub(super) fn written(&self, message: &Value, headers: &[(&str, &str)]) -> String {
        let body = message.to_string();
        let session = self.session.as_ref().map_or_else(String::new, |id| format!("mcp-session-id: {id}\r\n"));
        let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n{session}{more}content-length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        )
    }

    /// Reads one response to its end.
    pub(super) fn reply(&mut self) -> Result<Reply> {
        let head = self.line()?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no status")?;
        let (mut length, mut is_chunked, mut session) = (0, false, None);
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse()?,
                "transfer-encoding" => is_chunked = value == "chunked",
                "mcp-session-id" => session = Some(value.to_owned()),
                _ => {}
            }
        }
        let mut body = Vec::new();
        if is_chunked {
            loop {
                let size = usize::from_str_radix(&self.line()?, 16)?;
                self.reader.by_ref().take(size as u64).read_to_end(&mut body)?;
                self.line()?;
                if size == 0 {
                    break;
                }
            }
        } else {
            self.reader.by_ref().take(length).read_to_end(&mut body)?;
        }
        Ok(Reply { status, session, body: String::from_utf8(body)? })
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.reader.read_line(&mut line)? > 0, "the connection was closed");
        line.truncate(line.trim_end().len());
        Ok(line)
    }
}
