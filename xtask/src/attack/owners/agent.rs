//! Owns an agent over HTTP for the attack on ownership: one token, a session and modern requests, by blocking.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::attack::arena::PATIENCE;

/// How long an open request is listened to in the end. What is for it has come before the steps that followed it.
const LAST_WORDS: Duration = Duration::from_millis(1);

/// Bytes of one chunk or body that are read.
const MOST_BYTES: usize = 64 << 20;

/// One principal.
#[derive(Debug)]
pub(crate) struct Agent {
    address: String,
    token: &'static str,
    connection: Option<BufReader<TcpStream>>,
    session: Option<String>,
    last: u64,
}

/// A request that was left open.
#[derive(Debug)]
pub(crate) struct Held {
    stream: TcpStream,
}

/// What stands before a body.
#[derive(Debug, Default)]
struct Head {
    status: u16,
    session: Option<String>,
    length: Option<usize>,
    is_chunked: bool,
}

impl Agent {
    pub(crate) fn new(url: &str, token: &'static str) -> Result<Self> {
        let address = url.strip_prefix("http://").and_then(|rest| rest.split('/').next()).context("no address")?;
        Ok(Self { address: address.to_owned(), token, connection: None, session: None, last: 0 })
    }

    /// Asks in the modern way; gives everything that came, the answer last.
    pub(crate) fn modern(&mut self, method: &str, params: &Value) -> Result<Vec<Value>> {
        let headers = modern_headers(method, params);
        self.ask(method, params, &headers)
    }

    /// Asks in a session, which is begun with the first request.
    pub(crate) fn legacy(&mut self, method: &str, params: &Value) -> Result<Vec<Value>> {
        if self.session.is_none() {
            let client = json!({"name": "attack", "version": "1"});
            let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
            self.ask("initialize", &hello, "")?;
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            let headers = self.session_header()?;
            self.exchange(&ready, &headers)?;
        }
        let headers = self.session_header()?;
        self.ask(method, params, &headers)
    }

    /// Asks in the modern way on a connection of its own, and leaves the request open.
    pub(crate) fn hold(&mut self, method: &str, params: &Value) -> Result<Held> {
        self.last += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        let mut connection = self.connect()?;
        self.send(&mut connection, &message, &modern_headers(method, params))?;
        // Nothing may come for it, not even the beginning of an answer.
        Ok(Held { stream: connection.into_inner() })
    }

    fn ask(&mut self, method: &str, params: &Value, headers: &str) -> Result<Vec<Value>> {
        self.last += 1;
        let id = json!(self.last);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let came = self.exchange(&message, headers).with_context(|| format!("no answer to {method}"))?;
        ensure!(came.last().is_some_and(|last| last["id"] == id), "the answer to {method} is not the last: {came:?}");
        Ok(came)
    }

    fn exchange(&mut self, message: &Value, headers: &str) -> Result<Vec<Value>> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        self.send(&mut connection, message, headers)?;
        let head = Head::read(&mut connection)?;
        if head.session.is_some() {
            self.session.clone_from(&head.session);
        }
        let body = head.body(&mut connection)?;
        self.connection = Some(connection);
        match head.status {
            202 => Ok(Vec::new()),
            _ if head.is_chunked && body.contains("data: ") => messages(&body),
            _ => Ok(vec![serde_json::from_str(&body).with_context(|| format!("{}: {body}", head.status))?]),
        }
    }

    fn connect(&self) -> Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(BufReader::new(stream))
    }

    fn send(&self, connection: &mut BufReader<TcpStream>, message: &Value, headers: &str) -> Result<()> {
        let body = message.to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            self.address,
            self.token,
            body.len(),
        );
        Ok(connection.get_mut().write_all(request.as_bytes())?)
    }

    fn session_header(&self) -> Result<String> {
        let session = self.session.as_ref().context("no session was begun")?;
        Ok(format!("Mcp-Session-Id: {session}\r\n"))
    }
}

fn modern_headers(method: &str, params: &Value) -> String {
    let name = ["name", "uri", "taskId"].iter().find_map(|key| params[key].as_str());
    let name = name.map_or_else(String::new, |name| format!("Mcp-Name: {name}\r\n"));
    format!("Mcp-Protocol-Version: {}\r\nMcp-Method: {method}\r\n{name}", helve_testkit::MODERN_VERSION)
}

/// The messages of a stream of events.
fn messages(events: &str) -> Result<Vec<Value>> {
    let data = events.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| !data.is_empty());
    data.map(|data| serde_json::from_str(data).with_context(|| format!("not JSON: {data}"))).collect()
}

impl Head {
    fn read(connection: &mut BufReader<TcpStream>) -> Result<Self> {
        let mut head = Self::default();
        let mut line = String::new();
        connection.read_line(&mut line)?;
        head.status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no status")?;
        loop {
            line.clear();
            ensure!(connection.read_line(&mut line)? > 0, "the head is cut");
            let Some((name, value)) = line.trim_end().split_once(':') else { return Ok(head) };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => head.length = Some(value.parse()?),
                "transfer-encoding" => head.is_chunked = value == "chunked",
                "mcp-session-id" => head.session = Some(value.to_owned()),
                _ => {}
            }
        }
    }

    /// The whole of it: a stream ends after its answer.
    fn body(&self, connection: &mut BufReader<TcpStream>) -> Result<String> {
        let mut body = Vec::new();
        if !self.is_chunked {
            let length = self.length.unwrap_or(0);
            ensure!(length <= MOST_BYTES, "a body of {length} bytes");
            body.resize(length, 0);
            connection.read_exact(&mut body)?;
            return Ok(String::from_utf8(body)?);
        }
        loop {
            let mut line = String::new();
            connection.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim_end(), 16).with_context(|| format!("no chunk: {line}"))?;
            ensure!(length + body.len() <= MOST_BYTES, "a stream of more than {MOST_BYTES} bytes");
            let start = body.len();
            body.resize(start + length, 0);
            connection.read_exact(body.get_mut(start..).unwrap_or_default())?;
            line.clear();
            connection.read_line(&mut line)?;
            if length == 0 {
                return Ok(String::from_utf8(body)?);
            }
        }
    }
}

impl Held {
    /// The messages that have come.
    pub(crate) fn heard(&mut self) -> Vec<Value> {
        match self.read() {
            Ok(events) => messages(&events).unwrap_or_else(|error| vec![json!(format!("{error:#}"))]),
            Err(error) => vec![json!(format!("{error:#}"))],
        }
    }

    fn read(&mut self) -> Result<String> {
        self.stream.set_read_timeout(Some(LAST_WORDS))?;
        let mut came = Vec::new();
        let mut piece = [0; 4_096];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => bail!("the request was not left open: {}", String::from_utf8_lossy(&came)),
                Ok(bytes) => came.extend(piece.get(..bytes).unwrap_or_default()),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Ok(String::from_utf8_lossy(&came).into_owned());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}
