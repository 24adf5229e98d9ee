//! The host: which servers there are, and the one snapshot of what they have. Changes come in here; calls only read.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::future::join_all;
use helve_model::json::RawJson;
use helve_model::{
    DisabledReason, ErrorCode, Failure, PendingReason, QualifiedName, ServerName, ServerSpec, ServerStatus,
    TransportSpec,
};
use helve_policy::pin::DefinitionHash;
use helve_policy::{Approvals, Problem, RuleSet, ServerAccess, SourcedRule};
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::ask::{Approver, Elicitor};
use crate::builder::HostBuilder;
use crate::call::{CallContext, CallOutcome, PreparedCall};
use crate::catalog::{Listed, ServerCatalog, ServerEntry, Snapshot, ToolEntry};
use crate::error::CallError;
use crate::event::{EventSink, Events, HostEvent};
use crate::handler::ServerHandler;
use crate::link::{Command, Link};
use crate::memory::Memory;
use crate::result_cache::{ResultCache, ResultCacheLimits};
use crate::settings::{Builtins, HostSettings, Plan, Planned, Surroundings};
use crate::status::ServerReport;
use crate::supervisor::Supervisor;
use crate::sync::lock;
use crate::tool::Toolbox;

/// Connects to servers, keeps them alive, and calls their tools. Cheap to clone; every clone is the same host.
///
/// When the last clone is dropped, every server's process is ended. [`Host::shutdown`] does so patiently.
#[derive(Clone)]
pub struct Host {
    shared: Arc<Shared>,
    _owner: Arc<Owner>,
}

/// Ends the supervisors, who hold no more than weak references, with the last host.
struct Owner(Arc<Shared>);

/// What supervisors and calls share.
pub(crate) struct Shared {
    pub(crate) settings: HostSettings,
    pub(crate) surroundings: Surroundings,
    pub(crate) events: EventSink,
    pub(crate) starting: Semaphore,
    pub(crate) approver: Arc<dyn Approver>,
    pub(crate) elicitor: Option<Arc<dyn Elicitor>>,
    pub(crate) approvals: Mutex<Approvals>,
    pub(crate) results: Mutex<ResultCache>,
    pub(crate) memory: Option<Memory>,
    builtins: Option<Arc<dyn Builtins>>,
    mcp: bool,
    state: Mutex<HostState>,
    snapshot: ArcSwap<Snapshot>,
}

#[derive(Default)]
struct HostState {
    servers: BTreeMap<ServerName, Supervised>,
    /// What each server has, ready for the next snapshot.
    entries: BTreeMap<ServerName, Arc<ServerEntry>>,
    /// Native tools the program put in; they are not part of any plan.
    toolboxes: BTreeMap<ServerName, Toolbox>,
    narrowing: Vec<ServerAccess>,
    rules: Vec<SourcedRule>,
    rule_set: Option<RuleSet>,
    problems: Vec<Problem>,
    pins: HashMap<QualifiedName, DefinitionHash>,
    generation: u64,
    is_closed: bool,
}

/// A server of the plan, and who keeps it.
struct Supervised {
    planned: Planned,
    kept: Kept,
}

pub(crate) enum Kept {
    /// A supervisor.
    Remote { link: Arc<Link>, task: JoinHandle<()> },
    /// Nobody: its tools run in this process, or could not be opened.
    Native { status: ServerStatus, catalog: Arc<ServerCatalog> },
}

/// What [`Host::set_servers`] did.
#[derive(Debug, Default)]
pub struct ServerChanges {
    /// New ones.
    pub added: Vec<ServerName>,
    /// Ended and gone.
    pub removed: Vec<ServerName>,
    /// Ended and started anew, because something about how they run changed.
    pub changed: Vec<ServerName>,
    /// Untouched: same process, same session.
    pub kept: Vec<ServerName>,
    /// What could not be done.
    pub errors: Vec<(ServerName, CallError)>,
    /// Rules that cannot be used as they are written.
    pub rule_problems: Vec<Problem>,
}

