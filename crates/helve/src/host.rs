//! The host, as an embedding program sees it. What it holds is `state`'s.

use helve_model::protocol::notifications;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use helve_model::json::RawJson;
use helve_model::name::is_code_spelling;
use helve_model::sync::lock;
use helve_model::{ErrorCode, PendingReason, QualifiedName, ServerName, ServerStatus};
use helve_policy::{Approval, Problem};
use helve_wire::Times;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::ask::Approver;
use crate::builder::HostBuilder;
use crate::call::{CallContext, CallOutcome, PreparedCall, connect, invoke_named};
use crate::catalog::{Snapshot, ToolEntry};
use crate::connect::startup_time;
use crate::error::CallError;
use crate::event::Events;
use crate::host_core::{HostCore, StopOnDrop, unknown_server};
use crate::listings::ListAge;
use crate::server_handle::{Command, ServerHandle};
use crate::settings::{HostSettings, Plan, Planned};
use crate::status::ServerReport;
use crate::tool::Toolbox;

/// A tool that is named without its server is looked for so long at servers that have not listed theirs yet, once another
/// one has.
const BARE_NAME_PATIENCE: Duration = Duration::from_secs(10);

/// What a start may take besides the server's own time: its turn among others, the end of the one before it.
const START_GRACE: Duration = Duration::from_secs(30);

/// Connects to servers, keeps them alive, and calls their tools. Cheap to clone; every clone is the same host.
///
/// When the last clone is dropped, every server's process is ended. [`Host::shutdown`] does so patiently.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), helve::CallError> {
/// let host = helve::Host::builder().start().await?;
/// assert_eq!(host.snapshot().tools().count(), 0);
/// assert!(host.remove_server("github").await.is_err_and(|error| error.code().as_str() == "SERVER_NOT_FOUND"));
/// host.shutdown().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Host {
    shared: Arc<HostCore>,
    owner: Arc<StopOnDrop>,
}

/// A host held by what must not keep it alive.
#[derive(Clone)]
pub struct WeakHost(Weak<StopOnDrop>);

impl WeakHost {
    /// The host.
    ///
    /// # Errors
    /// `SERVER_UNAVAILABLE` when the host has ended.
    pub fn upgrade(&self) -> Result<Host, CallError> {
        match self.0.upgrade() {
            Some(owner) => Ok(Host { shared: Arc::clone(&owner.0), owner }),
            None => Err(CallError::new(ErrorCode::ServerUnavailable, "the host has been shut down")),
        }
    }
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

    pub(crate) fn new(shared: Arc<HostCore>) -> Self {
        Self { owner: Arc::new(StopOnDrop(Arc::clone(&shared))), shared }
    }

