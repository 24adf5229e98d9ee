//! Trying a tool: the same way of a call as an agent's, as the person at the page or the holder of a token.

use std::sync::Arc;

use helve::{CallContext, CallError, CallOutcome, CallSource, Door, Host, ToolEntry};
use helve_model::json::RawJson;
use helve_model::{Action, Principal, QualifiedName};
use helve_policy::{Caller, Explanation, Whereabouts};
use helve_serve::{AskedAgent, PageWay};

use super::approvals;
use super::files::version_of;
use super::followed::{Followed, FollowedWork, WorkState};
use crate::actor::Actor;
use crate::approval_queue::OnAsked;
use crate::error::HubError;
use crate::hub::Hub;

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
pub(crate) type Try = Followed<TriedTool, TryState>;

/// Tries of all sessions.
pub(crate) type Tries = FollowedWork<TriedTool, TryState>;

/// What is tried.
pub(crate) struct TriedTool {
    pub(crate) server: String,
    pub(crate) tool: String,
    /// What the form held.
    pub(crate) posted: Vec<(String, String)>,
}

/// How far a try is.
#[derive(Debug, Clone)]
pub(crate) enum TryState {
    Running { done: f64, total: Option<f64>, message: Option<String> },
    Ended(Arc<Result<CallOutcome, CallError>>),
}

impl WorkState for TryState {
    const WORK: &'static str = "call";
    const MOST: usize = 32;

    fn is_running(&self) -> bool {
        matches!(self, Self::Running { .. })
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
    let tried = TriedTool { server: entry.name().server.to_string(), tool: entry.name().tool.to_string(), posted };
    let one = hub.tries.begin(session, tried, TryState::Running { done: 0.0, total: None, message: None })?;
    let (heard, live) = (Arc::clone(&one), Arc::clone(&hub.live));
    let on_progress: helve_wire::ProgressCallback = Arc::new(move |progress| {
        // What waits has not done anything yet.
        let (done, total, message) = (progress.progress.max(0.0), progress.total, progress.message);
        heard.update(|state| {
            if state.is_running() {
                *state = TryState::Running { done, total, message };
            }
        });
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
        running.end(TryState::Ended(Arc::new(ended)));
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