impl Host {
    /// Begins to build a host.
    #[must_use]
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// What can be called now.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.snapshot.load_full()
    }

    /// Listens to what happens from now on.
    #[must_use]
    pub fn events(&self) -> Events {
        self.shared.events.subscribe()
    }

    /// Calls a tool, named in any spelling. Waits for a server that is being connected, or that waits for its first use.
    ///
    /// Cancel safe: dropping the future cancels the call, and the server is told.
    ///
    /// # Errors
    /// Everything but an outcome: unknown names, refusals, arguments that do not fit, broken connections, time-outs.
    pub async fn call(&self, name: &str, arguments: RawJson, context: CallContext) -> Result<CallOutcome, CallError> {
        let tool = self.tool(name, context.timeout).await?;
        self.prepare(tool).invoke(arguments, context).await
    }

    /// Makes several calls at once; the results are in the order of the calls.
    pub async fn call_many(
        &self,
        calls: Vec<(String, RawJson)>,
        context: &CallContext,
    ) -> Vec<Result<CallOutcome, CallError>> {
        join_all(calls.into_iter().map(|(name, arguments)| {
            let context = context.clone();
            async move { self.call(&name, arguments, context).await }
        }))
        .await
    }

    /// Makes the host have exactly these servers; what did not change keeps running.
    pub async fn set_servers(&self, plan: impl Into<Plan>) -> ServerChanges {
        let plan = plan.into();
        let (changes, stopped) = self.shared.apply(|_| plan);
        stop_all(stopped).await;
        changes
    }

    /// Adds a server, or replaces the one of that name.
    pub async fn add_server(&self, server: impl Into<Planned>) -> ServerChanges {
        let planned = server.into();
        self.change_plan(|servers| {
            servers.retain(|other| other.spec.name != planned.spec.name);
            servers.push(planned);
        })
        .await
    }

    /// Ends and removes a server.
    ///
    /// # Errors
    /// `SERVER_NOT_FOUND`.
    pub async fn remove_server(&self, name: &str) -> Result<(), CallError> {
        self.shared.known(name)?;
        drop(self.change_plan(|servers| servers.retain(|other| other.spec.name.as_str() != name)).await);
        Ok(())
    }

    /// Gives up the connection to a server and makes a new one.
    ///
    /// # Errors
    /// `SERVER_NOT_FOUND`, `SERVER_DISABLED`, or why the new connection could not be made.
    pub async fn reconnect_server(&self, name: &str) -> Result<(), CallError> {
        let Some(link) = self.shared.link(name)? else { return Ok(()) };
        let (answer, answered) = oneshot::channel();
        link.tell(Command::Reconnect(answer));
        match answered.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(CallError::again(&error)),
            Err(_) => Err(unknown_server(name)),
        }
    }

    /// Takes a server's tools out of the catalog, or puts them back. Its process lives on meanwhile.
    ///
    /// # Errors
    /// `SERVER_NOT_FOUND`, or why it must not be switched on.
    pub fn toggle(&self, name: &str, on: bool) -> Result<(), CallError> {
        let held = self.shared.known(name)?;
        let Some(link) = self.shared.link(name)? else {
            return self.shared.toggle_native(name, on);
        };
        match held {
            Some(reason) if on && reason != DisabledReason::Configured => {
                Err(link.unavailable(&ServerStatus::Disabled(reason)))
            }
            _ => {
                link.tell(Command::Toggle(on));
                Ok(())
            }
        }
    }

    /// How every server is doing, sorted by name.
    #[must_use]
    pub fn status(&self) -> Vec<ServerReport> {
        self.shared.reports(None)
    }

    /// How one server is doing.
    #[must_use]
    pub fn server_status(&self, name: &str) -> Option<ServerReport> {
        self.shared.reports(Some(name)).pop()
    }

    /// Waits until no server is being connected for the first time, or the time is over. True when all have settled.
    pub async fn settled(&self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        for mut status in self.shared.links().iter().map(|link| link.watch()) {
            let connecting = ServerStatus::Pending(PendingReason::Connecting);
            if timeout_at(deadline, status.wait_for(|status| *status != connecting)).await.is_err() {
                return false;
            }
        }
        true
    }

    /// Puts a set of native tools in, or in the place of the one of that name.
    ///
    /// # Errors
    /// `CONFIG` when a configured server has that name.
    pub fn put_toolbox(&self, toolbox: Toolbox) -> Result<(), CallError> {
        let name = toolbox.name.clone();
        self.change_toolbox(&name, |_| toolbox)
    }

    pub(crate) fn change_toolbox(
        &self,
        name: &ServerName,
        change: impl FnOnce(Option<Toolbox>) -> Toolbox,
    ) -> Result<(), CallError> {
        let mut state = lock(&self.shared.state);
        if state.servers.contains_key(name) {
            let message = format!("a configured server has the name `{name}`, which native tools are to have");
            return Err(CallError::new(ErrorCode::Config, message).at_server(name));
        }
        let toolbox = change(state.toolboxes.remove(name));
        state.toolboxes.insert(name.clone(), toolbox);
        self.shared.compile(&mut state);
        self.shared.publish_state(&mut state);
        Ok(())
    }

    /// Rules that cannot be used as they are written.
    #[must_use]
    pub fn rule_problems(&self) -> Vec<Problem> {
        lock(&self.shared.state).problems.clone()
    }

    /// Ends every server, patiently and all at once. The host has none afterwards.
    pub async fn shutdown(&self) {
        let stopped = {
            let mut state = lock(&self.shared.state);
            state.is_closed = true;
            std::mem::take(&mut state.servers)
        };
        stop_all(stopped.into_values().map(|server| server.kept).collect()).await;
        let mut state = lock(&self.shared.state);
        state.entries.clear();
        self.shared.publish_state(&mut state);
    }

    pub(crate) fn link(&self, name: &str) -> Result<Option<Arc<Link>>, CallError> {
        self.shared.link(name)
    }

    /// Changes the servers there are at that very moment, so that two changes at once both count.
    async fn change_plan(&self, change: impl FnOnce(&mut Vec<Planned>)) -> ServerChanges {
        let (changes, stopped) = self.shared.apply(|mut plan| {
            change(&mut plan.servers);
            plan
        });
        stop_all(stopped).await;
        changes
    }

    /// The tool a text names, in any spelling. Waits for servers that have not listed theirs yet, if one of them may
    /// have it, and starts those that wait for their first use.
    ///
    /// # Errors
    /// `TOOL_NOT_FOUND` or `SERVER_NOT_FOUND` with what comes nearest, or why its server does not come.
    pub async fn tool(&self, name: &str, timeout: Option<Duration>) -> Result<Arc<ToolEntry>, CallError> {
        let snapshot = self.snapshot();
        match snapshot.tool(name) {
            Ok(tool) => Ok(Arc::clone(tool)),
            Err(error) => {
                self.wait_for_servers_of(name, &snapshot, timeout, error).await?;
                self.snapshot().tool(name).cloned()
            }
        }
    }

    /// A call of a tool of this host.
    #[must_use]
    pub fn prepare(&self, tool: Arc<ToolEntry>) -> PreparedCall {
        PreparedCall::new(Arc::clone(&self.shared), tool)
    }

    /// A name is not known: perhaps its server has not listed its tools yet.
    async fn wait_for_servers_of(
        &self,
        name: &str,
        snapshot: &Snapshot,
        timeout: Option<Duration>,
        error: CallError,
    ) -> Result<(), CallError> {
        let unlisted: Vec<&Arc<ServerEntry>> = snapshot
            .servers()
            .filter(|server| server.link.as_ref().is_some_and(|link| matches!(link.status(), ServerStatus::Pending(_))))
            .collect();
        let meant: Vec<&Arc<ServerEntry>> =
            unlisted.iter().copied().filter(|server| server.may_be_named_by(name)).collect();
        // A bare name may be anybody's.
        let wanted = if meant.is_empty() && !is_qualified(name) { unlisted } else { meant };
        if wanted.is_empty() {
            return Err(error);
        }
        let deadline = Instant::now() + timeout.unwrap_or(self.shared.settings.call_timeout);
        let sessions =
            join_all(wanted.iter().filter_map(|server| server.link.as_ref()).map(|link| link.session(deadline))).await;
        // The only one it can be says why it does not come; of several, one may be enough.
        match <[_; 1]>::try_from(sessions) {
            Ok([only]) => only.map(drop),
            Err(_) => Ok(()),
        }
    }
}

