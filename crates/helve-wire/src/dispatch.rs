//! Where every message of the peer goes: an answer to its slot, progress to its call, a notification to the handler, a
//! question to a task that answers it. One message at a time, in wire order.

use helve_model::protocol::{methods, notifications};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytestring::ByteString;
use helve_model::json::RawJson;
use helve_model::protocol::code;
use helve_model::{ErrorCode, SecretSet, ServerName, mark_redacted, text};
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::task::JoinSet;

use crate::encode;
use crate::envelope::{self, AnswerId, Incoming};
use crate::era::modern;
use crate::error::{Error, RpcError};
use crate::handler::{ClientCapabilities, Notification, PeerHandler, PeerQuestion, Progress, QuestionKind};
use crate::limits::Limits;
use crate::pending::{Answer, Closed, Pending};
use crate::wire_log::{self, Way};
use helve_model::sync::lock;

/// How many lines of noise are kept for diagnostics, and how much of each.
const NOISE_KEPT: usize = 3;
const NOISE_CHARACTERS: usize = 200;

/// The way back to the peer, for our answers to its questions.
pub(crate) trait Outlet: Send + Sync + 'static {
    /// Sends one message without waiting for it to be read.
    fn send(&self, message: Vec<u8>);
}

/// What all transports of one connection share.
pub(crate) struct Dispatcher {
    /// Whose messages these are, in log lines.
    server: Arc<str>,
    pub(crate) pending: Arc<Pending>,
    redaction: Option<Redaction>,
    handler: Arc<dyn PeerHandler>,
    capabilities: ClientCapabilities,
    /// In the modern era a server must not send requests, and a client must not answer any.
    answers_questions: AtomicBool,
    question_turns: Arc<Semaphore>,
    /// Being answered; they end with the connection.
    questions: Mutex<JoinSet<()>>,
    open_questions: OpenQuestions,
    noise: AtomicU64,
    noise_kept: Mutex<Vec<String>>,
    last_noise: Mutex<String>,
    unmatched: AtomicU64,
    ended: Notify,
}

/// What is taken out of the peer's messages before anybody hears them.
#[derive(Debug)]
pub(crate) struct Redaction {
    pub(crate) secrets: Arc<SecretSet>,
    /// Results stay as they are.
    pub(crate) leaves_results: bool,
}

/// Questions that are being answered, by the ids the peer gave them, so that it can take them back.
type OpenQuestions = Arc<Mutex<HashMap<RawJson, oneshot::Sender<()>>>>;

/// Where a message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageOrigin {
    /// The one stream of the connection.
    Connection,
    /// The answer to this request of ours.
    Request(u64),
}

impl Dispatcher {
    pub(crate) fn new(handler: Arc<dyn PeerHandler>, limits: &Limits) -> Self {
        Self {
            server: Arc::from(""),
            pending: Arc::new(Pending::new(limits.calls_in_flight)),
            redaction: None,
            capabilities: handler.capabilities(),
            handler,
            answers_questions: AtomicBool::new(true),
            question_turns: Arc::new(Semaphore::new(limits.questions_in_flight)),
            questions: Mutex::default(),
            open_questions: Arc::default(),
            noise: AtomicU64::new(0),
            noise_kept: Mutex::default(),
            last_noise: Mutex::default(),
            unmatched: AtomicU64::new(0),
            ended: Notify::new(),
        }
    }

    /// The same for a server of this name.
    pub(crate) fn of(self, server: &ServerName) -> Self {
        Self { server: Arc::from(server.as_str()), ..self }
    }

    /// The same, and these are taken out of what it says.
    pub(crate) fn without(self, redaction: Option<Redaction>) -> Self {
        Self { redaction, ..self }
    }

    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// What must not be said of what the peer says.
    pub(crate) fn secrets(&self) -> Option<&Arc<SecretSet>> {
        self.redaction.as_ref().map(|redaction| &redaction.secrets)
    }

    pub(crate) fn handler(&self) -> &Arc<dyn PeerHandler> {
        &self.handler
    }

    pub(crate) const fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    pub(crate) fn stop_answering_questions(&self) {
        self.answers_questions.store(false, Ordering::Relaxed);
    }

    /// Messages that were not JSON-RPC: how many, and the first few of them.
    pub(crate) fn noise(&self) -> (u64, Vec<String>) {
        (self.noise.load(Ordering::Relaxed), lock(&self.noise_kept).clone())
    }

