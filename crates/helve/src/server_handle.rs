//! The way to one server: its live session, or why there is none, and how a call waits for one.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use helve_model::{
    DisabledReason, ErrorCode, Hint, PendingReason, PromptDefinition, ServerKey, ServerName, ServerSpec, ServerStatus,
    TransportSpec,
};
use helve_policy::Directories;
use helve_wire::{Greeting, Session};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};

use crate::connect::{credentials_hint, hub_hint, login_hint};
use crate::error::CallError;
use crate::listings::{ListAge, Listings};
use crate::slots::Slots;
use crate::start_guard::SharedStartGuard;
use crate::watch::Subscriptions;
use helve_model::sync::lock;

/// Notifications of others that are on their way to a server at one time. Further ones are left out: nobody waits for them.
const NOTIFICATIONS_IN_FLIGHT: usize = 64;

/// What the supervisor of a server is told.
#[derive(Debug)]
pub(crate) enum Command {
    /// Somebody wants to use it: start it if it waits for that.
    Wanted,
    /// Give up the connection if there is one, and make a new one.
    Reconnect(oneshot::Sender<Result<(), Arc<CallError>>>),
    /// End it until somebody wants it again.
    Suspend,
    /// Somebody wants to know what it has now.
    List,
    /// The hub that has it does not answer: nothing is tried until it is back.
    Away(Arc<CallError>),
    /// The hub that has it answers again.
    Back,
    /// It was switched on or off: see [`ServerHandle::is_on`].
    Toggled,
    /// End it.
    Stop,
}

/// Why the host has let go of a server for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retired {
    /// It is no longer part of the plan.
    Removed,
    /// Another one has its name now.
    Replaced,
    /// The host has ended.
    HostEnded,
}

/// Shared by the supervisor, who writes, and the calls, who read.
pub(crate) struct ServerHandle {
    server: ServerName,
    spec: Arc<ServerSpec>,
    session: ArcSwapOption<Session>,
    status: watch::Sender<ServerStatus>,
    /// Its tools are wanted in the catalog.
    /// Held while status and session follow it: somebody may switch while the supervisor still does what was wanted before.
    is_on: Mutex<bool>,
    /// Why the last attempt failed, in full; `status` has one line of it.
    last_error: ArcSwapOption<CallError>,
    /// The guard of the files it is started from. What is trusted may change while it runs on.
    guard: Mutex<Option<SharedStartGuard>>,
    facts: Mutex<ServerFacts>,
    /// The prompts it listed last; emptied when it says that they changed.
    prompts: KeptPrompts,
    /// The directories it was told to work in when it last asked.
    roots: ArcSwapOption<Directories>,
    subscriptions: Subscriptions,
    commands: mpsc::UnboundedSender<Command>,
    slots: Arc<Slots>,
    /// How long a call waits while it is started again.
    restart_wait: Duration,
    /// For notifications of others on their way to the server.
    notification_turns: Semaphore,
    missed_notifications: AtomicU64,
    calls: AtomicUsize,
    /// What it has asked so far.
    questions: Arc<AtomicU64>,
    retired: OnceLock<Retired>,
    listings: Listings,
    /// True when it was looked up what is remembered of the server.
    is_recalled: watch::Sender<bool>,
    /// True when the supervisor has ended, and its server with it.
    is_gone: watch::Sender<bool>,
}

/// What is known about a server beyond its status.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerFacts {
    /// What it said when the last connection was made.
    pub(crate) greeting: Option<Greeting>,
    /// What it said in an earlier run.
    pub(crate) remembered: Option<Greeting>,
    /// How long that took, its list included.
    pub(crate) connect_time: Option<Duration>,
    /// How long the last ping took.
    pub(crate) latency: Option<Duration>,
    /// How often a connection broke.
    pub(crate) restarts: u32,
    /// How the last one broke.
    pub(crate) last_end: Option<String>,
    /// Why its tools could not be listed; `None` when they could.
    pub(crate) list_error: Option<String>,
    /// When it is tried again; `None` while that is being done.
    pub(crate) retry_at: Option<Instant>,
}

