//! What is remembered of one agent: what it said when it came, what it was asked, what it waits for, and the servers that
//! are its alone.
//!
//! An agent of the legacy era is a session; one of the modern era is a principal, since nothing else connects its requests.
//! Several clients may be behind such a one: what a server asks without saying for which call is put to nobody, unless only
//! one call is open that it can be about.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use futures_util::FutureExt as _;
use helve::{AgentInfo, Answerer, CallError, CallSource, Door, Events, Host, HostEvent, RunApprovals};
use helve_model::json::RawJson;
use helve_model::text::cut;
use helve_model::{ErrorCode, Owner, ServerName};
use helve_wire::{BoxFuture, ClientCapabilities, Question, QuestionKind, RpcError};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::asked::Asked;
use crate::capabilities;
use crate::catalog::{Catalog, Catalogs};
use crate::conversation::Conversation;
use crate::gate;
use crate::gateway::Gateway;
use crate::ledger::Taker;
use crate::message::Message;
use crate::news::{Level, Listener, Listeners, News, Notification};
use crate::outbox::Outlet;
use crate::principal::Principal;
use crate::running::Running;
use crate::sync::lock;
use crate::tasks::Tasks;
use crate::watching::Watching;

/// So many characters of the name and version that an agent gives itself are kept.
const MOST_OF_A_NAME: usize = 100;

/// Who is behind an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clients {
    /// One client: it has a session or a stream of its own.
    One,
    /// Whoever has the same principal and can do the same.
    Several,
}

/// One agent.
pub(crate) struct Agent {
    pub(crate) principal: Principal,
    clients: Clients,
    /// No other agent has it.
    number: u64,
    /// By which way it comes, and as what.
    source: CallSource,
    info: OnceLock<Arc<AgentInfo>>,
    state: Mutex<State>,
    /// What the servers of this agent may ask it.
    capabilities: OnceLock<ClientCapabilities>,
    /// Under which names it knows the tasks that servers made for it.
    tasks: OnceLock<Arc<Tasks>>,
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

/// What an agent says it is (`clientInfo`), cut to what a person wants to read.
fn agent_info(info: &RawJson) -> Option<AgentInfo> {
    let read = |key: &str| info.member_str(key).map(|text| cut(&text, MOST_OF_A_NAME).into_owned());
    Some(AgentInfo { name: read("name")?, version: read("version").unwrap_or_default() })
}

impl Agent {
    /// An agent that is one client.
    pub(crate) fn new(principal: Principal, door: Door, standalone: Arc<dyn Outlet>) -> Self {
        Self::of(Clients::One, principal, door, standalone)
    }

    pub(crate) fn of(clients: Clients, principal: Principal, door: Door, standalone: Arc<dyn Outlet>) -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        // Not the id that the agent shows: records are read by others.
        let session = (clients == Clients::One).then(|| Arc::from(format!("a1-{number}")));
        Self {
            principal,
            clients,
            number,
            source: CallSource::new(door).by(None, session),
            info: OnceLock::new(),
            state: Mutex::default(),
            capabilities: OnceLock::new(),
            tasks: OnceLock::new(),
            standalone,
            asked: Asked::default(),
            running: Running::default(),
            watching: OnceLock::new(),
            listeners: Listeners::default(),
            own: Mutex::default(),
            moving: Semaphore::new(1),
            approvals: RunApprovals::default(),
        }
    }

    /// The agent says what it is; the first time counts.
    pub(crate) fn introduce(&self, info: &RawJson) {
        if let Some(info) = agent_info(info) {
            self.info.get_or_init(|| Arc::new(info));
        }
    }

    /// Where a call of this agent comes from. A modern agent says with each request what it is.
    pub(crate) fn source(&self, info: Option<&RawJson>) -> CallSource {
        let info = info.and_then(agent_info).map(Arc::new).or_else(|| self.info.get().cloned());
        self.source.clone().by(info, self.source.session.clone())
    }

    /// The agent says what it can; the first time counts.
    pub(crate) fn declare(&self, capabilities: &RawJson) {
        self.capabilities.get_or_init(|| capabilities::read(capabilities));
    }

