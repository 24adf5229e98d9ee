//! Which host runs a server for an agent: the one that all agents share, or the agent's own; and which era is spoken there.
//!
//! A modern server keeps nothing between requests, and is shared. A legacy one may keep anything, and cannot say whom it
//! asks: each agent has its own. A server that has both eras is shared in the modern one, which lists and completes for
//! everybody; an agent that is asked in the older way has its own, in the older one, from its first call on, since there are
//! servers that can ask in no other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use futures_util::future::join_all;
use helve::{CallError, Host, ServerEntry, Snapshot};
use helve_model::{PendingReason, ServerName, ServerStatus, TransportSpec};
use helve_wire::{Greeting, OtherEra};
use tokio::sync::OnceCell;

use crate::agent::Agent;
use crate::catalog::{Catalog, snapshot};
use crate::discovery::OWN_TOOLBOX;
use crate::gateway::{Gateway, HostSource, LISTED_WITHIN};
use crate::ledger::Turns;
use crate::lookups::{self, Lookup};
use helve_model::sync::lock;

/// The host that runs a server for an agent.
pub(crate) struct AssignedHost {
    pub(crate) host: Host,
    /// It is the one that lists are made from.
    pub(crate) is_shared: bool,
    /// Other agents may use the server there too, so that they take turns.
    has_turns: bool,
    /// The server as it is there, as far as is known.
    server: KnownServer,
}

impl AssignedHost {
    /// False where the server is known to speak the legacy era.
    pub(crate) fn may_be_modern(&self) -> bool {
        self.server.may_be_stateless()
    }
}

/// A server as a request finds it; what it said about itself is looked up when it is needed, and once.
#[derive(Debug, Default)]
pub(crate) struct KnownServer {
    entry: Option<Arc<ServerEntry>>,
    greeting: OnceLock<Option<Greeting>>,
}

impl KnownServer {
    pub(crate) fn of(snapshot: &Snapshot, server: &ServerName) -> Self {
        Self { entry: snapshot.server(server.as_str()).cloned(), greeting: OnceLock::new() }
    }

    fn greeting(&self) -> Option<&Greeting> {
        let look = || {
            lookups::note(Lookup::Greeting);
            self.entry.as_ref().and_then(|entry| entry.greeting())
        };
        self.greeting.get_or_init(look).as_ref()
    }

    /// The same, if it was ever connected.
    pub(crate) fn connected(self) -> Option<Self> {
        self.greeting().is_some().then_some(self)
    }

    /// Do all agents share this server? As its entry says, else as its era allows.
    fn may_be_shared(&self) -> bool {
        let said = self.entry.as_ref().and_then(|entry| entry.spec().shared);
        said.unwrap_or_else(|| self.may_be_stateless())
    }

    /// False where it is known to keep something between requests.
    fn may_be_stateless(&self) -> bool {
        self.greeting().is_none_or(|greeting| greeting.negotiated.era.is_stateless())
    }
}

/// Which servers have the legacy era besides the one that agents share. Found out by the first agent that wants it, since
/// most servers do not say.
#[derive(Debug, Default)]
pub(crate) struct LegacyEras(Mutex<HashMap<ServerName, Arc<OnceCell<bool>>>>);

impl LegacyEras {
    fn of(&self, server: &ServerName) -> Arc<OnceCell<bool>> {
        Arc::clone(lock(&self.0).entry(server.clone()).or_default())
    }

    fn is_missing(&self, server: &ServerName) -> bool {
        lock(&self.0).get(server).and_then(|found| found.get()) == Some(&false)
    }

    /// Servers may be others now.
    pub(crate) fn forget(&self) {
        lock(&self.0).clear();
    }
}

impl Gateway {
    /// The host that runs this server for this agent: the shared one, if the server can be shared.
    pub(crate) async fn host_for(&self, agent: &Arc<Agent>, server: &ServerName) -> Result<AssignedHost, CallError> {
        let own = agent.own_server(server);
        self.assign(agent, server, KnownServer::of(&snapshot(&self.host), server), own).await
    }

