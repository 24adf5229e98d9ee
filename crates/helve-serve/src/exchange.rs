//! One request being answered: whose it is, in which era, and where things go that belong to it.

use helve_model::protocol::notifications;
use std::fmt;
use std::sync::Arc;

use helve::{Answerer, Approver, CallContext, CallError, RefusalListener, Turn};
use helve_model::json::{ObjectWriter, RawJson, strict};
use helve_model::protocol::meta as meta_key;
use helve_model::{Owner, ServerName, Validation};
use helve_policy::Caller;
use helve_wire::{
    BoxFuture, ClientCapabilities, LogLevel, PeerQuestion, Progress, ProgressCallback, Relayed, RpcError,
};
use tokio::sync::Notify;

use crate::agent::{Agent, Clients};
use crate::approver_source::{AskedAgent, PageStyle};
use crate::assigned_host::AssignedHost;
use crate::catalog::Catalog;
use crate::discovery::OWN_TOOLBOX;
use crate::elicit_approval::{ElicitingApprover, Lasting};
use crate::gate::{Meta, Request};
use crate::gateway::{Gateway, is_the_persons};
use crate::ledger::{Exceeded, Taken, Taker, Turns, UNCOUNTED_BYTES};
use crate::message::Message;
use crate::named_questions::NamedAnswerer;
use crate::observer::Refusals;
use crate::outbox::Outlet;
use crate::refusal;
use crate::sign_in_question::SignInQuestion;
use crate::tools::FoundTool;

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
    pub(crate) async fn host_for(&self, server: &ServerName) -> Result<AssignedHost, CallError> {
        self.gateway.host_for(&self.agent, server).await
    }

    /// The host that runs the server of a tool for this agent.
    pub(crate) async fn host_for_tool(&self, found: &FoundTool) -> Result<AssignedHost, RpcError> {
        let assigned = self.gateway.host_for_tool(&self.agent, &found.tool.name().server, &found.catalog).await;
        assigned.map_err(|error| refusal::of_call(&error))
    }

    /// A turn at a server for something that is not a call of its own, where agents share that server.
    pub(crate) async fn turn_at(&self, server: &ServerName) -> Result<Option<Taken>, RpcError> {
        match self.gateway.turns_at(&self.agent, server) {
            Some(turns) => Ok(Some(turns.take(&self.agent.taker()).await?)),
            None => Ok(None),
        }
    }

    /// How a call is made for an agent that is asked while it waits. What is to become a task stays one.
    pub(crate) fn context(
        &self,
        assigned: &AssignedHost,
        server: &ServerName,
        request: &Request,
        meta: &Meta,
    ) -> CallContext {
        let answerer: Arc<dyn Answerer> = Arc::new(self.clone());
        // A modern server makes tasks of its own accord, and is to be answered here until it is done.
        let task = request.param("task").filter(|_| !assigned.may_be_modern());
        let task = task.map(|task| Relayed { task: Some(task), ..Relayed::default() });
        let on_progress = meta.progress_token.clone().map(|token| relay_progress(Arc::clone(&self.stream), token));
        let approver = self.approver(&answerer, PageStyle::WithError, waits_on(server, meta), on_progress.clone());
        let mut context = self.common_context(assigned, server, answerer, request, meta).with(|context| {
            context.approver = approver;
            context.on_progress = on_progress;
            context.relayed = task;
        });
        // A modern server logs only for those who say so in each request; an agent of the other era need not say anything.
        if assigned.may_be_modern() {
            let level = self.agent.log_level().map_or(UNASKED_LOG_LEVEL, LogLevel::as_str);
            context.meta = Some(with_log_level(context.meta.as_ref(), level));
        }
        context
    }

    /// What calls of both eras have in common, but for whoever decides where a rule says *ask*.
    pub(crate) fn common_context(
        &self,
        assigned: &AssignedHost,
        server: &ServerName,
        answerer: Arc<dyn Answerer>,
        request: &Request,
        meta: &Meta,
    ) -> CallContext {
        let mut context = CallContext::new(Caller::Agent);
        context.principal = self.agent.principal.clone();
        context.scope = self.agent.reach.scope().clone();
        context.source = self.agent.source(meta.client_info.as_ref());
        context.meta = meta.rest.as_ref().map(|meta| self.gateway.tasks.meta_for_server(&self.owner(server), meta));
        context.more = request.more();
        // What an agent gets directly it gets here: the server knows best what it can make something of.
        context.validation = Validation::Server;
        let (questions, owner) = (&self.gateway.sign_in_questions, self.gateway.options.owner.as_ref());
        context.signs_in = SignInQuestion::of(questions, &self.agent.principal, owner, &answerer);
        context.leaves_unlisted = self.leaves_unlisted();
        context.refusals = self.refusals();
        context.approvals = Some(self.agent.approvals.clone());
        context.turns = self.turns(assigned, server);
        context.answerer = Some(NamedAnswerer::of(answerer));
        context
    }

    /// Whose it is what this server makes for this agent.
    pub(crate) fn owner(&self, server: &ServerName) -> Owner {
        Owner::new(self.agent.principal.clone(), server.clone())
    }

    /// What a decision needs that is not a call: whom to ask. An agent that is asked by result cannot be asked here.
    pub(crate) fn asking_context(&self, meta: &Meta) -> CallContext {
        let answerer: Arc<dyn Answerer> = Arc::new(self.clone());
        let approver = match &self.gateway.options.approvals {
            Some(source) if meta.protocol_version.is_some() => Some(source.approver(AskedAgent::default())),
            Some(_) => self.approver(&answerer, PageStyle::Never, None, None),
            None => ElicitingApprover::of(&answerer, self.lasting()).filter(|_| meta.protocol_version.is_none()),
        };
        let approvals = Some(self.agent.approvals.clone());
        let (principal, scope) = (self.agent.principal.clone(), self.agent.reach.scope().clone());
        let (leaves_unlisted, refusals) = (self.leaves_unlisted(), self.refusals());
        let source = self.agent.source(meta.client_info.as_ref());
        CallContext::new(Caller::Agent).with(|context| {
            context.principal = principal;
            context.scope = scope;
            context.source = source;
            context.approver = approver;
            context.leaves_unlisted = leaves_unlisted;
            context.refusals = refusals;
            context.approvals = approvals;
        })
    }

    /// Whoever decides where a rule says *ask*.
    pub(crate) fn approver(
        &self,
        answerer: &Arc<dyn Answerer>,
        pages: PageStyle,
        task: Option<Arc<Notify>>,
        progress: Option<ProgressCallback>,
    ) -> Option<Arc<dyn Approver>> {
        match &self.gateway.options.approvals {
            Some(source) => {
                let form = ElicitingApprover::beside_others(answerer);
                Some(source.approver(AskedAgent { form, page: pages.way(answerer), task, progress }))
            }
            None => ElicitingApprover::of(answerer, self.lasting()),
        }
    }

    /// For how long a person may say yes where this agent asks them.
    fn lasting(&self) -> Lasting {
        match self.agent.clients() {
            Clients::Several => Lasting::Once,
            // What is for good is everybody's, and only the person whose rules these are can say that.
            Clients::One if self.gateway.options.keeps_approvals && is_the_persons(&self.agent.principal) => {
                Lasting::Always
            }
            Clients::One => Lasting::UntilTheEnd,
        }
    }

    fn leaves_unlisted(&self) -> bool {
        self.gateway.options.unlisted.leaves_to(&self.agent.principal)
    }

    /// Hears what is refused to this agent.
    fn refusals(&self) -> Option<Arc<dyn RefusalListener>> {
        let observer = Arc::clone(self.gateway.options.observer.as_ref()?);
        Some(Arc::new(Refusals { observer, visitor: self.agent.visitor() }))
    }

    /// Hands out turns at a server that agents share.
    fn turns(&self, assigned: &AssignedHost, server: &ServerName) -> Option<Arc<dyn helve::Turns>> {
        let turns = self.gateway.turns_of(assigned, server)?;
        Some(Arc::new(AgentTurns { turns, taker: self.agent.taker() }))
    }

    /// The answer to a request, counted until the agent has read it; a large one is refused while its principal leaves too
    /// much unread.
    pub(crate) fn answered(&self, id: &RawJson, answer: &Result<RawJson, RpcError>) -> Message {
        self.counted(id, Message::answer(id, answer))
    }

    /// The same for an answer that is written already.
    pub(crate) fn counted(&self, id: &RawJson, message: Message) -> Message {
        if message.len() <= UNCOUNTED_BYTES {
            return message;
        }
        match self.gateway.ledger.unread_bytes.try_hold(&self.agent.principal, message.len()) {
            Ok(held) => message.holding(held),
            Err(exceeded) => Message::answer(id, &Err(exceeded.into())),
        }
    }

    /// What the agent sees.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.agent.catalog(&self.gateway)
    }
}

