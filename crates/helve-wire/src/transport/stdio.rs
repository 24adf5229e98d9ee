//! A server that is a program: started, spoken to over its standard streams, watched, and ended with all it started.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use helve_model::{ErrorCode, SecretSet, ServerName};
use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::dispatch::Dispatcher;
use crate::error::Result;
use crate::handler::BoxFuture;
use crate::launch::{CloseTimes, ExitReport, Launcher, ServerCommand, ServerProcess};
use crate::limits::Limits;
use crate::pending::Closed;
use crate::transport::stream::{Source, StreamLink, WhyEnded};
use helve_model::sync::lock;

/// How long we look for the reason after a server closed its output: calls in flight wait for it.
const REASON_TIME: Duration = Duration::from_millis(50);
/// How much of the server's last words goes into an error: lines, and characters of each.
const LAST_LINES: usize = 8;
const LAST_LINE_LENGTH: usize = 300;
/// What a pipe is widened to when large messages come.
#[cfg(target_os = "linux")]
const WIDE_PIPE: usize = 1 << 20;

/// The connection to a program.
#[derive(Debug)]
pub(crate) struct StdioLink {
    stream: StreamLink,
    process: Arc<ServerProcess>,
    stderr: Arc<StderrTail>,
    draining: AbortHandle,
    close_times: CloseTimes,
}

/// The newest bytes of a server's stderr.
#[derive(Debug)]
pub(crate) struct StderrTail {
    limit: usize,
    /// What nobody is told of it.
    secrets: Option<Arc<SecretSet>>,
    kept: Mutex<VecDeque<u8>>,
    ended: watch::Sender<bool>,
}

impl StdioLink {
    /// Starts the program and begins to read from it.
    pub(crate) fn start(
        launcher: &dyn Launcher,
        server: &ServerName,
        command: &ServerCommand,
        dispatcher: Arc<Dispatcher>,
        limits: &Limits,
        close_times: CloseTimes,
    ) -> Result<Self> {
        let launched = launcher.launch(command)?;
        let process = Arc::new(launched.process);
        let stderr = Arc::new(StderrTail {
            limit: limits.stderr_bytes,
            secrets: dispatcher.secrets().cloned(),
            kept: Mutex::default(),
            ended: watch::Sender::new(false),
        });
        let draining = tokio::spawn(Arc::clone(&stderr).drain(launched.stderr)).abort_handle();
        let why_ended = why_ended(server.clone(), Arc::clone(&process), Arc::clone(&stderr));
        let output = Output {
            pipe: launched.stdout,
            gone: Box::pin({
                let process = Arc::clone(&process);
                async move {
                    process.wait().await;
                }
            }),
        };
        let stream = StreamLink::start(output, Box::pin(launched.stdin), dispatcher, limits, why_ended);
        Ok(Self { stream, process, stderr, draining, close_times })
    }

    pub(crate) fn stream(&self) -> &StreamLink {
        &self.stream
    }

    pub(crate) fn exit(&self) -> Option<ExitReport> {
        self.process.try_wait()
    }

    pub(crate) fn stderr(&self) -> &Arc<StderrTail> {
        &self.stderr
    }

    /// Ends the server: its input ends, then it is asked, then it is killed. When this returns it is gone.
    pub(crate) async fn close(&self) {
        self.stream.close();
        crate::launch::close(&self.process, self.close_times).await;
    }
}

impl StdioLink {
    /// Kills the server; nothing is waited for.
    pub(crate) fn abandon(&self) {
        self.stream.close();
        self.process.kill();
    }
}

impl Drop for StdioLink {
    fn drop(&mut self) {
        // The process dies with its last owner; the reading task is one, and goes with the stream.
        self.process.kill();
        self.draining.abort();
    }
}

impl StderrTail {
    /// What is kept, as text.
    pub(crate) fn text(&self) -> String {
        let kept = lock(&self.kept);
        let (front, back) = kept.as_slices();
        let text = String::from_utf8_lossy(&[front, back].concat()).into_owned();
        match &self.secrets {
            Some(secrets) => secrets.hide(&text).into_owned(),
            None => text,
        }
    }

    /// The last few lines that are not blank; empty when there are none.
    pub(crate) fn last_lines(&self) -> String {
        let text = self.text();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines.get(lines.len().saturating_sub(LAST_LINES)..).unwrap_or_default();
        last.iter().map(|line| shortened(line)).collect::<Vec<_>>().join("\n")
    }

    /// Reads to the end: a server whose stderr nobody reads stops when the pipe is full.
    async fn drain(self: Arc<Self>, mut stderr: pipe::Receiver) {
        let mut chunk = Vec::new();
        loop {
            chunk.clear();
            // The buffer is made anew for each read, so that an idle server costs none.
            if stderr.readable().await.is_err() {
                break;
            }
            chunk.reserve(4 << 10);
            match stderr.read_buf(&mut chunk).await {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            }
            {
                let mut kept = lock(&self.kept);
                kept.extend(&chunk);
                let surplus = kept.len().saturating_sub(self.limit);
                drop(kept.drain(..surplus));
            }
            chunk = Vec::new();
        }
        self.ended.send_replace(true);
    }

    async fn ended(&self) {
        // The sender lives as long as `self`.
        drop(self.ended.subscribe().wait_for(|ended| *ended).await);
    }
}

/// The server's output. It ends with the server, even when a process that the server started holds it open.
struct Output {
    pipe: pipe::Receiver,
    gone: BoxFuture<'static, ()>,
}

impl AsyncRead for Output {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.pipe).poll_read(context, buffer) {
            // All that the server wrote has been read by now.
            Poll::Pending => self.gone.as_mut().poll(context).map(Ok),
            ready @ Poll::Ready(_) => ready,
        }
    }
}

impl Source for Output {
    #[cfg(target_os = "linux")]
    fn widen(&self) {
        // A wider pipe is quicker; without it (there is a limit per user) everything works all the same.
        let _: rustix::io::Result<usize> = rustix::pipe::fcntl_setpipe_size(&self.pipe, WIDE_PIPE);
    }
}

fn shortened(line: &str) -> Cow<'_, str> {
    match line.char_indices().nth(LAST_LINE_LENGTH).and_then(|(end, _)| line.get(..end)) {
        Some(beginning) => Cow::Owned(format!("{beginning}…")),
        None => Cow::Borrowed(line),
    }
}

fn why_ended(server: ServerName, process: Arc<ServerProcess>, stderr: Arc<StderrTail>) -> WhyEnded {
    Box::new(move |ended| {
        Box::pin(async move {
            let mut message = match timeout(REASON_TIME, process.wait()).await {
                Ok(exit) => {
                    drop(timeout(REASON_TIME / 2, stderr.ended()).await);
                    format!("the server `{server}` is gone: {exit}")
                }
                Err(_) => format!("the server `{server}` closed its output but still runs"),
            };
            if let Err(error) = ended {
                // Writing into a String cannot fail.
                let _: std::fmt::Result = write!(message, " (reading failed: {error})");
            }
            let closed = Closed::new(ErrorCode::TransportError, message);
            match stderr.last_lines() {
                last if last.is_empty() => {
                    closed.with_hint("it wrote nothing to stderr; run the command by hand to see what it does")
                }
                last => {
                    let last_words = last.lines().next_back().map(ToOwned::to_owned);
                    let closed = closed.with_hint(format!("the last lines of its stderr:\n{last}"));
                    Closed { last_words, ..closed }
                }
            }
        })
    })
}
