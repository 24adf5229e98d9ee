//! Owns the peer itself: what becomes of one incoming message, whatever carried it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::call::{Call, CallEra};
use crate::ending::Ending;
use crate::fault::{MixtureFault, OneAtATime, ProbeFault};
use crate::frame::{Incoming, MessageKind, Out};
use crate::listen::Listeners;
use crate::meta::{self, RequestMeta};
use crate::recorder::{RecordedEvent, Recorder};
use crate::scenario::{DualRule, Era, Scenario};
use crate::tasks::Tasks;
use crate::{handshake, methods};

/// One fake server: its script, its memory and what it shares among connections. Clones are the same peer.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) inner: Arc<PeerInner>,
}

#[derive(Debug)]
pub(crate) struct PeerInner {
    pub(crate) scenario: Scenario,
    pub(crate) recorder: Recorder,
    pub(crate) listeners: Listeners,
    pub(crate) tasks: Tasks,
    /// How often the tool list has changed.
    pub(crate) list_changes: AtomicU64,
    /// How often the list of prompts has changed.
    pub(crate) prompt_changes: AtomicU64,
    /// How often the watched resource has changed.
    pub(crate) touches: AtomicU64,
}

/// What the peer knows of one client: a byte stream, a legacy HTTP session, or a single modern HTTP request.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Where messages go that belong to no request.
    pub(crate) standalone: Out,
    pub(crate) ending: Ending,
    state: Mutex<ConnectionState>,
}

#[derive(Debug, Default)]
pub(crate) struct ConnectionState {
    /// The version agreed by `initialize`.
    pub(crate) legacy_version: Option<String>,
    /// What the client said in `initialize` that it can.
    pub(crate) client_capabilities: Value,
    pub(crate) last_handshake: Option<Handshake>,
    pub(crate) seen_discover: bool,
    pub(crate) log_level: Option<String>,
    pub(crate) subscribed: BTreeSet<String>,
    pub(crate) in_flight: BTreeMap<String, InFlight>,
    /// Requests of the peer that wait for the client's answer.
    pub(crate) asked: BTreeMap<u64, oneshot::Sender<Value>>,
    pub(crate) next_request: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handshake {
    Initialize,
    Discover,
}

#[derive(Debug, Default)]
pub(crate) struct InFlight {
    pub(crate) tool: Option<String>,
    pub(crate) ignores_cancel: bool,
    pub(crate) abort: Option<tokio::task::AbortHandle>,
}

impl Peer {
    pub(crate) fn new(scenario: Scenario) -> Self {
        let recorder = Recorder::new(scenario.record_to.as_deref());
        let inner = PeerInner {
            scenario,
            recorder,
            listeners: Listeners::default(),
            tasks: Tasks::default(),
            list_changes: AtomicU64::new(0),
            prompt_changes: AtomicU64::new(0),
            touches: AtomicU64::new(0),
        };
        Self { inner: Arc::new(inner) }
    }

    pub(crate) fn scenario(&self) -> &Scenario {
        &self.inner.scenario
    }

    pub(crate) fn recorder(&self) -> &Recorder {
        &self.inner.recorder
    }

    /// Takes one message. Everything that concerns it goes to `out`; what can be answered at once has been when this returns.
    pub(crate) fn receive(&self, connection: &Arc<Connection>, bytes: &[u8], out: &Out) {
        self.recorder().add_frame(bytes);
        let message: Incoming<'_> = match serde_json::from_slice(bytes) {
            Ok(message) => message,
            Err(error) => {
                self.recorder().add(RecordedEvent::Violation(format!("not a JSON-RPC message: {error}")));
                return answer_error(out, "null", -32700, "Parse error", None);
            }
        };
        if message.jsonrpc.as_deref() != Some("2.0") {
            self.recorder().add(RecordedEvent::Violation("jsonrpc is not \"2.0\"".to_string()));
        }
        match (&message.method, message.id) {
            (Some(_), Some(_)) => self.request(connection, &message, out),
            (Some(method), None) => self.notification(connection, method, &message),
            (None, Some(_)) => self.answered(connection, &message),
            (None, None) => {
                self.recorder().add(RecordedEvent::Violation("a message without method and id".to_string()))
            }
        }
    }