/// One agent's turns at one server.
struct AgentTurns {
    turns: Turns,
    taker: Taker,
}

impl helve::Turns for AgentTurns {
    fn take<'a>(&'a self, _server: &'a ServerName) -> BoxFuture<'a, Result<Turn, CallError>> {
        Box::pin(async move {
            let taken = self.turns.take(&self.taker).await;
            taken.map(Turn::new).map_err(Exceeded::call_error)
        })
    }
}

fn with_log_level(meta: Option<&RawJson>, level: &str) -> RawJson {
    meta.map_or_else(ObjectWriter::new, ObjectWriter::after).text(meta_key::LOG_LEVEL, level).finish()
}

/// What a server asks and logs in the course of a call goes to the agent that made it, on the stream of that call.
impl Answerer for Exchange {
    fn capabilities(&self) -> ClientCapabilities {
        self.agent.capabilities()
    }

    fn question<'a>(
        &'a self,
        server: &'a ServerName,
        question: PeerQuestion,
    ) -> BoxFuture<'a, Result<RawJson, RpcError>> {
        Box::pin(async move {
            if !self.stream.is_heard() {
                return Err(RpcError::method_not_found(question.kind.method()));
            }
            self.agent.ask(server, question, &*self.stream).await
        })
    }

    fn log(&self, _server: &ServerName, params: &RawJson) {
        self.agent.hear_log(&*self.stream, params);
    }
}

/// A program that waits for a person goes on waiting as long as its agent hears that it does: what it has called would be called
/// again if it ran again.
pub(crate) fn waits_on(server: &ServerName, meta: &Meta) -> Option<Arc<Notify>> {
    (server.as_str() == OWN_TOOLBOX && meta.progress_token.is_some()).then(Arc::default)
}

/// Progress goes to the agent in wire order, under the agent's own token.
fn relay_progress(stream: Arc<dyn Outlet>, token: RawJson) -> ProgressCallback {
    Arc::new(move |progress: Progress| tell_progress(&*stream, &token, &progress))
}

pub(crate) fn tell_progress(stream: &dyn Outlet, token: &RawJson, progress: &Progress) {
    if strict::check(progress.raw.as_str()).is_ok() {
        let params = progress.raw.replacing("progressToken", token.as_str());
        stream.send(Message::notification(notifications::PROGRESS, Some(&params)));
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Exchange").field("agent", &self.agent).finish_non_exhaustive()
    }
}