    /// What can be called now.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.snapshot()
    }

    /// How the host was set.
    #[must_use]
    pub fn settings(&self) -> &HostSettings {
        &self.shared.settings
    }

    /// The approver of calls that bring none of their own.
    #[must_use]
    pub fn approver(&self) -> Arc<dyn Approver> {
        Arc::clone(&self.shared.approver)
    }

    /// Takes back every approval that `is_meant` picks, of those that count for all calls of this host.
    pub fn forget_approvals(&self, is_meant: impl Fn(&Approval) -> bool) {
        let mut approvals = lock(&self.shared.approvals);
        *approvals = approvals.iter().filter(|approval| !is_meant(approval)).cloned().collect();
    }

    /// Listens to what happens from now on.
    #[must_use]
    pub fn events(&self) -> Events {
        self.shared.events.subscribe()
    }

    /// The same without calls: a listener that does not need them is not woken by every one, and nobody makes a record for it.
    #[must_use]
    pub fn changes(&self) -> Events {
        self.shared.events.subscribe_to_changes()
    }

    /// Calls a tool, named in any spelling. Waits for a server that is being connected, or that waits for its first use.
    ///
    /// Cancel safe: dropping the future cancels the call, and the server is told.
    ///
    /// # Errors
    /// Everything but an outcome: unknown names, refusals, arguments that do not fit, broken connections, time-outs.
    pub fn call(
        &self,
        name: &str,
        arguments: impl Into<RawJson>,
        context: CallContext,
    ) -> impl Future<Output = Result<CallOutcome, CallError>> + Send {
        let arguments = arguments.into();
        async move {
            let find = pin!(self.find_tool(name, context.timeout));
            invoke_named(&self.shared, name, find, arguments, &context).await
        }
    }

    /// The tool a text names, in any spelling, among those that are known now. Looks, and starts nothing: the tools of a
    /// server that waits for its first use are known from an earlier run, or not at all.
    ///
    /// # Errors
    /// `TOOL_NOT_FOUND` or `SERVER_NOT_FOUND` with what comes nearest; why nothing is known of the only server it can be of.
    pub fn resolve(&self, name: &str) -> Result<Arc<ToolEntry>, CallError> {
        let snapshot = self.snapshot();
        let found = snapshot.tool(name)?;
        if is_undecided(name, &snapshot) { Err(contested(name)) } else { Ok(Arc::clone(found)) }
    }

    /// Connects to the server of a tool, named in any spelling, for a call whose arguments depend on what the tool takes.
    /// **Starts the server** where it waits for its first use, and waits for it. A name that leads nowhere is recorded as a
    /// call that failed. [`Host::resolve`] only looks.
    ///
    /// # Errors
    /// `TOOL_NOT_FOUND` or `SERVER_NOT_FOUND` with what comes nearest, or why its server does not come.
    pub async fn connect(&self, name: &str, context: &CallContext) -> Result<PreparedCall, CallError> {
        connect(&self.shared, name, self.connected_tool(name, context.timeout), context).await
    }

    /// The tool, as its server lists it now.
    async fn connected_tool(&self, name: &str, timeout: Option<Duration>) -> Result<Arc<ToolEntry>, CallError> {
        let found = self.find_tool(name, timeout).await?;
        if !found.is_from_cache() {
            return Ok(found);
        }
        let within = timeout.unwrap_or(self.shared.settings.call_timeout);
        self.ready(found.name().server.as_str(), within).await.map_err(|error| error.at(found.name()))?;
        let snapshot = self.snapshot();
        snapshot.tool(&found.name().to_string()).cloned()
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

    /// Makes the host have exactly these servers; what did not change keeps running, with all its calls.
    ///
    /// Returns when what had to end has ended. Cancel safe: everything is done when the future is first polled, and
    /// only the end of servers is waited for.
    pub async fn set_servers(&self, plan: impl Into<Plan>) -> ServerChanges {
        let plan = plan.into();
        let (changes, stopping) = self.shared.apply(|_| plan);
        stopping.done().await;
        changes
    }

    /// The same, and waits until those that were added or changed are connected or have failed: why is in
    /// [`ServerChanges::errors`]. Servers that are off or wait for their first use are not waited for.
    ///
    /// Cancel safe as [`Host::set_servers`] is.
    pub async fn connect_servers(&self, plan: impl Into<Plan>) -> ServerChanges {
        let mut changes = self.set_servers(plan).await;
        let new: Vec<ServerName> = changes.added.iter().chain(&changes.changed).cloned().collect();
        let arrivals = join_all(new.iter().map(|name| self.arrived(name))).await;
        for (name, arrival) in new.into_iter().zip(arrivals) {
            if let Err(error) = arrival
                && !changes.errors.iter().any(|(known, _)| *known == name)
            {
                changes.errors.push((name, error));
            }
        }
        changes
    }

    /// Adds a server, or replaces the one of that name. It is connected in the background; [`Host::connect_server`] waits
    /// for that.
    pub async fn add_server(&self, server: impl Into<Planned>) -> ServerChanges {
        let planned = server.into();
        self.change_plan(|servers| {
            servers.retain(|other| other.spec.name != planned.spec.name);
            servers.push(planned);
        })
        .await
    }

    /// Adds a server, or replaces the one of that name, and waits until it is connected and has listed its tools; one that
    /// waits for its first use is started. A server that fails stays, and is tried again: [`Host::remove_server`] ends that.
    ///
    /// # Errors
    /// Why it could not be connected.
    pub async fn connect_server(&self, server: impl Into<Planned>) -> Result<ServerReport, CallError> {
        let planned = server.into();
        let name = planned.spec.name.clone();
        let changes = self.add_server(planned).await;
        if let Some((_, error)) = changes.errors.into_iter().find(|(failed, _)| *failed == name) {
            return Err(error);
        }
        self.shared.check_known(name.as_str())?;
        if let Some(handle) = self.shared.handle(name.as_str())? {
            handle.session(Instant::now() + self.start_time(&handle)).await?;
        }
        self.server_status(name.as_str()).ok_or_else(|| unknown_server(name.as_str()))
    }

    /// Ends and removes a server.
    ///
    /// # Errors
    /// `SERVER_NOT_FOUND`.
    pub async fn remove_server(&self, name: &str) -> Result<(), CallError> {
        self.shared.check_known(name)?;
        drop(self.change_plan(|servers| servers.retain(|other| other.spec.name.as_str() != name)).await);
        Ok(())
    }

    /// Gives up the connection to a server and makes a new one.
    ///
    /// # Errors
    /// `SERVER_NOT_FOUND`, `SERVER_DISABLED`, or why the new connection could not be made.
    pub async fn reconnect_server(&self, name: &str) -> Result<(), CallError> {
        let Some(handle) = self.shared.handle(name)? else { return self.shared.reopen(name) };
        let (answer, answered) = oneshot::channel();
        handle.tell(Command::Reconnect(answer));
        match answered.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(CallError::again(&error)),
            Err(_) => Err(unknown_server(name)),
        }
    }

    /// Ends a server that nobody uses at the moment; its next use starts it again. What was subscribed to at it, and the log
    /// level that is wanted, it is told anew then.
    ///
    /// # Errors
    /// `SERVER_NOT_FOUND`.
    pub fn suspend_server(&self, name: &str) -> Result<(), CallError> {
        if let Some(handle) = self.shared.handle(name)? {
            handle.tell(Command::Suspend);
        }
        Ok(())
    }

    /// Takes a server's tools out of the catalog, or puts them back. Its process lives on meanwhile.
    ///
    /// Off counts when this returns; on, as soon as the server is connected.
    ///
    /// # Errors
    /// `SERVER_NOT_FOUND`, or why it must not be switched on.
    pub fn toggle(&self, name: &str, on: bool) -> Result<(), CallError> {
        self.shared.toggle(name, on)
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

    /// The hosts that a server in a sandbox asked for in vain.
    #[must_use]
    pub fn refused_hosts(&self, name: &str) -> Vec<String> {
        let confining = self.shared.surroundings.confining.as_ref();
        let name = helve_model::ServerName::new(name).ok();
        confining.zip(name).map(|(confining, name)| confining.list_refused_hosts(&name)).unwrap_or_default()
    }

    /// Waits until no server is being connected for the first time, or the time is over. True when all have settled.
    pub async fn settled(&self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        for mut status in self.shared.handles().iter().map(|handle| handle.watch()) {
            let connecting = ServerStatus::Pending(PendingReason::Connecting);
            if timeout_at(deadline, status.wait_for(|status| *status != connecting)).await.is_err() {
                return false;
            }
        }
        true
    }

    /// Waits until it is known of every server which tools it has, from it or from an earlier run, or the time is over. True
    /// when it is, or will not be known soon: a server that failed is not waited for.
    pub async fn listed(&self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        for handle in self.shared.handles() {
            handle.recalled().await;
            let is_kept = self.snapshot().server(handle.server().as_str()).is_some_and(|entry| entry.is_from_cache());
            let connecting = ServerStatus::Pending(PendingReason::Connecting);
            let mut status = handle.watch();
            if !is_kept && timeout_at(deadline, status.wait_for(|status| *status != connecting)).await.is_err() {
                return false;
            }
        }
        true
    }

    /// Asks connected servers for their tools again, all whose lists are older than they may be and of which this holds, and
    /// waits for them. Servers announce most changes by themselves; this finds those that they do not.
    pub async fn list_again(&self, age: ListAge, within: Duration, which: impl Fn(&ServerName) -> bool) {
        let handles = self.shared.handles();
        let asked = handles.iter().filter(|handle| which(handle.server()));
        drop(join_all(asked.map(|handle| handle.list_again(age, within))).await);
    }

    /// Waits until everything that is remembered of servers from earlier runs is in the snapshot. Cancel safe.
    pub async fn recalled(&self) {
        for handle in self.shared.handles() {
            handle.recalled().await;
        }
    }

    /// Waits until a server is connected; one that waits for its first use is started.
    ///
    /// # Errors
    /// `SERVER_NOT_FOUND`, or why it does not come.
    pub async fn ready(&self, server: &str, within: Duration) -> Result<(), CallError> {
        match self.shared.handle(server)? {
            Some(handle) => handle.session(Instant::now() + within).await.map(drop),
            None => Ok(()),
        }
    }

    /// Asks a connected server whether it lives, and keeps how long the answer took as its latency.
    ///
    /// # Errors
    /// `SERVER_NOT_FOUND`, or that it is not connected, or does not answer.
    pub async fn ping(&self, server: &str, within: Duration) -> Result<Duration, CallError> {
        let Some(handle) = self.shared.handle(server)? else { return Ok(Duration::ZERO) };
        let Some(session) = handle.session_now() else { return Err(handle.unavailable(&handle.status())) };
        let asked = Instant::now();
        match session.ping(Times::exactly(within)).await {
            // An answer is a sign of life, whatever it says.
            Err(error) if error.rpc().is_none() => return Err(CallError::from_wire(error, handle.server())),
            _ => {}
        }
        let latency = asked.elapsed();
        handle.describe(|facts| facts.latency = Some(latency));
        Ok(latency)
    }

    /// The directories that the [`RootsProvider`](crate::RootsProvider) names are others now: servers that were told that
    /// they may change, and have a connection, hear of it and ask again. The others ask in the course of their next call.
    pub async fn roots_changed(&self) {
        if !self.shared().answerer.capabilities().roots_list_changed {
            return;
        }
        let handles = self.shared().handles();
        let sessions =
            handles.iter().filter_map(|handle| handle.session_now().filter(|session| session.asks_at_any_time()));
        join_all(sessions.map(|session| async move {
            // One that is gone asks when it is back.
            drop(session.notify(notifications::ROOTS_LIST_CHANGED, None).await);
        }))
        .await;
    }

    /// Puts a set of native tools in, or in the place of the one of that name.
    ///
    /// # Errors
    /// `CONFIG` when a configured server has that name.
    pub fn put_toolbox(&self, toolbox: Toolbox) -> Result<(), CallError> {
        let name = toolbox.name.clone();
        self.shared.change_toolbox(&name, |_| toolbox)
    }

    /// There will be searches: what tools say of themselves is read in the background, now and whenever they change.
    pub fn prepare_search(&self) {
        if self.shared.index_parts.want() {
            crate::search::read_aside(self.snapshot());
        }
    }

    /// Rules that cannot be used as they are written.
    #[must_use]
    pub fn rule_problems(&self) -> Vec<Problem> {
        self.shared.problems()
    }

    /// Ends every server, patiently and all at once. The host has none afterwards.
    pub async fn shutdown(&self) {
        self.shared.close().done().await;
        self.shared.publish_nothing();
        if let Some(memory) = &self.shared.memory {
            memory.written().await;
        }
    }

    pub(crate) const fn shared(&self) -> &Arc<HostCore> {
        &self.shared
    }

    /// The same host, held without keeping it alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakHost {
        WeakHost(Arc::downgrade(&self.owner))
    }

    /// The way to a server that has to be connected to.
    pub(crate) fn handle_of(&self, server: &str) -> Result<Arc<ServerHandle>, CallError> {
        self.shared.handle(server)?.ok_or_else(|| {
            let message = format!("the tools of `{server}` run in this process: it has no resources and no prompts");
            CallError::new(ErrorCode::ResourceNotFound, message)
        })
    }

    /// Waits for a server that is being connected.
    async fn arrived(&self, name: &ServerName) -> Result<(), CallError> {
        let Some(handle) = self.shared.handle(name.as_str())? else { return Ok(()) };
        match handle.status() {
            ServerStatus::Disabled(_) | ServerStatus::Pending(PendingReason::Lazy) => Ok(()),
            _ => handle.session(Instant::now() + self.start_time(&handle)).await.map(drop),
        }
    }

    /// How long a server may take until it is connected or has failed: its own time, and that of those before it.
    fn start_time(&self, handle: &ServerHandle) -> Duration {
        startup_time(handle.spec(), &self.shared.settings) + START_GRACE
    }

    /// Changes the servers there are at that very moment, so that two changes at once both count.
    async fn change_plan(&self, change: impl FnOnce(&mut Vec<Planned>)) -> ServerChanges {
        let (changes, stopping) = self.shared.apply(|mut plan| {
            change(&mut plan.servers);
            plan
        });
        stopping.done().await;
        changes
    }

    /// The tool a text names, in any spelling. Where nobody is known to have it, **starts** the servers that may and wait for
    /// their first use, and waits for those that have not listed their tools yet.
    ///
    /// # Errors
    /// `TOOL_NOT_FOUND` or `SERVER_NOT_FOUND` with what comes nearest, or why its server does not come.
    pub(crate) async fn find_tool(&self, name: &str, timeout: Option<Duration>) -> Result<Arc<ToolEntry>, CallError> {
        self.find_tool_among(name, timeout, |_| true).await
    }

    /// The same for somebody who sees only some of the tools: no other is suggested to him.
    pub(crate) async fn find_tool_among(
        &self,
        name: &str,
        timeout: Option<Duration>,
        sees: impl Fn(&QualifiedName) -> bool,
    ) -> Result<Arc<ToolEntry>, CallError> {
        let snapshot = self.snapshot();
        match snapshot.tool_among(name, &sees) {
            Ok(tool) if !is_undecided(name, &snapshot) => Ok(Arc::clone(tool)),
            // Kept apart, so that the calls that do not wait carry no room for it.
            found => Box::pin(self.tool_to_come(name, timeout, sees, &snapshot, found.cloned())).await,
        }
    }

    /// A tool that nobody has yet, of a server that is still to list what it has.
    async fn tool_to_come(
        &self,
        name: &str,
        timeout: Option<Duration>,
        sees: impl Fn(&QualifiedName) -> bool,
        snapshot: &Snapshot,
        found: Result<Arc<ToolEntry>, CallError>,
    ) -> Result<Arc<ToolEntry>, CallError> {
        let deadline = Instant::now() + timeout.unwrap_or(self.shared.settings.call_timeout);
        let unlisted = unlisted(name, snapshot);
        let mut coming: FuturesUnordered<_> = unlisted.iter().map(|handle| handle.session(deadline)).collect();
        let is_only = coming.len() == 1;
        if coming.is_empty() {
            // One of them may have come between the look at the tools and the look at the servers.
            return self.snapshot().tool_among(name, &sees).cloned().or(found);
        }
        let is_contested = is_contested(name, snapshot);
        // A name that is nobody's, a misspelled one for instance, would wait for whichever server hangs.
        let is_anybodys = !is_only && !is_qualified(name);
        let mut patience = (is_anybodys || is_contested).then(|| Instant::now() + BARE_NAME_PATIENCE);
        loop {
            let next = match patience {
                Some(patience) => timeout_at(patience, coming.next()).await,
                None => Ok(coming.next().await),
            };
            // The first who has it will do: another one that hangs costs nobody anything. Unless the name is that of several
            // servers: which of them is meant must not depend on which is faster.
            match next {
                Ok(Some(Ok(_))) if !is_contested && let Ok(tool) = self.snapshot().tool_among(name, &sees) => {
                    return Ok(Arc::clone(tool));
                }
                // The only one it can be says why it does not come.
                Ok(Some(Err(error))) if is_only => return Err(error),
                Ok(Some(_)) => {}
                Ok(None) => return self.snapshot().tool_among(name, &sees).cloned(),
                Err(_) if self.snapshot().tools().next().is_none() => patience = None,
                Err(_) => {
                    let found = self.snapshot().tool_among(name, &sees).cloned();
                    let found = if is_contested { Err(contested(name)) } else { found };
                    return found.map_err(|error| error.with_hint(unanswered(name, &unlisted)));
                }
            }
        }
    }

    /// A call of a tool of this host.
    #[must_use]
    pub fn prepare(&self, tool: Arc<ToolEntry>) -> PreparedCall {
        PreparedCall::new(Arc::clone(&self.shared), tool)
    }
}

