//! The way to one server: its live session, or why there is none, and how a call waits for one.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use helve_model::{DisabledReason, ErrorCode, Failure, Origin, PendingReason, ServerName, ServerSpec, ServerStatus};
use helve_wire::{Greeting, Session};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};

use crate::error::CallError;
use crate::sync::lock;

/// What the supervisor of a server is told.
#[derive(Debug)]
pub(crate) enum Command {
    /// Somebody wants to use it: start it if it waits for that.
    Wanted,
    /// Give up the connection if there is one, and make a new one.
    Reconnect(oneshot::Sender<Result<(), Arc<CallError>>>),
    /// Take its tools out of the catalog or put them back; the process lives on.
    Toggle(bool),
    /// End it.
    Stop(oneshot::Sender<()>),
}

/// Shared by the supervisor, who writes, and the calls, who read.
pub(crate) struct Link {
    server: ServerName,
    spec: Arc<ServerSpec>,
    session: ArcSwapOption<Session>,
    status: watch::Sender<ServerStatus>,
    /// Why the last attempt failed, in full; `status` has one line of it.
    last_error: ArcSwapOption<CallError>,
    facts: Mutex<LinkFacts>,
    commands: mpsc::UnboundedSender<Command>,
    turns: Semaphore,
    calls: AtomicUsize,
}

/// What is known about a server beyond its status.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinkFacts {
    /// What it said when the last connection was made.
    pub(crate) greeting: Option<Greeting>,
    /// How long that took, its list included.
    pub(crate) connect_time: Option<Duration>,
    /// How long the last ping took.
    pub(crate) latency: Option<Duration>,
    /// How often a connection broke.
    pub(crate) restarts: u32,
    /// How the last one broke.
    pub(crate) last_end: Option<String>,
}

/// Counts a call while it is on its way.
#[derive(Debug)]
pub(crate) struct CallOnItsWay<'link>(&'link AtomicUsize);

impl Link {
    pub(crate) fn new(
        spec: Arc<ServerSpec>,
        status: ServerStatus,
        in_flight: usize,
    ) -> (Self, mpsc::UnboundedReceiver<Command>) {
        let (commands, receiver) = mpsc::unbounded_channel();
        let link = Self {
            server: spec.name.clone(),
            spec,
            session: ArcSwapOption::empty(),
            status: watch::Sender::new(status),
            last_error: ArcSwapOption::empty(),
            facts: Mutex::default(),
            commands,
            turns: Semaphore::new(in_flight.clamp(1, Semaphore::MAX_PERMITS)),
            calls: AtomicUsize::new(0),
        };
        (link, receiver)
    }