/// A server's prompts, as it listed them last.
pub(crate) type KeptPrompts = Mutex<Option<Arc<[PromptDefinition]>>>;

/// Counts a call while it is on its way.
#[derive(Debug)]
pub(crate) struct CallOnItsWay<'handle>(&'handle AtomicUsize);

impl ServerHandle {
    pub(crate) fn new(
        spec: Arc<ServerSpec>,
        status: ServerStatus,
        in_flight: usize,
        restart_wait: Duration,
    ) -> (Self, mpsc::UnboundedReceiver<Command>) {
        let (commands, receiver) = mpsc::unbounded_channel();
        let handle = Self {
            server: spec.name.clone(),
            spec,
            session: ArcSwapOption::empty(),
            is_on: Mutex::new(!matches!(status, ServerStatus::Disabled(_))),
            status: watch::Sender::new(status),
            last_error: ArcSwapOption::empty(),
            guard: Mutex::default(),
            facts: Mutex::default(),
            prompts: KeptPrompts::default(),
            roots: ArcSwapOption::empty(),
            subscriptions: Subscriptions::default(),
            commands,
            slots: Arc::new(Slots::new(in_flight)),
            restart_wait,
            notification_turns: Semaphore::new(NOTIFICATIONS_IN_FLIGHT),
            missed_notifications: AtomicU64::new(0),
            calls: AtomicUsize::new(0),
            questions: Arc::default(),
            retired: OnceLock::new(),
            listings: Listings::default(),
            is_recalled: watch::Sender::new(false),
            is_gone: watch::Sender::new(false),
        };
        (handle, receiver)
    }

    /// The directories it was told to work in.
    pub(crate) fn roots(&self) -> Option<Arc<Directories>> {
        self.roots.load_full()
    }

    /// It was told to work in these directories.
    pub(crate) fn was_given(&self, roots: Directories) {
        self.roots.store(Some(Arc::new(roots)));
    }

    /// The guard of the files from the next start on.
    pub(crate) fn set_guard(&self, guard: Option<SharedStartGuard>) {
        *lock(&self.guard) = guard;
    }

    pub(crate) fn guard(&self) -> Option<SharedStartGuard> {
        lock(&self.guard).clone()
    }

    pub(crate) fn status(&self) -> ServerStatus {
        self.status.borrow().clone()
    }

    /// How many questions the server has asked: a call in whose course this grew may have been answered one.
    pub(crate) fn questions(&self) -> u64 {
        self.questions.load(Ordering::Relaxed)
    }

    /// Where its questions are counted.
    pub(crate) const fn question_count(&self) -> &Arc<AtomicU64> {
        &self.questions
    }

    pub(crate) fn watch(&self) -> watch::Receiver<ServerStatus> {
        self.status.subscribe()
    }

    /// True while its tools are wanted in the catalog.
    pub(crate) fn is_on(&self) -> bool {
        *lock(&self.is_on)
    }

    /// Switches it on or off, for calls at once; the supervisor has to be told. False when it was so already.
    pub(crate) fn switch(&self, on: bool) -> bool {
        let mut is_on = lock(&self.is_on);
        if *is_on == on {
            return false;
        }
        *is_on = on;
        self.set_down(self.switched(on), None);
        true
    }

    /// Its status is that of a server that is off, unless it was switched on meanwhile.
    pub(crate) fn stay_off(&self) {
        let is_on = lock(&self.is_on);
        if !*is_on {
            self.set_down(self.switched(*is_on), None);
        }
    }

    /// The status of a server that was just switched on or off.
    pub(crate) fn switched(&self, on: bool) -> ServerStatus {
        match (on, self.spec.lazy) {
            (false, _) => ServerStatus::Disabled(DisabledReason::Toggled),
            (true, true) => ServerStatus::Pending(PendingReason::Lazy),
            (true, false) => ServerStatus::Pending(PendingReason::Connecting),
        }
    }

