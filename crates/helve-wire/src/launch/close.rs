//! How a server is ended, step by step, and how long each step may take.

use std::time::Duration;

use tokio::time::timeout;

use super::process::{ExitReport, ServerProcess};

/// How often an order to die is repeated while the tree is still there.
const REPEAT_KILL: Duration = Duration::from_millis(250);

/// How long a server may take for each polite request to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloseTimes {
    /// Between the end of its input and `SIGTERM`.
    pub after_eof: Duration,
    /// Between `SIGTERM` and `SIGKILL`.
    pub after_terminate: Duration,
}

impl Default for CloseTimes {
    fn default() -> Self {
        Self { after_eof: Duration::from_millis(1500), after_terminate: Duration::from_secs(1) }
    }
}

/// Ends the server's tree: waits for the server to follow the end of its input, then `SIGTERM`, then `SIGKILL`.
///
/// Drop the server's stdin before; keep reading or drop its stdout and stderr, so that it is not stuck in a write.
/// Returns only when the process is gone (with the warden: the whole tree). A process that the kernel cannot end now,
/// say in the middle of a read from a dead network disk, makes this wait; put a timeout around it to bound that.
///
/// Cancel safe: dropping the future leaves the process as it is, at the step that was reached.
pub async fn close(process: &ServerProcess, times: CloseTimes) -> CloseReport {
    if let Ok(exit) = timeout(times.after_eof, process.wait()).await {
        return CloseReport { exit, step: CloseStep::EndOfInput };
    }
    process.terminate();
    if let Ok(exit) = timeout(times.after_terminate, process.wait()).await {
        return CloseReport { exit, step: CloseStep::Terminate };
    }
    loop {
        process.kill();
        if let Ok(exit) = timeout(REPEAT_KILL, process.wait()).await {
            return CloseReport { exit, step: CloseStep::Kill };
        }
    }
}

/// How a server ended, and what it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloseReport {
    /// What its main process reported.
    pub exit: ExitReport,
    /// The step it followed.
    pub step: CloseStep,
}

/// The steps of [`close`], from polite to final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CloseStep {
    /// It ended by itself, or because its input ended.
    EndOfInput,
    /// It ended after `SIGTERM`.
    Terminate,
    /// It was killed.
    Kill,
}