    /// How many messages were not JSON-RPC.
    pub(crate) fn noises(&self) -> u64 {
        self.noise.load(Ordering::Relaxed)
    }

    /// What was heard that is not a message since there were so many, in words; `None` when there was nothing.
    pub(crate) fn noise_since(&self, before: u64) -> Option<String> {
        let count = self.noises().saturating_sub(before);
        let last = lock(&self.last_noise).clone();
        match count {
            0 => None,
            1 => Some(format!("it wrote a line that is not a message of the protocol: {last}")),
            count => {
                Some(format!("it wrote {count} lines that are not messages of the protocol, the last one: {last}"))
            }
        }
    }

    /// Answers to nothing that was asked, or asked no longer.
    pub(crate) fn unmatched(&self) -> u64 {
        self.unmatched.load(Ordering::Relaxed)
    }

    /// Takes one message, which may be a batch.
    pub(crate) fn deliver(&self, frame: &ByteString, origin: MessageOrigin, outlet: &Arc<dyn Outlet>) {
        if frame.trim_start().starts_with('[')
            && let Some(batch) = envelope::batch(frame)
        {
            for message in batch {
                self.deliver_one(&message, origin, outlet);
            }
            return;
        }
        self.deliver_one(frame, origin, outlet);
    }

    /// A message that cannot be accepted as it is, but whose request is known.
    pub(crate) fn reject(&self, id: u64, error: Error) {
        match self.pending.remove(id) {
            Some(slot) => slot.fill(Answer::Failed(error)),
            None => self.count_unmatched(),
        }
    }

    /// A message that is broken as a whole, but whose envelope may still tell the request it answers.
    pub(crate) fn deliver_broken(&self, text: &ByteString, error: Error) {
        let hidden = self.secrets().and_then(|secrets| secrets.hide_in_message(text)).map(ByteString::from);
        let text = hidden.as_ref().unwrap_or(text);
        wire_log::log(&self.server, Way::Heard, text.as_bytes());
        match envelope::read(text) {
            Incoming::Answer { id, .. } | Incoming::Unacceptable { id, .. } => {
                match self.find(id, MessageOrigin::Connection) {
                    Some(id) => self.reject(id, error),
                    None => self.count_unmatched(),
                }
            }
            Incoming::Request { .. } | Incoming::Notification { .. } | Incoming::Noise => self.count_noise(text),
        }
    }

    /// Ends the connection: no request is taken any more, all in flight fail.
    pub(crate) fn close(&self, closed: Closed, was_sent: impl Fn(u64) -> bool) {
        self.pending.close(closed, was_sent);
        // Nobody is left to answer.
        lock(&self.questions).abort_all();
        self.ended.notify_waiters();
    }

    /// Waits until the connection has ended, and says why.
    pub(crate) async fn ended(&self) -> Error {
        loop {
            let ended = self.ended.notified();
            if let Some(closed) = self.pending.closed() {
                return closed.to_error();
            }
            ended.await;
        }
    }

    pub(crate) fn count_noise(&self, text: &str) {
        let hidden = self.secrets().map(|secrets| secrets.hide(text));
        let text = hidden.as_deref().unwrap_or(text);
        self.noise.fetch_add(1, Ordering::Relaxed);
        if text.trim().is_empty() {
            return;
        }
        let beginning = text::cut(text.trim(), NOISE_CHARACTERS).into_owned();
        lock(&self.last_noise).clone_from(&beginning);
        let mut kept = lock(&self.noise_kept);
        if kept.len() < NOISE_KEPT {
            kept.push(beginning);
        }
    }

    fn deliver_one(&self, frame: &ByteString, origin: MessageOrigin, outlet: &Arc<dyn Outlet>) {
        if let Some(redaction) = &self.redaction
            && let Some(hidden) = redaction.secrets.hide_in_message(frame)
        {
            return self.deliver_hidden(frame, hidden.into(), redaction.leaves_results, origin, outlet);
        }
        wire_log::log(&self.server, Way::Heard, frame.as_bytes());
        self.sort(frame, origin, outlet);
    }

