//! Requests and notifications over whatever transport there is: ids, turns, errors by what they mean.

use helve_model::protocol::methods;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use helve_model::ErrorCode;
use helve_model::json::RawJson;
use helve_model::protocol::code;
use tokio::sync::Semaphore;

use crate::dispatch::Dispatcher;
use crate::encode::{Message, Meta, Params};
use crate::era::NegotiatedVersion;
use crate::error::{Error, Result, RpcError};
use crate::handler::ClientCapabilities;
use crate::pending::{Answer, Listener};
use crate::request::{Outgoing, Times};
use crate::transport::Link;
use crate::wire_log::{self, Way};

/// One peer, reachable.
#[derive(Debug)]
pub(crate) struct Channel {
    link: Link,
    dispatcher: Arc<Dispatcher>,
    next_id: AtomicU64,
    /// For servers that cannot take more than one request at a time.
    turn: Option<Semaphore>,
}

/// A request to be made.
#[derive(Clone)]
pub(crate) struct Ask<'a> {
    pub(crate) method: &'a str,
    /// The tool, prompt or resource it is about.
    pub(crate) subject: Option<&'a str>,
    pub(crate) params: Params<'a>,
    /// Members of `_meta` that the era demands, rendered.
    pub(crate) era_meta: &'a str,
    /// Headers for HTTP.
    pub(crate) headers: Vec<(String, String)>,
    /// The version HTTP announces, while none is agreed upon.
    pub(crate) protocol_version: Option<&'a str>,
    /// Ask the server to report progress.
    pub(crate) wants_progress: bool,
    pub(crate) listener: Option<Listener>,
    /// Members of `_meta` that the caller adds.
    pub(crate) caller_meta: Option<&'a RawJson>,
    pub(crate) times: Times,
    pub(crate) cancellable: bool,
    /// Wait for earlier requests where the server takes one at a time. Not for the handshake, whose parts may have to be
    /// sent together, nor for listening, which has no end.
    pub(crate) in_turn: bool,
}

impl<'a> Ask<'a> {
    pub(crate) fn new(method: &'a str, members: &'a [(&'a str, &'a str)]) -> Self {
        Self {
            method,
            subject: None,
            params: Params::Members(members),
            era_meta: "",
            headers: Vec::new(),
            protocol_version: None,
            wants_progress: false,
            listener: None,
            caller_meta: None,
            times: Times::default(),
            cancellable: true,
            in_turn: true,
        }
    }
}

impl Channel {
    pub(crate) fn new(link: Link, dispatcher: Arc<Dispatcher>, one_at_a_time: bool) -> Self {
        Self { link, dispatcher, next_id: AtomicU64::new(1), turn: one_at_a_time.then(|| Semaphore::new(1)) }
    }

    pub(crate) fn capabilities(&self) -> &ClientCapabilities {
        self.dispatcher.capabilities()
    }

