//! Everything that does not depend on a face: the host behind it, and how it is shown.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, SystemTime};

use helve::{Answerer, CallError, Door, Host, ListAge, Plan, ServerChanges};
use helve_model::ServerName;
use helve_model::json::{ObjectWriter, RawJson};
use helve_wire::{BoxFuture, RpcError};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::agent::{Agent, Clients};
use crate::approver_source::ApproverSource;
use crate::assigned_host::LegacyEras;
use crate::capabilities;
use crate::catalog::{Audience, Catalog, Catalogs};
use crate::change_notices::{self, Listeners};
use crate::conversation::SuspendedCalls;
use crate::discovery::{self, Discovery};
use crate::held_tasks::HeldTasks;
use crate::key::GatewayKey;
use crate::ledger::Ledger;
use crate::limits::Limits;
use crate::links::Links;
use crate::naming::Naming;
use crate::observer::{AgentNotice, Observer, Visitor};
use crate::offer_index::OfferIndex;
use crate::offers::{self, Offering};
use crate::outbox::Nowhere;
use crate::own_hosts::OwnHosts;
use crate::principal::{Principal, PrincipalKind};
use crate::reach::Reach;
use crate::refusal;
use crate::seal::Seal;
use crate::shared_answerer::SharedAnswerer;
use crate::sign_in_question::SignInQuestions;
use crate::tasks::Tasks;
use helve_model::sync::lock;

/// How long a list waits for servers that are there and have not told what they have. A server that takes longer is announced.
pub(crate) const LISTED_WITHIN: Duration = Duration::from_secs(2);

/// How long the first lists wait for servers of which no list was kept.
const FIRST_LISTS_WITHIN: Duration = Duration::from_secs(5);

/// So many narrowed catalogs are kept.
const NARROWED_KEPT: usize = 256;

/// Starts hosts.
pub trait HostSource: Send + Sync {
    /// A host whose servers ask and tell this answerer.
    fn start(&self, answerer: Arc<dyn Answerer>, purpose: HostPurpose) -> BoxFuture<'_, Result<Host, CallError>>;
}

/// What a host is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostPurpose {
    /// All servers, for everybody or for the only agent.
    Everything,
    /// The servers that one agent must not share with others. Each is to start at its first use.
    OneAgent,
}

/// Catalogs by whose they are, and at the address of which server.
type NarrowedCatalogs = HashMap<(Principal, Option<ServerName>), Arc<Catalogs>>;

/// A host, shown as one MCP server. Faces hand it what agents ask.
pub struct Gateway {
    pub(crate) host: Host,
    pub(crate) source: Option<Arc<dyn HostSource>>,
    pub(crate) own_hosts: OwnHosts,
    /// Which servers that agents share have the legacy era too.
    pub(crate) legacy_eras: LegacyEras,
    pub(crate) options: Options,
    pub(crate) listeners: Arc<Listeners>,
    catalogs: Catalogs,
    /// Of principals that may not see everything, and at the addresses of single servers.
    narrowed: Mutex<NarrowedCatalogs>,
    pub(crate) offer_index: OfferIndex,
    pub(crate) tasks: Arc<Tasks>,
    pub(crate) links: Links,
    pub(crate) suspended_calls: SuspendedCalls,
    /// Calls that wait for a person as tasks.
    pub(crate) held_tasks: HeldTasks,
    pub(crate) ledger: Ledger,
    pub(crate) seal: Seal,
    /// Where somebody was asked to sign in.
    pub(crate) sign_in_questions: Arc<SignInQuestions>,
    /// Agents of the modern era, by who they are and what they can do: servers of their own were told.
    agents: Mutex<HashMap<(Principal, String), Arc<Agent>>>,
    /// The server's name and version, as JSON.
    pub(crate) server_info: RawJson,
    news: std::sync::OnceLock<AbortHandle>,
    me: std::sync::OnceLock<Weak<Self>>,
    started: Instant,
}