    pub(crate) fn status(&self) -> ServerStatus {
        self.status.borrow().clone()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<ServerStatus> {
        self.status.subscribe()
    }

    pub(crate) fn last_error(&self) -> Option<Arc<CallError>> {
        self.last_error.load_full()
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

    pub(crate) fn origin(&self) -> &Origin {
        &self.spec.origin
    }

    pub(crate) fn facts(&self) -> LinkFacts {
        lock(&self.facts).clone()
    }

    pub(crate) fn describe(&self, change: impl FnOnce(&mut LinkFacts)) {
        change(&mut lock(&self.facts));
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
    pub(crate) const fn turns(&self) -> &Semaphore {
        &self.turns
    }

    /// Tells the supervisor something; nobody hears it when the server has been removed.
    pub(crate) fn tell(&self, command: Command) -> bool {
        self.commands.send(command).is_ok()
    }

    /// There is a session now, and a status that says so.
    pub(crate) fn set_up(&self, session: Session) {
        self.session.store(Some(Arc::new(session)));
        self.last_error.store(None);
        drop(self.status.send_replace(ServerStatus::Connected));
    }

    /// There is no session, for this reason.
    pub(crate) fn set_down(&self, status: ServerStatus, error: Option<Arc<CallError>>) {
        self.session.store(None);
        if error.is_some() {
            self.last_error.store(error);
        }
        drop(self.status.send_replace(status));
    }

    /// The session, as soon as there is one. Cancel safe.
    ///
    /// Waits while the server is being connected; a server that failed is an error at once.
    pub(crate) async fn session(&self, deadline: Instant) -> Result<Arc<Session>, CallError> {
        if let Some(session) = self.session.load_full() {
            return Ok(session);
        }
        self.wait_for_session(deadline).await
    }

    async fn wait_for_session(&self, deadline: Instant) -> Result<Arc<Session>, CallError> {
        let mut status = self.status.subscribe();
        loop {
            // The session is stored before the status says so, and removed before the status says why.
            let current = status.borrow_and_update().clone();
            if let Some(session) = self.session.load_full() {
                return Ok(session);
            }
            match &current {
                ServerStatus::Connected
                | ServerStatus::Pending(PendingReason::Connecting | PendingReason::Reconnecting) => {}
                ServerStatus::Pending(PendingReason::Lazy) => {
                    if !self.tell(Command::Wanted) {
                        return Err(self.removed());
                    }
                }
                ServerStatus::Disabled(_) | ServerStatus::Failed(_) | ServerStatus::NeedsAuth { .. } => {
                    return Err(self.unavailable(&current));
                }
            }
            match timeout_at(deadline, status.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(self.removed()),
                Err(_) => {
                    let server = &self.server;
                    let error = CallError::new(
                        ErrorCode::Timeout,
                        format!("the server `{server}` was still not connected when the call's time was over"),
                    );
                    return Err(error.at_server(server).with_hint(format!(
                        "`helve servers {server}` shows what it is doing; `timeout_seconds` of the server sets the time of a call"
                    )));
                }
            }
        }
    }

    /// Why calls cannot be made in this state.
    pub(crate) fn unavailable(&self, status: &ServerStatus) -> CallError {
        let server = &self.server;
        match status {
            ServerStatus::Disabled(DisabledReason::Untrusted) => CallError::new(
                ErrorCode::Untrusted,
                format!("the server `{server}` comes from a project that is not trusted yet"),
            )
            .with_hint("`helve trust` shows what it would run, and asks"),
            ServerStatus::Disabled(DisabledReason::UnsetVariable(variable)) => CallError::new(
                ErrorCode::Config,
                format!("the server `{server}` needs the variable {variable}, which is not set"),
            )
            .with_hint(format!("set {variable}, or give it a default in the configuration")),
            ServerStatus::Disabled(DisabledReason::Invalid) => {
                CallError::new(ErrorCode::Config, format!("the configuration of the server `{server}` has mistakes"))
                    .with_hint("`helve doctor` says which")
            }
            ServerStatus::Disabled(DisabledReason::NeedsInput(id)) => {
                let message = format!("the server `{server}` needs the value `{id}`, which a person has to give");
                CallError::new(ErrorCode::ApprovalRequired, message)
            }
            ServerStatus::Disabled(DisabledReason::Unsupported(what)) => {
                CallError::new(ErrorCode::Config, format!("the server `{server}` cannot be used: {what}"))
            }
            ServerStatus::Disabled(DisabledReason::HostOff) => CallError::new(
                ErrorCode::ServerDisabled,
                format!("the server `{server}` is off because MCP as a whole is off"),
            ),
            ServerStatus::Disabled(DisabledReason::Configured | DisabledReason::Toggled) => {
                CallError::new(ErrorCode::ServerDisabled, format!("the server `{server}` is switched off"))
                    .with_hint(format!("`helve enable {server}` switches it on"))
            }
            ServerStatus::NeedsAuth { challenge } => {
                let error = CallError::new(ErrorCode::AuthRequired, format!("the server `{server}` wants credentials"));
                let error = match challenge {
                    Some(challenge) => error.with_hint(format!("it said: {challenge}")),
                    None => error,
                };
                error.with_hint(format!(
                    "put a token into `headers` of the server `{server}`, as `Authorization = \"Bearer ${{VARIABLE}}\"`"
                ))
            }
            ServerStatus::Failed(failure) => self.failed(failure),
            ServerStatus::Pending(_) | ServerStatus::Connected => {
                CallError::new(ErrorCode::ServerUnavailable, format!("the server `{server}` is not connected yet"))
            }
        }
        .at_server(server)
    }

    fn failed(&self, failure: &Failure) -> CallError {
        let server = &self.server;
        let error = CallError::new(
            ErrorCode::ServerUnavailable,
            format!("the server `{server}` is not available: {}", failure.message),
        );
        match self.last_error() {
            Some(last) => last.hints().iter().fold(error, |error, hint| error.with_hint(hint)),
            None => error,
        }
    }

    fn removed(&self) -> CallError {
        CallError::new(ErrorCode::ServerNotFound, format!("the server `{}` has been removed", self.server))
            .at_server(&self.server)
    }
}

impl Drop for CallOnItsWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Link")
            .field("server", &self.server)
            .field("status", &*self.status.borrow())
            .finish_non_exhaustive()
    }
}