    pub(crate) fn dispatcher(&self) -> &Arc<Dispatcher> {
        &self.dispatcher
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Both sides know now what they speak.
    pub(crate) fn agree(&self, negotiated: &NegotiatedVersion) {
        if !negotiated.era.speech().asks_at_any_time() {
            self.dispatcher.stop_answering_questions();
        }
        self.link.agree(negotiated);
    }

    /// Opens the stream on which a legacy HTTP server speaks unasked, where there is one.
    pub(crate) async fn open_stream(&self) {
        self.link.open_stream().await;
    }

    /// Makes a request and waits for its result. Dropping the future cancels the request at the peer. What is asked stays
    /// where it is, and only what it owns is taken from it: it is too large to be moved from hand to hand.
    pub(crate) async fn request(&self, ask: &mut Ask<'_>) -> Result<RawJson> {
        let _turn = match &self.turn {
            Some(turn) if ask.in_turn => Some(wait_for_turn(turn, ask.times).await?),
            _ => None,
        };
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let meta = Meta {
            progress_token: ask.wants_progress.then_some(id),
            era: ask.era_meta,
            caller: ask.caller_meta,
            is_request: true,
        };
        let outgoing = Outgoing {
            id,
            method: ask.method,
            subject: ask.subject,
            headers: std::mem::take(&mut ask.headers),
            protocol_version: ask.protocol_version,
            body: Message::request(id, ask.method, ask.params, meta).into_bytes(),
            wants_progress: ask.wants_progress,
            cancellable: ask.cancellable,
            cancel_meta: ask.era_meta,
        };
        wire_log::log(self.dispatcher.server(), Way::Sent, &outgoing.body);
        let noise = self.dispatcher.noises();
        let answer = self.link.exchange(outgoing, ask.times, ask.listener.take()).await;
        match answer.map_err(|error| self.hide(self.explained(error, noise)))? {
            Answer::Result(result) => Ok(result),
            Answer::Refused(refusal) => Err(refused(ask.method, self.hide_refusal(refusal))),
            Answer::Failed(error) => Err(self.hide(error)),
        }
    }

    /// An error may repeat what stood in a body or in the peer's last words.
    fn hide(&self, error: Error) -> Error {
        match self.dispatcher.secrets() {
            Some(secrets) => error.reworded(|text| secrets.hide(text).into_owned()),
            None => error,
        }
    }

    fn hide_refusal(&self, mut refusal: RpcError) -> RpcError {
        if let Some(secrets) = self.dispatcher.secrets() {
            refusal.message = secrets.hide(&refusal.message).into_owned();
            let data = refusal.data.as_ref().and_then(|data| secrets.hide_in_message(data.as_str()));
            refusal.data = data.map(RawJson::assembled).or(refusal.data);
        }
        refusal
    }

    /// A server that was silent may have said what nobody could read.
    fn explained(&self, error: Error, noise: u64) -> Error {
        match self.dispatcher.noise_since(noise) {
            Some(said) if error.code() == ErrorCode::Timeout => error.with_source(said),
            _ => error,
        }
    }

    pub(crate) async fn notify(&self, method: &str, params: Params<'_>, meta: Meta<'_>) -> Result<()> {
        let message = Message::notification(method, params, meta).into_bytes();
        wire_log::log(self.dispatcher.server(), Way::Sent, &message);
        self.link.notify(message).await
    }

    pub(crate) async fn close(&self) {
        self.link.close().await;
    }
}

async fn wait_for_turn(turn: &Semaphore, times: Times) -> Result<tokio::sync::SemaphorePermit<'_>> {
    match tokio::time::timeout(times.total, turn.acquire()).await {
        Ok(Ok(permit)) => Ok(permit),
        Ok(Err(_)) | Err(_) => {
            Err(Error::new(ErrorCode::Timeout, "an earlier call still runs, and this server takes one at a time")
                .with_hint("wait for it, cancel it, or raise the time-out"))
        }
    }
}

/// What a refusal of the peer means to the caller.
pub(crate) fn refused(method: &str, refusal: RpcError) -> Error {
    let says = |words: &[&str]| {
        let message = refusal.message.to_lowercase();
        words.iter().any(|word| message.contains(word))
    };
    let not_found = says(&["unknown", "not found", "no such", "does not exist", "not exist"]);
    let (code, may_have_run) = match (method, refusal.code) {
        (_, code::PARSE_ERROR | code::INVALID_REQUEST | code::METHOD_NOT_FOUND) => (ErrorCode::ProtocolError, false),
        (methods::RESOURCES_READ | methods::RESOURCES_SUBSCRIBE, code::RESOURCE_NOT_FOUND) => {
            (ErrorCode::ResourceNotFound, false)
        }
        (methods::TOOLS_CALL, code::INVALID_PARAMS) if not_found && says(&["tool"]) => (ErrorCode::ToolNotFound, false),
        (methods::PROMPTS_GET, code::INVALID_PARAMS) if not_found => (ErrorCode::PromptNotFound, false),
        (methods::RESOURCES_READ | methods::RESOURCES_SUBSCRIBE, code::INVALID_PARAMS) if not_found => {
            (ErrorCode::ResourceNotFound, false)
        }
        (_, code::INVALID_PARAMS) => (ErrorCode::InvalidParams, false),
        // The result of a task is that of the call.
        (methods::TOOLS_CALL | methods::TASKS_RESULT, _) => (ErrorCode::ToolError, true),
        _ => (ErrorCode::ProtocolError, false),
    };
    let hint = match code {
        ErrorCode::ToolNotFound | ErrorCode::PromptNotFound | ErrorCode::ResourceNotFound => {
            "list again what the server has: it may have changed"
        }
        ErrorCode::InvalidParams => "compare the arguments with what the server lists for them",
        _ => "the reason is the server's own; its log may say more",
    };
    let message = format!("the server refused `{method}`");
    Error::new(code, message).with_hint(hint).with_may_have_run(may_have_run).with_source(refusal)
}