    pub(crate) fn last_error(&self) -> Option<Arc<CallError>> {
        self.last_error.load_full()
    }

    /// True for a server that somebody has to sign in to: they may have done so since, here or in another process.
    pub(crate) fn waits_for_login(&self) -> bool {
        let needs_login = || self.last_error().is_some_and(|last| last.needs_login());
        matches!(self.status(), ServerStatus::NeedsAuth { .. }) && needs_login()
    }

    pub(crate) fn server(&self) -> &ServerName {
        &self.server
    }

    pub(crate) fn call_timeout(&self) -> Option<Duration> {
        self.spec.call_timeout
    }

    pub(crate) fn max_retries(&self) -> Option<u32> {
        self.spec.max_retries
    }

    pub(crate) fn spec(&self) -> &ServerSpec {
        &self.spec
    }
    pub(crate) fn facts(&self) -> ServerFacts {
        lock(&self.facts).clone()
    }

    pub(crate) fn describe(&self, change: impl FnOnce(&mut ServerFacts)) {
        change(&mut lock(&self.facts));
    }

    pub(crate) const fn prompts(&self) -> &KeptPrompts {
        &self.prompts
    }

    pub(crate) const fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    pub(crate) fn session_now(&self) -> Option<Arc<Session>> {
        self.session.load_full()
    }

    pub(crate) fn calls_on_their_way(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    pub(crate) fn count_call(&self) -> CallOnItsWay<'_> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        CallOnItsWay(&self.calls)
    }

    /// The limit of calls in flight.
    pub(crate) const fn slots(&self) -> &Arc<Slots> {
        &self.slots
    }

    /// The limit of notifications of others that are on their way.
    pub(crate) const fn notification_turns(&self) -> &Semaphore {
        &self.notification_turns
    }

    /// How many of them the server has missed.
    pub(crate) const fn missed_notifications(&self) -> &AtomicU64 {
        &self.missed_notifications
    }

    /// Tells the supervisor something; nobody hears it when it has ended.
    pub(crate) fn tell(&self, command: Command) {
        drop(self.commands.send(command));
    }

    /// There is a session now, and a status that says so; not for a server that was switched off meanwhile.
    pub(crate) fn set_up(&self, session: Session) {
        let is_on = lock(&self.is_on);
        if !*is_on || self.retired.get().is_some() {
            return;
        }
        *lock(&self.prompts) = None;
        self.session.store(Some(Arc::new(session)));
        self.last_error.store(None);
        drop(self.status.send_replace(ServerStatus::Connected));
    }

    /// There is no session, for this reason.
    pub(crate) fn set_down(&self, status: ServerStatus, error: Option<Arc<CallError>>) {
        if self.retired.get().is_some() {
            return;
        }
        self.session.store(None);
        if error.is_some() {
            self.last_error.store(error);
        }
        drop(self.status.send_replace(status));
    }

    /// The host lets go of the server: whoever waits for it is told at once, and nobody gets a session any more.
    pub(crate) fn retire(&self, why: Retired) {
        // The first reason stays.
        let why = *self.retired.get_or_init(|| why);
        self.session.store(None);
        let reason = match why {
            Retired::Removed | Retired::Replaced => DisabledReason::Gone,
            Retired::HostEnded => DisabledReason::HostOff,
        };
        drop(self.status.send_replace(ServerStatus::Disabled(reason)));
    }

    /// The supervisor has ended, whichever way.
    pub(crate) fn let_go(&self) {
        self.retire(Retired::HostEnded);
        self.set_recalled();
        self.is_gone.send_replace(true);
    }

    /// What is remembered of the server is in the catalog now, if anything is.
    pub(crate) fn set_recalled(&self) {
        self.is_recalled.send_replace(true);
    }

