//! An answer that no memory can hold: its call fails, the connection lives, and little is kept of it.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::child::Listening;
use crate::job::Era;
use crate::memory;
use crate::subject::{HttpClient, HttpWork, Server, StdioClient, StdioWork};

/// The wire's limit on one message, and what may come on top.
const LIMIT: f64 = 64.0 * 1024.0 * 1024.0;
const ABOVE_LIMIT: f64 = 64.0 * 1024.0 * 1024.0;

/// Four gibibytes through a pipe on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

pub(super) struct Line {
    pub(super) server: Server,
    pub(super) bytes: u64,
}

impl StdioWork for Line {
    type Output = String;

    async fn run<C: StdioClient>(self, era: Era) -> Result<String> {
        let mut client = C::connect(&self.server, era).await?;
        client.echo().await?;
        let before = start()?;
        let refusal =
            tokio::time::timeout(PATIENCE, client.oversized(self.bytes)).await.context("the call never ended")??;
        client.echo().await.context("the connection did not survive")?;
        let seen = finish(before, &refusal)?;
        client.close().await?;
        Ok(seen)
    }
}

pub(super) struct Body {
    pub(super) program: PathBuf,
    pub(super) bytes: u64,
}

impl HttpWork for Body {
    type Output = String;

    async fn run<C: HttpClient>(self, era: Era) -> Result<String> {
        let listening = Listening::echo_server(&self.program)?;
        let mut client = C::connect(listening.port, era).await?;
        client.echo().await?;
        let before = start()?;
        let refusal =
            tokio::time::timeout(PATIENCE, client.oversized(self.bytes)).await.context("the call never ended")??;
        client.echo().await.context("the client did not survive")?;
        finish(before, &refusal)
    }
}

fn start() -> Result<f64> {
    memory::reset_peak()?;
    memory::resident()
}

fn finish(before: f64, refusal: &str) -> Result<String> {
    let grown = memory::peak()? - before;
    let seen = format!("refused with \"{refusal}\", memory +{:.1} MB at its peak", grown / 1e6);
    if grown > LIMIT + ABOVE_LIMIT {
        bail!("too much was kept: {seen}");
    }
    Ok(seen)
}