    /// The same for a call whose tool was found in a catalog.
    pub(crate) async fn host_for_tool(
        &self,
        agent: &Arc<Agent>,
        server: &ServerName,
        catalog: &Catalog,
    ) -> Result<AssignedHost, CallError> {
        let own = catalog.own.as_ref().and_then(|own| KnownServer::of(own, server).connected());
        self.assign(agent, server, KnownServer::of(&catalog.shared, server), own).await
    }

    /// Decides by the server as everybody has it, and as the agent has it, if it was connected there.
    async fn assign(
        &self,
        agent: &Arc<Agent>,
        server: &ServerName,
        shared: KnownServer,
        own: Option<KnownServer>,
    ) -> Result<AssignedHost, CallError> {
        let Some(source) = &self.source else {
            return Ok(AssignedHost { host: self.host.clone(), is_shared: true, has_turns: false, server: shared });
        };
        // Programs call whatever servers the agent has, and those that keep state are its own.
        let host = if shared.may_be_shared() && server.as_str() != OWN_TOOLBOX {
            match self.may_be_asked_by(agent, server, &shared) {
                // Without it the agent still has all but the logs.
                Asking::InTheNewWay if logs_for_one(agent, &shared) => self.own_host(agent, &**source).await.ok(),
                Asking::InTheNewWay => None,
                Asking::NotAtAll => {
                    agent.tell_of_sharing(server);
                    None
                }
                // Without it the agent still has all but the questions.
                Asking::InTheOldWay => self.legacy_host(agent, &**source, server, own.is_some()).await,
            }
        } else {
            Some(self.own_host(agent, &**source).await?)
        };
        Ok(match host {
            None => {
                let has_turns = own.is_none();
                let server = own.unwrap_or(shared);
                AssignedHost { host: self.host.clone(), is_shared: true, has_turns, server }
            }
            // It may have come there just now.
            Some(host) => {
                let server = own.or_else(|| agent.own_server(server)).unwrap_or(shared);
                AssignedHost { host, is_shared: false, has_turns: false, server }
            }
        })
    }

    /// The host for what is not a call: the agent's own where this server runs there, else the one that lists are made from.
    /// Nothing that can be shared is started for it.
    pub(crate) async fn host_besides_calls(&self, agent: &Arc<Agent>, server: &ServerName) -> Result<Host, CallError> {
        let has_own = agent.own_server(server).is_some();
        match (&self.source, agent.own_host()) {
            (Some(_), Some(host)) if has_own => Ok(host),
            (Some(_), _) if !self.may_be_shared(server) => {
                self.host_for(agent, server).await.map(|assigned| assigned.host)
            }
            _ => Ok(self.host.clone()),
        }
    }

    /// The turns at a server, where the agent that it was assigned to shares it with others.
    pub(crate) fn turns_of(&self, assigned: &AssignedHost, server: &ServerName) -> Option<Turns> {
        assigned.has_turns.then(|| self.ledger.server(server))
    }

    /// The turns at a server, where this agent shares it with others.
    pub(crate) fn turns_at(&self, agent: &Agent, server: &ServerName) -> Option<Turns> {
        self.is_shared_with(agent, server).then(|| self.ledger.server(server))
    }

    /// Does this agent use the server that others use?
    pub(crate) fn is_shared_with(&self, agent: &Agent, server: &ServerName) -> bool {
        self.source.is_some() && self.may_be_shared(server) && agent.own_server(server).is_none()
    }

    /// Starts the servers of an agent's own that may have other tools for it than for everybody: they were told what it
    /// can do. Waits a little for those that were not started yet; who takes longer is announced.
    pub(crate) async fn start_private_servers(&self, agent: &Arc<Agent>) {
        let Some(source) = self.source.as_ref().filter(|_| agent.can_be_asked()) else { return };
        let snapshot = snapshot(&self.host);
        let known = snapshot.servers().filter(|entry| entry.greeting().is_some()).map(|entry| entry.name());
        let own: Vec<&ServerName> = known.filter(|server| !self.may_be_shared(server)).collect();
        if own.is_empty() {
            return;
        }
        // An agent that cannot have servers of its own sees what everybody sees.
        let Ok(host) = self.own_host(agent, &**source).await else { return };
        let is_waiting = |server: &&ServerName| {
            let status = host.server_status(server.as_str()).map(|report| report.status);
            status == Some(ServerStatus::Pending(PendingReason::Lazy))
        };
        let coming = own.into_iter().filter(is_waiting).map(|server| host.ready(server.as_str(), LISTED_WITHIN));
        drop(join_all(coming).await);
    }

