//! Owns a `helve serve --http` that chores connect to: started, found, and ended as a person would end it.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::interop::process::lines_of;

/// Time for the program to start on a busy machine.
const START: Duration = Duration::from_secs(30);

/// `helve serve --http`; killed when dropped.
#[derive(Debug)]
pub(crate) struct Listening {
    child: Child,
    pub(crate) url: String,
}

impl Listening {
    /// Starts it, and waits until it says where.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let program = command.get_program().to_os_string();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let lines = lines_of(child.stdout.take().context("no stdout")?);
        let mut listening = Self { child, url: String::new() };
        listening.url = lines.recv_timeout(START).context("helve serve --http does not say where it listens")?;
        Ok(listening)
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Where clients of the first transport over HTTP come in.
    pub(crate) fn sse_url(&self) -> String {
        self.url.replace("/mcp", "/sse")
    }

    /// Ends it as a person would.
    pub(crate) fn stop(mut self) -> Result<()> {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status()?;
        ensure!(asked.success(), "helve serve --http was gone already");
        let status = self.child.wait()?;
        ensure!(status.success(), "helve serve --http ended with {status}");
        Ok(())
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
