//! The hosts that are one agent's alone: how many a principal may have, and how a changed plan reaches all of them.

use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use futures_util::FutureExt as _;
use helve::{CallError, Host, Plan};
use helve_model::ErrorCode;

use crate::agent::Agent;
use crate::gateway::{HostPurpose, HostSource};
use crate::named_questions::NamedAnswerer;
use helve_model::sync::lock;

/// Everybody who has servers of its own.
#[derive(Default)]
pub(crate) struct OwnHosts {
    /// Held while a plan is handed out: nobody gets an older one after a newer one.
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// The newest plan, once it is another than hosts are started with.
    plan: Option<Plan>,
    agents: Vec<Weak<Agent>>,
}

impl OwnHosts {
    /// The host of an agent, started when its first server is needed.
    ///
    /// # Errors
    /// When it cannot be started, or its principal has too many that are in use.
    pub(crate) async fn of(
        &self,
        agent: &Arc<Agent>,
        source: &dyn HostSource,
        per_principal: usize,
    ) -> Result<Host, CallError> {
        if let Some(host) = agent.own_host() {
            return Ok(host);
        }
        let _moving = agent.private_host_turn().await;
        if let Some(host) = agent.own_host() {
            return Ok(host);
        }
        self.make_room(agent, per_principal)?;
        let host = source.start(NamedAnswerer::of(Arc::<Agent>::clone(agent)), HostPurpose::OneAgent).await?;
        let known = lock(&self.known);
        if let Some(plan) = &known.plan {
            give(&host, plan);
        }
        agent.attach_private_host(host.clone())?;
        Ok(host)
    }

    /// What servers and rules there are has changed, for hosts that run and for those to come.
    pub(crate) fn set_plan(&self, plan: &Plan) {
        let plan = plan.clone().on_demand();
        let mut known = lock(&self.known);
        for host in known.agents.iter().filter_map(Weak::upgrade).filter_map(|agent| agent.own_host()) {
            give(&host, &plan);
        }
        known.plan = Some(plan);
    }

    /// Makes room for the host of one more agent, which has its place from then on. Where its principal has too many, that
    /// of who was idle longest goes; one that is connected keeps its own however idle it is.
    fn make_room(&self, agent: &Arc<Agent>, at_most: usize) -> Result<(), CallError> {
        let mut known = lock(&self.known);
        let has_place = |other: &Arc<Agent>| other.is_starting_private_host() || other.own_host().is_some();
        known
            .agents
            .retain(|other| other.upgrade().is_some_and(|other| !Arc::ptr_eq(&other, agent) && has_place(&other)));
        let others = known.agents.iter().filter_map(Weak::upgrade);
        let theirs: Vec<Arc<Agent>> = others.filter(|other| other.principal == agent.principal).collect();
        if theirs.len() >= at_most.max(1) {
            let idle = theirs.iter().filter(|other| !other.is_connected());
            let idle = idle.filter_map(|other| Some((other.idle_since()?, other)));
            let Some((_, oldest)) = idle.min_by_key(|(since, _)| *since) else {
                let message = format!("{at_most} agents of the same user or token have servers of their own already");
                let hint = "end sessions that are not needed any more, or let agents share the server: `shared = true`";
                return Err(CallError::new(ErrorCode::LimitExceeded, message).with_hint(hint));
            };
            oldest.leave_servers();
        }
        known.agents.push(Arc::downgrade(agent));
        Ok(())
    }
}

/// Everything is done at the first poll; only the end of servers would be waited for.
fn give(host: &Host, plan: &Plan) {
    drop(host.set_servers(plan.clone()).now_or_never());
}

impl fmt::Debug for OwnHosts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OwnHosts").field("agents", &lock(&self.known).agents.len()).finish_non_exhaustive()
    }
}