/// Servers that have not listed their tools yet, and may have the one that a text names.
fn unlisted(name: &str, snapshot: &Snapshot) -> Vec<Arc<ServerHandle>> {
    let pending = snapshot.servers().filter_map(|server| {
        let handle = server.handle.as_ref()?;
        (matches!(handle.status(), ServerStatus::Pending(_)) || handle.waits_for_login()).then_some((server, handle))
    });
    let (meant, others): (Vec<_>, Vec<_>) = pending.partition(|(server, _)| server.may_be_named_by(name));
    // A bare name may be anybody's.
    let wanted = if meant.is_empty() && !is_qualified(name) { others } else { meant };
    wanted.into_iter().map(|(_, handle)| Arc::clone(handle)).collect()
}

/// True for a name in the spelling of code, which several servers may share, while it is not known which of them has it.
fn is_undecided(name: &str, snapshot: &Snapshot) -> bool {
    is_code_spelling(name) && is_contested(name, snapshot)
}

fn contested(name: &str) -> CallError {
    CallError::new(ErrorCode::ToolNotFound, format!("several servers may have `{name}`"))
}

/// True for a name whose server part several servers share, while one of them has not listed its tools yet.
fn is_contested(name: &str, snapshot: &Snapshot) -> bool {
    let named = || snapshot.servers().filter(|server| is_qualified(name) && server.may_be_named_by(name));
    let is_pending = |handle: &Arc<ServerHandle>| matches!(handle.status(), ServerStatus::Pending(_));
    named().nth(1).is_some() && named().any(|server| server.handle.as_ref().is_some_and(is_pending))
}

/// The servers that have not said yet which tools they have.
fn unanswered(name: &str, unlisted: &[Arc<ServerHandle>]) -> String {
    let pending = unlisted.iter().filter(|handle| matches!(handle.status(), ServerStatus::Pending(_)));
    let names: Vec<String> = pending.map(|handle| format!("`{}`", handle.server())).collect();
    format!("not heard of yet: {}; to wait for one of them, name it: `SERVER/{name}`", names.join(", "))
}

fn is_qualified(name: &str) -> bool {
    name.contains(['/', ':', '.']) || name.starts_with(helve_model::name::PROVIDER_PREFIX)
}

impl fmt::Debug for WeakHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WeakHost").finish_non_exhaustive()
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Host").field("snapshot", &self.snapshot()).finish_non_exhaustive()
    }
}
