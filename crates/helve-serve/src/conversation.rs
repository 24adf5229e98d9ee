//! A call for an agent that is asked by result: what comes up while the call is open waits for the agent's next request.
//!
//! A legacy server asks in the middle of a call, and so does the door. A modern agent cannot be asked then: its request is
//! answered with the question, the call stays open here (*parked*), and the agent's next request brings the answer.

use helve_model::protocol::notifications;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use helve::Answerer;
use helve_model::ServerName;
use helve_model::json::{ObjectWriter, RawJson};
use helve_wire::{
    BoxFuture, ClientCapabilities, LogLevel, PeerQuestion, Progress, ProgressCallback, QuestionKind, RpcError,
};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::AbortHandle;

use crate::agent::Agent;
use crate::exchange::tell_progress;
use crate::gate;
use crate::gateway::Gateway;
use crate::ledger::Held;
use crate::message::Message;
use crate::outbox::Outlet;
use crate::refusal::invalid_params;
use crate::seal::{CallDigest, Sealed};
use helve_model::sync::lock;

type Outcome = Result<RawJson, RpcError>;

/// The agent's side of one open call.
pub(crate) struct Conversation {
    capabilities: ClientCapabilities,
    /// Of the agent's newest request for this call.
    line: Mutex<Line>,
    questions: mpsc::UnboundedSender<OpenQuestion>,
    /// Questions that the agent has not answered yet.
    open: AtomicUsize,
}

/// Where things go that belong to the agent's newest request.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) stream: Arc<dyn Outlet>,
    pub(crate) progress_token: Option<RawJson>,
    /// The agent hears log messages from this level on; `None`: none.
    pub(crate) log_from: Option<LogLevel>,
}

/// A call being made, and what it wants to know.
pub(crate) struct OpenCall {
    pub(crate) conversation: Arc<Conversation>,
    /// What is called: nobody goes on with it as with another call.
    digest: CallDigest,
    questions: mpsc::UnboundedReceiver<OpenQuestion>,
    /// Asked and not answered.
    open: Vec<(String, OpenQuestion)>,
    asked: u64,
    /// Bytes of what the agent said in it.
    bytes: usize,
    server: ServerName,
    /// Says that it has waited for a person long enough to become a task.
    overdue: Option<Arc<Notify>>,
}

struct OpenQuestion {
    kind: QuestionKind,
    params: Option<RawJson>,
    answer: oneshot::Sender<Outcome>,
}

/// Calls that wait for an agent to come back.
#[derive(Debug, Default)]
pub(crate) struct SuspendedCalls {
    last: Mutex<u64>,
    calls: Mutex<HashMap<u64, Parked>>,
}

struct Parked {
    call: OpenCall,
    work: BoxFuture<'static, Outcome>,
    expiry: AbortHandle,
    /// It counts for its principal for as long as it waits, and so do its bytes.
    held: [Held; 2],
}

impl OpenCall {
    /// A call for which this agent is asked by its servers.
    pub(crate) fn new(
        agent: &Arc<Agent>,
        server: &ServerName,
        digest: CallDigest,
        bytes: usize,
        capabilities: ClientCapabilities,
        line: Line,
    ) -> Self {
        let (sender, questions) = mpsc::unbounded_channel();
        let conversation = Arc::new(Conversation {
            capabilities,
            line: Mutex::new(line),
            questions: sender,
            open: AtomicUsize::new(0),
        });
        agent.converses(server, &conversation);
        let server = server.clone();
        Self { conversation, digest, questions, open: Vec::new(), asked: 0, bytes, server, overdue: None }
    }

    /// The same call, which becomes a task when it is told that it waits too long.
    pub(crate) fn becoming_task(mut self, overdue: Option<Arc<Notify>>) -> Self {
        self.overdue = overdue;
        self
    }

    /// Works until the call is done, or something has to be asked: then the result is the question.
    pub(crate) async fn run(
        mut self,
        gateway: &Arc<Gateway>,
        principal: &crate::principal::Principal,
        mut work: BoxFuture<'static, Outcome>,
    ) -> Outcome {
        if self.open.is_empty() {
            tokio::select! {
                biased;
                outcome = &mut work => return outcome,
                Some(asked) = self.questions.recv() => self.take(asked),
                () = told(self.overdue.as_deref()) => {
                    let Self { conversation, server, .. } = self;
                    return gateway.held_tasks.keep(gateway, principal, &server, conversation, work);
                }
            }
        }
        while let Ok(asked) = self.questions.try_recv() {
            self.take(asked);
        }
        let requests = self.requests();
        let call = self.digest;
        let bytes = self.bytes.saturating_add(requests.len());
        let held = [
            gateway.ledger.parked.hold(principal, 1).await?,
            gateway.ledger.parked_bytes.hold(principal, bytes).await?,
        ];
        let handle = gateway.suspended_calls.park(gateway, self, work, held);
        let lasts = gateway.options.limits.parked_time;
        let state = gateway.seal.seal(principal, &Sealed::Parked { call, handle }, lasts);
        let result = ObjectWriter::new().text("resultType", "input_required").raw("inputRequests", requests);
        Ok(result.text("requestState", &state).finish())
    }