impl Shared {
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
                elicitor,
                mcp,
            } = builder;
            Self {
                events: EventSink::new(),
                starting: Semaphore::new(settings.starting_at_once.clamp(1, Semaphore::MAX_PERMITS)),
                approver,
                elicitor,
                approvals: Mutex::new(approvals.into_iter().collect()),
                results: Mutex::new(ResultCache::new(ResultCacheLimits {
                    ttl: settings.result_cache_ttl.unwrap_or_default(),
                    ..ResultCacheLimits::default()
                })),
                memory: Memory::open(&settings, &surroundings),
                builtins,
                mcp,
                state: Mutex::new(HostState {
                    toolboxes: toolboxes.into_iter().map(|toolbox| (toolbox.name.clone(), toolbox)).collect(),
                    ..HostState::default()
                }),
                snapshot: ArcSwap::from_pointee(Snapshot::new(0, BTreeMap::new(), this.clone())),
                settings,
                surroundings,
            }
        })
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// A host that owns all this.
    pub(crate) fn into_host(self: Arc<Self>) -> Host {
        Host { _owner: Arc::new(Owner(Arc::clone(&self))), shared: self }
    }

    /// Brings what there is in line with a plan; what has to be ended comes back.
    pub(crate) fn apply(self: &Arc<Self>, plan: impl FnOnce(Plan) -> Plan) -> (ServerChanges, Vec<Kept>) {
        let mut changes = ServerChanges::default();
        let mut stopped = Vec::new();
        let mut state = lock(&self.state);
        let plan = plan(Plan {
            servers: state.servers.values().map(|server| server.planned.clone()).collect(),
            narrowing: state.narrowing.clone(),
            rules: None,
            pins: None,
        });
        if state.is_closed {
            let closed = || CallError::new(ErrorCode::ServerUnavailable, "the host has been shut down");
            changes.errors = plan.servers.into_iter().map(|planned| (planned.spec.name, closed())).collect();
            return (changes, stopped);
        }
        state.narrowing = plan.narrowing;
        if let Some(rules) = plan.rules {
            state.rules = rules;
        }
        if let Some(pins) = plan.pins {
            state.pins = pins;
        }

        let mut old = std::mem::take(&mut state.servers);
        for planned in plan.servers {
            let name = planned.spec.name.clone();
            if state.servers.contains_key(&name) || state.toolboxes.contains_key(&name) {
                let error = CallError::new(ErrorCode::Config, format!("there are two servers named `{name}`"));
                changes.errors.push((name.clone(), error.at_server(&name)));
                continue;
            }
            let supervised = match old.remove(&name) {
                Some(running) if runs_alike(&running.planned, &planned) => {
                    changes.kept.push(name.clone());
                    Supervised { planned, kept: running.kept }
                }
                other => {
                    match other {
                        Some(running) => {
                            stopped.push(running.kept);
                            changes.changed.push(name.clone());
                        }
                        None => changes.added.push(name.clone()),
                    }
                    let kept = self.keep(&planned, &mut changes.errors);
                    Supervised { planned, kept }
                }
            };
            state.servers.insert(name, supervised);
        }
        changes.removed = old.keys().cloned().collect();
        for gone in changes.removed.iter().chain(&changes.changed) {
            lock(&self.results).forget_server(gone);
        }
        stopped.extend(old.into_values().map(|server| server.kept));

        self.compile(&mut state);
        changes.rule_problems.clone_from(&state.problems);
        self.publish_state(&mut state);
        (changes, stopped)
    }

    /// Somebody to keep a server.
    fn keep(self: &Arc<Self>, planned: &Planned, errors: &mut Vec<(ServerName, CallError)>) -> Kept {
        let status = self.first_status(planned);
        let spec = Arc::new(planned.spec.clone());
        if let TransportSpec::Builtin(builtin) = &spec.transport {
            if let ServerStatus::Disabled(_) = status {
                return Kept::Native { status, catalog: Arc::default() };
            }
            let opened = match &self.builtins {
                Some(builtins) => builtins.open(&spec, builtin),
                None => {
                    Err(CallError::new(ErrorCode::Config, "this program has no built-in tools").at_server(&spec.name))
                }
            };
            return match opened {
                Ok(toolbox) => Kept::Native { status: ServerStatus::Connected, catalog: native_catalog(&toolbox) },
                Err(error) => {
                    let failure = Failure { code: error.code(), message: error.chain() };
                    errors.push((spec.name.clone(), error));
                    Kept::Native { status: ServerStatus::Failed(failure), catalog: Arc::default() }
                }
            };
        }
        let (link, commands) = Link::new(Arc::clone(&spec), status, self.settings.in_flight_per_server);
        let link = Arc::new(link);
        let handler = Arc::new(ServerHandler {
            server: spec.name.clone(),
            events: self.events.clone(),
            elicitor: self.elicitor.clone(),
            tools_changed: Arc::new(Notify::new()),
        });
        let supervisor = Supervisor::new(Arc::downgrade(self), spec, Arc::clone(&link), handler, commands);
        Kept::Remote { link, task: tokio::spawn(supervisor.run()) }
    }

    fn first_status(&self, planned: &Planned) -> ServerStatus {
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
            let mut access = ServerAccess::new(&server.planned.spec, server.planned.trust);
            // What ships inside does not lie about itself.
            access.access.trust_annotations |= matches!(server.planned.spec.transport, TransportSpec::Builtin(_));
            access
        });
        let toolboxes = state.toolboxes.values().map(Toolbox::server_access);
        let (rule_set, problems) = RuleSet::compile(
            state.rules.iter().cloned(),
            servers.chain(toolboxes).chain(state.narrowing.iter().cloned()),
        );
        let mut entries = BTreeMap::new();
        for (name, server) in &state.servers {
            let spec = Arc::new(server.planned.spec.clone());
            let old = state.entries.get(name);
            let (link, catalog) = match &server.kept {
                Kept::Remote { link, .. } => {
                    let same = old.filter(|old| old.link.as_ref().is_some_and(|old| Arc::ptr_eq(old, link)));
                    (Some(Arc::clone(link)), same.map(|old| Arc::clone(&old.catalog)).unwrap_or_default())
                }
                Kept::Native { status: ServerStatus::Connected, catalog } => (None, Arc::clone(catalog)),
                Kept::Native { .. } => (None, Arc::default()),
            };
            entries.insert(name.clone(), Arc::new(ServerEntry::new(spec, catalog, link, &rule_set, &state.pins)));
        }
        for (name, toolbox) in &state.toolboxes {
            let entry =
                ServerEntry::new(Arc::new(toolbox.spec()), native_catalog(toolbox), None, &rule_set, &state.pins);
            entries.insert(name.clone(), Arc::new(entry));
        }
        state.entries = entries;
        state.rule_set = Some(rule_set);
        state.problems = problems;
    }

    /// A server has other tools than before; `None` for none at all.
    pub(crate) fn publish(&self, link: &Arc<Link>, catalog: Option<Arc<ServerCatalog>>) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        let name = link.server();
        // A supervisor that was replaced has nothing to say any more.
        let Some(entry) =
            state.entries.get(name).filter(|entry| entry.link.as_ref().is_some_and(|own| Arc::ptr_eq(own, link)))
        else {
            return;
        };
        let Some(rule_set) = &state.rule_set else { return };
        let catalog = catalog.unwrap_or_default();
        let entry = ServerEntry::new(Arc::clone(&entry.spec), catalog, Some(Arc::clone(link)), rule_set, &state.pins);
        state.entries.insert(name.clone(), Arc::new(entry));
        self.publish_state(state);
    }

    fn publish_state(&self, state: &mut HostState) {
        state.generation += 1;
        let generation = state.generation;
        let host = self.snapshot.load().host();
        self.snapshot.store(Arc::new(Snapshot::new(generation, state.entries.clone(), host)));
        self.events.send(|| HostEvent::Catalog { generation });
    }

    /// Why a server of that name is held back, if it is.
    fn known(&self, name: &str) -> Result<Option<DisabledReason>, CallError> {
        let state = lock(&self.state);
        let server = state.servers.get(name).ok_or_else(|| unknown_server(name))?;
        Ok(match self.first_status(&server.planned) {
            ServerStatus::Disabled(reason) => Some(reason),
            _ => None,
        })
    }

    fn link(&self, name: &str) -> Result<Option<Arc<Link>>, CallError> {
        let state = lock(&self.state);
        match &state.servers.get(name).ok_or_else(|| unknown_server(name))?.kept {
            Kept::Remote { link, .. } => Ok(Some(Arc::clone(link))),
            Kept::Native { .. } => Ok(None),
        }
    }

    fn links(&self) -> Vec<Arc<Link>> {
        let state = lock(&self.state);
        let link = |server: &Supervised| match &server.kept {
            Kept::Remote { link, .. } => Some(Arc::clone(link)),
            Kept::Native { .. } => None,
        };
        state.servers.values().filter_map(link).collect()
    }

    fn toggle_native(&self, name: &str, on: bool) -> Result<(), CallError> {
        let mut state = lock(&self.state);
        let state = &mut *state;
        let server = state.servers.get_mut(name).ok_or_else(|| unknown_server(name))?;
        if let Kept::Native { status, .. } = &mut server.kept
            && matches!(status, ServerStatus::Connected | ServerStatus::Disabled(DisabledReason::Toggled))
        {
            *status = if on { ServerStatus::Connected } else { ServerStatus::Disabled(DisabledReason::Toggled) };
            let status = status.clone();
            self.compile(state);
            self.publish_state(state);
            self.events.send(|| HostEvent::Status { server: server_name(name), status });
        }
        Ok(())
    }

    fn reports(&self, only: Option<&str>) -> Vec<ServerReport> {
        let state = lock(&self.state);
        let mut reports = Vec::new();
        for (name, entry) in &state.entries {
            if only.is_some_and(|only| only != name.as_str()) {
                continue;
            }
            let status = match state.servers.get(name).map(|server| &server.kept) {
                Some(Kept::Remote { link, .. }) => link.status(),
                Some(Kept::Native { status, .. }) => status.clone(),
                None => ServerStatus::Connected,
            };
            reports.push(ServerReport::new(entry, status, state.toolboxes.contains_key(name)));
        }
        reports
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        for server in lock(&self.0.state).servers.values() {
            if let Kept::Remote { task, .. } = &server.kept {
                task.abort();
            }
        }
    }
}

