//! What is remembered of one agent: what it said when it came, what it was asked, what it waits for, and the servers that
//! are its alone.
//!
//! An agent of the legacy era is a session; one of the modern era is a principal, since nothing else connects its requests.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use futures_util::FutureExt as _;
use helve::{Answerer, CallError, Events, Host, HostEvent, RunApprovals};
use helve_model::json::RawJson;
use helve_model::{ErrorCode, ServerName};
use helve_wire::{BoxFuture, ClientCapabilities, Question, QuestionKind, RpcError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::asked::Asked;
use crate::capabilities;
use crate::catalog::{Catalog, Catalogs};
use crate::conversation::Conversation;
use crate::gateway::Gateway;
use crate::message::Message;
use crate::news::{Level, Listener, Listeners, News, Notification};
use crate::outbox::Outlet;
use crate::principal::Principal;
use crate::running::Running;
use crate::sync::lock;
use crate::watching::Watching;

/// One agent.
pub(crate) struct Agent {
    pub(crate) principal: Principal,
    state: Mutex<State>,
    /// What the servers of this agent may ask it.
    capabilities: OnceLock<ClientCapabilities>,
    /// For what belongs to no request.
    standalone: Arc<dyn Outlet>,
    pub(crate) asked: Asked,
    pub(crate) running: Running,
    watching: OnceLock<Watching>,
    /// Who listens on behalf of this agent.
    pub(crate) listeners: Listeners,
    /// The servers that are this agent's alone.
    own: Mutex<Option<Arc<OwnHost>>>,
    /// Taken while a host is being started for it.
    moving: Semaphore,
    /// What its person said yes to until it ends.
    pub(crate) approvals: RunApprovals,
    /// Its turns at servers that it shares with others.
    turns: Mutex<HashMap<ServerName, Arc<Semaphore>>>,
}

/// A host whose servers are one agent's alone, and the task that passes on what happens there.
struct OwnHost {
    host: Host,
    news: AbortHandle,
    catalogs: Catalogs,
}

/// A request of an agent is being answered: the agent is not idle.
pub(crate) struct Present<'a>(&'a Agent);

#[derive(Default)]
struct State {
    /// The version agreed upon in `initialize`.
    version: Option<String>,
    /// The agent hears log messages from this level on; `None`: it did not say.
    log_level: Option<Level>,
    /// The streams of its requests that are being answered, the newest last.
    streams: Vec<Weak<dyn Outlet>>,
    /// Its open calls, if it is asked by result.
    conversations: Vec<(ServerName, Weak<Conversation>)>,
    has_ended: bool,
    /// Requests that are being answered.
    present: usize,
    used: Option<Instant>,
}

impl Agent {
    pub(crate) fn new(principal: Principal, standalone: Arc<dyn Outlet>) -> Self {
        Self {
            principal,
            state: Mutex::default(),
            capabilities: OnceLock::new(),
            standalone,
            asked: Asked::default(),
            running: Running::default(),
            watching: OnceLock::new(),
            listeners: Listeners::default(),
            own: Mutex::default(),
            moving: Semaphore::new(1),
            approvals: RunApprovals::default(),
            turns: Mutex::default(),
        }
    }

    /// The agent says what it can; the first time counts.
    pub(crate) fn declare(&self, capabilities: &RawJson) {
        self.capabilities.get_or_init(|| capabilities::read(capabilities));
    }

    /// The agent said `initialize`: from now on it hears what happens.
    pub(crate) fn greet(&self, version: String) {
        lock(&self.state).version = Some(version);
    }

    /// The version agreed upon.
    pub(crate) fn version(&self) -> Option<String> {
        lock(&self.state).version.clone()
    }

    /// The level the agent wants to hear log messages from, if it said so.
    pub(crate) fn log_level(&self) -> Option<Level> {
        lock(&self.state).log_level
    }

    /// From now on the agent hears log messages from this level on. Servers of its own are told, now or when they come.
    pub(crate) async fn set_log_level(&self, gateway: &Gateway, level: Level) {
        lock(&self.state).log_level = Some(level);
        if let Some(host) = self.private_host(gateway) {
            host.want_log_level(level.into()).await;
        }
    }

    /// Tells the servers of this agent something that it said.
    pub(crate) fn pass_on(&self, gateway: &Gateway, method: &str, params: Option<&RawJson>) {
        let Some(host) = self.private_host(gateway) else { return };
        let (method, params) = (method.to_owned(), params.cloned());
        tokio::spawn(async move {
            let servers: Vec<ServerName> = host.snapshot().servers().map(|entry| entry.name().clone()).collect();
            for server in servers {
                // Who cannot be reached asks again when it is back.
                drop(host.notify(server.as_str(), &method, params.as_ref()).await);
            }
        });
    }

