//! Which host runs a server for an agent: the one that all agents share, or the agent's own; and which era is spoken there.
//!
//! A modern server keeps nothing between requests, and is shared. A legacy one may keep anything, and cannot say whom it
//! asks: each agent has its own. A server that has both eras is shared in the modern one, which lists and completes for
//! everybody; an agent that is asked in the older way has its own, in the older one, from its first call on, since there are
//! servers that can ask in no other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use helve::{CallError, Host, ServerEntry};
use helve_model::{PendingReason, ServerName, ServerStatus, TransportSpec};
use helve_wire::{Era, OtherEra};
use tokio::sync::OnceCell;

use crate::agent::Agent;
use crate::discovery::OWN_TOOLBOX;
use crate::gateway::{Gateway, HostSource, LISTED_WITHIN};
use crate::ledger::Turns;
use helve_model::sync::lock;

/// The host that runs a server for an agent.
pub(crate) struct AssignedHost {
    pub(crate) host: Host,
    /// It is the one that lists are made from.
    pub(crate) is_shared: bool,
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
        let own = |host: Host| AssignedHost { host, is_shared: false };
        let shared = || AssignedHost { host: self.host.clone(), is_shared: true };
        let Some(source) = &self.source else { return Ok(shared()) };
        // Programs call whatever servers the agent has, and those that keep state are its own.
        if !self.may_be_shared(server) || server.as_str() == OWN_TOOLBOX {
            return self.own_host(agent, &**source).await.map(own);
        }
        match self.may_be_asked_by(agent, server) {
            // Without it the agent still has all but the logs.
            Asking::InTheNewWay if self.logs_for_one(agent, server) => {
                Ok(self.own_host(agent, &**source).await.map_or_else(|_| shared(), own))
            }
            Asking::InTheNewWay => Ok(shared()),
            Asking::NotAtAll => {
                agent.tell_of_sharing(server);
                Ok(shared())
            }
            // Without it the agent still has all but the questions.
            Asking::InTheOldWay => Ok(self.legacy_host(agent, &**source, server).await.map_or_else(shared, own)),
        }
    }

    /// The host for what is not a call: the agent's own where this server runs there, else the one that lists are made from.
    /// Nothing that can be shared is started for it.
    pub(crate) async fn host_besides_calls(
        &self,
        agent: &Arc<Agent>,
        server: &ServerName,
    ) -> Result<AssignedHost, CallError> {
        let has_own = agent.own_server(server).is_some();
        match (&self.source, agent.own_host()) {
            (Some(_), Some(host)) if has_own => Ok(AssignedHost { host, is_shared: false }),
            (Some(_), _) if !self.may_be_shared(server) => self.host_for(agent, server).await,
            _ => Ok(AssignedHost { host: self.host.clone(), is_shared: true }),
        }
    }

    /// Does this agent want the logs of a server that says of none which call they are about? Where agents share it they
    /// reach nobody; so it runs for this agent alone.
    fn logs_for_one(&self, agent: &Agent, server: &ServerName) -> bool {
        let snapshot = self.host.snapshot();
        let Some(entry) = snapshot.server(server.as_str()).filter(|_| agent.wants_logs()) else { return false };
        let spec = entry.spec();
        matches!(spec.transport, TransportSpec::Stdio(_))
            && spec.shared.is_none()
            && entry.greeting().is_some_and(|greeting| greeting.offers("logging"))
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
        let snapshot = self.host.snapshot();
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
        self.host.snapshot().server(server.as_str()).is_none_or(|entry| may_be_shared(entry))
    }

    /// False for a server that is known to speak the legacy era with this agent.
    pub(crate) fn may_be_modern(&self, agent: &Agent, server: &ServerName) -> bool {
        let snapshot = self.host.snapshot();
        let greeting = || snapshot.server(server.as_str()).and_then(|entry| entry.greeting());
        let greeting = agent.own_server(server).and_then(|own| own.greeting()).or_else(greeting);
        greeting.is_none_or(|greeting| greeting.negotiated.era == Era::Modern)
    }

    /// The host that is this agent's alone.
    async fn own_host(&self, agent: &Arc<Agent>, source: &dyn HostSource) -> Result<Host, CallError> {
        self.own_hosts.of(agent, source, self.options.limits.own_hosts_per_principal).await
    }

    /// How a server that agents share may ask this one.
    fn may_be_asked_by(&self, agent: &Agent, server: &ServerName) -> Asking {
        let snapshot = self.host.snapshot();
        let Some(entry) = snapshot.server(server.as_str()).filter(|_| agent.is_asked_in_the_old_way()) else {
            return Asking::InTheNewWay;
        };
        let spec = entry.spec();
        let is_builtin = matches!(spec.transport, TransportSpec::Builtin(_));
        let Some(greeting) = entry.greeting().filter(|_| !is_builtin && spec.protocol_version.is_none()) else {
            return Asking::InTheNewWay;
        };
        let negotiated = &greeting.negotiated;
        let has_legacy = negotiated.other != OtherEra::NotSpoken && !self.legacy_eras.is_missing(server);
        match negotiated.era {
            // One that its entry says is to be shared, and that was told that it cannot ask.
            Era::Legacy => Asking::InTheNewWay,
            Era::Modern if !has_legacy => Asking::InTheNewWay,
            Era::Modern if spec.shared == Some(true) => Asking::NotAtAll,
            Era::Modern => Asking::InTheOldWay,
        }
    }

    /// The agent's own host, with this server running there in the legacy era. `None` where the server does not have it, or
    /// does not come a second time.
    async fn legacy_host(&self, agent: &Arc<Agent>, source: &dyn HostSource, server: &ServerName) -> Option<Host> {
        let host = self.own_host(agent, source).await.ok()?;
        if agent.own_server(server).is_some() {
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
        let snapshot = self.host.snapshot();
        let own_time = snapshot.server(server.as_str()).and_then(|entry| entry.spec().startup_timeout);
        host.ready(server.as_str(), own_time.unwrap_or(host.settings().startup_timeout)).await?;
        let greeting = agent.own_server(server).and_then(|own| own.greeting());
        Ok(greeting.is_some_and(|greeting| greeting.negotiated.era == Era::Legacy))
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

/// Do all agents share this server? As its entry says, else as its era allows.
pub(crate) fn may_be_shared(entry: &ServerEntry) -> bool {
    let is_modern = || entry.greeting().is_none_or(|greeting| greeting.negotiated.era == Era::Modern);
    entry.spec().shared.unwrap_or_else(is_modern)
}