    /// Hands over the answers that the agent brought; what it left out stays open.
    fn answer(&mut self, responses: Option<&RawJson>) {
        let open = std::mem::take(&mut self.open);
        for (key, asked) in open {
            match responses.and_then(|responses| responses.member(&key)) {
                // Whoever asked may have given up.
                Some(answer) => drop(asked.answer.send(Ok(answer))),
                None => self.open.push((key, asked)),
            }
        }
    }

    fn take(&mut self, asked: OpenQuestion) {
        self.asked += 1;
        self.open.push((format!("question-{}", self.asked), asked));
    }

    fn requests(&self) -> String {
        self.open
            .iter()
            .fold(ObjectWriter::new(), |requests, (key, asked)| {
                let request = ObjectWriter::new().text("method", asked.kind.method());
                requests.object(key, request.optional("params", asked.params.as_ref()))
            })
            .into_text()
    }
}

/// Waits to be told; without anybody who could, for ever.
async fn told(overdue: Option<&Notify>) {
    match overdue {
        Some(overdue) => overdue.notified().await,
        None => std::future::pending().await,
    }
}

impl SuspendedCalls {
    fn park(&self, gateway: &Arc<Gateway>, call: OpenCall, work: BoxFuture<'static, Outcome>, held: [Held; 2]) -> u64 {
        let handle = {
            let mut last = lock(&self.last);
            *last += 1;
            *last
        };
        let (weak, lasts) = (Arc::downgrade(gateway), gateway.options.limits.parked_time);
        let expiry = tokio::spawn(async move {
            tokio::time::sleep(lasts).await;
            if let Some(gateway) = Weak::upgrade(&weak) {
                // Dropping the call tells the server.
                drop(gateway.suspended_calls.take(handle));
            }
        });
        let parked = Parked { call, work, expiry: expiry.abort_handle(), held };
        lock(&self.calls).insert(handle, parked);
        handle
    }

    fn take(&self, handle: u64) -> Option<Parked> {
        lock(&self.calls).remove(&handle)
    }

    /// Goes on with a call that was parked.
    pub(crate) async fn resume(
        &self,
        gateway: &Arc<Gateway>,
        principal: &crate::principal::Principal,
        handle: u64,
        line: Line,
        responses: Option<&RawJson>,
    ) -> Outcome {
        let Some(Parked { mut call, work, expiry, held }) = self.take(handle) else {
            return Err(invalid_params("this call waits no longer: make it again"));
        };
        expiry.abort();
        drop(held);
        *lock(&call.conversation.line) = line;
        call.answer(responses);
        call.run(gateway, principal, work).await
    }
}

impl Conversation {
    pub(crate) fn on_progress(self: &Arc<Self>) -> ProgressCallback {
        let conversation = Arc::clone(self);
        Arc::new(move |progress: Progress| {
            let Line { stream, progress_token, .. } = lock(&conversation.line).clone();
            if let Some(token) = progress_token {
                tell_progress(&*stream, &token, &progress);
            }
        })
    }

    /// A question of a server that the agent's own connection got, and that belongs to this call.
    pub(crate) async fn ask(&self, question: PeerQuestion) -> Outcome {
        let refused = || RpcError::method_not_found(question.kind.method());
        if !self.capabilities.allow(question.kind) {
            return Err(refused());
        }
        // The agent would be told what it lacks, and the call would wait for an answer that cannot come.
        gate::question(question.kind, question.params.as_ref(), &self.capabilities)?;
        let (answer, answered) = oneshot::channel();
        let asked = OpenQuestion { kind: question.kind, params: question.params.clone(), answer };
        self.questions.send(asked).map_err(|_| refused())?;
        self.open.fetch_add(1, Ordering::Relaxed);
        let answer = answered.await.unwrap_or_else(|_| Err(refused()));
        self.open.fetch_sub(1, Ordering::Relaxed);
        answer
    }

    /// True while the agent owes an answer: a call that waits for one is not the one that asks the next question.
    pub(crate) fn waits_for_the_agent(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }
}

impl Answerer for Conversation {
    fn capabilities(&self) -> ClientCapabilities {
        self.capabilities.clone()
    }

    fn question<'a>(&'a self, _server: &'a ServerName, question: PeerQuestion) -> BoxFuture<'a, Outcome> {
        Box::pin(self.ask(question))
    }

    fn log(&self, _server: &ServerName, params: &RawJson) {
        let Line { stream, log_from, .. } = lock(&self.line).clone();
        let level = params.member_str("level").and_then(|word| LogLevel::from_word(&word)).unwrap_or_default();
        if log_from.is_some_and(|from| level >= from) && params.check().is_ok() {
            stream.send(Message::notification(notifications::MESSAGE, Some(params)));
        }
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Conversation").field("capabilities", &self.capabilities).finish_non_exhaustive()
    }
}

impl fmt::Debug for Parked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Parked").field("call", &self.call.digest).finish_non_exhaustive()
    }
}
