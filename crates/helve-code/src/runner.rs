//! Owns who runs programs: one runner for a host, with its engine, its limits and its places.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use helve::{CallContext, CallError, Caller, Door, Host, RawJson, WeakHost};
use helve_model::json::ObjectWriter;
use helve_model::{ErrorCode, ServerName};
use helve_wire::ProgressCallback;
use tokio::io::AsyncWriteExt as _;
use tokio::time::Instant;

use crate::approver::ProgramApprover;
use crate::driver::{Driver, ended, failure};
use crate::engine::{Engine, NoEngine, Worker};
use crate::frame::{self, Plan};
use crate::limits::Limits;
use crate::pipes::Lines;
use crate::report::Report;
use crate::review::{Devices, Review, review, worker_name};
use crate::run::{Action, Run};
use crate::slots::Slots;
use crate::tool;

/// How long a worker that has nothing more to say may take to end.
pub(crate) const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long a server that a program names may take until it has listed its tools.
const SERVER_COMES_WITHIN: Duration = Duration::from_secs(30);
/// Where the programs of a host are denied or allowed: `helve/run_code`.
const TOOL: &str = "helve/run_code";

/// Runs programs beside the tools of a host. Cheap to clone; every clone is the same.
#[derive(Clone)]
pub struct Runner(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    host: WeakHost,
    pub(crate) engine: Engine,
    pub(crate) limits: Limits,
    slots: Arc<Slots>,
    pub(crate) has_gate: bool,
}

/// Told of every text that a program prints.
pub(crate) type PrintCallback = Arc<dyn Fn(&str) + Send + Sync>;

/// Hears what a program does while it runs.
#[derive(Clone, Default)]
pub(crate) struct Listener {
    pub(crate) on_progress: Option<ProgressCallback>,
    pub(crate) on_print: Option<PrintCallback>,
}

/// A worker that keeps its variables between programs.
#[derive(Debug, Default)]
pub struct Session(Option<Worker>);

impl Runner {
    /// Runs programs for this host in this engine.
    #[must_use]
    pub fn new(host: &Host, engine: Engine, limits: Limits) -> Self {
        let slots = Slots::new(&limits);
        Self(Arc::new(Inner { host: host.downgrade(), engine, limits, slots, has_gate: true }))
    }

    /// The same for another host: its programs have their places among those of this one.
    #[must_use]
    pub fn at(&self, host: &Host) -> Self {
        let Inner { engine, limits, slots, has_gate, .. } = &*self.0;
        Self(Arc::new(Inner {
            host: host.downgrade(),
            engine: engine.clone(),
            limits: limits.clone(),
            slots: Arc::clone(slots),
            has_gate: *has_gate,
        }))
    }

    /// The same without the look at a program before it runs, for those who test what is behind it: the sandbox, and the
    /// decision on each call.
    #[must_use]
    pub fn without_gate(host: &Host, engine: Engine, limits: Limits) -> Self {
        let slots = Slots::new(&limits);
        Self(Arc::new(Inner { host: host.downgrade(), engine, limits, slots, has_gate: false }))
    }

    /// Runs a program on behalf of whoever the context says, as the tool `helve/run_code`: recorded, and refused where a
    /// rule denies that tool. What the program does is in the report, failures included. The host offers the tool from then
    /// on, if it did not before: see [`Runner::offer`].
    ///
    /// # Errors
    /// The program was not run at all: the tool is denied, the host has ended, or no worker can be started.
    pub async fn run(&self, source: &str, context: CallContext) -> Result<Report, CallError> {
        self.run_in(None, source, context).await
    }

    /// The same in a session, which keeps the variables of the programs before.
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub async fn run_in(
        &self,
        session: Option<&mut Session>,
        source: &str,
        context: CallContext,
    ) -> Result<Report, CallError> {
        let host = self.0.host.upgrade()?;
        if host.snapshot().tool(TOOL).is_err() {
            self.offer(&host)?;
        }
        let prepared = host.snapshot().prepare(TOOL)?;
        let arguments: RawJson = ObjectWriter::new().text("code", source).finish();
        let (lent, place) = match session {
            Some(place) => (Some(std::mem::take(place)), Some(place)),
            None => (None, None),
        };
        let (report, left) = Box::pin(tool::reported(lent, prepared.invoke(arguments, context))).await?;
        if let (Some(place), Some(left)) = (place, left) {
            *place = left;
        }
        Ok(report)
    }

