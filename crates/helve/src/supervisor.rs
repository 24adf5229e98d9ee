//! One task per server: connects it, keeps it alive, and says how it is doing. A loop over a closed set of events.

mod away;
mod upkeep;

use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt as _;
use helve_model::{ErrorCode, Failure, PendingReason, ServerSpec, ServerStatus, ToolDefinition};
use helve_wire::{BoxFuture, Error as WireError, Greeting, Listing, NegotiatedVersion, SavedSession, Session, Times};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use crate::backoff::Backoff;
use crate::catalog::ServerCatalog;
use crate::connect::Known;
use crate::error::CallError;
use crate::event::HostEvent;
use crate::handler::ServerHandler;
use crate::host_core::HostCore;
use crate::missed_variables;
use crate::random::random_fraction;
use crate::server_handle::{Command, ServerHandle};
use crate::startup::{Following, StartedServer, start_up, when_some};
use crate::watch::Subscriptions;
use upkeep::{LISTING_GAP, LISTING_RETRY, counts_for};

/// How long a killed program may take to be gone before nobody waits for it any more.
const KILLED_WITHIN: Duration = Duration::from_secs(2);
/// So many connections in a row that broke early, and the server counts as failed.
const EARLY_ENDS: u32 = 3;

/// Keeps one server.
pub(crate) struct Supervisor {
    shared: Weak<HostCore>,
    spec: Arc<ServerSpec>,
    handle: Arc<ServerHandle>,
    /// The predecessor that has to be gone before this server may be started.
    predecessor: Option<Arc<ServerHandle>>,
    handler: Arc<ServerHandler>,
    commands: mpsc::UnboundedReceiver<Command>,
    state: State,
    /// A connection that is being ended.
    closing: Option<Session>,
    backoff: Backoff,
    early_ends: u32,
    negotiated: Option<NegotiatedVersion>,
    /// A session of an earlier process, for the first attempt.
    saved_session: Option<SavedSession>,
    /// The last good list; of an earlier run, until there is one of this.
    catalog: Option<Arc<ServerCatalog>>,
    /// Callers that asked for a reconnection and wait for it.
    waiting: Vec<oneshot::Sender<Result<(), Arc<CallError>>>>,
}

/// What a supervisor is doing; each variant owns what it is doing it with.
enum State {
    /// Nothing, until it is told to.
    Idle,
    /// Making a connection; the receiver ends when nothing that was started for it is left.
    Connecting(BoxFuture<'static, Result<StartedServer, CallError>>, oneshot::Receiver<Infallible>),
    /// Waiting before the next attempt.
    Waiting(Instant),
    /// Connected.
    Up(Box<Up>),
}

struct Up {
    session: Session,
    since: Instant,
    /// It has not been said yet whether changes are listened for.
    following: Option<Following>,
    /// The list is known to be old.
    is_stale: bool,
    /// No listing before this.
    list_after: Instant,
    listing: Option<BoxFuture<'static, Result<Listing<ToolDefinition>, WireError>>>,
    ping_at: Option<Instant>,
    ping: Option<BoxFuture<'static, Result<Duration, WireError>>>,
    pings_missed: u32,
}

enum Event {
    Command(Command),
    /// Nobody can tell us anything any more.
    Abandoned,
    Arrived(Box<Result<StartedServer, CallError>>),
    RetryDue,
    Ended(WireError),
    Followed(Result<(), WireError>),
    Changed,
    ListingDue,
    Listed(Result<Listing<ToolDefinition>, WireError>),
    PingDue,
    Pong(Result<Duration, WireError>),
}

impl Supervisor {
    pub(crate) fn new(
        shared: Weak<HostCore>,
        spec: Arc<ServerSpec>,
        handle: Arc<ServerHandle>,
        predecessor: Option<Arc<ServerHandle>>,
        handler: Arc<ServerHandler>,
        commands: mpsc::UnboundedReceiver<Command>,
    ) -> Self {
        Self {
            shared,
            spec,
            handle,
            predecessor,
            handler,
            commands,
            state: State::Idle,
            closing: None,
            backoff: Backoff::default(),
            early_ends: 0,
            negotiated: None,
            saved_session: None,
            catalog: None,
            waiting: Vec::new(),
        }
    }