    /// A request is being answered, and this is its stream.
    pub(crate) fn answers_on(&self, stream: &Arc<dyn Outlet>) {
        let mut state = lock(&self.state);
        state.streams.retain(|stream| stream.strong_count() > 0);
        state.streams.push(Arc::downgrade(stream));
    }

    /// A call is open for which the agent is asked by result.
    pub(crate) fn converses(&self, server: &ServerName, conversation: &Arc<Conversation>) {
        let mut state = lock(&self.state);
        state.conversations.retain(|(_, conversation)| conversation.strong_count() > 0);
        state.conversations.push((server.clone(), Arc::downgrade(conversation)));
    }

    /// What the agent wants to hear about resources.
    pub(crate) fn watching(&self) -> &Watching {
        self.watching.get_or_init(|| {
            let outlet = Arc::clone(&self.standalone);
            Watching::new(Arc::new(move |params: &RawJson| {
                outlet.send(Message::notification("notifications/resources/updated", Some(params)));
            }))
        })
    }

    /// The host that this agent's own servers run in, if there is one.
    pub(crate) fn own_host(&self) -> Option<Host> {
        lock(&self.own).as_ref().map(|own| own.host.clone())
    }

    /// Its turn to get a host of its own: of several requests at once one starts it. Cancel safe.
    pub(crate) async fn moves(&self) -> Option<SemaphorePermit<'_>> {
        // Never closed.
        self.moving.acquire().await.ok()
    }

    /// True while a host is being started for it.
    pub(crate) fn is_moving(&self) -> bool {
        self.moving.available_permits() == 0
    }

    /// From now on this agent's own servers run here.
    ///
    /// # Errors
    /// When the agent has gone meanwhile.
    pub(crate) fn move_in(self: &Arc<Self>, host: Host) -> Result<(), CallError> {
        let news = tokio::spawn(pass_on(Arc::downgrade(self), host.events())).abort_handle();
        let mut own = lock(&self.own);
        let (has_ended, level) = {
            let state = lock(&self.state);
            (state.has_ended, state.log_level)
        };
        if has_ended {
            news.abort();
            return Err(CallError::new(ErrorCode::ServerUnavailable, "the agent has gone"));
        }
        if let Some(level) = level {
            // Nothing is connected yet: whoever comes will be told.
            let _: Option<()> = host.want_log_level(level.into()).now_or_never();
        }
        *own = Some(Arc::new(OwnHost { host, news, catalogs: Catalogs::default() }));
        Ok(())
    }

    /// Ends the servers that are this agent's alone. They are started anew when it wants one again.
    pub(crate) fn move_out(&self) {
        let Some(own) = lock(&self.own).take() else { return };
        own.news.abort();
        let host = own.host.clone();
        // Without a runtime there is nothing left to end.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { host.shutdown().await });
        }
    }

    /// What this agent sees: its own servers as they are, all others as everybody sees them.
    pub(crate) fn catalog(&self, gateway: &Gateway) -> Arc<Catalog> {
        let own = lock(&self.own).clone();
        match own {
            Some(own) => own.catalogs.of_agent(&gateway.host, &own.host, &gateway.options.naming),
            None => gateway.catalog(),
        }
    }

    /// The agent's turn at a server that it shares with others. Cancel safe.
    pub(crate) async fn turn(&self, server: &ServerName, at_once: usize) -> Option<OwnedSemaphorePermit> {
        let turns = {
            let mut turns = lock(&self.turns);
            let new = || Arc::new(Semaphore::new(at_once.clamp(1, Semaphore::MAX_PERMITS)));
            Arc::clone(turns.entry(server.clone()).or_insert_with(new))
        };
        // Never closed.
        turns.acquire_owned().await.ok()
    }

    /// Can a server ask this agent anything?
    pub(crate) fn can_be_asked(&self) -> bool {
        let can = self.capabilities();
        can.elicitation_form || can.elicitation_url || can.sampling || can.roots
    }

    /// The agent was heard of.
    pub(crate) fn touch(&self) {
        lock(&self.state).used = Some(Instant::now());
    }

    /// A request of the agent is being answered, for as long as this is held.
    pub(crate) fn present(&self) -> Present<'_> {
        lock(&self.state).present += 1;
        Present(self)
    }

    /// When the agent was last heard of, if nothing is open for it: no request, no call that waits for it, and nothing
    /// that it wants to hear about.
    pub(crate) fn idle_since(&self) -> Option<Option<Instant>> {
        if self.watching.get().is_some_and(|watching| !watching.is_empty()) {
            return None;
        }
        let state = lock(&self.state);
        let is_open = state.conversations.iter().any(|(_, conversation)| conversation.strong_count() > 0);
        (!is_open && state.present == 0).then_some(state.used)
    }

    /// Was the agent not heard of for so long, and is nothing open for it?
    pub(crate) fn is_idle(&self, time: Duration) -> bool {
        self.idle_since().is_some_and(|used| used.is_none_or(|used| used.elapsed() > time))
    }

    /// The agent is gone: what was its alone ends with it.
    pub(crate) fn end(&self) {
        lock(&self.state).has_ended = true;
        self.running.cancel_all();
        self.approvals.forget();
        self.move_out();
    }

    /// Tells the agent that a server logs something, if it wants to hear that.
    pub(crate) fn hear_log(&self, outlet: &dyn Outlet, params: &RawJson) {
        let level = params.member_str("level").and_then(|word| Level::from_word(&word)).unwrap_or_default();
        let wants = {
            let state = lock(&self.state);
            state.version.is_some() && level >= state.log_level.unwrap_or_default()
        };
        if wants && params.check().is_ok() {
            outlet.send(Message::notification("notifications/message", Some(params)));
        }
    }

    /// The host whose servers are this agent's alone, if there is one.
    fn private_host(&self, gateway: &Gateway) -> Option<Host> {
        if gateway.has_one_agent() { Some(gateway.host.clone()) } else { self.own_host() }
    }

    /// Where things go that name no request: to the newest one that is open, for somebody reads that stream. `None` when
    /// nobody would hear them.
    fn nearest_stream(&self) -> Option<Arc<dyn Outlet>> {
        let open: Vec<Arc<dyn Outlet>> = lock(&self.state).streams.iter().rev().filter_map(Weak::upgrade).collect();
        match open.iter().find(|stream| stream.is_heard()) {
            Some(heard) => Some(Arc::clone(heard)),
            None => open.is_empty().then(|| Arc::clone(&self.standalone)),
        }
    }

    /// The call that a server of this agent most likely speaks of: the newest that works, else the newest that waits for
    /// the agent. Whichever it is, the same agent hears of it.
    fn nearest_conversation(&self, server: &ServerName, about: Option<QuestionKind>) -> Option<Arc<Conversation>> {
        let open: Vec<Arc<Conversation>> = {
            let state = lock(&self.state);
            let newest_first = state.conversations.iter().rev().filter(|(of, _)| of == server);
            newest_first.filter_map(|(_, call)| call.upgrade()).collect()
        };
        let mut can = open.iter().filter(|call| about.is_none_or(|kind| call.capabilities().allow(kind)));
        let working = can.clone().find(|call| !call.waits_for_the_agent());
        working.or_else(|| can.next()).cloned()
    }
}