    /// What a program would do, without running it.
    ///
    /// # Errors
    /// The host has ended, or no worker can be started.
    pub async fn plan(&self, source: &str, context: &CallContext) -> Result<Result<Review, Report>, CallError> {
        let host = self.0.host.upgrade()?;
        let context = within(context);
        // What is remembered of servers that have not been started: programs look for tools, too.
        host.recalled().await;
        let place = self.0.slots.take(&context.principal).await;
        if let Some(report) = self.too_large(source) {
            return Ok(Err(report));
        }
        let mut worker = self.0.engine.worker().await.map_err(no_engine)?;
        let mut run = Run::new(self.0.limits.clone(), Instant::now().into_std());
        worker.stdin.write_all(frame::start(source, self.0.limits.print_bytes, false).as_bytes()).await.ok();
        let mut reader = Lines::new(std::mem::take(&mut worker.unread), self.0.limits.message_bytes);
        let planned = loop {
            let deadline = run.deadline().map_or_else(|| Instant::now() + LAST_WORDS, Instant::from_std);
            let actions = tokio::select! {
                line = reader.next(&mut worker.stdout) => match line {
                    Ok(Some(line)) => run.line(line, Instant::now().into_std()),
                    Ok(None) | Err(_) => break Err(ended(&worker.ended(LAST_WORDS).await)),
                },
                () = tokio::time::sleep_until(deadline) => run.tick(Instant::now().into_std()),
            };
            match actions.into_iter().next() {
                Some(Action::Review(plan)) => break Ok(plan),
                Some(Action::Finish(ending)) => break Err(failure(&ending)),
                _ => {}
            }
        };
        drop(place);
        match planned {
            Ok(plan) => {
                arrive(&host, &plan).await;
                let devices = Devices::new(host.snapshot(), &context);
                Ok(Ok(review(&host, &devices, &plan, self.0.engine.modules(), &context)))
            }
            Err(report) => Ok(Err(report)),
        }
    }

    pub(crate) async fn run_within(
        &self,
        source: &str,
        context: &CallContext,
        listener: &Listener,
        session: Option<&mut Session>,
    ) -> Result<Report, CallError> {
        let host = self.0.host.upgrade()?;
        let context = within(context);
        // What is remembered of servers that have not been started: programs look for tools, too.
        host.recalled().await;
        if let Some(report) = self.too_large(source) {
            return Ok(report);
        }
        let place = self.0.slots.take(&context.principal).await;
        let person = context.approver.clone().unwrap_or_else(|| host.approver());
        let approver = Arc::new(ProgramApprover::new(person, context.principal.clone(), Arc::clone(&place)));
        let keeps = session.is_some();
        let kept = session.as_ref().is_some_and(|session| session.0.is_some());
        let mut session = session;
        let worker = match session.as_mut().and_then(|session| session.0.take()) {
            Some(worker) if kept => worker,
            _ => self.0.engine.worker().await.map_err(no_engine)?,
        };
        let driver = Driver::new(self, host, context, approver, place, listener);
        let (report, worker) = Box::pin(driver.drive(source, worker, keeps)).await;
        // Not before: what is started now takes no time from this program.
        if let Some(time) = self.0.limits.spare_for {
            self.0.engine.prepare_spare(time);
        }
        if let Some(session) = session {
            session.0 = worker;
        }
        Ok(report)
    }

    fn too_large(&self, source: &str) -> Option<Report> {
        let (bytes, most) = (source.len(), self.0.limits.source_bytes);
        let message = format!("the program has {bytes} bytes, and {most} are taken at most");
        (bytes > most).then(|| Report::failed(ErrorCode::LimitExceeded, message, true))
    }
}

/// A context for what a program calls: never a person's own call, and nothing that is left to agents is left to programs.
fn within(context: &CallContext) -> CallContext {
    context.clone().with(|context| {
        if context.caller == Caller::Person {
            context.caller = Caller::Script;
        }
        context.leaves_unlisted = false;
        context.uncut = true;
        context.source.door = Door::Code;
        context.on_progress = None;
        context.timeout = None;
        context.total = None;
        context.known_as = None;
        context.relayed = None;
    })
}

/// Waits for servers that a plan names and that have not listed their tools yet.
pub(crate) async fn arrive(host: &Host, plan: &Plan) {
    let snapshot = host.snapshot();
    for entry in snapshot.servers().filter(|entry| entry.all_tools().next().is_none()) {
        let spelled = worker_name(entry.name());
        if plan.calls.iter().any(|site| site.2 == spelled) {
            drop(host.ready(entry.name().as_str(), SERVER_COMES_WITHIN).await);
        }
    }
}

/// The same for one server, by the name that a program has for it; false where it has nothing to wait for.
pub(crate) async fn arrive_at(host: &Host, server: &str) -> bool {
    let is_it = |name: &ServerName| worker_name(name) == server || name.as_str() == server;
    let snapshot = host.snapshot();
    let mut unlisted = snapshot.servers().filter(|entry| entry.all_tools().next().is_none());
    match unlisted.find(|entry| is_it(entry.name())) {
        Some(entry) => {
            drop(host.ready(entry.name().as_str(), SERVER_COMES_WITHIN).await);
            true
        }
        None => false,
    }
}

fn no_engine(error: NoEngine) -> CallError {
    CallError::new(ErrorCode::ServerUnavailable, error.to_string())
}

impl fmt::Debug for Runner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Runner").field("engine", &self.0.engine.description()).finish_non_exhaustive()
    }
}
