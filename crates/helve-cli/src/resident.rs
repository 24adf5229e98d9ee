//! The process in the background: the program of each server that was asked for, lent to whoever of its user comes.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use helve::{CallError, KeptProgram};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{geteuid, setsid};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;

use helve_setup::Recipe;
use helve_setup::keep::{ENDING, KeeperReport, LOOK_EVERY, Place, Preface, STARTING, Told, hear, open_private, say};

use crate::context::Context;
use crate::failure::Failure;

/// How long whoever connects may take to say what he wants.
const PREFACE_WITHIN: Duration = Duration::from_secs(5);

/// Keeps servers until nobody has come for `idle`, or it is told to end.
pub(crate) async fn run(context: &Context, place: &Place, recipe: Recipe, idle: Duration) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::other("the socket cannot be had").cause(&error);
    // A terminal that is closed must not end what it started. A process that leads its session already needs no new one.
    let _ = setsid();
    let lock = open_private(&place.lock()).map_err(failed)?;
    let deadline = Instant::now() + ENDING;
    while flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        if place.ask(Preface::Status).await.is_ok() {
            // Somebody keeps these servers already.
            return Ok(());
        }
        // A process that has the lock and does not listen is starting or ending.
        if Instant::now() > deadline {
            return Err(Failure::other("another process keeps these servers, and does not answer")
                .hint(format!("whoever has {} open is that process", place.lock().display())));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let listener = listen(place).map_err(failed)?;
    let keep = Arc::new(Keep {
        recipe,
        directory: context.env.working_directory().display().to_string(),
        begun: Instant::now(),
        idle,
        servers: Mutex::default(),
        connections: AtomicUsize::new(0),
        changed: Notify::new(),
        told_to_end: Notify::new(),
        is_ending: AtomicBool::new(false),
    });
    tokio::select! {
        () = keep.accept(listener) => {}
        () = keep.is_idle() => {}
        () = keep.told_to_end.notified() => {}
        stopped = crate::running::until_stopped() => stopped?,
    }
    keep.is_ending.store(true, Ordering::Relaxed);
    // Nobody is to find it while it ends.
    drop(fs_err::remove_file(&place.socket));
    keep.shutdown().await;
    drop(lock);
    Ok(())
}

fn listen(place: &Place) -> io::Result<UnixListener> {
    // Left behind by one that was killed: whoever listens has the lock.
    drop(fs_err::remove_file(&place.socket));
    let listener = UnixListener::bind(&place.socket)?;
    fs_err::set_permissions(&place.socket, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// A server's program; `None`: it was not started yet.
type Slot = tokio::sync::Mutex<Option<Arc<KeptProgram>>>;

struct Keep {
    recipe: Recipe,
    directory: String,
    begun: Instant,
    idle: Duration,
    servers: Mutex<BTreeMap<String, Arc<Slot>>>,
    connections: AtomicUsize,
    /// Somebody came or went.
    changed: Notify,
    told_to_end: Notify,
    /// Whoever comes now comes too late.
    is_ending: AtomicBool,
}

impl Keep {
    async fn accept(self: &Arc<Self>, listener: UnixListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let keep = Arc::clone(self);
                    tokio::spawn(async move {
                        let _counted = Counted::new(&keep);
                        if let Err(error) = keep.receive(stream).await {
                            tracing::debug!(%error, "the connection broke");
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "no connection could be accepted");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    async fn receive(&self, mut stream: UnixStream) -> io::Result<()> {
        let user = stream.peer_cred()?.uid();
        if user != geteuid().as_raw() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user came"));
        }
        let preface = tokio::time::timeout(PREFACE_WITHIN, hear(&mut stream)).await??;
        if self.is_ending.load(Ordering::Relaxed) {
            return Err(io::Error::other("this process ends"));
        }
        match preface {
            Preface::Status => say(&mut stream, &Told::Report(self.report())).await,
            Preface::Stop => {
                self.is_ending.store(true, Ordering::Relaxed);
                let told = say(&mut stream, &Told::Report(self.report())).await;
                self.told_to_end.notify_one();
                told?;
                // The client that asked for the end waits for it: the connection lasts as long as this process.
                std::future::pending().await
            }
            Preface::Server(name) => match self.program(&name).await {
                Ok(program) => {
                    say(&mut stream, &Told::Ready(program.process())).await?;
                    program.lend(Box::pin(stream)).await
                }
                Err(error) => say(&mut stream, &Told::Failed(error.chain())).await,
            },
        }
    }

    /// The program of this server, running.
    #[expect(clippy::await_holding_invalid_type, reason = "of several who want one program at once, one starts it")]
    async fn program(&self, name: &str) -> Result<Arc<KeptProgram>, CallError> {
        let slot = Arc::clone(self.lock().entry(name.to_owned()).or_default());
        let mut slot = slot.lock().await;
        if let Some(program) = slot.as_ref().filter(|program| program.is_running()) {
            return Ok(Arc::clone(program));
        }
        let program = Arc::new(self.recipe.start_program(name).await?);
        *slot = Some(Arc::clone(&program));
        Ok(program)
    }

    fn report(&self) -> KeeperReport {
        let state = |(name, slot): (&String, &Arc<Slot>)| {
            let slot = slot.try_lock().ok();
            let word = match slot.as_ref().and_then(|slot| slot.as_ref()) {
                Some(program) if program.is_connected() => "connected",
                Some(program) if !program.is_running() => "ended",
                Some(_) | None => "pending",
            };
            (name.clone(), word.to_owned())
        };
        KeeperReport {
            process: std::process::id(),
            directory: self.directory.clone(),
            running_seconds: self.begun.elapsed().as_secs(),
            idle_seconds: self.idle.as_secs(),
            // The client that asks is one of them.
            connections: self.connections.load(Ordering::Relaxed).saturating_sub(1),
            servers: self.lock().iter().map(state).collect(),
        }
    }

    /// Returns when nobody has been there for long enough.
    async fn is_idle(&self) {
        // Whoever started it is on his way, however short it is to wait for others.
        let mut within = self.idle.max(STARTING);
        loop {
            let changed = self.changed.notified();
            if self.connections.load(Ordering::Relaxed) > 0 {
                changed.await;
            } else if tokio::time::timeout(within, changed).await.is_err() {
                return;
            }
            within = self.idle;
        }
    }

    async fn shutdown(&self) {
        let slots = std::mem::take(&mut *self.lock());
        let times = self.recipe.settings.close_times;
        let closing = slots.into_values().map(|slot| async move {
            let program = slot.lock().await.take();
            if let Some(program) = program {
                program.close(times).await;
            }
        });
        futures_util::future::join_all(closing).await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Slot>>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection while it lasts.
struct Counted<'a>(&'a Keep);

impl<'a> Counted<'a> {
    fn new(keep: &'a Keep) -> Self {
        keep.connections.fetch_add(1, Ordering::Relaxed);
        keep.changed.notify_one();
        Self(keep)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
        self.0.changed.notify_one();
    }
}