    /// Runs until it is stopped or its host is gone.
    pub(crate) async fn run(mut self) {
        self.remember().await;
        self.handle.set_recalled();
        if self.handle.is_on() && self.handle.status() == ServerStatus::Pending(PendingReason::Connecting) {
            self.begin();
        }
        loop {
            let tools_changed = Arc::clone(&self.handler.tools_changed);
            let event = tokio::select! {
                biased;
                command = self.commands.recv() => command.map_or(Event::Abandoned, Event::Command),
                event = self.state.next(&tools_changed) => event,
            };
            match event {
                Event::Command(Command::Stop) => return self.close_session().await,
                Event::Abandoned => return,
                Event::Command(Command::Wanted) => self.wanted(),
                Event::Command(Command::Reconnect(answer)) => self.reconnect(answer).await,
                Event::Command(Command::Suspend) => self.suspend().await,
                Event::Command(Command::Away(error)) => self.away(error),
                Event::Command(Command::Back) => self.back(),
                Event::Command(Command::Toggled) => self.toggled(),
                Event::Command(Command::List) => self.list_wanted(),
                Event::Arrived(arrival) => self.arrived(*arrival),
                Event::RetryDue => self.retry(),
                Event::Ended(error) => self.ended(error).await,
                Event::Followed(followed) => self.followed(followed),
                Event::Changed => self.changed(),
                Event::ListingDue => self.list_again(),
                Event::Listed(listing) => self.listed(listing),
                Event::PingDue => self.ping(),
                Event::Pong(pong) => self.pong(pong).await,
            }
        }
    }

    /// What an earlier run found out: the tools, for the catalog, and the era, which saves a round trip.
    async fn remember(&mut self) {
        let Some(shared) = self.shared.upgrade() else { return };
        let (resumed, memory) = (
            shared.resumable.take(&self.spec, shared.surroundings.working_directory.as_deref()),
            shared.memory.clone(),
        );
        drop(shared);
        if let Some((negotiated, session)) = resumed {
            self.negotiated = Some(negotiated);
            self.saved_session = session;
        }
        let Some(memory) = memory else { return };
        let asker = self.handler.answerer.capabilities();
        let Some(remembered) = memory.recall(Arc::clone(&self.spec), asker).await else { return };
        self.negotiated.get_or_insert(remembered.negotiated);
        self.handle.describe(|facts| facts.remembered = remembered.greeting);
        self.catalog = remembered.catalog;
        if self.handle.is_on() {
            self.publish_unchecked();
        }
    }

    fn wanted(&mut self) {
        if self.handle.is_on() && matches!(self.state, State::Idle) {
            self.set_status(ServerStatus::Pending(PendingReason::Connecting));
            self.begin();
        }
    }

    fn retry(&mut self) {
        if self.handle.is_on() {
            self.begin();
        } else {
            self.state = State::Idle;
        }
    }

    /// Nothing is tried for a while.
    fn wait_before_the_next(&mut self) {
        let until = Instant::now() + self.backoff.next(random_fraction());
        self.handle.describe(|facts| facts.retry_at = Some(until));
        self.state = State::Waiting(until);
    }

    /// Makes an attempt now.
    fn begin(&mut self) {
        self.handle.describe(|facts| facts.retry_at = None);
        let Some(shared) = self.shared.upgrade() else { return };
        let (spec, handler) = (Arc::clone(&self.spec), Arc::clone(&self.handler));
        let (predecessor, handle) = (self.predecessor.clone(), Arc::clone(&self.handle));
        let known = Known {
            negotiated: self.negotiated.clone(),
            preference: self.handler.answerer.era_preference(),
            session: self.saved_session.take(),
        };
        let (alive, gone) = oneshot::channel();
        let attempt = async move {
            if let Some(predecessor) = predecessor {
                predecessor.gone().await;
            }
            // Never closed.
            let _turn = shared.starting.acquire().await;
            // Apart: it is large, and soon over.
            let guard = handle.guard();
            Box::pin(start_up(&spec, &shared.settings, &shared.surroundings, handler, known, Arc::new(alive), guard))
                .await
        };
        self.state = State::Connecting(Box::pin(attempt), gone);
    }

    fn arrived(&mut self, arrival: Result<StartedServer, CallError>) {
        match arrival {
            Ok(arrival) => self.connected(arrival),
            Err(error) => self.failed(error),
        }
    }

    fn connected(&mut self, arrival: StartedServer) {
        let StartedServer { session, following, listing, took } = arrival;
        self.predecessor = None;
        let greeting = self.greeting(&session);
        self.negotiated = Some(greeting.negotiated.clone());
        self.handle.describe(|facts| {
            facts.greeting = Some(greeting);
            facts.connect_time = Some(took);
            facts.latency = None;
        });
        // Whether a hub is there is heard once for all of its servers.
        let is_alone = self.spec.name.place().is_none();
        let ping_interval = self.shared.upgrade().filter(|_| is_alone).and_then(|shared| shared.settings.ping_interval);
        let mut up = Up {
            session: session.clone(),
            since: Instant::now(),
            following,
            is_stale: false,
            list_after: Instant::now() + LISTING_GAP,
            listing: None,
            ping_at: ping_interval.map(|interval| Instant::now() + interval),
            ping: None,
            pings_missed: 0,
        };
        match listing {
            Ok(listing) => {
                self.handle.listings().listed(counts_for(&listing));
                self.catalog = Some(self.take_listing(listing, &session));
            }
            Err(error) => {
                let reason = CallError::from_wire(error, &self.spec.name).chain();
                self.warn(format!("connected, but its tools could not be listed: {reason}"));
                self.handle.describe(|facts| facts.list_error = Some(reason));
                up.is_stale = true;
                up.list_after = Instant::now() + LISTING_RETRY;
            }
        }
        self.state = State::Up(Box::new(up));
        if self.handle.is_on() {
            self.show(session);
        }
        self.answer_waiting(&Ok(()));
    }

