//! One started process and what hangs on it: noticing its end, and signalling its tree without ever hitting a process
//! that got the same number later.

use std::any::Any;
use std::fmt;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use tokio::io::unix::AsyncFd;

use super::lent::Lent;

/// How often we look whether a process has ended where the system cannot tell us.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A server's process with everything it starts.
///
/// Dropping it kills the tree: at once, without waiting, within a runtime or outside.
pub struct ServerProcess(Whose);

/// The process that started it.
enum Whose {
    /// We did.
    Ours {
        held: Arc<Held>,
        /// Readable when the process has ended. `None` where the system has no such thing.
        ended: Option<AsyncFd<OwnedFd>>,
    },
    /// Another process of the person's, which keeps it: see [`super::lent`].
    Lent(Arc<Lent>),
}

/// What the launcher knows about the processes behind the one it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tree {
    /// The process leads a process group: signal the group.
    Group,
    /// The process is a warden: tell it.
    #[cfg(warden)]
    Warden,
}

struct Held {
    id: Pid,
    tree: Tree,
    state: Mutex<State>,
    /// Dropped with the rest, and the rest is dropped only when the process is gone.
    guards: Mutex<Vec<Box<dyn Any + Send + Sync>>>,
}

enum State {
    /// Not waited for yet, so the process number is still ours: signals go to nobody else.
    Ours(Child),
    Gone(ExitReport),
}

impl ServerProcess {
    pub(super) fn new(child: Child, tree: Tree) -> Self {
        let id = Pid::from_child(&child);
        let state = Mutex::new(State::Ours(child));
        let held = Arc::new(Held { id, tree, state, guards: Mutex::default() });
        Self(Whose::Ours { held, ended: watch_end(id) })
    }

    pub(super) const fn lent(lent: Arc<Lent>) -> Self {
        Self(Whose::Lent(lent))
    }

    /// Keeps `guard` until the process is gone, however it is let go: whoever is told of the guard's end knows.
    pub fn keep_until_gone(&self, guard: impl Send + Sync + 'static) {
        match &self.0 {
            Whose::Ours { held, .. } => {
                held.guards.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(guard));
            }
            Whose::Lent(lent) => lent.keep_until_gone(Box::new(guard)),
        }
    }

    /// The number of the process that was started: the server's, or its warden's.
    #[must_use]
    pub fn id(&self) -> u32 {
        match &self.0 {
            Whose::Ours { held, .. } => held.id.as_raw_nonzero().get().unsigned_abs(),
            Whose::Lent(lent) => lent.id(),
        }
    }

    /// Waits until the process has ended, and says how. What is left of its process group is killed then; a warden
    /// ends when the whole tree has. A process that is lent has ended, too, when it was given back.
    ///
    /// Cancel safe; any number of callers may wait, at the same time or later.
    pub async fn wait(&self) -> ExitReport {
        let (held, ended) = match &self.0 {
            Whose::Ours { held, ended } => (held, ended),
            Whose::Lent(lent) => return lent.wait().await,
        };
        loop {
            if let Some(report) = held.reap() {
                return report;
            }
            // The readiness is never cleared: an ended process stays ended. An error means that the runtime of the
            // launch is gone.
            let woken = match ended {
                Some(ended) => ended.readable().await.is_ok(),
                None => false,
            };
            if !woken {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        }
    }

    /// How the process ended, if it has.
    #[must_use]
    pub fn try_wait(&self) -> Option<ExitReport> {
        match &self.0 {
            Whose::Ours { held, .. } => held.reap(),
            Whose::Lent(lent) => lent.exit(),
        }
    }

    /// Asks the tree to end: `SIGTERM`. Without effect when it is gone. A process that is lent is given back.
    pub fn terminate(&self) {
        match &self.0 {
            Whose::Ours { held, .. } => held.terminate(),
            Whose::Lent(lent) => lent.give_back(),
        }
    }

    /// Kills the tree: `SIGKILL`. Without effect when it is gone. A process that is lent is given back.
    pub fn kill(&self) {
        match &self.0 {
            Whose::Ours { held, .. } => held.kill(),
            Whose::Lent(lent) => lent.give_back(),
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let held = match &self.0 {
            Whose::Ours { held, .. } => held,
            Whose::Lent(lent) => return lent.give_back(),
        };
        held.kill();
        if held.reap().is_some() {
            return;
        }
        // Somebody has to collect the exit status or a zombie stays. It takes milliseconds, too long to block an
        // executor, and there may be no runtime here to hand it to. When no thread can be had, the zombie stays until
        // the host ends.
        let held = Arc::clone(held);
        let reaper = thread::Builder::new().name("helve-reaper".into()).spawn(move || {
            while held.reap().is_none() {
                thread::sleep(LOOK_AGAIN);
                // A warden that was just starting may have missed the first order.
                held.kill();
            }
        });
        if let Err(error) = reaper {
            tracing::warn!(%error, process = self.id(), "cannot collect the exit status of a killed server");
        }
    }
}

impl fmt::Debug for ServerProcess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("ServerProcess");
        shown.field("id", &self.id());
        match &self.0 {
            Whose::Ours { held, .. } => shown.field("tree", &held.tree).finish(),
            Whose::Lent(_) => shown.field("tree", &"lent").finish(),
        }
    }
}

