//! Owns the smallest HTTP client for chores: one connection that is kept, one request at a time, a whole answer.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// One connection to an address.
#[derive(Debug)]
pub(crate) struct Http {
    address: String,
    reader: Option<BufReader<TcpStream>>,
    patience: Duration,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Http {
    /// To `host:port`; connected at the first request.
    pub(crate) fn new(address: &str, patience: Duration) -> Self {
        Self { address: address.to_owned(), reader: None, patience }
    }

    /// Sends a request and reads its whole answer. A connection that the other end has closed meanwhile is made anew, once.
    pub(crate) fn request(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Reply> {
        let is_kept = self.reader.is_some();
        match self.once(method, path, headers, body) {
            Err(_) if is_kept => {
                self.reader = None;
                self.once(method, path, headers, body)
            }
            answered => answered,
        }
    }

    fn once(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Reply> {
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            None => {
                let stream =
                    TcpStream::connect(&self.address).with_context(|| format!("nobody at {}", self.address))?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(self.patience))?;
                BufReader::new(stream)
            }
        };
        let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let address = &self.address;
        let length = body.len();
        let mut message =
            format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\n{more}content-length: {length}\r\n\r\n")
                .into_bytes();
        message.extend_from_slice(body);
        reader.get_mut().write_all(&message)?;
        let reply = read(&mut reader)?;
        if !reply.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            self.reader = Some(reader);
        }
        Ok(reply)
    }
}

/// Reads one answer to its end.
fn read(reader: &mut BufReader<TcpStream>) -> Result<Reply> {
    let status = line(reader)?.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no status")?;
    let mut headers = Vec::new();
    loop {
        let line = line(reader)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut reply = Reply { status, headers, body: Vec::new() };
    if reply.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        loop {
            let size = u64::from_str_radix(&line(reader)?, 16)?;
            reader.by_ref().take(size).read_to_end(&mut reply.body)?;
            line(reader)?;
            if size == 0 {
                break;
            }
        }
    } else {
        let length: u64 = reply.header("content-length").map_or(Ok(0), str::parse)?;
        reader.by_ref().take(length).read_to_end(&mut reply.body)?;
        ensure!(reply.body.len() as u64 == length, "the answer was cut");
    }
    Ok(reply)
}

fn line(reader: &mut BufReader<TcpStream>) -> Result<String> {
    let mut line = String::new();
    ensure!(reader.read_line(&mut line)? > 0, "the connection was closed");
    line.truncate(line.trim_end().len());
    Ok(line)
}
