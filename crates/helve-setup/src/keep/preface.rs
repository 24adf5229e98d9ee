//! What is said before a connection to a kept server becomes one: which server, or what about the process itself. One
//! line each way, as JSON.

use std::io;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

/// A line that is longer is nothing of ours.
const MAX_LINE: usize = 1 << 20;

/// What somebody who connects wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preface {
    /// To speak with this server.
    Server(String),
    /// To know how the process is doing.
    Status,
    /// The process is to end.
    Stop,
}

/// What it is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// What follows is the program of the server, whose process has this number.
    Ready(u32),
    /// The server cannot be had.
    Failed(String),
    /// How the process is doing; before it ends, for the last time.
    Report(KeeperReport),
}

/// How a process that keeps servers is doing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeeperReport {
    /// Its number.
    pub process: u32,
    /// Where it was started.
    pub directory: String,
    /// For how long it has been running.
    pub running_seconds: u64,
    /// It ends when nobody came for so long.
    pub idle_seconds: u64,
    /// How many are connected.
    pub connections: usize,
    /// Those that were used, with their state.
    pub servers: Vec<(String, String)>,
}

/// Writes one line.
///
/// # Errors
/// The other side is gone.
pub async fn say(stream: &mut UnixStream, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    stream.write_all(&line).await
}

/// Reads one line and not a byte more: what follows it is not for us.
pub async fn hear<T: for<'de> Deserialize<'de>>(stream: &mut UnixStream) -> io::Result<T> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        stream.read_exact(&mut byte).await?;
        match byte {
            [b'\n'] => return Ok(serde_json::from_slice(&line)?),
            [byte] if line.len() < MAX_LINE => line.push(byte),
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long")),
        }
    }
}