    /// When it listed its tools.
    pub(crate) const fn listings(&self) -> &Listings {
        &self.listings
    }

    /// Asks a server that is connected for its tools again, if its list is older than it may be, and waits for it. One that
    /// keeps somebody waiting already is not waited for: what it lists is told when it comes. Cancel safe.
    pub(crate) async fn list_again(&self, age: ListAge, within: Duration) {
        if self.live_session().is_some()
            && let Some(coming) = self.listings.wanted(age, within)
        {
            if coming.is_first {
                self.tell(Command::List);
            }
            coming.ended(within).await;
        }
    }

    /// Waits until it is known what is remembered of the server. Cancel safe.
    pub(crate) async fn recalled(&self) {
        // The sender lives as long as `self`.
        drop(self.is_recalled.subscribe().wait_for(|is_recalled| *is_recalled).await);
    }

    /// Waits until the supervisor has ended, and its server with it. Cancel safe.
    pub(crate) async fn gone(&self) {
        // The sender lives as long as `self`.
        drop(self.is_gone.subscribe().wait_for(|is_gone| *is_gone).await);
    }

    /// The session, as soon as there is one. Cancel safe.
    ///
    /// Waits while the server is being connected, for one that is started again no longer than that is worth; a server
    /// that failed is an error at once.
    pub(crate) async fn session(&self, deadline: Instant) -> Result<Arc<Session>, CallError> {
        match self.live_session() {
            Some(session) => Ok(session),
            None => Box::pin(self.wait_for_session(deadline)).await,
        }
    }

    /// The session, unless it has ended and only the supervisor does not know yet.
    fn live_session(&self) -> Option<Arc<Session>> {
        self.session.load_full().filter(|session| !session.has_ended())
    }

    async fn wait_for_session(&self, deadline: Instant) -> Result<Arc<Session>, CallError> {
        let mut status = self.status.subscribe();
        let began = Instant::now();
        let restarted_by = began + self.restart_wait;
        // What was so before this call may have changed since; what it just found out has not.
        let mut may_try = matches!(&*status.borrow(), ServerStatus::NeedsAuth { .. });
        loop {
            // The session is stored before the status says so, and removed before the status says why.
            let current = status.borrow_and_update().clone();
            if let Some(why) = self.retired.get() {
                return Err(self.retired_error(*why));
            }
            if let Some(session) = self.live_session() {
                return Ok(session);
            }
            match &current {
                ServerStatus::Connected
                | ServerStatus::Pending(PendingReason::Connecting | PendingReason::Reconnecting) => {}
                ServerStatus::Pending(PendingReason::Lazy) => self.tell(Command::Wanted),
                // Somebody may have signed in since, here or in another process.
                ServerStatus::NeedsAuth { .. }
                    if may_try && self.last_error().is_some_and(|last| last.needs_login()) =>
                {
                    may_try = false;
                    self.tell(Command::Wanted);
                }
                ServerStatus::Disabled(_) | ServerStatus::Failed(_) | ServerStatus::NeedsAuth { .. } => {
                    return Err(self.unavailable(&current));
                }
            }
            let is_restarting = current == ServerStatus::Pending(PendingReason::Reconnecting);
            let until = if is_restarting { deadline.min(restarted_by) } else { deadline };
            match timeout_at(until, status.changed()).await {
                // The sender lives as long as `self`.
                Ok(_) => {}
                Err(_) if is_restarting && restarted_by <= deadline => return Err(self.unavailable(&current)),
                Err(_) => {
                    let server = &self.server;
                    let error = CallError::new(
                        ErrorCode::Timeout,
                        format!("the server `{server}` was still not connected when the call's time was over"),
                    );
                    let had = in_tenths(deadline.saturating_duration_since(began));
                    return Err(error
                        .at_server(server)
                        .with_hint(Hint::ShowServer { server: server.clone() })
                        .with_hint(self.raise_call_timeout(had)));
                }
            }
        }
    }