    /// A message from which something was taken. A result says so; where results are to stay as they are, it is the one that
    /// came.
    #[cold]
    fn deliver_hidden(
        &self,
        frame: &ByteString,
        hidden: ByteString,
        leaves_results: bool,
        origin: MessageOrigin,
        outlet: &Arc<dyn Outlet>,
    ) {
        wire_log::log(&self.server, Way::Heard, hidden.as_bytes());
        match envelope::read(&hidden) {
            Incoming::Answer { id, body: Ok(_) } if leaves_results => match envelope::read(frame) {
                Incoming::Answer { body, .. } => self.answer(id, origin, body),
                _ => self.count_noise(&hidden),
            },
            Incoming::Answer { id, body: Ok(result) } => self.answer(id, origin, Ok(mark_redacted(&result))),
            _ => self.sort(&hidden, origin, outlet),
        }
    }

    fn sort(&self, frame: &ByteString, origin: MessageOrigin, outlet: &Arc<dyn Outlet>) {
        match envelope::read(frame) {
            Incoming::Answer { id, body } => self.answer(id, origin, body),
            Incoming::Notification { method, params } => self.notification(method, params, origin),
            Incoming::Request { id, method, params } => self.request(id, &method, params, origin, outlet),
            Incoming::Unacceptable { id, problem } => match self.find(id, origin) {
                Some(id) => self.reject(id, unacceptable(&problem)),
                None => self.count_unmatched(),
            },
            Incoming::Noise => self.count_noise(frame),
        }
    }

    fn answer(&self, id: AnswerId, origin: MessageOrigin, body: Result<RawJson, RpcError>) {
        // A refusal without id is about the only request there is; a result may as well be a late one of another.
        let is_anybodys = id == AnswerId::Null && origin == MessageOrigin::Connection && body.is_ok();
        let found = if is_anybodys { None } else { self.find(id, origin) };
        let Some(number) = found else { return self.count_unmatched() };
        let answer = match (id, body) {
            (AnswerId::Mistyped(number), _) => Answer::Failed(unacceptable(&format!(
                "has the id \"{number}\", a string, where the request had the number {number}"
            ))),
            (_, Ok(result)) => Answer::Result(result),
            (_, Err(refusal)) => Answer::Refused(refusal),
        };
        match self.pending.remove(number) {
            Some(slot) => slot.fill(answer),
            None => self.count_unmatched(),
        }
    }

    /// The request an answer belongs to.
    fn find(&self, id: AnswerId, origin: MessageOrigin) -> Option<u64> {
        match (id, origin) {
            (AnswerId::Ours(id) | AnswerId::Mistyped(id), _) => Some(id),
            // The peer could not tell which request it could not read; we can, where only one is possible.
            (AnswerId::Null, MessageOrigin::Request(id)) => Some(id),
            (AnswerId::Null, MessageOrigin::Connection) => self.pending.only(),
            (AnswerId::Foreign, _) => None,
        }
    }

    fn notification(&self, method: String, params: Option<RawJson>, origin: MessageOrigin) {
        if method == notifications::PROGRESS
            && let Some((token, progress)) = params.as_ref().and_then(read_progress)
        {
            // On a stream of its own a request has no progress but its own.
            let is_its_own = origin == MessageOrigin::Connection || origin == MessageOrigin::Request(token);
            match self.pending.get(token).filter(|slot| is_its_own && slot.wants_progress()) {
                Some(slot) => slot.report(progress),
                None => self.count_unmatched(),
            }
            return;
        }
        if method == notifications::SUBSCRIPTIONS_ACKNOWLEDGED {
            let slot = params.as_ref().and_then(modern::subscription_of).and_then(|id| self.pending.get(id));
            match (slot, &params) {
                (Some(slot), Some(params)) => slot.acknowledge(params),
                _ => self.count_unmatched(),
            }
            return;
        }
        // The one thing of ours that a server may end without answering it.
        if method == notifications::CANCELLED
            && let Some(id) = params.as_ref().and_then(cancelled_request)
            && self.pending.get(id).is_some_and(|slot| slot.is_subscription())
            && let Some(slot) = self.pending.remove(id)
        {
            return slot.fill(Answer::Result(RawJson::empty_object()));
        }
        // A question that the peer takes back is not answered, and whoever was asked is told.
        if method == notifications::CANCELLED {
            let question = params.as_ref().and_then(|params| params.member("requestId"));
            let asked = question.and_then(|question| lock(&self.open_questions).remove(&question));
            if let Some(asked) = asked {
                // It may just have been answered.
                let _: Result<(), ()> = asked.send(());
                return;
            }
        }
        // What is logged in the course of a call is for whoever made it. All else is about the server.
        let handler = if method == notifications::MESSAGE { self.handler_during(origin) } else { None };
        handler.as_ref().unwrap_or(&self.handler).notification(Notification { method, params });
    }

