//! What is remembered of one agent: what it said when it came, what it was asked, what it waits for, and the servers that
//! are its alone.
//!
//! An agent of the legacy era is a session; one of the modern era is a principal, since nothing else connects its requests.
//! Several clients may be behind such a one: what a server asks without saying for which call is put to nobody, unless only
//! one call is open that it can be about.

mod asking;
mod lists;
mod own;

use helve_model::protocol::notifications;
use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use helve::{AgentInfo, Answerer as _, CallSource, Door, Host, RunApprovals};
use helve_model::ServerName;
use helve_model::json::{ObjectWriter, RawJson};
use helve_model::text::cut;
use helve_wire::{ClientCapabilities, LogLevel};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use crate::capabilities;
use crate::catalog::{Audience, Catalog};
use crate::change_notices::Listeners;
use crate::conversation::Conversation;
use crate::gateway::Gateway;
use crate::ledger::Taker;
use crate::message::Message;
use crate::observer::{AgentNotice, Observer, Visitor};
use crate::outbox::Outlet;
use crate::owner_store::{Bounds, OwnerStore};
use crate::pending_questions::PendingQuestions;
use crate::principal::Principal;
use crate::reach::Reach;
use crate::running::Running;
use crate::tasks::{OpenTasks, Tasks};
use crate::watching::Watching;
use helve_model::sync::lock;

use lists::Told;
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
    log_level: Option<LogLevel>,
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
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        lock(&self.state).log_level
    }

    /// From now on the agent hears log messages from this level on. Servers of its own are told, now or when they come.
    pub(crate) async fn set_log_level(&self, gateway: &Gateway, level: LogLevel) {
        lock(&self.state).log_level = Some(level);
        if let Some(host) = self.private_host(gateway) {
            host.want_log_level(level).await;
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
        let level = params.member_str("level").and_then(|word| LogLevel::from_word(&word)).unwrap_or_default();
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
}

/// A line of our own in the log of an agent.
fn log_line(level: &str, text: &str) -> RawJson {
    ObjectWriter::new().text("level", level).text("logger", "helve").text("data", text).finish()
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