    /// Why calls cannot be made in this state.
    pub(crate) fn unavailable(&self, status: &ServerStatus) -> CallError {
        let error = unavailable(&self.server, status);
        let with_hints = |error: CallError, last: &CallError| last.hints().iter().fold(error, CallError::with_hint);
        match (status, self.last_error()) {
            // Told as it is, and to strangers without the file.
            (ServerStatus::Failed(_), Some(last)) if last.code() == ErrorCode::Untrusted => CallError::again(&last),
            (ServerStatus::NeedsAuth { .. }, Some(last)) => {
                with_hints(error.with_needs_login(last.needs_login()), &last)
            }
            (ServerStatus::Failed(_), last) => {
                let error = match &last {
                    Some(last) => with_hints(error, last),
                    None => error,
                };
                self.tried_again(error, last.as_deref())
            }
            (ServerStatus::Pending(PendingReason::Reconnecting), Some(last)) => {
                let server = &self.server;
                let message =
                    format!("the server `{server}` is not available: it is being started again since {}", last.chain());
                let error = CallError::new(ErrorCode::ServerUnavailable, message).at_server(server);
                self.tried_again(with_hints(error, &last), Some(&last))
            }
            _ => error,
        }
    }

    /// The error with when the server is tried again. A model hears the server's last words besides: it may know what they
    /// mean, and has nowhere else to look.
    fn tried_again(&self, error: CallError, last: Option<&CallError>) -> CallError {
        let wait = lock(&self.facts).retry_at.map(|at| at.saturating_duration_since(Instant::now()));
        let when = match wait {
            Some(wait) => format!("it is tried again in {} s", wait.as_secs_f64().ceil()),
            None => "it is being started again".to_owned(),
        };
        let said = last.and_then(CallError::last_words).map(|line| format!("; its last words: {line}"));
        let told = format!("the server `{}` is not available; {when}{}", self.server, said.unwrap_or_default());
        error.for_agents(told).tried_again_in(wait.unwrap_or(self.restart_wait))
    }

    /// What to do when the server refuses a call for want of credentials.
    pub(crate) fn credentials_hint(&self, error: &helve_wire::Error) -> Option<Hint> {
        if let Some(hint) = hub_hint(&self.spec, error) {
            return Some(hint);
        }
        if let Some(by_sign_in) = login_hint(error, &self.spec) {
            return by_sign_in;
        }
        match &self.spec.transport {
            TransportSpec::Http(http) => Some(Hint::text(credentials_hint(&self.spec, http))),
            TransportSpec::Stdio(_) | TransportSpec::Builtin(_) => None,
        }
    }

    /// What to do when its calls, which had so long, take longer.
    pub(crate) fn raise_call_timeout(&self, had: Duration) -> Hint {
        let (server, origin) = (self.server.clone(), self.spec.origin.clone());
        Hint::RaiseTimeout { server, key: ServerKey::CallTimeout, had, origin }
    }

    /// Why nothing is known about its tools although it is connected.
    pub(crate) fn unlisted(&self) -> Option<CallError> {
        let reason = lock(&self.facts).list_error.clone()?;
        let message = format!("the server `{}` is connected, but its tools could not be listed: {reason}", self.server);
        Some(CallError::new(ErrorCode::ServerUnavailable, message).at_server(&self.server))
    }

    fn retired_error(&self, why: Retired) -> CallError {
        let server = &self.server;
        match why {
            Retired::Removed => {
                CallError::new(ErrorCode::ServerNotFound, format!("the server `{server}` has been removed"))
            }
            Retired::Replaced => {
                let message = format!("the server `{server}` has been configured anew, and the old one was ended");
                CallError::new(ErrorCode::ServerUnavailable, message).with_hint("make the call again")
            }
            Retired::HostEnded => CallError::new(ErrorCode::ServerUnavailable, "the host has been shut down"),
        }
        .at_server(server)
    }
}

