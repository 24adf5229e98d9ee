//! Owns a second opinion about each server's era: the question asked by hand, without a line of helve's wire.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::process::{Listening, command, lines_of};
use super::servers::{Era, Server, Transport};

/// Time for an answer, the interpreter's start included.
const PATIENCE: Duration = Duration::from_secs(30);

const MODERN: &str = "2026-07-28";

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) era: Era,
    /// The discovery result's versions, or the refusal.
    pub(crate) words: String,
}

/// Asks a freshly started `server` for its era.
pub(crate) fn ask(server: &Server, mark: &str) -> Result<Answer> {
    match server.transport {
        Transport::Stdio => ask_stdio(server, mark),
        Transport::Http(path) | Transport::Sse(path) => {
            let listening = Listening::start(server, mark)?;
            ask_http(listening.port, path)
        }
    }
}

fn ask_stdio(server: &Server, mark: &str) -> Result<Answer> {
    let mut child = command(server, mark)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {}", server.name))?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    let lines = lines_of(child.stdout.take().context("no stdout")?);
    writeln!(stdin, "{}", discover())?;
    let deadline = Instant::now() + PATIENCE;
    let answer = loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => match serde_json::from_str::<Value>(&line) {
                Ok(message) if message["id"] == discover()["id"] => break Ok(read(&message)),
                _ => {}
            },
            Err(_) => break Err(anyhow::anyhow!("{} did not answer server/discover", server.name)),
        }
    };
    // End of input is how a server is told to leave; its output ends when it does.
    drop(stdin);
    let deadline = Instant::now() + PATIENCE;
    loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(_) => {}
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                drop(child.kill());
                drop(child.wait());
                bail!("{} stays after the end of its input", server.name);
            }
        }
    }
    child.wait()?;
    answer
}

fn ask_http(port: u16, path: &str) -> Result<Answer> {
    let body = discover().to_string();
    let mut stream = TcpStream::connect(("localhost", port)).context("the server does not take connections")?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {MODERN}\r\nMcp-Method: server/discover\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).context("no whole answer")?;
    let status = answer.lines().next().unwrap_or_default().to_owned();
    let message = answer.lines().find_map(|line| serde_json::from_str::<Value>(line).ok().filter(Value::is_object));
    Ok(message.map_or(Answer { era: Era::Legacy, words: status }, |message| read(&message)))
}

fn read(message: &Value) -> Answer {
    let versions = &message["result"]["supportedVersions"];
    if versions.is_array() {
        return Answer { era: Era::Modern, words: versions.to_string() };
    }
    let error = &message["error"];
    Answer { era: Era::Legacy, words: format!("{} {}", error["code"], error["message"]) }
}

fn discover() -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": "probe",
        "method": "server/discover",
        "params": {"_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "xtask", "version": env!("CARGO_PKG_VERSION")},
        }},
    })
}