    /// The handler of the very request in whose course something comes.
    fn handler_during(&self, origin: MessageOrigin) -> Option<Arc<dyn PeerHandler>> {
        match origin {
            MessageOrigin::Connection => None,
            MessageOrigin::Request(id) => self.pending.get(id).and_then(|slot| slot.handler().cloned()),
        }
    }

    fn request(
        &self,
        id: RawJson,
        method: &str,
        params: Option<RawJson>,
        origin: MessageOrigin,
        outlet: &Arc<dyn Outlet>,
    ) {
        if !self.answers_questions.load(Ordering::Relaxed) {
            return self.count_unmatched();
        }
        if self.pending.closed().is_some() {
            return;
        }
        if method == methods::PING {
            return reply(&self.server, outlet, encode::answer(&id, &Ok(RawJson::empty_object())));
        }
        let kind = QuestionKind::of_request(method).filter(|kind| self.capabilities.allow(*kind));
        let Some(kind) = kind else {
            return reply(&self.server, outlet, encode::answer(&id, &Err(RpcError::method_not_found(method))));
        };
        let Ok(turn) = Arc::clone(&self.question_turns).try_acquire_owned() else {
            let busy =
                RpcError { code: code::SERVER_ERROR, message: "too many questions at once".to_owned(), data: None };
            return reply(&self.server, outlet, encode::answer(&id, &Err(busy)));
        };
        let during = match origin {
            MessageOrigin::Connection => None,
            MessageOrigin::Request(id) => Some(id),
        };
        let handler = self.handler_during(origin).unwrap_or_else(|| Arc::clone(&self.handler));
        let (outlet, server) = (Arc::clone(outlet), Arc::clone(&self.server));
        let mut questions = lock(&self.questions);
        while questions.try_join_next().is_some() {}
        let (take_back, taken_back) = oneshot::channel();
        let open = OpenQuestion::new(&self.pending, &self.open_questions, &id, take_back);
        questions.spawn(async move {
            tokio::select! {
                biased;
                Ok(()) = taken_back => {}
                answer = handler.question(PeerQuestion { kind, params, during }) => {
                    reply(&server, &outlet, encode::answer(&id, &answer));
                }
            }
            drop((turn, open));
        });
    }

    fn count_unmatched(&self) {
        self.unmatched.fetch_add(1, Ordering::Relaxed);
    }
}

/// Sends our answer to a question.
fn reply(server: &str, outlet: &Arc<dyn Outlet>, message: Vec<u8>) {
    wire_log::log(server, Way::Sent, &message);
    outlet.send(message);
}

/// A question of the peer's that we owe an answer to.
struct OpenQuestion {
    pending: Arc<Pending>,
    by_id: OpenQuestions,
    id: RawJson,
}

impl OpenQuestion {
    fn new(pending: &Arc<Pending>, by_id: &OpenQuestions, id: &RawJson, take_back: oneshot::Sender<()>) -> Self {
        pending.asked();
        lock(by_id).insert(id.clone(), take_back);
        Self { pending: Arc::clone(pending), by_id: Arc::clone(by_id), id: id.clone() }
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        drop(lock(&self.by_id).remove(&self.id));
        self.pending.answered();
    }
}

/// The error of a call whose answer came but cannot be accepted.
pub(crate) fn unacceptable(problem: &str) -> Error {
    Error::new(ErrorCode::ProtocolError, format!("the server's answer {problem}"))
        .with_hint("the server does not follow JSON-RPC 2.0; report it to its authors")
        .with_may_have_run(true)
}

impl fmt::Debug for Dispatcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Dispatcher").field("in_flight", &self.pending.len()).finish_non_exhaustive()
    }
}

fn cancelled_request(params: &RawJson) -> Option<u64> {
    params.member("requestId")?.parse().ok()
}

fn read_progress(params: &RawJson) -> Option<(u64, Progress)> {
    let token = params.member("progressToken")?;
    let token = token.as_str().trim_matches('"').parse().ok()?;
    let number = |key: &str| params.member(key).and_then(|value| value.parse::<f64>().ok());
    let progress = Progress {
        progress: number("progress")?,
        total: number("total"),
        message: params.member_str("message"),
        raw: params.clone(),
    };
    Some((token, progress))
}