    /// Its tasks are among these. Before that it has none.
    pub(crate) fn knows(&self, tasks: &Arc<Tasks>) {
        self.tasks.get_or_init(|| Arc::clone(tasks));
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

    /// Did the agent say that it has directories to name?
    pub(crate) fn has_roots(&self) -> bool {
        self.capabilities.get().is_some_and(|can| can.roots)
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

    /// Who is behind it.
    pub(crate) const fn clients(&self) -> Clients {
        self.clients
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

    /// Who takes turns for it.
    pub(crate) fn taker(&self) -> Taker {
        Taker { principal: self.principal.clone(), session: self.number }
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
    pub(crate) fn private_host(&self, gateway: &Gateway) -> Option<Host> {
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

    /// The call that a server of this agent speaks of. Of one client's calls it is most likely the newest that works, else
    /// the newest that waits for it; whichever it is, the same client hears of it. Of several clients' calls it is the only
    /// one that is open, or none: guessing would put one client's question to another.
    fn nearest_conversation(&self, server: &ServerName, about: Option<QuestionKind>) -> Option<Arc<Conversation>> {
        let open: Vec<Arc<Conversation>> = {
            let state = lock(&self.state);
            let newest_first = state.conversations.iter().rev().filter(|(of, _)| of == server);
            newest_first.filter_map(|(_, call)| call.upgrade()).collect()
        };
        if self.clients == Clients::Several {
            // A call that waits for its client has asked already; the one that works is the one that asks.
            let mut working = open.iter().filter(|call| !call.waits_for_the_agent());
            let ((Some(asking), None, _) | (None, _, [asking])) = (working.next(), working.next(), open.as_slice())
            else {
                return None;
            };
            return about.is_none_or(|kind| asking.capabilities().allow(kind)).then(|| Arc::clone(asking));
        }
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

    fn question<'a>(
        &'a self,
        server: &'a ServerName,
        mut question: Question,
    ) -> BoxFuture<'a, Result<RawJson, RpcError>> {
        Box::pin(async move {
            if self.version().is_some() {
                let method = question.kind.method();
                gate::question(question.kind, question.params.as_ref(), &self.capabilities())?;
                let Some(stream) = self.nearest_stream() else { return Err(RpcError::method_not_found(method)) };
                let (owner, tasks) = (Owner::new(self.principal.clone(), server.clone()), self.tasks.get());
                if let (Some(tasks), Some(params)) = (tasks, &mut question.params) {
                    *params = tasks.for_agent(&owner, params);
                }
                let answer = self.asked.ask(&*stream, method, question.params.as_ref()).await?;
                return Ok(tasks.map_or_else(|| answer.clone(), |tasks| tasks.for_server(&owner, &answer)));
            }
            match self.nearest_conversation(server, Some(question.kind)) {
                Some(conversation) => conversation.ask(question).await,
                None if self.clients == Clients::Several => Err(ambiguous()),
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
        let params = self.tasks.get().filter(|_| hears).and_then(|tasks| tasks.notice(&self.principal, notification));
        // It may belong to a call that is open; if not, the agent hears it all the same.
        if let Some(params) = params
            && let Some(stream) = self.nearest_stream()
        {
            stream.send(Message::notification(&notification.method, Some(&params)));
        }
    }
}

/// Why nobody is asked.
fn ambiguous() -> RpcError {
    let message = "nobody was asked: the server does not say for which call it asks, and more than one may be open; make \
                   the call again while no other is open";
    RpcError { code: -32000, message: message.to_owned(), data: None }
}

/// Passes on what happens at an agent's own servers, to that agent.
async fn pass_on(agent: Weak<Agent>, mut events: Events) {
    while let Some(event) = events.next().await {
        let Some(agent) = agent.upgrade() else { return };
        let news = match event {
            HostEvent::Catalog { .. } => News::Tools,
            HostEvent::ResourcesChanged { .. } => News::Resources,
            HostEvent::PromptsChanged { .. } => News::Prompts,
            HostEvent::Notification { server, method, params } => {
                let is_heard = |host: Host| gate::is_heard(&host, &server, &method, &params);
                if agent.own_host().is_some_and(is_heard) {
                    agent.hear_notification(&Notification { server, method, params });
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