/// A time as a person would say it: without what was spent before the server was waited for.
fn in_tenths(time: Duration) -> Duration {
    Duration::from_secs_f64((time.as_secs_f64() * 10.0).round() / 10.0)
}

/// Why calls to a server in this state cannot be made.
pub(crate) fn unavailable(server: &ServerName, status: &ServerStatus) -> CallError {
    let for_agents = match status {
        ServerStatus::Disabled(_) => "is not in use",
        ServerStatus::NeedsAuth { .. } => "has not been signed in to",
        ServerStatus::Failed(_) => "is not available",
        ServerStatus::Pending(_) | ServerStatus::Connected => "is not connected yet",
    };
    match status {
        ServerStatus::Disabled(DisabledReason::Untrusted) => CallError::new(
            ErrorCode::Untrusted,
            format!("the server `{server}` comes from a project that is not trusted yet"),
        )
        .with_hint(Hint::Trust { origin: None }),
        ServerStatus::Disabled(DisabledReason::UnsetVariable(variable)) => CallError::new(
            ErrorCode::Config,
            format!("the server `{server}` needs the variable {variable}, which is not set"),
        )
        .with_hint(format!("set {variable}, or give it a default in the configuration")),
        ServerStatus::Disabled(DisabledReason::Invalid) => {
            CallError::new(ErrorCode::Config, format!("the configuration of the server `{server}` has mistakes"))
                .with_hint(Hint::CheckConfiguration)
        }
        ServerStatus::Disabled(DisabledReason::NeedsInput(id)) => {
            let message = format!("the server `{server}` needs the value `{id}`, which a person has to give");
            CallError::new(ErrorCode::Config, message)
        }
        ServerStatus::Disabled(DisabledReason::Unsupported(what)) => {
            CallError::new(ErrorCode::Config, format!("the server `{server}` cannot be used: {what}"))
        }
        ServerStatus::Disabled(DisabledReason::HostOff) => CallError::new(
            ErrorCode::ServerDisabled,
            format!("the server `{server}` is off because MCP as a whole is off"),
        ),
        ServerStatus::Disabled(reason @ (DisabledReason::Itself | DisabledReason::Nested(_))) => {
            CallError::new(ErrorCode::ServerDisabled, format!("the server `{server}` is not started: {reason}"))
        }
        ServerStatus::Disabled(DisabledReason::Configured | DisabledReason::Toggled) => {
            CallError::new(ErrorCode::ServerDisabled, format!("the server `{server}` is switched off"))
                .with_hint(Hint::EnableServer { server: server.clone() })
        }
        ServerStatus::Disabled(DisabledReason::Gone) => {
            CallError::new(ErrorCode::ServerNotFound, format!("the server `{server}` is not configured any more"))
        }
        ServerStatus::NeedsAuth { challenge } => {
            let error = CallError::new(ErrorCode::AuthRequired, format!("the server `{server}` wants credentials"));
            match challenge {
                Some(challenge) => error.with_hint(format!("it said: {challenge}")).with_challenge(challenge),
                None => error,
            }
        }
        ServerStatus::Failed(failure) => {
            let code = match failure.code {
                // No answer in time, whoever waited for it.
                ErrorCode::Timeout => ErrorCode::Timeout,
                ErrorCode::Untrusted => ErrorCode::Untrusted,
                _ => ErrorCode::ServerUnavailable,
            };
            CallError::new(code, format!("the server `{server}` is not available: {}", failure.message))
        }
        ServerStatus::Pending(_) | ServerStatus::Connected => {
            CallError::new(ErrorCode::ServerUnavailable, format!("the server `{server}` is not connected yet"))
        }
    }
    .at_server(server)
    .for_agents(format!("the server `{server}` {for_agents}"))
}

impl Drop for CallOnItsWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ServerHandle")
            .field("server", &self.server)
            .field("status", &*self.status.borrow())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "server_handle_tests.rs"]
mod tests;
