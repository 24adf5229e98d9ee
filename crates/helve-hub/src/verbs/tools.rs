//! Trying a tool: the same way of a call as an agent's, as the person at the page or the holder of a token.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use helve::{CallContext, CallError, CallOutcome, CallSource, Door, Host, ToolEntry};
use helve_model::json::RawJson;
use helve_model::sync::lock;
use helve_model::{Action, Principal, QualifiedName};
use helve_policy::{Caller, Explanation, Whereabouts};
use helve_serve::{AskedAgent, PageWay};
use tokio::sync::Notify;

use super::approvals;
use super::files::version_of;
use crate::actor::Actor;
use crate::approval_queue::OnAsked;
use crate::error::HubError;
use crate::hub::Hub;
use crate::tokens::random;

/// So many tries are kept, whether they run or have ended; the oldest makes room.
const MOST: usize = 32;

/// Whether somebody has said yes to these very arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    Given,
    NotAsked,
}

/// Calls a tool. Rules decide as for anybody else; where they ask, the call is held as an agent's is.
pub(crate) async fn call(hub: &Hub, actor: &Actor, tool: &str, arguments: RawJson) -> Result<CallOutcome, HubError> {
    let mut asked = AskedAgent::default();
    asked.page = PageWay::WithError;
    let approver = hub.approvals.approver(asked, None);
    let context = context(actor).with(|context| context.approver = Some(approver));
    Ok(hub.host().call(tool, arguments, context).await?)
}

fn context(actor: &Actor) -> CallContext {
    let (caller, principal) = match actor {
        Actor::Session | Actor::Operator => (Caller::Person, Principal::LOCAL),
        Actor::Admin { name, .. } => (Caller::Script, Principal::token(name)),
    };
    CallContext::new(caller).with(|context| {
        context.principal = principal;
        context.source = CallSource::new(Door::Page);
    })
}

/// A tool by its exact name.
pub(crate) fn tool(hub: &Hub, server: &str, tool: &str) -> Result<Arc<ToolEntry>, HubError> {
    let snapshot = hub.host().snapshot();
    let entry = snapshot.server(server).ok_or_else(|| HubError::not_found(format!("there is no server {server:?}")))?;
    let found = entry.all_tools().find(|known| known.name().tool.as_str() == tool).cloned();
    found.ok_or_else(|| HubError::not_found(format!("the server {server} has no tool {tool:?}")))
}

/// What would be decided about a call by the person at the page.
pub(crate) fn foresee(entry: &ToolEntry, arguments: &RawJson) -> Explanation {
    entry.policy().explain(Caller::Person, arguments, &Whereabouts::default())
}

/// Names a question about a call; `None` where nothing is asked. A yes is to this tool, as it is, with these arguments.
pub(crate) fn question(entry: &ToolEntry, arguments: &RawJson) -> Option<String> {
    use helve_model::Definition as _;
    let asked = foresee(entry, arguments).action == Action::Ask;
    let all = || format!("{}\n{}\n{arguments}", entry.name(), entry.definition().raw());
    asked.then(|| version_of(&all()))
}

/// A try that runs, or has ended.
pub(crate) struct Try {
    pub(crate) id: String,
    /// The session it belongs to.
    session: String,
    pub(crate) server: String,
    pub(crate) tool: String,
    /// What the form held.
    pub(crate) posted: Vec<(String, String)>,
    state: Mutex<TryState>,
    ended: Notify,
}

/// How far a try is.
#[derive(Debug, Clone)]
pub(crate) enum TryState {
    Running { done: f64, total: Option<f64>, message: Option<String> },
    Ended(Arc<Result<CallOutcome, CallError>>),
}

/// Tries of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Tries(Mutex<VecDeque<Arc<Try>>>);

impl Tries {
    /// A try of a session.
    pub(crate) fn find(&self, id: &str, session: &str) -> Result<Arc<Try>, HubError> {
        let tries = lock(&self.0);
        let found = tries.iter().find(|one| one.id == id && one.session == version_of(session)).cloned();
        found.ok_or_else(|| HubError::not_found("this call is not kept any more"))
    }
}

/// Begins a call that a page follows.
pub(crate) fn begin(
    hub: &Arc<Hub>,
    session: &str,
    entry: &Arc<ToolEntry>,
    posted: Vec<(String, String)>,
    arguments: RawJson,
    consent: Consent,
) -> Result<Arc<Try>, HubError> {
    let one = Arc::new(Try {
        id: random(16)?,
        session: version_of(session),
        server: entry.name().server.to_string(),
        tool: entry.name().tool.to_string(),
        posted,
        state: Mutex::new(TryState::Running { done: 0.0, total: None, message: None }),
        ended: Notify::new(),
    });
    {
        let mut tries = lock(&hub.tries.0);
        tries.push_back(Arc::clone(&one));
        if tries.len() > MOST {
            tries.pop_front();
        }
    }
    let (heard, live) = (Arc::clone(&one), Arc::clone(&hub.live));
    let on_progress: helve_wire::ProgressCallback = Arc::new(move |progress| {
        // What waits has not done anything yet.
        let (done, total, message) = (progress.progress.max(0.0), progress.total, progress.message);
        let mut state = lock(&heard.state);
        if matches!(*state, TryState::Running { .. }) {
            *state = TryState::Running { done, total, message };
        }
        drop(state);
        live.touch();
    });
    let mut asked = AskedAgent::default();
    asked.progress = Some(Arc::clone(&on_progress));
    let approver =
        hub.approvals.approver(asked, (consent == Consent::Given).then(|| answering(hub, entry.name().clone())));
    let context = context(&Actor::Session).with(|context| {
        context.on_progress = Some(on_progress);
        context.approver = Some(approver);
    });
    let (host, live): (Host, _) = (hub.host().clone(), Arc::clone(&hub.live));
    let (running, name) = (Arc::clone(&one), entry.name().to_string());
    tokio::spawn(async move {
        let ended = host.call(&name, arguments, context).await;
        *lock(&running.state) = TryState::Ended(Arc::new(ended));
        running.ended.notify_waiters();
        live.touch();
    });
    Ok(one)
}

/// The person who makes a call has said yes to it on the same page: their answer counts as a click does, if it is the first; not for
/// what the tool calls in turn.
fn answering(hub: &Arc<Hub>, tool: QualifiedName) -> OnAsked {
    let hub = Arc::clone(hub);
    let tell = Arc::new(move |id: &str| {
        if let Err(error) = approvals::allow(&hub, &Actor::Session, id) {
            tracing::debug!(%error, id, "somebody else was first");
        }
    });
    OnAsked { tool, tell }
}

impl Try {
    pub(crate) fn state(&self) -> TryState {
        lock(&self.state).clone()
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(*lock(&self.state), TryState::Running { .. })
    }

    /// Waits until it has ended.
    pub(crate) async fn wait(&self) {
        let ended = self.ended.notified();
        tokio::pin!(ended);
        ended.as_mut().enable();
        if self.is_running() {
            ended.await;
        }
    }
}

impl std::fmt::Debug for Try {
    /// Without what the form held.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Try").field("server", &self.server).field("tool", &self.tool).finish_non_exhaustive()
    }
}
