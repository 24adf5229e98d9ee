//! What one server tells the host and asks of it: on its connection, and in the course of one call.

use helve_model::protocol::notifications;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use helve_model::ServerName;
use helve_model::json::RawJson;
use helve_wire::{BoxFuture, ClientCapabilities, Notification, PeerHandler, PeerQuestion, QuestionKind, RpcError};
use tokio::sync::{Notify, watch};

use crate::answerer::Answerer;
use crate::call::whereabouts::read_roots;
use crate::event::{EventSink, HostEvent, StartStep};
use crate::server_handle::ServerHandle;
use crate::slots::Slots;
use crate::watch::Subscriptions;
use helve_model::sync::lock;

/// Listens to one server for its supervisor.
#[derive(Debug)]
pub(crate) struct ServerHandler {
    pub(crate) server: ServerName,
    pub(crate) events: EventSink,
    pub(crate) answerer: Arc<dyn Answerer>,
    /// The list of tools has changed. Holds one permit at most, so that a flood is one change.
    pub(crate) tools_changed: Arc<Notify>,
    /// Whether the server has asked for its directories, on this connection.
    pub(crate) roots: watch::Sender<RootsAsked>,
    /// Whose connection it is.
    pub(crate) handle: Weak<ServerHandle>,
}

impl ServerHandler {
    /// Tells that the connection has come a step further.
    pub(crate) fn started(&self, step: impl FnOnce() -> StartStep) {
        self.events.send(|| HostEvent::Starting { server: self.server.clone(), step: step() });
    }
}

/// How far a server is with asking for the directories it is to work in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum RootsAsked {
    /// Not at all.
    #[default]
    NotYet,
    /// It has asked.
    Asked,
    /// It was answered.
    Answered,
}

/// Listens to one server in the course of one call, for whoever made it.
#[derive(Debug)]
pub(crate) struct CallHandler {
    pub(crate) server: ServerName,
    pub(crate) events: EventSink,
    pub(crate) answerer: Arc<dyn Answerer>,
    /// Counts what the server asks.
    pub(crate) questions: Arc<AtomicU64>,
    /// The slots of the server.
    pub(crate) slots: Arc<Slots>,
}

impl PeerHandler for ServerHandler {
    fn capabilities(&self) -> ClientCapabilities {
        self.answerer.capabilities()
    }

    fn notification(&self, notification: Notification) {
        let Notification { method, params } = notification;
        let server = || self.server.clone();
        let params = || params.unwrap_or_else(RawJson::empty_object);
        match method.as_str() {
            notifications::TOOLS_LIST_CHANGED => self.tools_changed.notify_one(),
            notifications::RESOURCES_LIST_CHANGED => {
                self.events.send(|| HostEvent::ResourcesChanged { server: server() });
            }
            notifications::PROMPTS_LIST_CHANGED => {
                if let Some(handle) = self.handle.upgrade() {
                    *lock(handle.prompts()) = None;
                }
                self.events.send(|| HostEvent::PromptsChanged { server: server() });
            }
            notifications::MESSAGE => logged(&self.server, &self.events, &self.answerer, &params()),
            _ => {
                let params = params();
                if method == notifications::RESOURCES_UPDATED
                    && let Some(handle) = self.handle.upgrade()
                {
                    handle.subscriptions().updated(&params);
                }
                self.events.send(|| HostEvent::Notification { server: server(), method, params });
            }
        }
    }

    fn renewed(&self) {
        if let Some(handle) = self.handle.upgrade()
            && let Some(session) = handle.session_now()
        {
            Subscriptions::restore(&handle, &session);
        }
    }

    fn question(&self, question: PeerQuestion) -> BoxFuture<'_, Result<RawJson, RpcError>> {
        if let Some(handle) = self.handle.upgrade() {
            handle.question_count().fetch_add(1, Ordering::Relaxed);
        }
        if question.kind != QuestionKind::Roots {
            return Box::pin(async move {
                let slots = self.handle.upgrade().map(|handle| Arc::clone(handle.slots()));
                let _open = slots.as_ref().map(|slots| slots.question());
                self.answerer.question(&self.server, question).await
            });
        }
        self.roots.send_replace(RootsAsked::Asked);
        Box::pin(async move {
            let answer = self.answerer.question(&self.server, question).await;
            if let (Ok(answer), Some(handle)) = (&answer, self.handle.upgrade()) {
                handle.was_given(read_roots(answer));
            }
            self.roots.send_replace(RootsAsked::Answered);
            answer
        })
    }
}

impl PeerHandler for CallHandler {
    fn capabilities(&self) -> ClientCapabilities {
        self.answerer.capabilities()
    }

    fn notification(&self, notification: Notification) {
        let params = notification.params.unwrap_or_else(RawJson::empty_object);
        logged(&self.server, &self.events, &self.answerer, &params);
    }

    fn question(&self, question: PeerQuestion) -> BoxFuture<'_, Result<RawJson, RpcError>> {
        self.questions.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            let _open = self.slots.question();
            self.answerer.question(&self.server, question).await
        })
    }
}

fn logged(server: &ServerName, events: &EventSink, answerer: &Arc<dyn Answerer>, params: &RawJson) {
    answerer.log(server, params);
    events.send(|| HostEvent::Log { server: server.clone(), params: params.clone() });
}
