//! What there is: the servers of the plan and who keeps each, the rules, and the snapshot made from them.

mod native;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use arc_swap::ArcSwap;
use futures_util::future::join_all;
use helve_model::{
    DisabledReason, ErrorCode, Failure, Hint, PendingReason, QualifiedName, ServerName, ServerSpec, ServerStatus,
    TransportSpec,
};
use helve_policy::pin::DefinitionHash;
use helve_policy::{Approvals, Problem, RuleSet, ServerAccess, SourcedRule, Trust};
use helve_wire::LogLevel;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::AbortHandle;

use crate::answerer::Answerer;
use crate::ask::Approver;
use crate::builder::HostBuilder;
use crate::call::whereabouts;
use crate::catalog::{ServerCatalog, ServerEntry, Snapshot};
use crate::common_parts::CommonParts;
use crate::error::CallError;
use crate::event::{EventSink, HostEvent};
use crate::handler::ServerHandler;
use crate::host::ServerChanges;
use crate::memory::Memory;
use crate::question_router::QuestionRouter;
use crate::random::random_number;
use crate::record::CallId;
use crate::result_cache::{ResultCache, ResultCacheLimits};
use crate::save::Resumable;
use crate::search::{self, IndexParts};
use crate::server_handle::{Command, Retired, ServerHandle, unavailable};
use crate::settings::{Builtins, HostSettings, Plan, Planned, Surroundings};
use crate::start_guard::SharedStartGuard;
use crate::status::ServerReport;
use crate::supervisor::Supervisor;
use crate::tool::Toolbox;
use helve_model::sync::lock;
use native::native_catalog;

/// Ends the supervisors, who hold no more than weak references, with the last host.
pub(crate) struct StopOnDrop(pub(crate) Arc<HostCore>);

/// What supervisors and calls share.
pub(crate) struct HostCore {
    pub(crate) settings: HostSettings,
    pub(crate) surroundings: Surroundings,
    pub(crate) events: EventSink,
    /// By it calls of this host are told from those of others.
    number: u64,
    calls: AtomicU64,
    pub(crate) starting: Semaphore,
    pub(crate) approver: Arc<dyn Approver>,
    pub(crate) answerer: Arc<dyn Answerer>,
    pub(crate) approvals: Mutex<Approvals>,
    pub(crate) results: Mutex<ResultCache>,
    pub(crate) memory: Option<Memory>,
    builtins: Option<Arc<dyn Builtins>>,
    pub(crate) resumable: Resumable,
    pub(crate) mcp: bool,
    /// Log messages are wanted from this level on; `None`: as servers like.
    log_level: Mutex<Option<LogLevel>>,
    state: Mutex<HostState>,
    snapshot: ArcSwap<Snapshot>,
    pub(crate) index_parts: IndexParts,
}

#[derive(Default)]
struct HostState {
    /// Boxed: there are many hosts with one server, and a map keeps room for many.
    servers: BTreeMap<ServerName, Box<Supervised>>,
    /// Servers that left the plan and were told to end.
    stopping: Vec<(Arc<ServerHandle>, AbortHandle)>,
    /// What each server has, ready for the next snapshot.
    entries: BTreeMap<ServerName, Arc<ServerEntry>>,
    /// Native tools the program put in; they are not part of any plan.
    toolboxes: BTreeMap<ServerName, Toolbox>,
    narrowing: Vec<ServerAccess>,
    rules: Arc<[SourcedRule]>,
    rule_set: Option<RuleSet>,
    problems: Vec<Problem>,
    pins: HashMap<QualifiedName, DefinitionHash>,
    generation: u64,
    is_closed: bool,
}

/// A server of the plan, and who keeps it.
struct Supervised {
    planned: Placed,
    kept: Kept,
}

/// What the plan says of it. Whatever is made of the server shares its spec.
struct Placed {
    spec: Arc<ServerSpec>,
    trust: Trust,
    held: Option<DisabledReason>,
    guard: Option<SharedStartGuard>,
}

enum Kept {
    /// A supervisor.
    Remote { handle: Arc<ServerHandle>, task: AbortHandle },
    /// Nobody: its tools run in this process. `None` for a catalog: they have not been opened, or could not be.
    Native { status: ServerStatus, catalog: Option<Arc<ServerCatalog>> },
}