    /// The tools are in the catalog and can be called.
    fn show(&self, session: Session) {
        let nothing = || ServerCatalog { instructions: session.greeting().instructions.clone(), ..Default::default() };
        self.publish(self.catalog.clone().unwrap_or_else(|| Arc::new(nothing())));
        self.handle.set_up(session.clone());
        Subscriptions::restore(&self.handle, &session);
        self.restore_log_level(session);
        self.tell_status();
    }

    /// Every connection is told anew from which level on log messages are wanted.
    fn restore_log_level(&self, session: Session) {
        let level = self.shared.upgrade().and_then(|shared| shared.log_level());
        let Some(level) = level.filter(|_| session.greeting().offers("logging")) else { return };
        let mut telling = Box::pin(async move {
            // A server that does not care logs as before.
            drop(session.set_log_level(level, Times::default()).await);
        });
        // Begun here, so that it is on its way before the first call.
        if (&mut telling).now_or_never().is_none() {
            drop(tokio::spawn(telling));
        }
    }

    fn failed(&mut self, error: CallError) {
        let error = Arc::new(error);
        if !self.handle.is_on() {
            self.state = State::Idle;
            return self.answer_waiting(&Err(error));
        }
        let status = if error.code() == ErrorCode::AuthRequired {
            self.state = State::Idle;
            ServerStatus::NeedsAuth { challenge: error.challenge().map(ToOwned::to_owned) }
        } else {
            self.wait_before_the_next();
            ServerStatus::Failed(Failure { code: error.code(), message: error.chain() })
        };
        // Its tools stay known: whoever calls one is told why it cannot be called now. Not those of files nobody trusts.
        if error.code() == ErrorCode::Untrusted {
            self.withdraw();
        } else {
            self.publish_unchecked();
        }
        self.handle.set_down(status, Some(Arc::clone(&error)));
        self.tell_status();
        self.handle.subscriptions().outage(&error);
        self.answer_waiting(&Err(error));
    }

    /// The connection broke.
    async fn ended(&mut self, error: WireError) {
        let State::Up(up) = std::mem::replace(&mut self.state, State::Idle) else { return };
        self.handle.listings().failed();
        if self.backoff.connected_for(up.since.elapsed()) {
            self.early_ends = 0;
        } else {
            self.early_ends += 1;
        }
        let mut error = CallError::from_wire(error, &self.spec.name);
        if let Some(shared) = self.shared.upgrade() {
            error = missed_variables::explain(error, &self.spec, &shared.surroundings);
        }
        let error = Arc::new(error);
        self.handle.describe(|facts| {
            facts.restarts += 1;
            facts.last_end = Some(error.chain());
        });
        if self.handle.is_on() {
            self.wait_before_the_next();
            let status = if self.early_ends >= EARLY_ENDS {
                self.publish_unchecked();
                self.handle.subscriptions().outage(&error);
                ServerStatus::Failed(Failure { code: error.code(), message: error.chain() })
            } else {
                ServerStatus::Pending(PendingReason::Reconnecting)
            };
            self.handle.set_down(status, Some(error));
            self.tell_status();
        }
        // A program that closed its output, or no longer answers, still runs; and calls may still wait for it.
        self.close(up.session).await;
    }

    async fn reconnect(&mut self, answer: oneshot::Sender<Result<(), Arc<CallError>>>) {
        if !self.handle.is_on() {
            let status = self.handle.status();
            drop(answer.send(Err(Arc::new(self.handle.unavailable(&status)))));
            return;
        }
        self.waiting.push(answer);
        if matches!(self.state, State::Connecting(..)) {
            return;
        }
        self.handle.set_down(ServerStatus::Pending(PendingReason::Reconnecting), None);
        self.tell_status();
        self.close_session().await;
        self.begin();
    }

    /// Ends the server; whoever wants it next has it started again. What it listed stays, and is checked before a call.
    async fn suspend(&mut self) {
        if !self.handle.is_on() || matches!(self.state, State::Idle) || self.handle.calls_on_their_way() > 0 {
            return;
        }
        self.handle.set_down(ServerStatus::Pending(PendingReason::Lazy), None);
        self.tell_status();
        self.publish_unchecked();
        self.close_session().await;
    }

