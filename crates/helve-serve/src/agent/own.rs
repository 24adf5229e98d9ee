//! The servers that are one agent's alone: where they run, when they are ended, and what the agent hears of them.
//!
//! They are ended when the agent goes, and when it was away for long enough: then they come back at their next use, are told
//! anew what the agent wants of them, and the agent hears that they have forgotten.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt as _;
use helve::{CallError, Events, Host, HostEvent};
use helve_model::{ErrorCode, PendingReason, PrivateIdle, ServerName, ServerStatus, TransportSpec};
use tokio::sync::SemaphorePermit;
use tokio::task::AbortHandle;

use super::{Agent, log_line};
use crate::assigned_host::KnownServer;
use crate::catalog::{Catalogs, snapshot};
use crate::change_notices::{ChangeNotice, Listener as _, Notification};
use crate::gate;
use crate::watching::Watching;
use helve_model::sync::lock;

/// A host whose servers are one agent's alone, and the task that passes on what happens there.
pub(super) struct OwnHost {
    pub(super) host: Host,
    news: AbortHandle,
    pub(super) catalogs: Catalogs,
}

/// Whoever knows whether an agent is still there.
pub(crate) trait Presence: Send + Sync {
    /// A connection of it is open, or something of it is under way that is not a request.
    fn is_connected(&self) -> bool;
}

impl Agent {
    /// The host that this agent's own servers run in, if there is one.
    pub(crate) fn own_host(&self) -> Option<Host> {
        lock(&self.own).as_ref().map(|own| own.host.clone())
    }

    /// A server as it runs in a host of this agent's own, once it was connected there.
    pub(crate) fn own_server(&self, server: &ServerName) -> Option<KnownServer> {
        KnownServer::of(&snapshot(&self.own_host()?), server).connected()
    }

    /// Its turn to get a host of its own: of several requests at once one starts it. Cancel safe.
    pub(crate) async fn private_host_turn(&self) -> Option<SemaphorePermit<'_>> {
        // Never closed.
        self.moving.acquire().await.ok()
    }

    /// True while a host is being started for it.
    pub(crate) fn is_starting_private_host(&self) -> bool {
        self.moving.available_permits() == 0
    }

    /// From now on this agent's own servers run here.
    ///
    /// # Errors
    /// When the agent has gone meanwhile.
    pub(crate) fn attach_private_host(self: &Arc<Self>, host: Host) -> Result<(), CallError> {
        // One that never asked for a list is told when it would be another.
        self.knows_of_list();
        let news = tokio::spawn(pass_on(Arc::downgrade(self), host.changes())).abort_handle();
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
            let _: Option<()> = host.want_log_level(level).now_or_never();
        }
        *own = Some(Arc::new(OwnHost { host, news, catalogs: Catalogs::default() }));
        Ok(())
    }

    /// Ends the servers that are this agent's alone.
    pub(super) fn detach_private_host(&self) {
        let own = lock(&self.own).take();
        own.into_iter().for_each(|own| own.end());
    }

    /// Ends the servers that are this agent's alone, unless it has just come back. They are started anew when it wants one
    /// again, and it is told.
    pub(crate) fn leave_servers(&self) {
        let left = {
            // In this order: whoever comes after the look at the state finds no host.
            let mut own = lock(&self.own);
            let mut state = lock(&self.state);
            if state.present > 0 {
                return;
            }
            let left = own.take();
            if let Some(left) = &left {
                state.ended.extend(left.running());
            }
            left
        };
        left.into_iter().for_each(|own| own.end());
    }

    /// Ends servers of this agent's own after it has been away for so long.
    pub(crate) fn leave_idle_servers(&self, away: Duration, unless_said: PrivateIdle) {
        let Some(own) = lock(&self.own).clone() else { return };
        let snapshot = own.host.snapshot();
        let is_due = |server: &ServerName| {
            let said = snapshot.server(server.as_str()).and_then(|entry| entry.spec().private_idle);
            matches!(said.unwrap_or(unless_said), PrivateIdle::After(time) if away >= time)
        };
        let (due, others): (Vec<ServerName>, Vec<ServerName>) = own.running().partition(is_due);
        let watches = self.watching.get().is_some_and(|watching| !watching.is_empty());
        if others.is_empty() && !watches {
            return self.leave_servers();
        }
        // What it subscribed to is remembered there.
        for server in due {
            if own.host.suspend_server(server.as_str()).is_ok() {
                lock(&self.state).ended.insert(server);
            }
        }
    }

    /// The agent reads again what it hears besides its requests: servers that it wants to hear about changes are started.
    pub(crate) fn wake_watched(&self) {
        let Some(host) = self.own_host() else { return };
        for server in self.watching.get().map(Watching::servers).unwrap_or_default() {
            let (host, within) = (host.clone(), host.settings().startup_timeout);
            tokio::spawn(async move { drop(host.ready(server.as_str(), within).await) });
        }
    }

    /// A server of its own runs. Where it was ended while the agent was away, the agent hears what that means.
    fn server_runs(&self, server: &ServerName) {
        if !lock(&self.state).ended.remove(server) {
            return;
        }
        if let Some(stream) = self.nearest_stream() {
            let text = format!(
                "the server `{server}` was ended while nobody used this session, and was started again: what it kept for this session is gone"
            );
            self.hear_log(&*stream, &log_line("warning", &text));
        }
    }
}

impl OwnHost {
    /// The servers that run there, or are on their way.
    fn running(&self) -> impl Iterator<Item = ServerName> {
        let runs = |status: &ServerStatus| {
            matches!(
                status,
                ServerStatus::Connected
                    | ServerStatus::Pending(PendingReason::Connecting | PendingReason::Reconnecting)
                    | ServerStatus::Failed(_)
            )
        };
        let snapshot = self.host.snapshot();
        let is_builtin = move |server: &ServerName| {
            let entry = snapshot.server(server.as_str());
            entry.is_some_and(|entry| matches!(entry.spec().transport, TransportSpec::Builtin(_)))
        };
        let all = self.host.status().into_iter();
        all.filter(move |report| runs(&report.status) && !is_builtin(&report.name)).map(|report| report.name)
    }

    /// Ends all of them.
    fn end(&self) {
        self.news.abort();
        let host = self.host.clone();
        // Without a runtime there is nothing left to end.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { host.shutdown().await });
        }
    }
}

/// Passes on what happens at an agent's own servers, to that agent.
async fn pass_on(agent: Weak<Agent>, mut events: Events) {
    let mut seen = agent.upgrade().and_then(|agent| agent.listed_now());
    while let Some(event) = events.next().await {
        let Some(agent) = agent.upgrade() else { return };
        let news = match event {
            HostEvent::Catalog { .. } | HostEvent::Lost(_) => {
                // Its own server has what everybody's has, most likely.
                let now = agent.listed_now();
                if now.is_some() && now == seen {
                    continue;
                }
                seen = now;
                ChangeNotice::Tools
            }
            HostEvent::Status { server, status: ServerStatus::Connected } => {
                agent.server_runs(&server);
                continue;
            }
            HostEvent::ResourcesChanged { .. } => ChangeNotice::Resources,
            HostEvent::PromptsChanged { .. } => ChangeNotice::Prompts,
            HostEvent::Notification { server, method, params } => {
                let is_heard = |host: Host| gate::is_heard(&host, &server, &method, &params);
                if agent.own_host().is_some_and(is_heard) {
                    agent.hear_notification(&Notification { server, method, params });
                }
                continue;
            }
            _ => continue,
        };
        Arc::clone(&agent).hear(news);
        agent.listeners.tell(news);
    }
}