impl Placed {
    fn new(Planned { spec, trust, held, guard }: Planned, parts: &CommonParts) -> Self {
        Self { spec: parts.spec(spec), trust, held, guard }
    }

    fn to_planned(&self) -> Planned {
        let Self { spec, trust, held, guard } = self;
        Planned { spec: ServerSpec::clone(spec), trust: *trust, held: held.clone(), guard: guard.clone() }
    }
}

/// Servers that were told to end. They do so whether somebody waits for it or not.
#[must_use]
pub(crate) struct Stopping(Vec<Arc<ServerHandle>>);

impl Stopping {
    /// Waits until all of them are gone. Cancel safe.
    pub(crate) async fn done(self) {
        drop(join_all(self.0.iter().map(|handle| handle.gone())).await);
    }
}

impl HostCore {
    /// What the next call is known by.
    pub(crate) fn next_call(&self) -> CallId {
        CallId::new(self.number, self.calls.fetch_add(1, Ordering::Relaxed) + 1)
    }

    pub(crate) fn new(builder: HostBuilder) -> Arc<Self> {
        Arc::new_cyclic(|this: &Weak<Self>| {
            let HostBuilder {
                settings,
                surroundings,
                plan: _,
                toolboxes,
                builtins,
                approver,
                approvals,
                responders,
                answerer,
                resumable,
                mcp,
            } = builder;
            let events = EventSink::new(settings.events_kept);
            let answerer = answerer.unwrap_or_else(|| Arc::new(QuestionRouter::new(responders, events.clone())));
            Self {
                events,
                number: random_number(),
                calls: AtomicU64::new(0),
                starting: Semaphore::new(settings.starting_at_once.clamp(1, Semaphore::MAX_PERMITS)),
                approver,
                answerer,
                approvals: Mutex::new(approvals.into_iter().collect()),
                results: Mutex::new(ResultCache::new(ResultCacheLimits {
                    ttl: settings.result_cache_ttl.unwrap_or_default(),
                    ..ResultCacheLimits::default()
                })),
                memory: Memory::open(&settings, &surroundings),
                builtins,
                resumable,
                mcp,
                log_level: Mutex::default(),
                state: Mutex::new(HostState {
                    toolboxes: toolboxes.into_iter().map(|toolbox| (toolbox.name.clone(), toolbox)).collect(),
                    ..HostState::default()
                }),
                snapshot: ArcSwap::from_pointee(Snapshot::new(0, BTreeMap::new(), this.clone())),
                index_parts: IndexParts::default(),
                settings,
                surroundings,
            }
        })
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// The level that log messages are wanted from.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        *lock(&self.log_level)
    }

    pub(crate) fn want_log_level(&self, level: LogLevel) {
        *lock(&self.log_level) = Some(level);
    }

    /// Brings what there is in line with a plan; what has to end comes back.
    pub(crate) fn apply(self: &Arc<Self>, plan: impl FnOnce(Plan) -> Plan) -> (ServerChanges, Stopping) {
        let mut changes = ServerChanges::default();
        let mut stopping = Stopping(Vec::new());
        let mut state = lock(&self.state);
        let state = &mut *state;
        let plan = plan(Plan {
            servers: state.servers.values().map(|server| server.planned.to_planned()).collect(),
            narrowing: state.narrowing.clone(),
            rules: None,
            pins: None,
        });
        if state.is_closed {
            let closed = || CallError::new(ErrorCode::ServerUnavailable, "the host has been shut down");
            changes.errors = plan.servers.into_iter().map(|planned| (planned.spec.name, closed())).collect();
            return (changes, stopping);
        }
        state.narrowing = plan.narrowing;
        if let Some(rules) = plan.rules {
            state.rules = self.surroundings.common.rules(rules);
        }
        if let Some(pins) = plan.pins {
            state.pins = pins;
        }

        let mut old = std::mem::take(&mut state.servers);
        for planned in plan.servers.into_iter().map(|planned| Placed::new(planned, &self.surroundings.common)) {
            let name = planned.spec.name.clone();
            if name.as_str().is_empty() {
                changes.errors.push((name, CallError::new(ErrorCode::Config, "a server has no name")));
                continue;
            }
            if state.servers.contains_key(&name) || state.toolboxes.contains_key(&name) {
                let error = CallError::new(ErrorCode::Config, format!("there are two servers named `{name}`"));
                changes.errors.push((name.clone(), error.at_server(&name)));
                continue;
            }
            let supervised = match old.remove(&name) {
                Some(running) if runs_alike(&running.planned, &planned) => {
                    changes.kept.push(name.clone());
                    if let Kept::Remote { handle, .. } = &running.kept {
                        handle.set_guard(planned.guard.clone());
                    }
                    Box::new(Supervised { planned, kept: running.kept })
                }
                other => {
                    match other {
                        Some(running) => {
                            stopping.0.extend(state.stop(running.kept, Retired::Replaced));
                            changes.changed.push(name.clone());
                        }
                        None => changes.added.push(name.clone()),
                    }
                    let kept = self.keep(&planned, state.predecessor(&name), &mut changes.errors);
                    Box::new(Supervised { planned, kept })
                }
            };
            state.servers.insert(name, supervised);
        }
        changes.removed = old.keys().cloned().collect();
        for gone in changes.removed.iter().chain(&changes.changed) {
            lock(&self.results).forget_server(gone);
        }
        for server in old.into_values() {
            stopping.0.extend(state.stop(server.kept, Retired::Removed));
        }

        self.compile(state);
        changes.rule_problems.clone_from(&state.problems);
        self.publish_state(state);
        (changes, stopping)
    }

