//! Owns one request under way: its era, how it is answered, and how the peer talks to the client meanwhile.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use crate::frame::{Frame, MessageKind, Out, Part};
use crate::meta::{self, RequestMeta};
use crate::peer::{Connection, Peer, answer_error};
use crate::recorder::RecordedEvent;

/// The order of log levels, least first.
const LOG_LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// One request under way.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) peer: Peer,
    pub(crate) connection: Arc<Connection>,
    /// Where everything about this request goes.
    pub(crate) out: Out,
    /// The id as it was written.
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
    pub(crate) meta: RequestMeta,
    pub(crate) era: CallEra,
}

/// The rules a request is served by.
#[derive(Clone, Debug)]
pub(crate) enum CallEra {
    Legacy { version: String },
    Modern { capabilities: Value },
}

/// What an answer says about itself in the modern era.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultKind {
    Complete,
    /// Complete, with hints for caches.
    Cacheable,
    InputRequired,
    Task,
}

impl Call {
    pub(crate) fn is_modern(&self) -> bool {
        matches!(self.era, CallEra::Modern { .. })
    }

    /// Whether the client declared this capability, by JSON pointer. Legacy clients are taken at their word later.
    pub(crate) fn client_can(&self, pointer: &str) -> bool {
        match &self.era {
            CallEra::Legacy { .. } => true,
            CallEra::Modern { capabilities } => capabilities.pointer(pointer).is_some(),
        }
    }

    /// Whether the client declared this capability, by JSON pointer: with the request, or in `initialize`.
    pub(crate) fn client_declares(&self, pointer: &str) -> bool {
        match &self.era {
            CallEra::Legacy { .. } => self.connection.state().client_capabilities.pointer(pointer).is_some(),
            CallEra::Modern { .. } => self.client_can(pointer),
        }
    }

    /// The id as a value, for places that repeat it.
    pub(crate) fn id_value(&self) -> Value {
        serde_json::from_str(&self.id).unwrap_or_default()
    }

    /// The parameters as a value; null if there are none.
    pub(crate) fn params(&self) -> Value {
        self.params.as_ref().and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }

    pub(crate) fn result(&self, body: &Value) {
        self.result_text(ResultKind::Complete, &body.to_string(), Map::new());
    }

    pub(crate) fn cacheable(&self, body: &Value) {
        self.result_text(ResultKind::Cacheable, &body.to_string(), Map::new());
    }

    /// Answers with a result whose JSON text is `body`, which has neither `resultType` nor `_meta`.
    pub(crate) fn result_text(&self, kind: ResultKind, body: &str, own_meta: Map<String, Value>) {
        let text = self.result_frame(kind, body, own_meta);
        self.answer(MessageKind::Response, vec![Part::from(text)]);
    }

    /// The whole response as text.
    pub(crate) fn result_frame(&self, kind: ResultKind, body: &str, mut own_meta: Map<String, Value>) -> String {
        let mut tail = String::new();
        if self.is_modern() {
            let result_type = match kind {
                ResultKind::Complete | ResultKind::Cacheable => "complete",
                ResultKind::InputRequired => "input_required",
                ResultKind::Task => "task",
            };
            tail = format!(r#","resultType":"{result_type}""#);
            if kind == ResultKind::Cacheable {
                let milliseconds = self.peer.scenario().list_ttl_ms;
                tail.push_str(&format!(r#","ttlMs":{milliseconds},"cacheScope":"private""#));
            }
            own_meta.insert(meta::SERVER_INFO.to_string(), meta::server_info());
        }
        if !own_meta.is_empty() {
            tail.push_str(r#","_meta":"#);
            tail.push_str(&Value::Object(own_meta).to_string());
        }
        let inside = body.strip_suffix('}').unwrap_or(body);
        let tail = if inside == "{" { tail.strip_prefix(',').unwrap_or_default() } else { tail.as_str() };
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{inside}{tail}}}}}"#, self.id)
    }

    pub(crate) fn error(&self, code: i64, message: &str) {
        self.error_with(code, message, None);
    }