/// What a server asks that is this agent's alone.
impl Answerer for Agent {
    fn capabilities(&self) -> ClientCapabilities {
        self.capabilities.get().cloned().unwrap_or_default()
    }

    fn question<'a>(&'a self, server: &'a ServerName, question: Question) -> BoxFuture<'a, Result<RawJson, RpcError>> {
        Box::pin(async move {
            if self.version().is_some() {
                let method = question.kind.method();
                let Some(stream) = self.nearest_stream() else { return Err(RpcError::method_not_found(method)) };
                return self.asked.ask(&*stream, method, question.params.as_ref()).await;
            }
            match self.nearest_conversation(server, Some(question.kind)) {
                Some(conversation) => conversation.ask(question).await,
                None => Err(RpcError::method_not_found(question.kind.method())),
            }
        })
    }

    fn log(&self, server: &ServerName, params: &RawJson) {
        match self.nearest_conversation(server, None) {
            Some(conversation) => conversation.log(server, params),
            None => {
                if let Some(stream) = self.nearest_stream() {
                    self.hear_log(&*stream, params);
                }
            }
        }
    }
}

impl Listener for Agent {
    fn hear(&self, news: News) {
        let hears = {
            let state = lock(&self.state);
            state.version.is_some() && !state.has_ended
        };
        if hears {
            self.standalone.send(Message::notification(news.method(), None));
        }
    }

    fn hear_notification(&self, notification: &Notification) {
        let hears = {
            let state = lock(&self.state);
            state.version.is_some() && !state.has_ended
        };
        // It may belong to a call that is open; if not, the agent hears it all the same.
        if let Some(stream) = self.nearest_stream().filter(|_| hears) {
            stream.send(Message::notification(&notification.method, Some(&notification.params)));
        }
    }
}

/// Passes on what happens at an agent's own servers, to that agent.
async fn pass_on(agent: Weak<Agent>, mut events: Events) {
    while let Some(event) = events.next().await {
        let Some(agent) = agent.upgrade() else { return };
        let news = match event {
            HostEvent::Catalog { .. } => News::Tools,
            HostEvent::ResourcesChanged { .. } => News::Resources,
            HostEvent::PromptsChanged { .. } => News::Prompts,
            HostEvent::Notification { method, params, .. } => {
                let notification = Notification { method, params };
                if notification.is_fit() {
                    agent.hear_notification(&notification);
                }
                continue;
            }
            _ => continue,
        };
        agent.hear(news);
        agent.listeners.tell(news);
    }
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.present -= 1;
        state.used = Some(Instant::now());
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Agent").field("principal", &self.principal).finish_non_exhaustive()
    }
}