    /// Tells every server to end, and takes none any more.
    pub(crate) fn close(&self) -> Stopping {
        let mut state = lock(&self.state);
        state.is_closed = true;
        for server in std::mem::take(&mut state.servers).into_values() {
            drop(state.stop(server.kept, Retired::HostEnded));
        }
        // Whoever shuts down waits for what others have stopped, too.
        Stopping(state.stopping.iter().map(|(handle, _)| Arc::clone(handle)).collect())
    }

    /// Nothing can be called any more.
    pub(crate) fn publish_nothing(&self) {
        let mut state = lock(&self.state);
        state.entries.clear();
        self.publish_state(&mut state);
    }

    pub(crate) fn problems(&self) -> Vec<Problem> {
        lock(&self.state).problems.clone()
    }

    /// Somebody to keep a server, who begins when the one that had the name before is gone: the two may want the same
    /// file, port or lock.
    fn keep(
        self: &Arc<Self>,
        planned: &Placed,
        predecessor: Option<Arc<ServerHandle>>,
        errors: &mut Vec<(ServerName, CallError)>,
    ) -> Kept {
        let status = self.first_status(planned);
        let spec = Arc::clone(&planned.spec);
        if let TransportSpec::Builtin(builtin) = &spec.transport {
            if let ServerStatus::Disabled(_) = status {
                return Kept::Native { status, catalog: None };
            }
            return match self.open(&spec, builtin) {
                Ok(catalog) => Kept::Native { status: ServerStatus::Connected, catalog: Some(catalog) },
                Err(error) => {
                    let failure = Failure { code: error.code(), message: error.chain() };
                    errors.push((spec.name.clone(), error));
                    Kept::Native { status: ServerStatus::Failed(failure), catalog: None }
                }
            };
        }
        let (handle, commands) = ServerHandle::new(
            Arc::clone(&spec),
            status,
            self.settings.in_flight_per_server,
            self.settings.restart_wait,
        );
        handle.set_guard(planned.guard.clone());
        let handle = Arc::new(handle);
        let handler = Arc::new(ServerHandler {
            server: spec.name.clone(),
            events: self.events.clone(),
            answerer: Arc::clone(&self.answerer),
            tools_changed: Arc::new(Notify::new()),
            roots: watch::Sender::default(),
            handle: Arc::downgrade(&handle),
        });
        let supervisor =
            Supervisor::new(Arc::downgrade(self), spec, Arc::clone(&handle), predecessor, handler, commands);
        Kept::Remote { handle, task: tokio::spawn(supervisor.run()).abort_handle() }
    }

    fn first_status(&self, planned: &Placed) -> ServerStatus {
        if !self.mcp && !matches!(planned.spec.transport, TransportSpec::Builtin(_)) {
            ServerStatus::Disabled(DisabledReason::HostOff)
        } else if let Some(reason) = &planned.held {
            ServerStatus::Disabled(reason.clone())
        } else if !planned.spec.enabled {
            ServerStatus::Disabled(DisabledReason::Configured)
        } else if planned.spec.lazy {
            ServerStatus::Pending(PendingReason::Lazy)
        } else {
            ServerStatus::Pending(PendingReason::Connecting)
        }
    }