    pub(crate) fn error_with(&self, code: i64, message: &str, data: Option<Value>) {
        self.finished();
        answer_error(&self.out, &self.id, code, message, data);
    }

    /// Says that the client lacks a capability.
    pub(crate) fn missing_capability(&self, required: &Value) {
        let data = json!({ "requiredCapabilities": required });
        self.error_with(meta::MISSING_CAPABILITY, "Missing required client capability", Some(data));
    }

    /// Sends the answer and ends the request.
    pub(crate) fn answer(&self, kind: MessageKind, parts: Vec<Part>) {
        self.finished();
        let noise = if self.method == "tools/call" { self.peer.scenario().noise_around_calls } else { None };
        if let Some(noise) = noise {
            self.out.send_raw(crate::noise::lines(noise, 0, noise.lines));
        }
        self.out.send(Frame::Message { kind, parts });
        if let Some(noise) = noise {
            self.out.send_raw(crate::noise::lines(noise, 0, noise.lines));
        }
    }

    /// Takes the request out of the table of running ones.
    pub(crate) fn finished(&self) {
        self.connection.state().in_flight.remove(&self.id);
    }

    /// Sends a notification that belongs to this request.
    pub(crate) fn notify(&self, method: &str, params: &Value) {
        let text = json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string();
        self.out.send_message(MessageKind::Other, text);
    }

    /// Sends a log message, if the client wants to hear of this level. Says whether it did.
    pub(crate) fn log(&self, level: &str, data: &Value) -> bool {
        let wanted =
            if self.is_modern() { self.meta.log_level.clone() } else { self.connection.state().log_level.clone() };
        let rank = |level: &str| LOG_LEVELS.iter().position(|known| *known == level);
        let heard = match wanted {
            Some(wanted) => rank(level) >= rank(&wanted),
            None => !self.is_modern(),
        };
        if heard {
            self.notify("notifications/message", &json!({ "level": level, "logger": "fake", "data": data }));
        }
        heard
    }

    /// Reports progress, if the client asked for it.
    pub(crate) fn progress(&self, progress: u64, total: u64, message: &str) {
        if let Some(token) = &self.meta.progress_token {
            let params = json!({ "progressToken": token, "progress": progress, "total": total, "message": message });
            self.notify("notifications/progress", &params);
        }
    }

    /// Sends a request to the client on this request's stream and waits for the answer: a result, or an object with `error`.
    pub(crate) async fn ask(&self, method: &str, params: &Value) -> Value {
        let (sender, receiver) = oneshot::channel();
        let number = {
            let mut state = self.connection.state();
            state.next_request += 1;
            let number = state.next_request;
            state.asked.insert(number, sender);
            number
        };
        let text = json!({ "jsonrpc": "2.0", "id": number, "method": method, "params": params }).to_string();
        self.out.send_message(MessageKind::Other, text);
        let answer = receiver.await.unwrap_or_default();
        self.peer.recorder().add(RecordedEvent::Answered { method: method.to_string(), answer: answer.clone() });
        answer
    }

    /// Runs the rest of the request as a task of its own that cancelling can stop.
    pub(crate) fn spawn<F, R>(self, work: F)
    where
        F: FnOnce(Self) -> R,
        R: Future<Output = ()> + Send + 'static,
    {
        let connection = Arc::clone(&self.connection);
        let id = self.id.clone();
        let work = work(self);
        // The lock is held over the spawn, so that the task cannot end before its entry is complete.
        let mut state = connection.state();
        let entry = state.in_flight.entry(id).or_default();
        entry.abort = Some(tokio::spawn(work).abort_handle());
    }

    /// Enters this request into the table of running ones.
    pub(crate) fn running(&self, tool: &str, ignores_cancel: bool) {
        let mut state = self.connection.state();
        let entry = state.in_flight.entry(self.id.clone()).or_default();
        entry.tool = Some(tool.to_string());
        entry.ignores_cancel = ignores_cancel;
    }
}
