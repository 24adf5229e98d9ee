//! The process in the background: one host for each server that was asked for, shown to whoever of its user comes.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use helve::{Answerer, CallError, Host, Plan};
use helve_model::AccessSpec;
use helve_model::json::RawJson;
use helve_serve::{Gateway, HostSource, Naming, Options, Peer, Purpose, face};
use helve_wire::{BoxFuture, ClientCapabilities};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{geteuid, setsid};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, OnceCell};

use super::preface::{Preface, Report, Speaks, Told, hear, say};
use super::{ENDING, LOOK_EVERY, Place, STARTING, open_private};
use crate::context::Context;
use crate::failure::Failure;
use crate::plan::{allow_all, allow_all_methods};
use crate::running::Recipe;

/// How long whoever connects may take to say what he wants.
const PREFACE_WITHIN: Duration = Duration::from_secs(5);

/// Keeps servers until nobody has come for `idle`, or it is told to end.
pub(crate) async fn run(context: &Context, place: &Place, recipe: Recipe, idle: Duration) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::other("the socket cannot be had").cause(&error);
    // A terminal that is closed must not end what it started. Who is first in his session already, need not begin one.
    let _ = setsid();
    let lock = open_private(&place.lock()).map_err(failed)?;
    let deadline = Instant::now() + ENDING;
    while flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        if place.ask(Preface::Status).await.is_ok() {
            // Somebody keeps these servers already.
            return Ok(());
        }
        // Who has the lock and does not listen is on his way: out, or in.
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
        numbers: AtomicU64::new(0),
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

struct Keep {
    recipe: Recipe,
    directory: String,
    begun: Instant,
    idle: Duration,
    servers: Mutex<BTreeMap<String, Arc<OnceCell<Arc<Gateway>>>>>,
    connections: AtomicUsize,
    numbers: AtomicU64,
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
                // Who wants the end waits for it: the connection lasts as long as this process.
                std::future::pending().await
            }
            Preface::Server(name) => match self.gateway(&name, user).await {
                Ok(gateway) => {
                    let report = gateway.host().server_status(&name);
                    let speaks =
                        report.and_then(|report| Some(Speaks { era: report.era?, version: report.protocol_version? }));
                    say(&mut stream, &Told::Ready(speaks)).await?;
                    let peer = Peer { connection: self.numbers.fetch_add(1, Ordering::Relaxed), user: Some(user) };
                    let (reader, writer) = stream.into_split();
                    face::stream::serve(&gateway, peer, reader, writer).await
                }
                Err(error) => say(&mut stream, &Told::Failed(error.chain())).await,
            },
        }
    }

    /// The server of this name, running.
    async fn gateway(&self, name: &str, user: u32) -> Result<Arc<Gateway>, CallError> {
        let cell = Arc::clone(self.lock().entry(name.to_owned()).or_default());
        let gateway = cell.get_or_try_init(async || {
            let source = OneServer { recipe: self.recipe.clone(), name: name.to_owned() };
            let options = Options { naming: Naming::None, ..Options::default() };
            Gateway::resident(&source, user, &capabilities(), options).await
        });
        let gateway = Arc::clone(gateway.await?);
        gateway.host().ready(name, self.recipe.settings.startup_timeout).await?;
        Ok(gateway)
    }

    fn report(&self) -> Report {
        let state = |(name, cell): (&String, &Arc<OnceCell<Arc<Gateway>>>)| {
            let status = cell.get().and_then(|gateway| gateway.host().server_status(name));
            Some((name.clone(), status?.status.word().to_owned()))
        };
        Report {
            process: std::process::id(),
            directory: self.directory.clone(),
            running_seconds: self.begun.elapsed().as_secs(),
            idle_seconds: self.idle.as_secs(),
            // Who asks is one of them.
            connections: self.connections.load(Ordering::Relaxed).saturating_sub(1),
            servers: self.lock().iter().filter_map(state).collect(),
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
        let servers = std::mem::take(&mut *self.lock());
        let hosts: Vec<Host> =
            servers.values().filter_map(|cell| cell.get()).map(|gateway| gateway.host().clone()).collect();
        futures_util::future::join_all(hosts.iter().map(Host::shutdown)).await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<OnceCell<Arc<Gateway>>>>> {
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

/// What every helve at a terminal can answer; one without a terminal declines.
fn capabilities() -> RawJson {
    let can = ClientCapabilities { elicitation_form: true, elicitation_url: true, ..ClientCapabilities::default() };
    RawJson::assembled(can.to_json())
}

/// A host with one server. What may be called is decided by whoever comes, who has the rules and the person.
struct OneServer {
    recipe: Recipe,
    name: String,
}

impl HostSource for OneServer {
    fn start(&self, answerer: Arc<dyn Answerer>, _purpose: Purpose) -> BoxFuture<'_, Result<Host, CallError>> {
        let mut recipe = self.recipe.clone();
        let rules = vec![allow_all(), allow_all_methods()];
        recipe.plan = Plan { servers: recipe.plan.servers, rules: Some(rules), ..Plan::default() };
        // What is too large is cut by whoever comes, who knows for whom.
        recipe.settings.result_bytes = usize::MAX;
        recipe.plan.servers.retain(|planned| planned.spec.name.as_str() == self.name);
        for planned in &mut recipe.plan.servers {
            planned.spec.access = AccessSpec::default();
            planned.spec.required = false;
            planned.spec.lazy = false;
        }
        Box::pin(recipe.builder().answerer(answerer).start())
    }
}
