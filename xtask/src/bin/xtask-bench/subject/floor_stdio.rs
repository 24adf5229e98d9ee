//! The floor over stdio: a tokio pipe ping-pong. Bytes there, bytes back until the newline, nothing parsed.

use std::process::Stdio;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::{Server, StdioClient, TEXT};
use crate::job::{Era, Shape};

const READ: usize = 64 * 1024;

/// helve widens a pipe on which large answers come, so the floor has a wide one too.
const PIPE: usize = 1 << 20;

/// One pipe pair and a buffer.
#[derive(Debug)]
pub(crate) struct PingPong {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    buffer: Vec<u8>,
    era: Era,
    echo: Vec<u8>,
}

impl StdioClient for PingPong {
    type Answer = Vec<u8>;

    async fn connect(server: &Server, era: Era) -> Result<Self> {
        let mut child = Command::new(&server.program)
            .args(&server.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start the echo server")?;
        let stdin = child.stdin.take().context("no stdin")?;
        let stdout = child.stdout.take().context("no stdout")?;
        rustix::pipe::fcntl_setpipe_size(&stdout, PIPE).context("cannot widen a pipe")?;
        let echo = request(era, "tools/call", &format!(r#""name":"echo","arguments":{{"text":"{TEXT}"}}"#));
        let mut client = Self { child, stdin, stdout, buffer: Vec::with_capacity(READ), era, echo };
        match era {
            Era::Legacy => {
                let hello =
                    r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"floor","version":"1"}"#;
                client.exchange(&request(era, "initialize", hello)).await?;
                client.stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").await?;
            }
            Era::Modern => client.exchange(&request(era, "server/discover", "")).await?,
        }
        Ok(client)
    }

    async fn echo(&mut self) -> Result<()> {
        let echo = std::mem::take(&mut self.echo);
        self.exchange(&echo).await?;
        self.echo = echo;
        Ok(())
    }

    async fn large(&mut self, shape: Shape) -> Result<Vec<u8>> {
        let name = match shape {
            Shape::Text => "text",
            Shape::Structured => "structured",
        };
        self.exchange(&request(self.era, "tools/call", &format!(r#""name":"{name}","arguments":{{}}"#))).await?;
        Ok(std::mem::take(&mut self.buffer))
    }

    async fn list(&mut self) -> Result<Vec<u8>> {
        self.exchange(&request(self.era, "tools/list", "")).await?;
        Ok(std::mem::take(&mut self.buffer))
    }

    async fn oversized(&mut self, _bytes: u64) -> Result<String> {
        bail!("the floor has no limits")
    }

    async fn close(mut self) -> Result<()> {
        drop(self.stdin);
        self.child.wait().await?;
        Ok(())
    }
}

impl PingPong {
    /// Leaves the answer in the buffer.
    async fn exchange(&mut self, line: &[u8]) -> Result<()> {
        self.buffer.clear();
        self.stdin.write_all(line).await?;
        while self.buffer.last() != Some(&b'\n') {
            self.buffer.reserve(READ);
            if self.stdout.read_buf(&mut self.buffer).await? == 0 {
                bail!("the echo server has gone");
            }
        }
        Ok(())
    }
}

/// A whole line of either era, ready to be sent again and again.
pub(super) fn request(era: Era, method: &str, params: &str) -> Vec<u8> {
    let meta = match era {
        Era::Legacy => "",
        Era::Modern => {
            r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"floor","version":"1"}}"#
        }
    };
    let comma = if meta.is_empty() || params.is_empty() { "" } else { "," };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{{{params}{comma}{meta}}}}}\n")
        .into_bytes()
}