impl Held {
    /// Collects the exit status if the process has ended.
    fn reap(&self) -> Option<ExitReport> {
        let mut state = self.lock();
        let child = match &mut *state {
            State::Ours(child) => child,
            State::Gone(report) => return Some(*report),
        };
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let report = match waitid(WaitId::Pid(self.id), look) {
            Ok(None) => return None,
            Ok(Some(_)) => {
                // Ended, but its number is ours until we collect it: the last moment to signal its group.
                if self.tree == Tree::Group {
                    ignore_gone(kill_process_group(self.id, Signal::KILL));
                }
                child.wait().map_or(ExitReport::Unknown, ExitReport::from)
            }
            // Somebody else collected it, or the host ignores SIGCHLD: the number may be another's by now.
            Err(_) => ExitReport::Unknown,
        };
        *state = State::Gone(report);
        Some(report)
    }

    fn terminate(&self) {
        if let State::Ours(_) = &*self.lock() {
            match self.tree {
                Tree::Group => ignore_gone(kill_process_group(self.id, Signal::TERM)),
                #[cfg(warden)]
                Tree::Warden => ignore_gone(kill_process(self.id, Signal::TERM)),
            }
        }
    }

    fn kill(&self) {
        if let State::Ours(_) = &*self.lock() {
            match self.tree {
                Tree::Group => {
                    ignore_gone(kill_process_group(self.id, Signal::KILL));
                    // In case it left its own group.
                    ignore_gone(kill_process(self.id, Signal::KILL));
                }
                #[cfg(warden)]
                Tree::Warden => {
                    ignore_gone(kill_process(self.id, super::warden::KILL));
                    // Somebody may have stopped it.
                    ignore_gone(kill_process(self.id, Signal::CONT));
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReport {
    /// It exited with this status.
    Exited(i32),
    /// This signal killed it.
    Signalled(i32),
    /// It is gone, but its status was collected by somebody else.
    Unknown,
}

impl From<ExitStatus> for ExitReport {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, Some(signal)) => Self::Signalled(signal),
            (None, None) => Self::Unknown,
        }
    }
}

impl fmt::Display for ExitReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(formatter, "exited with status {code}"),
            Self::Signalled(signal) => match signal_hook::low_level::signal_name(*signal) {
                Some(name) => write!(formatter, "killed by {name}"),
                None => write!(formatter, "killed by signal {signal}"),
            },
            Self::Unknown => formatter.write_str("ended with unknown status"),
        }
    }
}

#[cfg(pidfd)]
#[expect(deprecated, reason = "its successor is unsafe; what that asks of the caller, an OwnedFd guarantees")]
fn watch_end(id: Pid) -> Option<AsyncFd<OwnedFd>> {
    use rustix::process::{PidfdFlags, pidfd_open};
    let handle = pidfd_open(id, PidfdFlags::empty()).ok()?;
    AsyncFd::with_interest(handle, tokio::io::Interest::READABLE).ok()
}

#[cfg(not(pidfd))]
fn watch_end(_: Pid) -> Option<AsyncFd<OwnedFd>> {
    None
}

/// A process that has ended meanwhile, or that we may not signal, is not an error for whoever wanted it to end.
fn ignore_gone(result: rustix::io::Result<()>) {
    if let Err(error) = result {
        tracing::trace!(%error, "signal not delivered");
    }
}
