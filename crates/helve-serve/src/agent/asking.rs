//! What an agent is asked, and on which of its streams: by a request of the legacy era, or by the result of a call.

use std::sync::{Arc, Weak};

use helve::Answerer;
use helve_model::json::RawJson;
use helve_model::protocol::code;
use helve_model::sync::lock;
use helve_model::{Owner, ServerName};
use helve_wire::plane::AnswerId;
use helve_wire::{BoxFuture, ClientCapabilities, EraPreference, PeerQuestion, QuestionKind, RpcError};

use super::{Agent, Clients};
use crate::conversation::Conversation;
use crate::gate;
use crate::outbox::Outlet;
use crate::refusal;

impl Agent {
    /// Where things go that name no request: to the newest one that is open, for somebody reads that stream. `None` when
    /// nobody would hear them.
    pub(super) fn nearest_stream(&self) -> Option<Arc<dyn Outlet>> {
        let open: Vec<Arc<dyn Outlet>> = lock(&self.state).streams.iter().rev().filter_map(Weak::upgrade).collect();
        match open.iter().find(|stream| stream.is_heard()) {
            Some(heard) => Some(Arc::clone(heard)),
            None => open.is_empty().then(|| Arc::clone(&self.standalone)),
        }
    }

    /// Asks the agent by a request on this stream. A task that it makes of the question is the asking server's: no other may
    /// ask about it.
    pub(crate) async fn ask(
        &self,
        server: &ServerName,
        question: PeerQuestion,
        stream: &dyn Outlet,
    ) -> Result<RawJson, RpcError> {
        let PeerQuestion { kind, params, .. } = question;
        gate::question(kind, params.as_ref(), &self.capabilities())?;
        let owner = Owner::new(self.principal.clone(), server.clone());
        let is_about_task = matches!(kind, QuestionKind::Task(_));
        if is_about_task {
            let id = params.as_ref().and_then(|params| params.member_str("taskId")).unwrap_or_default();
            if !self.made.has(&owner, &id) {
                return Err(refusal::invalid_params(format!("Unknown task: {id}")));
            }
        }
        let tasks = self.tasks.get();
        let params =
            params.map(|params| tasks.map_or_else(|| params.clone(), |tasks| tasks.for_agent(&owner, &params)));
        let answer = self.asked.ask(stream, kind.method(), params.as_ref()).await?;
        let made = answer.member("task").filter(|_| !is_about_task).and_then(|task| task.member_str("taskId"));
        if let Some(id) = made {
            self.made.keep(&owner, &id, (), 0);
        }
        Ok(tasks.map_or_else(|| answer.clone(), |tasks| tasks.for_server(&owner, &answer)))
    }

    /// An answer of the agent to something that it was asked.
    pub(crate) fn answered(&self, id: AnswerId, answer: Result<RawJson, RpcError>) {
        self.asked.answered(id, answer);
    }

    /// The call that a server of this agent speaks of. Of one client's calls it is most likely the newest that works, else
    /// the newest that waits for it; whichever it is, the same client hears of it. Of several clients' calls it is the only
    /// one that is open, or none: guessing would put one client's question to another.
    fn nearest_conversation(&self, server: &ServerName, about: Option<QuestionKind>) -> Option<Arc<Conversation>> {
        let open: Vec<Arc<Conversation>> = {
            let state = lock(&self.state);
            let newest_first = state.conversations.iter().rev().filter(|(of, _)| of == server);
            newest_first.filter_map(|(_, call)| call.upgrade()).collect()
        };
        if self.clients == Clients::Several {
            // A call that waits for its client has asked already; the one that works is the one that asks.
            let mut working = open.iter().filter(|call| !call.waits_for_the_agent());
            let ((Some(asking), None, _) | (None, _, [asking])) = (working.next(), working.next(), open.as_slice())
            else {
                return None;
            };
            return about.is_none_or(|kind| asking.capabilities().allow(kind)).then(|| Arc::clone(asking));
        }
        let mut can = open.iter().filter(|call| about.is_none_or(|kind| call.capabilities().allow(kind)));
        let working = can.clone().find(|call| !call.waits_for_the_agent());
        working.or_else(|| can.next()).cloned()
    }
}

/// What a server asks that is this agent's alone.
impl Answerer for Agent {
    fn capabilities(&self) -> ClientCapabilities {
        self.capabilities.get().cloned().unwrap_or_default()
    }

    fn era_preference(&self) -> EraPreference {
        if self.is_asked_in_the_old_way() { EraPreference::Legacy } else { EraPreference::Newest }
    }

    fn question<'a>(
        &'a self,
        server: &'a ServerName,
        question: PeerQuestion,
    ) -> BoxFuture<'a, Result<RawJson, RpcError>> {
        Box::pin(async move {
            if self.version().is_some() {
                let method = question.kind.method();
                let Some(stream) = self.nearest_stream() else { return Err(RpcError::method_not_found(method)) };
                return self.ask(server, question, &*stream).await;
            }
            match self.nearest_conversation(server, Some(question.kind)) {
                Some(conversation) => conversation.ask(question).await,
                None if self.clients == Clients::Several => Err(ambiguous()),
                None => Err(RpcError::method_not_found(question.kind.method())),
            }
        })
    }

    fn log(&self, server: &ServerName, params: &RawJson) {
        match self.nearest_conversation(server, None) {
            Some(conversation) => conversation.log(server, params),
            None => {
                if let Some(stream) = self.nearest_stream() {
                    self.hear_log(&*stream, params);
                }
            }
        }
    }
}

/// Why nobody is asked.
fn ambiguous() -> RpcError {
    let message = "nobody was asked: the server does not say for which call it asks, and more than one may be open; make \
                   the call again while no other is open";
    RpcError { code: code::SERVER_ERROR, message: message.to_owned(), data: None }
}
