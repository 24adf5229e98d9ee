//! What is remembered of one agent: what it said when it came, what it was asked, what it waits for, and the servers that
//! are its alone.
//!
//! An agent of the legacy era is a session; one of the modern era is a principal, since nothing else connects its requests.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use helve::{Answerer, CallError, Events, Host, HostEvent};
use helve_model::ServerName;
use helve_model::json::RawJson;
use helve_wire::{BoxFuture, ClientCapabilities, Question, RpcError};
use tokio::sync::OnceCell;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::asked::Asked;
use crate::capabilities;
use crate::catalog::{Catalog, Catalogs};
use crate::conversation::Conversation;
use crate::gateway::{Gateway, HostSource, Purpose};
use crate::message::Message;
use crate::news::{Level, Listener, Listeners, News, Notification, is_passed_on};
use crate::outbox::Outlet;
use crate::principal::Principal;
use crate::resources::offering;
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
    own: OnceCell<OwnHost>,
    catalogs: Catalogs,
}

/// A host whose servers are one agent's alone, and the task that passes on what happens there.
struct OwnHost {
    host: Host,
    news: AbortHandle,
}

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
            own: OnceCell::new(),
            catalogs: Catalogs::default(),
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

    /// From now on the agent hears log messages from this level on. Servers of its own are told.
    pub(crate) async fn set_log_level(&self, gateway: &Gateway, level: Level) {
        lock(&self.state).log_level = Some(level);
        let Some(host) = self.private_host(gateway) else { return };
        for server in offering(&host, "logging") {
            // A server that does not care logs as before, and is listened to from that level on.
            drop(host.set_log_level(server.as_str(), level.into()).await);
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

    /// The host that this agent's own servers run in, started when the first of them is needed.
    pub(crate) async fn own_host(self: &Arc<Self>, source: &dyn HostSource) -> Result<Host, CallError> {
        let own = self.own.get_or_try_init(async || {
            let host = source.start(Arc::<Self>::clone(self), Purpose::OneAgent).await?;
            let news = tokio::spawn(pass_on(Arc::downgrade(self), host.events())).abort_handle();
            Ok::<_, CallError>(OwnHost { host, news })
        });
        Ok(own.await?.host.clone())
    }

    /// What this agent sees: its own servers as they are, all others as everybody sees them.
    pub(crate) fn catalog(&self, gateway: &Gateway) -> Arc<Catalog> {
        match self.own.get() {
            Some(own) => self.catalogs.of_agent(&gateway.host, &own.host, &gateway.options.naming),
            None => gateway.catalog(),
        }
    }

    /// The agent was heard of.
    pub(crate) fn touch(&self) {
        lock(&self.state).used = Some(Instant::now());
    }

    /// Was the agent not heard of for so long, and is nothing open for it?
    pub(crate) fn is_idle(&self, time: Duration) -> bool {
        let state = lock(&self.state);
        let is_open = state.conversations.iter().any(|(_, conversation)| conversation.strong_count() > 0);
        !is_open && state.used.is_none_or(|used| used.elapsed() > time)
    }

    /// The agent is gone: what was its alone ends with it.
    pub(crate) fn end(&self) {
        lock(&self.state).has_ended = true;
        self.running.cancel_all();
        let Some(own) = self.own.get() else { return };
        own.news.abort();
        let host = own.host.clone();
        // Without a runtime there is nothing left to end.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { host.shutdown().await });
        }
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
        if gateway.has_one_agent() { Some(gateway.host.clone()) } else { self.own.get().map(|own| own.host.clone()) }
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

    /// The one call that a server can mean; where several are open, nobody knows which.
    fn only_conversation(&self, server: &ServerName) -> Option<Arc<Conversation>> {
        let open: Vec<Arc<Conversation>> = {
            let state = lock(&self.state);
            state.conversations.iter().filter(|(of, _)| of == server).filter_map(|(_, call)| call.upgrade()).collect()
        };
        let mut working = open.iter().filter(|call| !call.waits_for_the_agent());
        match (working.next(), working.next(), open.as_slice()) {
            (Some(only), None, _) | (None, None, [only]) => Some(Arc::clone(only)),
            _ => None,
        }
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
            match self.only_conversation(server) {
                Some(conversation) => conversation.ask(question).await,
                None => Err(RpcError::method_not_found(question.kind.method())),
            }
        })
    }

    fn log(&self, server: &ServerName, params: &RawJson) {
        match self.only_conversation(server) {
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
                if is_passed_on(&notification.method) && notification.params.check().is_ok() {
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

impl fmt::Debug for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Agent").field("principal", &self.principal).finish_non_exhaustive()
    }
}
