//! A process that another one keeps and lends: it looks like one of ours, and ends for whoever has it when it is given back.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex};

use tokio::net::unix::pipe;
use tokio::sync::watch;

use super::{ExitReport, Launched, ServerProcess};
use helve_model::sync::lock;

/// The lender's side of a process that was lent.
#[derive(Debug)]
pub struct Loan {
    /// What is written for the process.
    pub stdin: pipe::Receiver,
    /// Where its output goes.
    pub stdout: pipe::Sender,
    /// Where its diagnostics go.
    pub stderr: pipe::Sender,
    lent: Arc<Lent>,
}

/// What both sides know.
pub(super) struct Lent {
    id: u32,
    exit: watch::Sender<Option<ExitReport>>,
    is_given_back: watch::Sender<bool>,
    guards: Mutex<Vec<Box<dyn Any + Send + Sync>>>,
}

/// A process with this number, as whoever starts servers expects it, and the other ends of its pipes.
///
/// # Errors
/// When no pipes can be had.
pub fn lend(id: u32) -> std::io::Result<(Launched, Loan)> {
    let (theirs_in, our_in) = pipe::pipe()?;
    let (our_out, theirs_out) = pipe::pipe()?;
    let (our_err, theirs_err) = pipe::pipe()?;
    let lent = Arc::new(Lent {
        id,
        exit: watch::Sender::new(None),
        is_given_back: watch::Sender::new(false),
        guards: Mutex::default(),
    });
    let process = ServerProcess::lent(Arc::clone(&lent));
    let launched = Launched { stdin: theirs_in, stdout: theirs_out, stderr: theirs_err, process };
    Ok((launched, Loan { stdin: our_in, stdout: our_out, stderr: our_err, lent }))
}

/// How a loan goes on, apart from its pipes.
#[derive(Debug, Clone)]
pub struct LoanState(Arc<Lent>);

impl Loan {
    /// How it goes on.
    #[must_use]
    pub fn state(&self) -> LoanState {
        LoanState(Arc::clone(&self.lent))
    }
}

impl LoanState {
    /// The process has ended; the first report counts.
    pub fn ended(&self, report: ExitReport) {
        self.0.end(report);
    }

    /// Waits until nobody wants the process any more. Cancel safe.
    pub async fn given_back(&self) {
        // The sender lives as long as `self`.
        drop(self.0.is_given_back.subscribe().wait_for(|is_given_back| *is_given_back).await);
    }
}

impl Lent {
    pub(super) const fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn exit(&self) -> Option<ExitReport> {
        *self.exit.borrow()
    }

    pub(super) async fn wait(&self) -> ExitReport {
        let mut exit = self.exit.subscribe();
        // The sender lives as long as `self`.
        match exit.wait_for(Option::is_some).await {
            Ok(report) => report.unwrap_or(ExitReport::Unknown),
            Err(_) => ExitReport::Unknown,
        }
    }

    /// Nobody wants it any more: for whoever had it, it has ended.
    pub(super) fn give_back(&self) {
        self.is_given_back.send_replace(true);
        self.end(ExitReport::Exited(0));
    }

    pub(super) fn keep_until_gone(&self, guard: Box<dyn Any + Send + Sync>) {
        if self.exit().is_none() {
            lock(&self.guards).push(guard);
        }
    }

    fn end(&self, report: ExitReport) {
        self.exit.send_if_modified(|exit| exit.is_none().then(|| *exit = Some(report)).is_some());
        drop(std::mem::take(&mut *lock(&self.guards)));
    }
}

impl fmt::Debug for Lent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Lent").field("id", &self.id).field("exit", &self.exit()).finish_non_exhaustive()
    }
}
