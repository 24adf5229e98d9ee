//! Owns how a worker is started: confined, or not at all; and the one that waits for the next program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use helve_model::sync::lock;
use helve_wire::launch::{ExitReport, Launched, Launcher, ServerCommand, ServerProcess, WardenProgram};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::task::AbortHandle;

use crate::confined;
use crate::frame;
use crate::limits::Limits;
use crate::modules;
use crate::probe::{self as python, Python, Search};

/// What of a worker's complaints is kept.
const COMPLAINT_BYTES: u64 = 4096;

/// From where an engine is made. Nothing is looked up that is not said here.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EngineSetup {
    /// The program that confines itself before it becomes the interpreter; `None`: there is no code mode.
    pub stage: Option<WardenProgram>,
    /// The interpreter; `None`: the first `python3` or `python` of the search path that will do.
    pub python: Option<PathBuf>,
    /// Directories in which an interpreter is looked for.
    pub search_path: Option<OsString>,
    /// The person's home.
    pub home: Option<PathBuf>,
    /// Directories that no program may open.
    pub own: Vec<PathBuf>,
    /// Where it is kept what was found out about interpreters.
    pub cache: Option<PathBuf>,
}

/// Why there is no code mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoEngine(String);

/// An interpreter that can be started in its sandbox. Cheap to clone; every clone is the same.
#[derive(Debug, Clone)]
pub struct Engine(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    python: Python,
    worker: Vec<u8>,
    launcher: Arc<dyn Launcher>,
    command: ServerCommand,
    spare: Mutex<Waiting>,
}

/// The worker that waits for the next program.
#[derive(Debug, Default)]
enum Waiting {
    #[default]
    Nobody,
    /// Somebody makes one ready.
    OnItsWay,
    Ready {
        worker: Worker,
        _expires: Expiry,
    },
}

/// Ends the wait of a worker that nobody wants. Dropped, it does not.
#[derive(Debug)]
struct Expiry(AbortHandle);

/// A worker: its pipes and its process. Dropped, it ends.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) stdin: pipe::Sender,
    pub(crate) stdout: pipe::Receiver,
    stderr: pipe::Receiver,
    process: ServerProcess,
    /// Bytes that were read behind the last line.
    pub(crate) unread: Vec<u8>,
}

/// How a worker ended that did not say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum How {
    /// It used all of its processor time.
    ProcessorLimit,
    /// A signal ended it.
    Crashed(String),
    /// It ended by itself.
    Exited(String),
}

impl EngineSetup {
    /// A machine about which nothing is said.
    #[must_use]
    pub const fn new(stage: Option<WardenProgram>) -> Self {
        Self { stage, python: None, search_path: None, home: None, own: Vec::new(), cache: None }
    }

    /// The same with a change.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl Engine {
    /// Finds the interpreter and prepares its sandbox. Starts no program.
    ///
    /// # Errors
    /// There is no such Python, or this machine cannot confine it: then no program ever runs.
    pub async fn find(setup: &EngineSetup, limits: &Limits) -> Result<Self, NoEngine> {
        let off = |why: &dyn std::fmt::Display| NoEngine(format!("code mode is off: {why}"));
        let Some(stage) = &setup.stage else {
            return Err(off(&"no program is named that confines itself before it becomes the interpreter"));
        };
        let launcher = confined::launcher(stage).map_err(|why| off(&why))?;
        let search = Search {
            python: setup.python.clone(),
            search_path: setup.search_path.clone(),
            home: setup.home.clone(),
            cache: setup.cache.clone(),
        };
        let python = python::find(&search, &launcher).await.map_err(NoEngine)?;
        let command = confined::command(&python, setup, stage, limits).await.map_err(|why| off(&why))?;
        let worker = python.worker().map_err(|error| off(&error))?;
        Ok(Self(Arc::new(Inner { python, worker, launcher, command, spare: Mutex::default() })))
    }