    /// Makes the rules and every server's entry anew.
    fn compile(&self, state: &mut HostState) {
        let servers = state.servers.values().map(|server| {
            // Whether it is on is known here, and may have changed since it was configured.
            let Placed { spec, trust, .. } = &server.planned;
            let directories = whereabouts::directories(spec, &self.surroundings);
            ServerAccess { enabled: true, directories, ..ServerAccess::new(spec, *trust) }
        });
        let toolboxes = state.toolboxes.values().map(Toolbox::server_access);
        let servers = servers.chain(toolboxes).chain(state.narrowing.iter().cloned()).collect();
        let (rule_set, problems) = self.surroundings.common.compiled(&state.rules, servers);
        let rule_set = rule_set.denying_unlisted(self.settings.denies_unlisted);
        let mut entries = BTreeMap::new();
        for (name, server) in &state.servers {
            let spec = Arc::clone(&server.planned.spec);
            let old = state.entries.get(name);
            let (handle, catalog) = match &server.kept {
                Kept::Remote { handle, .. } => {
                    let same = old.filter(|old| old.handle.as_ref().is_some_and(|old| Arc::ptr_eq(old, handle)));
                    (Some(Arc::clone(handle)), same.map(|old| Arc::clone(&old.catalog)).unwrap_or_default())
                }
                Kept::Native { status: ServerStatus::Connected, catalog } => {
                    (None, catalog.clone().unwrap_or_default())
                }
                Kept::Native { .. } => (None, Arc::default()),
            };
            let mut entry = ServerEntry::new(spec, catalog, handle, &rule_set, &state.pins, &self.surroundings.common);
            if let Kept::Native { status, .. } = &server.kept {
                entry.native_status = status.clone();
            }
            entries.insert(name.clone(), Arc::new(entry));
        }
        for (name, toolbox) in &state.toolboxes {
            let (spec, catalog) = (Arc::new(toolbox.spec()), native_catalog(toolbox));
            let entry = ServerEntry::new(spec, catalog, None, &rule_set, &state.pins, &self.surroundings.common);
            entries.insert(name.clone(), Arc::new(entry));
        }
        state.entries = entries;
        state.rule_set = Some(rule_set);
        state.problems = problems;
    }