/// How a host is shown.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// How tools and prompts are named.
    pub naming: Naming,
    /// How long the first answers, the very first included, wait for servers that are still connecting. `None`: only lists
    /// do, as [`Options::lists_wait`] says.
    pub wait: Option<Duration>,
    /// How long the first lists wait for servers that are still connecting and of which nothing is known from an earlier
    /// run. Those that take longer are announced when they come.
    pub lists_wait: Duration,
    /// Whether agents get all tools, or three to find the others with.
    pub discovery: Discovery,
    /// What agents may cost.
    pub limits: Limits,
    /// What no rule and no list mentions is left to agents, which ask their person themselves.
    pub unlisted: Unlisted,
    /// The hosts' own approver keeps what a person approves for good: they may say so where they are asked.
    pub keeps_approvals: bool,
    /// Where calls wait that a rule wants asked about; `None`: the agent's own form is the only way to ask.
    pub approvals: Option<Arc<dyn ApproverSource>>,
    /// The user who runs the gateway, as the machine knows them: their agents may put the page of a login to them, as those
    /// on a byte stream may. `None`: no others do.
    pub owner: Option<Principal>,
    /// Is told what happens at the door; `None`: nobody is.
    pub observer: Option<Arc<dyn Observer>>,
    /// The name and version we give.
    pub server: (String, String),
    /// What is sealed for agents to carry is sealed with it.
    pub key: GatewayKey,
    /// What time it is: by it what was sealed grows old.
    pub clock: fn() -> SystemTime,
}

/// Whose calls run that no rule and no list mentions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unlisted {
    /// Nobody's: somebody has to say yes to each.
    #[default]
    Asked,
    /// Those of agents that need no token: they are started by the person, or come from them by the machine's word.
    LeftToAgents,
    /// Those of all agents.
    LeftToTokens,
}

impl Unlisted {
    /// Do such calls of this principal run?
    pub(crate) const fn leaves_to(self, principal: &Principal) -> bool {
        match self {
            Self::Asked => false,
            Self::LeftToAgents => is_the_persons(principal),
            Self::LeftToTokens => true,
        }
    }
}

/// True for agents of the person whose rules these are: they started them, or the machine says so. Whoever holds a token may
/// be anybody.
pub(crate) const fn is_the_persons(principal: &Principal) -> bool {
    matches!(principal.kind(), PrincipalKind::Person | PrincipalKind::LocalUser | PrincipalKind::Connection)
}