    /// Do all agents share this server? As its entry says, else as its era allows.
    pub(crate) fn may_be_shared(&self, server: &ServerName) -> bool {
        KnownServer::of(&snapshot(&self.host), server).may_be_shared()
    }

    /// The host that is this agent's alone.
    async fn own_host(&self, agent: &Arc<Agent>, source: &dyn HostSource) -> Result<Host, CallError> {
        self.own_hosts.of(agent, source, self.options.limits.own_hosts_per_principal).await
    }

    /// How a server that agents share may ask this one.
    fn may_be_asked_by(&self, agent: &Agent, server: &ServerName, known: &KnownServer) -> Asking {
        let Some(entry) = known.entry.as_ref().filter(|_| agent.is_asked_in_the_old_way()) else {
            return Asking::InTheNewWay;
        };
        let spec = entry.spec();
        if matches!(spec.transport, TransportSpec::Builtin(_)) || spec.protocol_version.is_some() {
            return Asking::InTheNewWay;
        }
        let Some(Greeting { negotiated, .. }) = known.greeting() else { return Asking::InTheNewWay };
        // One that keeps something is one that its entry says is to be shared, and that was told that it cannot ask.
        let has_legacy = negotiated.era.is_stateless()
            && negotiated.other != OtherEra::NotSpoken
            && !self.legacy_eras.is_missing(server);
        match spec.shared {
            _ if !has_legacy => Asking::InTheNewWay,
            Some(true) => Asking::NotAtAll,
            _ => Asking::InTheOldWay,
        }
    }

    /// The agent's own host, with this server running there in the legacy era. `None` where the server does not have it, or
    /// does not come a second time.
    async fn legacy_host(
        &self,
        agent: &Arc<Agent>,
        source: &dyn HostSource,
        server: &ServerName,
        runs_there: bool,
    ) -> Option<Host> {
        let host = self.own_host(agent, source).await.ok()?;
        if runs_there {
            return Some(host);
        }
        let found = self.legacy_eras.of(server);
        let speaks_legacy = match found.get_or_try_init(|| self.comes_in_legacy(agent, &host, server)).await {
            // Somebody else may have found it out.
            Ok(true) => self.comes_in_legacy(agent, &host, server).await.unwrap_or_default(),
            Ok(false) | Err(_) => false,
        };
        if speaks_legacy {
            return Some(host);
        }
        // What it cannot be asked by here, everybody shares.
        drop(host.remove_server(server.as_str()).await);
        None
    }

    /// Starts a server in an agent's own host. True when it speaks the legacy era there.
    async fn comes_in_legacy(&self, agent: &Agent, host: &Host, server: &ServerName) -> Result<bool, CallError> {
        let snapshot = snapshot(&self.host);
        let own_time = snapshot.server(server.as_str()).and_then(|entry| entry.spec().startup_timeout);
        host.ready(server.as_str(), own_time.unwrap_or(host.settings().startup_timeout)).await?;
        Ok(agent.own_server(server).is_some_and(|own| !own.may_be_stateless()))
    }
}

/// How a server may ask an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asking {
    /// By its results, or not at all: the shared one does.
    InTheNewWay,
    /// By requests of its own: where it runs for this agent alone.
    InTheOldWay,
    /// It would have to run for this agent alone, and may not.
    NotAtAll,
}

/// Do all agents share this server?
pub(crate) fn may_be_shared(entry: &Arc<ServerEntry>) -> bool {
    KnownServer { entry: Some(Arc::clone(entry)), greeting: OnceLock::new() }.may_be_shared()
}

/// Does this agent want the logs of a server that says of none which call they are about? Where agents share it they
/// reach nobody; so it runs for this agent alone.
fn logs_for_one(agent: &Agent, server: &KnownServer) -> bool {
    let Some(entry) = server.entry.as_ref().filter(|_| agent.wants_logs()) else { return false };
    let spec = entry.spec();
    matches!(spec.transport, TransportSpec::Stdio(_))
        && spec.shared.is_none()
        && server.greeting().is_some_and(|greeting| greeting.offers("logging"))
}