    /// A server has other tools than before; `None` for none at all.
    pub(crate) fn publish(&self, handle: &Arc<ServerHandle>, catalog: Option<Arc<ServerCatalog>>) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        let name = handle.server();
        // A supervisor that was replaced has nothing to say any more.
        let Some(entry) =
            state.entries.get(name).filter(|entry| entry.handle.as_ref().is_some_and(|own| Arc::ptr_eq(own, handle)))
        else {
            return;
        };
        let Some(rule_set) = &state.rule_set else { return };
        let catalog = catalog.unwrap_or_default();
        let (spec, common) = (Arc::clone(&entry.spec), &self.surroundings.common);
        let entry = ServerEntry::new(spec, catalog, Some(Arc::clone(handle)), rule_set, &state.pins, common);
        state.entries.insert(name.clone(), Arc::new(entry));
        self.publish_state(state);
    }

    fn publish_state(&self, state: &mut HostState) {
        state.generation += 1;
        let generation = state.generation;
        let host = self.snapshot.load().host();
        let snapshot = Arc::new(Snapshot::new(generation, state.entries.clone(), host));
        self.snapshot.store(Arc::clone(&snapshot));
        if self.index_parts.are_wanted() {
            search::read_aside(snapshot);
        }
        self.events.send(|| HostEvent::Catalog { generation });
    }

    /// The rules as they are now; `None` before there is a plan.
    pub(crate) fn rule_set(&self) -> Option<RuleSet> {
        lock(&self.state).rule_set.clone()
    }

    /// # Errors
    /// `SERVER_NOT_FOUND`.
    pub(crate) fn check_known(&self, name: &str) -> Result<(), CallError> {
        if lock(&self.state).servers.contains_key(name) { Ok(()) } else { Err(unknown_server(name)) }
    }

    /// The way to a server; `None` for one whose tools run in this process.
    pub(crate) fn handle(&self, name: &str) -> Result<Option<Arc<ServerHandle>>, CallError> {
        let state = lock(&self.state);
        match &state.servers.get(name).ok_or_else(|| unknown_server(name))?.kept {
            Kept::Remote { handle, .. } => Ok(Some(Arc::clone(handle))),
            Kept::Native { .. } => Ok(None),
        }
    }

    pub(crate) fn handles(&self) -> Vec<Arc<ServerHandle>> {
        let state = lock(&self.state);
        let handles = state.servers.values().filter_map(|server| match &server.kept {
            Kept::Remote { handle, .. } => Some(Arc::clone(handle)),
            Kept::Native { .. } => None,
        });
        handles.collect()
    }

    /// Switches a server on or off. Off counts at once; on, as soon as there is a connection, and calls wait for that.
    pub(crate) fn toggle(&self, name: &str, on: bool) -> Result<(), CallError> {
        let handle = {
            let mut state = lock(&self.state);
            let state = &mut *state;
            let server = state.servers.get(name).ok_or_else(|| unknown_server(name))?;
            let planned = &server.planned;
            match self.first_status(planned) {
                ServerStatus::Disabled(reason) if on && reason != DisabledReason::Configured => {
                    return Err(unavailable(&planned.spec.name, &ServerStatus::Disabled(reason)));
                }
                _ => {}
            }
            match &server.kept {
                Kept::Remote { handle, .. } => Arc::clone(handle),
                Kept::Native { .. } => return self.toggle_native(state, name, on),
            }
        };
        if handle.switch(on) {
            if !on {
                // The supervisor will do the same; a call that is made after this must not be faster.
                self.publish(&handle, None);
            }
            handle.tell(Command::Toggled);
        }
        Ok(())
    }

    pub(crate) fn reports(&self, only: Option<&str>) -> Vec<ServerReport> {
        let state = lock(&self.state);
        let mut reports = Vec::new();
        for (name, entry) in &state.entries {
            if only.is_some_and(|only| only != name.as_str()) {
                continue;
            }
            let status = match state.servers.get(name).map(|server| &server.kept) {
                Some(Kept::Remote { handle, .. }) => handle.status(),
                Some(Kept::Native { status, .. }) => status.clone(),
                // Native tools, or a server that is just ending.
                None => entry.handle.as_ref().map_or(ServerStatus::Connected, |handle| handle.status()),
            };
            reports.push(ServerReport::new(entry, status, state.toolboxes.contains_key(name)));
        }
        reports
    }
}

impl HostState {
    /// Lets go of a server. What it was kept by ends by itself.
    fn stop(&mut self, kept: Kept, why: Retired) -> Option<Arc<ServerHandle>> {
        let Kept::Remote { handle, task } = kept else { return None };
        handle.retire(why);
        handle.tell(Command::Stop);
        self.stopping.retain(|(_, task)| !task.is_finished());
        self.stopping.push((Arc::clone(&handle), task));
        Some(handle)
    }

    /// The server that had this name before and is still ending.
    fn predecessor(&self, name: &ServerName) -> Option<Arc<ServerHandle>> {
        self.stopping.iter().rev().map(|(handle, _)| handle).find(|handle| handle.server() == name).cloned()
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        let state = &mut *state;
        state.is_closed = true;
        let supervisors = state.servers.values().filter_map(|server| match &server.kept {
            Kept::Remote { task, .. } => Some(task),
            Kept::Native { .. } => None,
        });
        for task in supervisors.chain(state.stopping.iter().map(|(_, task)| task)) {
            task.abort();
        }
    }
}

/// True when the second may be served by what runs for the first: permission does not change how a server runs.
fn runs_alike(left: &Placed, right: &Placed) -> bool {
    let running = |planned: &Placed| {
        let mut spec = ServerSpec::clone(&planned.spec);
        spec.access = helve_model::AccessSpec::default();
        spec.origin = helve_model::Origin::Program;
        spec.layer = helve_model::Layer::CommandLine;
        (spec, planned.held.clone())
    };
    running(left) == running(right)
}

pub(crate) fn unknown_server(name: &str) -> CallError {
    CallError::new(ErrorCode::ServerNotFound, format!("there is no server `{name}`")).with_hint(Hint::ListServers)
}