/// Ends what is no longer wanted, all at once.
async fn stop_all(stopped: Vec<Kept>) {
    let stops = stopped.into_iter().filter_map(|kept| match kept {
        Kept::Remote { link, task } => Some(async move {
            let (done, stopped) = oneshot::channel();
            if link.tell(Command::Stop(done)) {
                // An error means that the supervisor has ended on its own.
                drop(stopped.await);
            }
            drop(task.await);
        }),
        Kept::Native { .. } => None,
    });
    drop(join_all(stops).await);
}

fn native_catalog(toolbox: &Toolbox) -> Arc<ServerCatalog> {
    let tools = toolbox.tools.iter().map(|tool| Listed::Native(tool.definition(), Arc::clone(tool))).collect();
    Arc::new(ServerCatalog { tools, instructions: toolbox.instructions.clone(), from_cache: false })
}

/// True when the second may be served by what runs for the first: permission does not change how a server runs.
fn runs_alike(left: &Planned, right: &Planned) -> bool {
    let running = |planned: &Planned| {
        let mut spec: ServerSpec = planned.spec.clone();
        spec.access = helve_model::AccessSpec::default();
        spec.origin = helve_model::Origin::Program;
        spec.layer = helve_model::Layer::CommandLine;
        (spec, planned.held.clone())
    };
    running(left) == running(right)
}

fn is_qualified(name: &str) -> bool {
    name.contains(['/', ':', '.']) || name.starts_with(helve_model::name::PROVIDER_PREFIX)
}

fn unknown_server(name: &str) -> CallError {
    CallError::new(ErrorCode::ServerNotFound, format!("there is no server `{name}`"))
        .with_hint("`helve servers` lists them")
}

fn server_name(name: &str) -> ServerName {
    // The name was found in a map of names, so it is not empty.
    ServerName::new(name).unwrap_or_else(|problem| unreachable!("{problem}"))
}

impl fmt::Debug for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Host").field("snapshot", &self.snapshot()).finish_non_exhaustive()
    }
}