    fn toggled(&mut self) {
        let on = self.handle.is_on();
        if !on {
            if !matches!(self.state, State::Up(_)) {
                self.state = State::Idle;
            }
            self.withdraw();
            let off = self.handle.switched(on);
            self.answer_waiting(&Err(Arc::new(self.handle.unavailable(&off))));
            self.handle.stay_off();
            return self.tell_status();
        }
        if let State::Up(up) = &self.state {
            return self.show(up.session.clone());
        }
        self.publish_unchecked();
        match (self.handle.switched(on), &self.state) {
            (_, State::Connecting(..)) => self.set_status(ServerStatus::Pending(PendingReason::Connecting)),
            (status @ ServerStatus::Pending(PendingReason::Lazy), _) => {
                self.state = State::Idle;
                self.set_status(status);
            }
            (status, _) => {
                self.set_status(status);
                self.begin();
            }
        }
    }

    async fn close_session(&mut self) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Up(up) => self.close(up.session).await,
            State::Connecting(attempt, gone) => {
                // What it had started is killed by that.
                drop(attempt);
                drop(timeout(KILLED_WITHIN, gone).await);
            }
            State::Idle | State::Waiting(_) => {}
        }
    }

    async fn close(&mut self, session: Session) {
        self.closing = Some(session.clone());
        session.close().await;
        self.closing = None;
    }

    /// What the server said about itself, with all that is known about what it speaks.
    fn greeting(&self, session: &Session) -> Greeting {
        let mut greeting = session.greeting().clone();
        greeting.negotiated = greeting.negotiated.knowing(self.negotiated.as_ref());
        greeting
    }

    fn publish(&self, catalog: Arc<ServerCatalog>) {
        if let Some(shared) = self.shared.upgrade() {
            shared.publish(&self.handle, Some(catalog));
        }
    }

    /// Shows what is known while the server is not there; it is asked before a call.
    fn publish_unchecked(&self) {
        if let Some(catalog) = &self.catalog {
            let unchecked = ServerCatalog { from_cache: true, ..ServerCatalog::clone(catalog) };
            let shared = self.shared.upgrade();
            self.publish(match &shared {
                Some(shared) => shared.surroundings.common.list(&self.spec.name, unchecked),
                None => Arc::new(unchecked),
            });
        }
    }

    fn withdraw(&self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.publish(&self.handle, None);
        }
    }

    fn set_status(&self, status: ServerStatus) {
        self.handle.set_down(status, None);
        self.tell_status();
    }

    fn tell_status(&self) {
        let status = self.handle.status();
        tracing::debug!(server = %self.spec.name, %status, "status");
        self.handler.events.send(|| HostEvent::Status { server: self.spec.name.clone(), status });
    }

    fn warn(&self, message: String) {
        tracing::warn!(server = %self.spec.name, "{message}");
        self.handler.events.send(|| HostEvent::Warning { server: self.spec.name.clone(), message });
    }

    fn answer_waiting(&mut self, result: &Result<(), Arc<CallError>>) {
        for answer in self.waiting.drain(..) {
            drop(answer.send(result.clone()));
        }
    }
}

impl Drop for Supervisor {
    /// However it ends, stopped or dropped with its host: nobody uses its session any more, and its process goes.
    fn drop(&mut self) {
        if let State::Up(up) = &self.state {
            up.session.abandon();
        }
        if let Some(session) = &self.closing {
            session.abandon();
        }
        self.handle.let_go();
    }
}

impl State {
    /// The next thing that happens without being told. Cancel safe.
    async fn next(&mut self, tools_changed: &Notify) -> Event {
        match self {
            Self::Idle => pending().await,
            Self::Connecting(attempt, _) => Event::Arrived(Box::new(attempt.await)),
            Self::Waiting(until) => {
                sleep_until(*until).await;
                Event::RetryDue
            }
            Self::Up(up) => up.next(tools_changed).await,
        }
    }
}

impl Up {
    async fn next(&mut self, tools_changed: &Notify) -> Event {
        let list_at = (self.is_stale && self.listing.is_none()).then_some(self.list_after);
        let ping_at = self.ping_at.filter(|_| self.ping.is_none());
        tokio::select! {
            error = self.session.ended() => Event::Ended(error),
            followed = when_some(&mut self.following) => Event::Followed(followed),
            () = tools_changed.notified() => Event::Changed,
            listing = when_some(&mut self.listing) => Event::Listed(listing),
            pong = when_some(&mut self.ping) => Event::Pong(pong),
            () = at(list_at) => Event::ListingDue,
            () = at(ping_at) => Event::PingDue,
        }
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => pending().await,
    }
}
