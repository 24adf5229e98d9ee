//! What is remembered of one agent: what it said when it came, what it was asked, what it waits for, and the servers that
//! are its alone.
//!
//! An agent of the legacy era is a session; one of the modern era is a principal, since nothing else connects its requests.
//! Several clients may be behind such a one: what a server asks without saying for which call is put to nobody, unless only
//! one call is open that it can be about.

mod own;

use helve_model::protocol::notifications;
use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use helve::{AgentInfo, Answerer, CallSource, Door, Host, RunApprovals};
use helve_model::json::{ObjectWriter, RawJson};
use helve_model::protocol::code;
use helve_model::text::cut;
use helve_model::{Owner, ServerName};
use helve_wire::plane::AnswerId;
use helve_wire::{BoxFuture, ClientCapabilities, EraPreference, PeerQuestion, QuestionKind, RpcError};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use crate::capabilities;
use crate::catalog::{Audience, Catalog};
use crate::change_notices::{ChangeNotice, Level, Listener, Listeners, Notification};
use crate::conversation::Conversation;
use crate::gate;
use crate::gateway::Gateway;
use crate::ledger::Taker;
use crate::message::Message;
use crate::observer::{AgentNotice, Observer, Visitor};
use crate::outbox::Outlet;
use crate::owner_store::{Bounds, OwnerStore};
use crate::pending_questions::PendingQuestions;
use crate::principal::Principal;
use crate::reach::Reach;
use crate::refusal;
use crate::running::Running;
use crate::tasks::{OpenTasks, Tasks};
use crate::watching::Watching;
use helve_model::sync::lock;

use own::OwnHost;
pub(crate) use own::Presence;

/// So many characters of the name and version that an agent gives itself are kept.
const MOST_OF_A_NAME: usize = 100;

/// How many clients are behind an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clients {
    /// One client: it has a session or a stream of its own.
    One,
    /// Whoever has the same principal and can do the same.
    Several,
}

/// Changes of a list within this time are told at once, and once more at its end.
const GATHERED: Duration = Duration::from_millis(500);

/// What is remembered of the tasks that an agent makes for one server.
const MADE_TASKS: Bounds = Bounds { entries: 1_024, bytes: 256 << 10, time: Duration::from_secs(24 * 60 * 60) };

/// One agent.
pub(crate) struct Agent {
    pub(crate) principal: Principal,
    /// What it may see and call at most.
    pub(crate) reach: Reach,
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
    /// Whose lists it sees.
    gateway: OnceLock<Weak<Gateway>>,
    /// What it was told of changed lists.
    told: Mutex<Told>,
    /// For what belongs to no request.
    standalone: Arc<dyn Outlet>,
    asked: PendingQuestions,
    /// Tasks that it made of questions, by the server that asked.
    made: OwnerStore<()>,
    pub(crate) running: Running,
    /// True while `initialize` is being answered, where other requests may come before its answer.
    opening: watch::Sender<bool>,
    watching: OnceLock<Watching>,
    /// Listeners on behalf of this agent.
    pub(crate) listeners: Listeners,
    /// The servers that are this agent's alone.
    own: Mutex<Option<Arc<OwnHost>>>,
    /// Taken while a host is being started for it.
    moving: Semaphore,
    /// What its person said yes to until it ends.
    pub(crate) approvals: RunApprovals,
    /// Its tasks that are not finished, as far as is known.
    pub(crate) open_tasks: OpenTasks,
    presence: OnceLock<Weak<dyn Presence>>,
    /// The observer that was told that it came, and under which name.
    seen: Mutex<Option<(Arc<dyn Observer>, Visitor)>>,
}

/// A request of an agent is being answered: the agent is not idle.
pub(crate) struct Present<'a>(&'a Agent);

/// What an agent knows of changed lists.
#[derive(Default)]
struct Told {
    /// The list of tools that it got or was told of last: see [`Catalog::listed`].
    tools: Option<u64>,
    /// When it was last told of each list, and whether it will be told once more.
    lists: [(Option<Instant>, bool); 3],
}