    fn request(&self, connection: &Arc<Connection>, message: &Incoming<'_>, out: &Out) {
        let id = message.id.map_or("null", |id| id.get()).to_string();
        let method = message.method.as_deref().unwrap_or_default().to_string();
        let params = message.params.map(ToOwned::to_owned);
        if !id.starts_with(['"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) {
            self.recorder().add(RecordedEvent::Violation(format!("an id must be a string or a number: {id}")));
        }
        if connection.state().in_flight.contains_key(&id) {
            self.recorder().add(RecordedEvent::Violation(format!("the id {id} is in use")));
        }
        if method == "server/discover" {
            connection.state().seen_discover = true;
        }
        if self.scenario().never_answers {
            return;
        }
        if let Some(frame) = self.scenario().scripted.get(&method) {
            return out.send_raw(frame.replace("$ID", &id).into_bytes());
        }
        let request_meta = RequestMeta::of(params.as_deref());
        let mut call = Call {
            peer: self.clone(),
            connection: Arc::clone(connection),
            out: out.clone(),
            id,
            method,
            params,
            meta: request_meta,
            era: CallEra::Legacy { version: String::new() },
        };
        if self.second_at_a_time(&call) {
            return;
        }
        let delay = self.scenario().answer_delay_ms;
        if delay > 0 {
            return call.spawn(async move |mut call| {
                tokio::time::sleep(Duration::from_millis(delay)).await;
                call.peer.clone().dispatch(&mut call);
            });
        }
        self.dispatch(&mut call);
    }

    /// Whether a second request came too early for a peer that cannot take it; it is then dealt with.
    fn second_at_a_time(&self, call: &Call) -> bool {
        let Some(rule) = self.scenario().one_at_a_time else { return false };
        if call.connection.state().in_flight.is_empty() {
            return false;
        }
        self.recorder().add(RecordedEvent::Violation(format!("{} while another request runs", call.method)));
        match rule {
            OneAtATime::Drops => {}
            OneAtATime::Fails => call.error(-32603, "busy"),
            OneAtATime::Exits => call.connection.ending.exit(self.recorder(), 3),
        }
        true
    }

    fn dispatch(&self, call: &mut Call) {
        let fault = match call.method.as_str() {
            "server/discover" => &self.scenario().probe,
            "initialize" => &self.scenario().initialize,
            _ => &ProbeFault::Normal,
        };
        match fault {
            ProbeFault::Normal => {}
            ProbeFault::Silent => return,
            ProbeFault::Exit { status } => return call.connection.ending.exit(self.recorder(), *status),
            ProbeFault::Error { code, message } => return call.error(*code, message),
            ProbeFault::Late { milliseconds } => {
                let delay = Duration::from_millis(*milliseconds);
                return call.clone().spawn(async move |mut call| {
                    tokio::time::sleep(delay).await;
                    call.peer.clone().serve(&mut call);
                });
            }
        }
        self.serve(call);
    }

    fn serve(&self, call: &mut Call) {
        if call.method == "initialize" && call.connection.state().seen_discover {
            match self.scenario().mixture {
                MixtureFault::Fine => {}
                MixtureFault::Error => return call.error(-32600, "initialize after server/discover"),
                MixtureFault::Exit => return call.connection.ending.exit(self.recorder(), 4),
            }
        }
        match self.era_of(call) {
            Ok(era) => call.era = era,
            Err(refusal) => return call.error_with(refusal.code, &refusal.message, refusal.data),
        }
        match call.method.as_str() {
            "initialize" if !call.is_modern() => handshake::initialize(call),
            "server/discover" => handshake::discover(call),
            _ => methods::serve(call),
        }
    }

    /// Which era a request belongs to, or why it is refused.
    fn era_of(&self, call: &Call) -> Result<CallEra, meta::Refusal> {
        let scenario = self.scenario();
        let (legacy_version, last_handshake) = {
            let state = call.connection.state();
            (state.legacy_version.clone(), state.last_handshake)
        };
        let modern_allowed = scenario.era != Era::Legacy;
        let legacy_allowed = scenario.era != Era::Modern;
        let is_settled = scenario.dual_rule == DualRule::FirstHandshake;
        if call.method == "initialize" && !(modern_allowed && call.meta.looks_modern()) {
            let is_open = !(is_settled && last_handshake == Some(Handshake::Discover));
            return if legacy_allowed && is_open {
                Ok(CallEra::Legacy { version: String::new() })
            } else {
                Err(meta::Refusal::initialize(&scenario.modern_versions))
            };
        }
        let looks_modern = call.meta.looks_modern() || call.method == "server/discover";
        if looks_modern && modern_allowed {
            let overruled = scenario.dual_rule == DualRule::LastHandshake
                && last_handshake == Some(Handshake::Initialize)
                && call.method != "server/discover";
            if overruled || (is_settled && last_handshake == Some(Handshake::Initialize)) {
                return Err(meta::Refusal::new(-32600, "this connection was opened by initialize"));
            }
            return meta::check(&call.meta, &scenario.modern_versions, scenario.era);
        }
        if !legacy_allowed {
            return meta::check(&call.meta, &scenario.modern_versions, scenario.era);
        }
        if call.method == "server/discover" {
            return Err(meta::Refusal::method_not_found(&call.method));
        }
        if scenario.dual_rule == DualRule::LastHandshake && last_handshake == Some(Handshake::Discover) {
            return Err(meta::Refusal::new(-32602, "missing the metadata of 2026-07-28"));
        }
        match legacy_version {
            Some(version) => Ok(CallEra::Legacy { version }),
            None if call.method == "ping" => Ok(CallEra::Legacy { version: String::new() }),
            None => Err(meta::Refusal::new(-32602, "received a request before initialize")),
        }
    }

    fn notification(&self, connection: &Arc<Connection>, method: &str, message: &Incoming<'_>) {
        if method != "notifications/cancelled" {
            return;
        }
        // Ids are kept as they are written, so the one to cancel is read the same way.
        #[derive(Deserialize)]
        struct Cancelled<'a> {
            #[serde(borrow, rename = "requestId")]
            id: &'a RawValue,
        }
        let params = message.params.and_then(|raw| serde_json::from_str::<Cancelled<'_>>(raw.get()).ok());
        let Some(Cancelled { id }) = params else {
            return self.recorder().add(RecordedEvent::Violation("a cancellation without requestId".to_string()));
        };
        connection.cancel(self.recorder(), id.get());
        self.inner.listeners.remove(connection, id.get());
    }

    fn answered(&self, connection: &Arc<Connection>, message: &Incoming<'_>) {
        let number = message.id.and_then(|id| id.get().parse::<u64>().ok());
        let waiting = number.and_then(|number| connection.state().asked.remove(&number));
        let Some(waiting) = waiting else {
            let text = format!("an answer to nothing: id {}", message.id.map_or("null", |id| id.get()));
            return self.recorder().add(RecordedEvent::Violation(text));
        };
        let result = message.result.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        let error = message.error.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        let answer = match (result, error) {
            (Some(result), None) => result,
            (_, error) => json!({ "error": error }),
        };
        // The tool that asked may have been cancelled meanwhile.
        drop(waiting.send(answer));
    }
}

impl Connection {
    pub(crate) fn new(standalone: Out, ending: Ending) -> Arc<Self> {
        Arc::new(Self { standalone, ending, state: Mutex::new(ConnectionState::default()) })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops everything that runs, without a record: the client is gone.
    pub(crate) fn abort_all(&self) {
        let running = std::mem::take(&mut self.state().in_flight);
        for abort in running.into_values().filter_map(|running| running.abort) {
            abort.abort();
        }
    }

    /// Stops the request with this id (JSON text), if it runs and lets itself be stopped.
    pub(crate) fn cancel(&self, recorder: &Recorder, id: &str) {
        let found = {
            let mut state = self.state();
            match state.in_flight.get(id) {
                Some(running) if running.ignores_cancel => Some((running.tool.clone(), None)),
                Some(_) => state.in_flight.remove(id).map(|running| (running.tool, running.abort)),
                None => None,
            }
        };
        let Some((tool, abort)) = found else { return };
        recorder.add(RecordedEvent::Cancelled { id: id.to_string(), tool });
        if let Some(abort) = abort {
            abort.abort();
        }
    }
}

impl PeerInner {
    /// Whether the tool that comes and goes is in the list now.
    pub(crate) fn added_tool_listed(&self) -> bool {
        self.list_changes.load(Ordering::Relaxed) % 2 == 1
    }
}

/// Writes an error answer to the request with this id (JSON text).
pub(crate) fn answer_error(out: &Out, id: &str, code: i64, message: &str, data: Option<Value>) {
    let mut error = json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data;
    }
    out.send_message(MessageKind::ErrorResponse(code), format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
}
