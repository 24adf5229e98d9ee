//! One request being answered: whose it is, in which era, and where things go that belong to it.

use std::fmt;
use std::sync::Arc;

use helve::{Answerer, CallContext, CallError};
use helve_model::ServerName;
use helve_model::json::RawJson;
use helve_policy::Caller;
use helve_wire::{BoxFuture, ClientCapabilities, Progress, ProgressCallback, Question, Relayed, RpcError};

use crate::agent::Agent;
use crate::catalog::Catalog;
use crate::door::DoorApprover;
use crate::gateway::{Gateway, Lodging};
use crate::message::Message;
use crate::news::Level;
use crate::outbox::Outlet;
use crate::request::{Meta, Request, with_member};

/// What an agent hears that has not said from which level on it wants to hear log messages.
const UNASKED_LOG_LEVEL: &str = "info";

/// What answering a request needs to know.
#[derive(Clone)]
pub(crate) struct Exchange {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) agent: Arc<Agent>,
    /// For what belongs to this request.
    pub(crate) stream: Arc<dyn Outlet>,
}

impl Exchange {
    /// The host that runs a server for this agent.
    pub(crate) async fn host_for(&self, server: &ServerName) -> Result<Lodging, CallError> {
        self.gateway.host_for(&self.agent, server).await
    }

    /// How a call is made for an agent that is asked while it waits. What is to become a task stays one.
    pub(crate) fn context(&self, server: &ServerName, request: &Request, meta: &Meta) -> CallContext {
        let answerer: Arc<dyn Answerer> = Arc::new(self.clone());
        let task = request.param("task").map(|task| Relayed { task: Some(task), ..Relayed::default() });
        let on_progress = meta.progress_token.clone().map(|token| relay_progress(Arc::clone(&self.stream), token));
        let mut context =
            CallContext { on_progress, relayed: task, ..self.common_context(server, answerer, request, meta) };
        // A modern server logs only for those who say so in each request; an agent of the other era need not say anything.
        if self.gateway.may_be_modern(server) {
            let level = self.agent.log_level().map_or(UNASKED_LOG_LEVEL, Level::word);
            context.meta = Some(with_log_level(context.meta.as_ref(), level));
        }
        context
    }

    /// What calls of both eras have in common.
    pub(crate) fn common_context(
        &self,
        server: &ServerName,
        answerer: Arc<dyn Answerer>,
        request: &Request,
        meta: &Meta,
    ) -> CallContext {
        self.gateway.open_calls.add(server, &answerer);
        CallContext {
            meta: meta.rest.clone(),
            more: request.more(),
            uncut: true,
            approver: DoorApprover::of(&answerer),
            approvals: Some(self.agent.approvals.clone()),
            answerer: Some(answerer),
            ..CallContext::new(Caller::Agent)
        }
    }

    /// What the agent sees.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.agent.catalog(&self.gateway)
    }
}

fn with_log_level(meta: Option<&RawJson>, level: &str) -> RawJson {
    let member = format!(r#""io.modelcontextprotocol/logLevel":"{level}""#);
    match meta.and_then(|meta| meta.as_str().strip_suffix('}')) {
        Some(open) => RawJson::assembled(format!("{open},{member}}}")),
        None => RawJson::assembled(format!("{{{member}}}")),
    }
}

/// What a server asks and logs in the course of a call goes to the agent that made it, on the stream of that call.
impl Answerer for Exchange {
    fn capabilities(&self) -> ClientCapabilities {
        self.agent.capabilities()
    }

    fn question<'a>(&'a self, _server: &'a ServerName, question: Question) -> BoxFuture<'a, Result<RawJson, RpcError>> {
        Box::pin(async move {
            let method = question.kind.method();
            if !self.stream.is_heard() {
                return Err(RpcError::method_not_found(method));
            }
            self.agent.asked.ask(&*self.stream, method, question.params.as_ref()).await
        })
    }

    fn log(&self, _server: &ServerName, params: &RawJson) {
        self.agent.hear_log(&*self.stream, params);
    }
}

/// Progress goes to the agent in wire order, under the agent's own token.
fn relay_progress(stream: Arc<dyn Outlet>, token: RawJson) -> ProgressCallback {
    Arc::new(move |progress: Progress| tell_progress(&*stream, &token, &progress))
}

pub(crate) fn tell_progress(stream: &dyn Outlet, token: &RawJson, progress: &Progress) {
    if progress.raw.check().is_ok() {
        let params = with_member(&progress.raw, "progressToken", token.as_str());
        stream.send(Message::notification("notifications/progress", Some(&params)));
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Exchange").field("agent", &self.agent).finish_non_exhaustive()
    }
}
