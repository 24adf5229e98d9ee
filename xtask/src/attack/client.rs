//! Owns the smallest client over HTTP: one connection, one request at a time, and every byte of it in view.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::attack::arena::PATIENCE;

/// One connection of a token.
#[derive(Debug)]
pub(crate) struct Client {
    reader: BufReader<TcpStream>,
    address: String,
    token: String,
    /// Where messages are posted.
    pub(crate) path: String,
    /// What it calls itself.
    pub(crate) name: String,
    session: Option<String>,
    next: u64,
}

/// A response whose body was read.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    session: Option<String>,
    pub(crate) body: String,
}

/// The head of a response.
struct Head {
    status: u16,
    length: u64,
    is_chunked: bool,
    session: Option<String>,
}

impl Client {
    pub(crate) fn connect(address: &str, token: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).context("cannot connect")?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let (address, token, path) = (address.to_owned(), token.to_owned(), "/mcp".to_owned());
        let name = "attack".to_owned();
        Ok(Self { reader: BufReader::new(stream), address, token, path, name, session: None, next: 1 })
    }

    /// Another connection that goes on with the session of this one.
    pub(crate) fn again(&self) -> Result<Self> {
        let (session, path, name) = (self.session.clone(), self.path.clone(), self.name.clone());
        Ok(Self { session, path, name, ..Self::connect(&self.address, &self.token)? })
    }

    /// The same session, on a connection that nothing was asked on.
    pub(crate) fn elsewhere(self) -> Result<Self> {
        self.again()
    }

    /// Ends the session.
    pub(crate) fn delete(mut self) -> Result<()> {
        let head = self.request_head("DELETE");
        self.send_text(&format!("{head}\r\n"))?;
        let reply = self.reply()?;
        ensure!((200..300).contains(&reply.status), "the session was not ended: {}", reply.status);
        Ok(())
    }

    /// Opens the session's stream for what belongs to no request; nothing of it is read.
    pub(crate) fn listen(&mut self) -> Result<()> {
        let head = self.request_head("GET");
        self.send_text(&format!("{head}accept: text/event-stream\r\n\r\n"))?;
        let status = self.line()?;
        ensure!(status.contains("200"), "there is no stream: {status}");
        Ok(())
    }

    /// The handshake of the legacy era.
    pub(crate) fn initialize(&mut self) -> Result<()> {
        self.initialize_in("2025-11-25", &json!({}))
    }

    /// The same for one who can do so much.
    pub(crate) fn initialize_with(&mut self, capabilities: &Value) -> Result<()> {
        self.initialize_in("2025-11-25", capabilities)
    }

    /// The same in this version.
    pub(crate) fn initialize_as(&mut self, version: &str) -> Result<()> {
        self.initialize_in(version, &json!({}))
    }

    fn initialize_in(&mut self, version: &str, capabilities: &Value) -> Result<()> {
        let client = json!({"name": self.name, "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": client});
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
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.next += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        self.send(&message, &[])?;
        let reply = self.reply()?;
        let data = reply.body.lines().filter_map(|line| line.strip_prefix("data: ")).rfind(|data| !data.is_empty());
        let text = data.unwrap_or(&reply.body);
        serde_json::from_str(text).with_context(|| format!("{} {}", reply.status, reply.body))
    }

    /// Sends a message and reads nothing.
    pub(crate) fn send(&mut self, message: &Value, headers: &[(&str, &str)]) -> Result<()> {
        let text = self.written(message, headers);
        Ok(self.reader.get_mut().write_all(text.as_bytes())?)
    }

    /// Sends what is written already.
    pub(crate) fn send_text(&mut self, text: &str) -> Result<()> {
        Ok(self.reader.get_mut().write_all(text.as_bytes())?)
    }

    /// A message as it goes over the wire.
    pub(crate) fn written(&self, message: &Value, headers: &[(&str, &str)]) -> String {
        self.written_text(&message.to_string(), headers)
    }

    /// A body as it goes over the wire.
    pub(crate) fn written_text(&self, body: &str, headers: &[(&str, &str)]) -> String {
        let session = self.session.as_ref().map_or_else(String::new, |id| format!("mcp-session-id: {id}\r\n"));
        let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!(
            "POST {} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n{session}{more}content-length: {}\r\n\r\n{body}",
            self.path,
            self.token,
            body.len()
        )
    }

    /// The head of a request without a body.
    fn request_head(&self, method: &str) -> String {
        let session = self.session.as_ref().map_or_else(String::new, |id| format!("mcp-session-id: {id}\r\n"));
        format!("{method} /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n{session}", self.token)
    }

    /// Reads one response to its end.
    pub(crate) fn reply(&mut self) -> Result<Reply> {
        let head = self.head()?;
        self.body(head)
    }

    /// Reads one response, but for a stream, which may not end: that is left, and the next request has a connection of its own.
    pub(crate) fn reply_or_leave(&mut self) -> Result<u16> {
        let head = self.head()?;
        if head.is_chunked {
            *self = Self { next: self.next, ..self.again()? };
            return Ok(head.status);
        }
        Ok(self.body(head)?.status)
    }

    /// Opens a stream of events and reads what the first one says.
    pub(crate) fn open(&mut self, path: &str) -> Result<String> {
        let token = &self.token;
        let text = format!(
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\naccept: text/event-stream\r\n\r\n"
        );
        self.send_text(&text)?;
        let head = self.head()?;
        ensure!(head.status == 200 && head.is_chunked, "no stream: {}", head.status);
        self.event()
    }

    /// What the next event of an open stream says. Each event is in one chunk or in several.
    pub(crate) fn event(&mut self) -> Result<String> {
        let mut event = String::new();
        loop {
            let size = usize::from_str_radix(&self.line()?, 16)?;
            ensure!(size > 0, "the stream has ended");
            let mut chunk = Vec::new();
            self.reader.by_ref().take(size as u64).read_to_end(&mut chunk)?;
            self.line()?;
            event.push_str(std::str::from_utf8(&chunk)?);
            if event.ends_with("\n\n") {
                let data: String = event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
                if !data.is_empty() {
                    return Ok(data);
                }
                event.clear();
            }
        }
    }

    fn head(&mut self) -> Result<Head> {
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
        Ok(Head { status, length, is_chunked, session })
    }

    fn body(&mut self, head: Head) -> Result<Reply> {
        let Head { status, length, is_chunked, session } = head;
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