#[derive(Default)]
struct State {
    /// The version agreed upon in `initialize`.
    version: Option<String>,
    /// Its first message was of the era in which servers ask by requests, where that was looked at before it was answered.
    is_asked_by_request: bool,
    /// Servers it was told of that they cannot ask it.
    told_of: HashSet<ServerName>,
    /// Servers of its own that were ended while it was away.
    ended: HashSet<ServerName>,
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
            reach: Reach::default(),
            clients,
            number,
            source: CallSource::new(door).by(None, session),
            info: OnceLock::new(),
            state: Mutex::default(),
            capabilities: OnceLock::new(),
            tasks: OnceLock::new(),
            gateway: OnceLock::new(),
            told: Mutex::default(),
            standalone,
            asked: PendingQuestions::default(),
            made: OwnerStore::new(MADE_TASKS),
            running: Running::default(),
            opening: watch::Sender::new(false),
            watching: OnceLock::new(),
            listeners: Listeners::default(),
            own: Mutex::default(),
            moving: Semaphore::new(1),
            approvals: RunApprovals::default(),
            open_tasks: OpenTasks::default(),
            presence: OnceLock::new(),
            seen: Mutex::default(),
        }
    }

    /// The same agent, who may see and call no more than this.
    pub(crate) fn reaching(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self
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

    /// Asked whether the agent is still there, from now on.
    pub(crate) fn is_known_by(&self, presence: Weak<dyn Presence>) {
        self.presence.get_or_init(|| presence);
    }

    /// Is it known that the agent is there, though it asks nothing?
    pub(crate) fn is_connected(&self) -> bool {
        self.presence.get().and_then(Weak::upgrade).is_some_and(|presence| presence.is_connected())
    }

    /// The agent says what it can; the first time counts.
    pub(crate) fn declare(&self, capabilities: &RawJson) {
        self.capabilities.get_or_init(|| match self.clients {
            Clients::One => capabilities::of_session(capabilities),
            Clients::Several => capabilities::read(capabilities),
        });
    }

    /// The agent has asked for its session to be opened.
    pub(crate) fn opens(&self) {
        self.opening.send_replace(true);
    }

    /// That was answered.
    pub(crate) fn has_opened(&self) {
        self.opening.send_replace(false);
    }

    /// Returns when no `initialize` is being answered. Cancel safe.
    pub(crate) async fn opened(&self) {
        if *self.opening.borrow() {
            // The sender lives as long as the agent.
            drop(self.opening.subscribe().wait_for(|opening| !*opening).await);
        }
    }

    /// Its tasks are among these. Before that it has none.
    pub(crate) fn knows(&self, tasks: &Arc<Tasks>) {
        self.tasks.get_or_init(|| Arc::clone(tasks));
    }

    /// It sees what this gateway shows.
    pub(crate) fn sees(&self, gateway: Weak<Gateway>) {
        self.gateway.get_or_init(|| gateway);
    }

    /// It gets this list of tools, and knows of it from then on.
    pub(crate) fn lists(&self, listed: u64) {
        lock(&self.told).tools = Some(listed);
    }

    /// The list of tools that it got or was told of last.
    pub(crate) fn listed(&self) -> Option<u64> {
        lock(&self.told).tools
    }

    /// Before it has asked for a list, it counts as knowing the one of now.
    fn knows_of_list(&self) {
        if let Some(now) = self.listed_now() {
            lock(&self.told).tools.get_or_insert(now);
        }
    }

    /// The list of tools that it would get now; `None` when there is nobody to say.
    fn listed_now(&self) -> Option<u64> {
        let gateway = self.gateway.get().and_then(Weak::upgrade)?;
        Some(self.catalog(&gateway).listed(gateway.options.discovery))
    }

    /// Tells it that a list has changed, if it has changed for this agent.
    fn announce(&self, news: ChangeNotice) {
        let hears = {
            let state = lock(&self.state);
            state.version.is_some() && !state.has_ended
        };
        let is_other = || {
            let now = self.listed_now();
            let mut told = lock(&self.told);
            let is_other = now.is_none() || told.tools != now;
            told.tools = now;
            is_other
        };
        if hears && (news != ChangeNotice::Tools || is_other()) {
            self.standalone.send(Message::notification(news.method(), None));
        }
    }

    /// The agent said `initialize`: from now on it hears what happens.
    pub(crate) fn greet(&self, version: String) {
        self.knows_of_list();
        lock(&self.state).version = Some(version);
    }

    /// The agent's first message tells whether servers ask it by requests.
    pub(crate) fn comes_in(&self, is_asked_by_request: bool) {
        lock(&self.state).is_asked_by_request = is_asked_by_request;
    }

    /// Can servers ask it something, in the way of the legacy era?
    pub(crate) fn is_asked_in_the_old_way(&self) -> bool {
        let is_legacy = {
            let state = lock(&self.state);
            state.version.is_some() || state.is_asked_by_request
        };
        is_legacy && self.can_be_asked()
    }

    /// Has it said which logs it wants, as one client of the legacy era?
    pub(crate) fn wants_logs(&self) -> bool {
        let state = lock(&self.state);
        self.clients == Clients::One && state.version.is_some() && state.log_level.is_some()
    }

    /// Tells the agent, once for each server, that all agents share it and it therefore cannot ask.
    pub(crate) fn tell_of_sharing(&self, server: &ServerName) {
        if !lock(&self.state).told_of.insert(server.clone()) {
            return;
        }
        let text = format!("all agents share the server `{server}`: it cannot ask this one anything");
        if let Some(stream) = self.nearest_stream() {
            self.hear_log(&*stream, &log_line("notice", &text));
        }
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

    /// The clients behind it.
    pub(crate) const fn clients(&self) -> Clients {
        self.clients
    }

    /// What the agent wants to hear about resources.
    pub(crate) fn watching(&self) -> &Watching {
        self.watching.get_or_init(|| {
            let outlet = Arc::clone(&self.standalone);
            Watching::new(Arc::new(move |params: &RawJson| {
                outlet.send(Message::notification(notifications::RESOURCES_UPDATED, Some(params)));
            }))
        })
    }

    /// What this agent sees: its own servers as they are, all others as everybody sees them.
    pub(crate) fn catalog(&self, gateway: &Gateway) -> Arc<Catalog> {
        let own = lock(&self.own).clone();
        match own {
            Some(own) => {
                let audience = Audience { reach: &self.reach, principal: Some(&self.principal) };
                own.catalogs.of_agent(&gateway.host, &own.host, &gateway.options.naming, audience)
            }
            None => gateway.catalog_of(&self.principal, &self.reach),
        }
    }

    /// Takes turns for it.
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

    /// Is something of it being answered, or waits for it?
    pub(crate) fn is_busy(&self) -> bool {
        let state = lock(&self.state);
        state.present > 0 || state.conversations.iter().any(|(_, conversation)| conversation.strong_count() > 0)
    }

    /// Was the agent not heard of for so long, and is nothing open for it?
    pub(crate) fn is_idle(&self, time: Duration) -> bool {
        self.idle_since().is_some_and(|used| used.is_none_or(|used| used.elapsed() > time))
    }

    /// Somebody was told that it came, and is told when it goes.
    pub(crate) fn is_seen_by(&self, observer: Arc<dyn Observer>, visitor: Visitor) {
        *lock(&self.seen) = Some((observer, visitor));
    }

    /// Its name, for people.
    pub(crate) fn visitor(&self) -> Visitor {
        let seen = lock(&self.seen);
        seen.as_ref().map_or_else(|| Visitor::of(self.principal.clone()), |(_, visitor)| visitor.clone())
    }

    /// The agent is gone: what was its alone ends with it.
    pub(crate) fn end(&self) {
        let seen = lock(&self.seen).take();
        if let Some((observer, visitor)) = seen {
            observer.notice(AgentNotice::Left(&visitor));
        }
        lock(&self.state).has_ended = true;
        self.running.cancel_all();
        self.approvals.forget();
        self.detach_private_host();
    }

    /// Tells the agent that a server logs something, if it wants to hear that.
    pub(crate) fn hear_log(&self, outlet: &dyn Outlet, params: &RawJson) {
        let level = params.member_str("level").and_then(|word| Level::from_word(&word)).unwrap_or_default();
        let wants = {
            let state = lock(&self.state);
            state.version.is_some() && level >= state.log_level.unwrap_or_default()
        };
        if wants && params.check().is_ok() {
            outlet.send(Message::notification(notifications::MESSAGE, Some(params)));
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

    /// Asks the agent by a request on this stream. A task that it makes of the question is the asking server's: no other may
    /// ask about it.
    pub(crate) async fn ask(
        &self,
        server: &ServerName,
        question: PeerQuestion,
        stream: &dyn Outlet,
    ) -> Result<RawJson, RpcError> {
        let PeerQuestion { kind, params, .. } = question;
        gate::question(kind, params.as_ref(), &self.capabilities())?;
        let owner = Owner::new(self.principal.clone(), server.clone());
        let is_about_task = matches!(kind, QuestionKind::Task(_));
        if is_about_task {
            let id = params.as_ref().and_then(|params| params.member_str("taskId")).unwrap_or_default();
            if !self.made.has(&owner, &id) {
                return Err(refusal::invalid_params(format!("Unknown task: {id}")));
            }
        }
        let tasks = self.tasks.get();
        let params =
            params.map(|params| tasks.map_or_else(|| params.clone(), |tasks| tasks.for_agent(&owner, &params)));
        let answer = self.asked.ask(stream, kind.method(), params.as_ref()).await?;
        let made = answer.member("task").filter(|_| !is_about_task).and_then(|task| task.member_str("taskId"));
        if let Some(id) = made {
            self.made.keep(&owner, &id, (), 0);
        }
        Ok(tasks.map_or_else(|| answer.clone(), |tasks| tasks.for_server(&owner, &answer)))
    }

    /// An answer of the agent to something that it was asked.
    pub(crate) fn answered(&self, id: AnswerId, answer: Result<RawJson, RpcError>) {
        self.asked.answered(id, answer);
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

    fn era_preference(&self) -> EraPreference {
        if self.is_asked_in_the_old_way() { EraPreference::Legacy } else { EraPreference::Newest }
    }

    fn question<'a>(
        &'a self,
        server: &'a ServerName,
        question: PeerQuestion,
    ) -> BoxFuture<'a, Result<RawJson, RpcError>> {
        Box::pin(async move {
            if self.version().is_some() {
                let method = question.kind.method();
                let Some(stream) = self.nearest_stream() else { return Err(RpcError::method_not_found(method)) };
                return self.ask(server, question, &*stream).await;
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
    fn hear(self: Arc<Self>, news: ChangeNotice) {
        let wait = {
            let mut told = lock(&self.told);
            let Some((last, is_coming)) = told.lists.get_mut(news as usize) else { return };
            let wait = last.map_or(Duration::ZERO, |last| GATHERED.saturating_sub(last.elapsed()));
            if std::mem::replace(is_coming, !wait.is_zero()) {
                return;
            }
            if wait.is_zero() {
                *last = Some(Instant::now());
            }
            wait
        };
        if wait.is_zero() {
            return self.announce(news);
        }
        let agent = Arc::downgrade(&self);
        tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            let Some(agent) = agent.upgrade() else { return };
            if let Some(list) = lock(&agent.told).lists.get_mut(news as usize) {
                *list = (Some(Instant::now()), false);
            }
            agent.announce(news);
        });
    }

    fn hear_notification(&self, notification: &Notification) {
        // An agent that cannot be sent to a page is not told that a visit is over.
        if gate::is_about_a_page(&notification.method) && !self.capabilities().elicitation_url {
            return;
        }
        let hears = {
            let state = lock(&self.state);
            state.version.is_some() && !state.has_ended
        };
        let params = self.tasks.get().filter(|_| hears).and_then(|tasks| tasks.notice(&self.principal, notification));
        if let Some(params) = &params {
            self.open_tasks.hear(params);
        }
        // It may belong to a call that is open; if not, the agent hears it all the same.
        if let Some(params) = params
            && let Some(stream) = self.nearest_stream()
        {
            stream.send(Message::notification(&notification.method, Some(&params)));
        }
    }
}

/// A line of our own in the log of an agent.
fn log_line(level: &str, text: &str) -> RawJson {
    ObjectWriter::new().text("level", level).text("logger", "helve").text("data", text).finish()
}

/// Why nobody is asked.
fn ambiguous() -> RpcError {
    let message = "nobody was asked: the server does not say for which call it asks, and more than one may be open; make \
                   the call again while no other is open";
    RpcError { code: code::SERVER_ERROR, message: message.to_owned(), data: None }
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