impl Options {
    /// The same with a change. Fields are added in time, so nobody writes out all of them.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            naming: Naming::default(),
            wait: None,
            lists_wait: FIRST_LISTS_WITHIN,
            discovery: Discovery::default(),
            limits: Limits::default(),
            unlisted: Unlisted::default(),
            keeps_approvals: false,
            approvals: None,
            owner: None,
            observer: None,
            server: ("helve".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            key: GatewayKey::random(),
            clock: system_clock,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock that an embedder may replace")]
fn system_clock() -> SystemTime {
    SystemTime::now()
}

impl Gateway {
    /// Shows this host. Every agent shares all of its servers. Must be called within a runtime.
    #[must_use]
    pub fn new(host: Host, options: Options) -> Arc<Self> {
        Self::parts(host, None, options).begin()
    }

    /// Shows a host to several agents. Servers that keep state for whoever speaks to them are started once more for each
    /// agent.
    ///
    /// # Errors
    /// When the host cannot be started.
    pub async fn shared(source: Arc<dyn HostSource>, options: Options) -> Result<Arc<Self>, CallError> {
        let host = source.start(Arc::new(SharedAnswerer), HostPurpose::Everything).await?;
        Ok(Self::parts(host, Some(source), options).begin())
    }

    /// The host that is shown.
    #[must_use]
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// Makes the host have exactly these servers and rules, and every host that runs servers for one agent alone.
    ///
    /// Returns when what had to end in the shared host has ended. Cancel safe: everything is done when the future is first
    /// polled.
    pub async fn set_servers(&self, plan: Plan) -> ServerChanges {
        self.own_hosts.set_plan(&plan);
        self.legacy_eras.forget();
        self.host.set_servers(plan).await
    }

    fn parts(host: Host, source: Option<Arc<dyn HostSource>>, options: Options) -> Self {
        let (name, version) = &options.server;
        let server_info = ObjectWriter::new().text("name", name).text("version", version).finish();
        let listeners: Arc<Listeners> = Arc::default();
        let tasks = Arc::new(Tasks::new(&options.limits, &options.key));
        let seal = Seal::new(&options.key, options.clock);
        let ledger = Ledger::new(&options.limits, host.settings().in_flight_per_server);
        Self {
            host,
            source,
            own_hosts: OwnHosts::default(),
            legacy_eras: LegacyEras::default(),
            options,
            offer_index: OfferIndex::new(&listeners),
            listeners,
            catalogs: Catalogs::default(),
            narrowed: Mutex::default(),
            tasks,
            links: Links::default(),
            suspended_calls: SuspendedCalls::default(),
            held_tasks: HeldTasks::default(),
            ledger,
            seal,
            sign_in_questions: Arc::default(),
            agents: Mutex::default(),
            server_info,
            news: std::sync::OnceLock::new(),
            me: std::sync::OnceLock::new(),
            started: Instant::now(),
        }
    }

    fn begin(self) -> Arc<Self> {
        let events = self.host.changes();
        // What any agent may have been given before the first event is looked at.
        let seen = self.catalog();
        let gateway = Arc::new(self);
        gateway.me.get_or_init(|| Arc::downgrade(&gateway));
        let task = tokio::spawn(change_notices::pass_on(Arc::downgrade(&gateway), seen, events));
        gateway.news.get_or_init(|| task.abort_handle());
        gateway
    }

    /// For those who must not keep it.
    pub(crate) fn weak(&self) -> Weak<Self> {
        self.me.get().cloned().unwrap_or_default()
    }

    /// What agents see now.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.catalogs.current(&self.host, &self.options.naming)
    }

    /// What an agent sees now that may see no more than this.
    pub(crate) fn catalog_of(&self, principal: &Principal, reach: &Reach) -> Arc<Catalog> {
        if reach.is_everything() {
            let shared = self.catalog();
            if !shared.differs_by_caller {
                return shared;
            }
        }
        let catalogs = {
            let mut narrowed = lock(&self.narrowed);
            if narrowed.len() >= NARROWED_KEPT {
                narrowed.clear();
            }
            Arc::clone(narrowed.entry((principal.clone(), reach.within().cloned())).or_default())
        };
        catalogs.within(&self.host, &self.options.naming, Audience { reach, principal: Some(principal) })
    }

    /// Ends everything that this principal has here: its agents, and what runs for them.
    pub(crate) fn end_principal(&self, principal: &Principal) {
        lock(&self.narrowed).retain(|(of, _), _| of != principal);
        self.forget_agents(|agent| agent.principal == *principal);
    }

    /// Asks servers for their tools again whose lists are older than they may be, where this agent uses them, and waits a
    /// little. A server that takes longer is announced.
    pub(crate) async fn list_again(&self, agent: &Arc<Agent>, age: ListAge, which: impl Fn(&ServerName) -> bool) {
        let Some(own) = agent.own_host() else {
            return self.host.list_again(age, LISTED_WITHIN, which).await;
        };
        let snapshot = own.snapshot();
        let is_own =
            |server: &ServerName| snapshot.server(server.as_str()).is_some_and(|entry| entry.greeting().is_some());
        tokio::join!(
            self.host.list_again(age, LISTED_WITHIN, |server| which(server) && !is_own(server)),
            own.list_again(age, LISTED_WITHIN, |server| which(server) && is_own(server)),
        );
    }

    /// True when nobody but one agent uses the host.
    pub(crate) const fn has_one_agent(&self) -> bool {
        self.source.is_none()
    }

    /// The agent of the modern era that a principal is, with these capabilities.
    ///
    /// # Errors
    /// When the capabilities are too large, or the principal is too many agents that all are busy.
    pub(crate) fn agent(
        &self,
        principal: &Principal,
        reach: &Reach,
        capabilities: &RawJson,
    ) -> Result<Arc<Agent>, RpcError> {
        let limits = &self.options.limits;
        let (bytes, at_most) = (capabilities.as_str().len(), limits.capability_bytes);
        if bytes > at_most {
            let message = format!("clientCapabilities has {bytes} bytes: no more than {at_most} are taken");
            return Err(refusal::invalid_params(message));
        }
        // What servers are told of them: members that nobody knows make no other agent.
        let within = reach.within().map_or("", ServerName::as_str);
        let key = (principal.clone(), format!("{}{within}", capabilities::read(capabilities).to_json()));
        let mut agents = lock(&self.agents);
        if let Some(agent) = agents.get(&key) {
            agent.touch();
            return Ok(Arc::clone(agent));
        }
        if agents.keys().filter(|(of, _)| of == principal).count() >= limits.agents_per_principal.max(1) {
            let theirs = agents.iter().filter(|((of, _), _)| of == principal);
            let idle = theirs.filter_map(|(key, agent)| Some((agent.idle_since()?, key)));
            let Some(oldest) = idle.min_by_key(|(since, _)| *since).map(|(_, key)| key.clone()) else {
                return Err(refusal::too_many("the same user or token is too many agents at once: try again later"));
            };
            agents.remove(&oldest).iter().for_each(|agent| agent.end());
        }
        let agent = Agent::of(Clients::Several, principal.clone(), Door::Http, Arc::new(Nowhere));
        let agent = Arc::new(agent.reaching(reach.clone()));
        agent.declare(capabilities);
        agent.knows(&self.tasks);
        agent.sees(self.weak());
        agent.touch();
        self.welcome(&agent, Visitor::of(principal.clone()));
        agents.insert(key, Arc::clone(&agent));
        Ok(agent)
    }

    /// Tells the person that an agent came; when it goes, they hear that too.
    pub(crate) fn welcome(&self, agent: &Agent, visitor: Visitor) {
        if let Some(observer) = &self.options.observer {
            observer.notice(AgentNotice::Came(&visitor));
            agent.is_seen_by(Arc::clone(observer), visitor);
        }
    }

    /// Tells the person that a request did not get in.
    pub(crate) fn tell_barred(&self, why: &str) {
        if let Some(observer) = &self.options.observer {
            observer.notice(AgentNotice::Barred(why));
        }
    }

    /// A connection has ended, and whoever was known by it is gone.
    pub(crate) fn forget_connection(&self, connection: u64) {
        self.forget_agents(|agent| agent.principal == Principal::connection(connection));
    }

    /// Lets go of agents that nobody has heard of for too long.
    pub(crate) fn forget_idle_agents(&self) {
        let idle = self.options.limits.session_idle;
        self.links.sweep();
        self.tasks.sweep();
        self.forget_agents(|agent| agent.is_idle(idle));
    }

    fn forget_agents(&self, which: impl Fn(&Agent) -> bool) {
        let gone: Vec<_> = lock(&self.agents).extract_if(|_, agent| which(agent)).collect();
        gone.iter().for_each(|(_, agent)| agent.end());
    }

    /// What we can do.
    pub(crate) fn offers(&self) -> Offering {
        Offering::of(&self.host).with_tasks(self.options.approvals.is_some())
    }

    /// What the servers want a model to know.
    pub(crate) fn instructions(&self, agent: &Agent) -> Option<String> {
        let catalog = agent.catalog(self);
        let own = discovery::instructions(self.options.discovery, &catalog, offers::are_all_known(&self.host));
        let told: Vec<String> = own.into_iter().chain(offers::instructions(&self.host, &agent.reach)).collect();
        (!told.is_empty()).then(|| told.join("\n\n"))
    }

    /// Waits until we can say who we are: for what is remembered of servers, and for servers themselves if that is wanted.
    pub(crate) async fn introduce(&self) {
        if let Some(wait) = self.options.wait {
            self.host.settled(wait.saturating_sub(self.started.elapsed())).await;
        }
        self.host.recalled().await;
    }

    /// Waits until tools can be listed: for what is remembered of servers, and a while for those of which nothing is. The
    /// time is that of the first: who did not come in it is announced.
    pub(crate) async fn tools_known(&self) {
        self.introduce().await;
        if self.options.wait.is_none() {
            self.host.listed(self.options.lists_wait.saturating_sub(self.started.elapsed())).await;
        }
    }

    /// Waits for servers that are still connecting, if lists of what nobody keeps are to wait for them.
    pub(crate) async fn settle(&self) {
        let wait = self.options.wait.unwrap_or(self.options.lists_wait);
        self.host.settled(wait.saturating_sub(self.started.elapsed())).await;
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if let Some(task) = self.news.get() {
            task.abort();
        }
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Gateway")
            .field("host", &self.host)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