    /// The interpreter, for people: `Python 3.11.7 (/usr/bin/python3.11)`.
    #[must_use]
    pub fn description(&self) -> String {
        let (major, minor, patch) = self.0.python.version;
        format!("Python {major}.{minor}.{patch} ({})", self.0.python.executable.display())
    }

    /// The interpreter's own file.
    #[must_use]
    pub fn executable(&self) -> &Path {
        &self.0.python.executable
    }

    /// The modules that it has of those that programs may import.
    pub(crate) fn modules(&self) -> &[String] {
        &self.0.python.modules
    }

    /// A worker for one program: the one that waits, or a new one.
    pub(crate) async fn worker(&self) -> Result<Worker, NoEngine> {
        match self.take_spare() {
            Some(spare) if spare.is_alive() => Ok(spare),
            _ => self.start().await,
        }
    }

    fn take_spare(&self) -> Option<Worker> {
        let mut waiting = lock(&self.0.spare);
        match std::mem::take(&mut *waiting) {
            Waiting::Ready { worker, .. } => Some(worker),
            other => {
                *waiting = other;
                None
            }
        }
    }

    /// Has a worker wait for the next program, for so long; in the background, and not longer than there is this engine.
    pub(crate) fn prepare_spare(&self, time: Duration) {
        {
            let mut waiting = lock(&self.0.spare);
            if !matches!(*waiting, Waiting::Nobody) {
                return;
            }
            *waiting = Waiting::OnItsWay;
        }
        let engine = self.clone();
        drop(tokio::spawn(async move {
            let warmed = match engine.start().await {
                Ok(mut worker) => {
                    worker.stdin.write_all(frame::warm(modules::WARM).as_bytes()).await.ok().map(|()| worker)
                }
                Err(_) => None,
            };
            let held = Arc::downgrade(&engine.0);
            let Some(worker) = warmed else {
                *lock(&engine.0.spare) = Waiting::Nobody;
                return;
            };
            let expires = tokio::spawn(async move {
                tokio::time::sleep(time).await;
                if let Some(engine) = held.upgrade() {
                    drop(Self(engine).take_spare());
                }
            });
            *lock(&engine.0.spare) = Waiting::Ready { worker, _expires: Expiry(expires.abort_handle()) };
        }));
    }

    async fn start(&self) -> Result<Worker, NoEngine> {
        let broken = |error: &dyn std::fmt::Display| NoEngine(format!("the worker cannot be started: {error}"));
        let launched = self.0.launcher.launch(&self.0.command).map_err(|error| broken(&error))?;
        let Launched { mut stdin, stdout, stderr, process } = launched;
        // One that ends at once says why in its own way.
        stdin.write_all(&self.0.worker).await.ok();
        Ok(Worker { stdin, stdout, stderr, process, unread: Vec::new() })
    }
}

impl Drop for Expiry {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Worker {
    fn is_alive(&self) -> bool {
        self.process.try_wait().is_none()
    }

    /// How it ended; it is ended if it has not.
    pub(crate) async fn ended(self, patience: Duration) -> How {
        drop(self.stdin);
        let exit = match tokio::time::timeout(patience, self.process.wait()).await {
            Ok(exit) => exit,
            Err(_) => {
                self.process.kill();
                self.process.wait().await
            }
        };
        let mut complained = Vec::new();
        let mut stderr = self.stderr.take(COMPLAINT_BYTES);
        drop(tokio::time::timeout(patience, stderr.read_to_end(&mut complained)).await);
        let complaint = String::from_utf8_lossy(&complained);
        let last = complaint.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        let last = helve_model::text::one_line(&helve_model::text::cut(last, 300)).into_owned();
        match exit {
            ExitReport::Signalled(9 | 24) => How::ProcessorLimit,
            ExitReport::Signalled(_) => How::Crashed(exit.to_string()),
            _ if last.is_empty() => How::Exited(exit.to_string()),
            _ => How::Exited(format!("{exit}: {last}")),
        }
    }
}
