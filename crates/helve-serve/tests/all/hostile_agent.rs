//! An agent that says what it likes, through every door: on a stream, over Streamable HTTP in both eras, over HTTP+SSE.

use std::collections::HashSet;
use std::sync::Arc;

use helve_serve::Gateway;
use helve_serve::face::http::HttpFace;
use helve_testkit::hostile::{Pending, Probe, Speech, modern_meta};
use serde_json::{Value, json};

use crate::http_agent::{HttpAgent, Messages, SseAgent};
use crate::support::{StreamAgent, answer_to, everything};

/// Every request over HTTP has a header that no server may get.
const OWN_HEADER: (&str, &str) = ("x-probe", "said-by-the-agent");

/// Messages that are on their way at one time.
const AT_ONCE: usize = 32;

/// The ways in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    LegacyStream,
    ModernStream,
    LegacyHttp,
    ModernHttp,
    Sse,
}

pub(crate) const DOORS: [Door; 5] =
    [Door::LegacyStream, Door::ModernStream, Door::LegacyHttp, Door::ModernHttp, Door::Sse];

/// An agent that has come in.
pub(crate) struct Agent {
    way: Way,
    /// Of a modern agent.
    capabilities: Value,
    last: u64,
}

#[expect(clippy::large_enum_variant, reason = "there are a few of them in a test")]
enum Way {
    Stream(StreamAgent),
    Http(HttpAgent),
    Sse(SseAgent),
}

/// A call whose server has asked something that is not answered yet.
pub(crate) struct OpenQuestion {
    call: u64,
    pub(crate) pending: Pending,
    /// Where the legacy agent over HTTP reads.
    messages: Option<Messages>,
}

impl Door {
    pub(crate) const fn speech(self) -> Speech {
        match self {
            Self::LegacyStream | Self::LegacyHttp => Speech::Legacy,
            Self::Sse => Speech::WithoutBatches,
            Self::ModernStream => Speech::Modern,
            Self::ModernHttp => Speech::ModernWithHeaders,
        }
    }

    pub(crate) const fn is_stream(self) -> bool {
        matches!(self, Self::LegacyStream | Self::ModernStream)
    }

    const fn is_modern(self) -> bool {
        self.speech().is_modern()
    }

    /// Comes in as one of several, by the number of its connection.
    pub(crate) async fn enter(self, gateway: &Arc<Gateway>, face: &Arc<HttpFace>, number: u64) -> Agent {
        let way = match self {
            Self::LegacyStream | Self::ModernStream => Way::Stream(StreamAgent::connect_as(gateway, number)),
            Self::LegacyHttp | Self::ModernHttp => Way::Http(HttpAgent::new(face, number)),
            Self::Sse => Way::Sse(SseAgent::connect(face, number).await),
        };
        Agent { way, capabilities: json!({}), last: 0 }
    }

    /// Says that it is there, and what it can do.
    pub(crate) async fn greet(self, agent: &mut Agent, capabilities: Value) {
        agent.capabilities = capabilities.clone();
        if self.is_modern() {
            agent.ask(self, "server/discover", json!({})).await;
            return;
        }
        // The only version that has batches.
        let version = if self == Self::Sse { "2024-11-05" } else { "2025-03-26" };
        if let Way::Http(http) = &mut agent.way {
            http.initialize_as(version, capabilities).await;
            return;
        }
        let client = json!({"name": "a", "version": "1"});
        let hello = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": client});
        agent.ask(self, "initialize", hello).await;
    }
}

impl Agent {
    pub(crate) fn on_a_stream(agent: StreamAgent) -> Self {
        Self { way: Way::Stream(agent), capabilities: json!({}), last: 0 }
    }

    /// Goes away, where that can be seen.
    pub(crate) async fn leave(self) {
        if let Way::Stream(agent) = self.way {
            agent.leave().await;
        }
    }

    fn message(&mut self, door: Door, method: &str, mut params: Value) -> (u64, Value) {
        self.last += 1;
        if door.is_modern() {
            let more = params["_meta"].take();
            params["_meta"] = modern_meta(&self.capabilities);
            if let (Some(meta), Some(more)) = (params["_meta"].as_object_mut(), more.as_object()) {
                meta.extend(more.clone());
            }
        }
        (self.last, json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}))
    }

    /// Asks, answers no question, and gives the answer and what came before it.
    pub(crate) async fn ask(&mut self, door: Door, method: &str, params: Value) -> (Value, Vec<Value>) {
        let (id, message) = self.message(door, method, params);
        let mut before = Vec::new();
        let mut messages = match &mut self.way {
            Way::Stream(agent) => {
                agent.send(message).await;
                None
            }
            Way::Sse(agent) => {
                assert!(agent.send_text(&message.to_string(), &[OWN_HEADER]).await);
                None
            }
            Way::Http(agent) => Some(Messages::new(post(agent, door, &message, &header_of(&message)).await)),
        };
        loop {
            let message = match (&mut messages, &mut self.way) {
                (Some(messages), _) => messages.next().await.expect("the stream ended without an answer"),
                (None, Way::Stream(agent)) => agent.next().await,
                (None, Way::Sse(agent)) => agent.next().await,
                (None, Way::Http(_)) => unreachable!("it has a response"),
            };
            if message["id"] == id && message.get("method").is_none() {
                return (message, before);
            }
            before.push(message);
        }
    }

    /// Says all of this, and waits for the answers that have to come.
    pub(crate) async fn say(&mut self, door: Door, probes: &[Probe]) {
        for group in probes.chunks(AT_ONCE) {
            let mut open: HashSet<Value> = HashSet::new();
            for probe in group {
                match &mut self.way {
                    Way::Stream(agent) => {
                        agent.send_text(&probe.text).await;
                        open.extend(probe.id.clone());
                    }
                    Way::Sse(agent) => {
                        if agent.send_text(&probe.text, &[OWN_HEADER]).await {
                            open.extend(probe.id.clone());
                        }
                    }
                    Way::Http(agent) => say_over_http(agent, door, probe).await,
                }
            }
            while !open.is_empty() {
                let message = match &mut self.way {
                    Way::Stream(agent) => agent.next().await,
                    Way::Sse(agent) => agent.next().await,
                    Way::Http(_) => break,
                };
                if message.get("method").is_none() {
                    open.remove(&message["id"]);
                }
            }
        }
    }

    /// Makes a call and leaves the question that comes of it open.
    pub(crate) async fn is_asked(&mut self, door: Door, tool: &str) -> OpenQuestion {
        let params = json!({"name": tool, "arguments": {"kind": "form", "rounds": 1}});
        if door.is_modern() {
            let (asked, _) = self.ask(door, "tools/call", params.clone()).await;
            let questions = asked["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("{asked}"));
            let answers = questions.keys().map(|key| (key.clone(), answer_to("elicitation/create")));
            let mut params = params;
            params["inputResponses"] = Value::Object(answers.collect());
            params["requestState"] = asked["result"]["requestState"].clone();
            params["_meta"] = modern_meta(&everything());
            return OpenQuestion { call: self.last, pending: Pending::State(params), messages: None };
        }
        let (call, message) = self.message(door, "tools/call", params);
        let mut messages = match &mut self.way {
            Way::Stream(agent) => {
                agent.send(message).await;
                None
            }
            Way::Sse(agent) => {
                agent.send_text(&message.to_string(), &[]).await;
                None
            }
            Way::Http(agent) => Some(Messages::new(post(agent, door, &message, &header_of(&message)).await)),
        };
        loop {
            let message = self.next(&mut messages).await;
            assert!(message["id"] != call || message.get("method").is_some(), "it was not asked: {message}");
            if message["method"] == "elicitation/create" {
                return OpenQuestion { call, pending: Pending::Question(message["id"].clone()), messages };
            }
        }
    }

    /// Answers the question, and gives what the call is answered with.
    pub(crate) async fn answers(&mut self, door: Door, question: OpenQuestion) -> Value {
        let OpenQuestion { call, pending, mut messages } = question;
        let id = match pending {
            Pending::State(params) => return self.ask(door, "tools/call", params).await.0,
            Pending::Question(id) => id,
        };
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": answer_to("elicitation/create")});
        match &mut self.way {
            Way::Stream(agent) => agent.send(answer).await,
            Way::Sse(agent) => assert!(agent.send_text(&answer.to_string(), &[]).await),
            Way::Http(agent) => assert_eq!(agent.post(&answer, &[]).await.status(), 202),
        }
        loop {
            let message = self.next(&mut messages).await;
            if message["id"] == call && message.get("method").is_none() {
                return message;
            }
        }
    }

    async fn next(&mut self, messages: &mut Option<Messages>) -> Value {
        match (messages, &mut self.way) {
            (Some(messages), _) => messages.next().await.expect("the stream ended without an answer"),
            (None, Way::Stream(agent)) => agent.next().await,
            (None, Way::Sse(agent)) => agent.next().await,
            (None, Way::Http(_)) => unreachable!("it has a response"),
        }
    }
}

type HeaderValues = (String, Option<String>);

fn header_of(message: &Value) -> HeaderValues {
    let name = ["name", "uri", "taskId"].iter().find_map(|key| message["params"][key].as_str());
    (message["method"].as_str().unwrap_or_default().to_owned(), name.map(str::to_owned))
}

async fn post(
    agent: &HttpAgent,
    door: Door,
    message: &Value,
    headers: &HeaderValues,
) -> http::Response<helve_serve::face::http::Body> {
    post_text(agent, door, &message.to_string(), headers).await
}

async fn post_text(
    agent: &HttpAgent,
    door: Door,
    text: &str,
    (method, name): &HeaderValues,
) -> http::Response<helve_serve::face::http::Body> {
    let mut headers = vec![OWN_HEADER];
    if door.is_modern() {
        headers.extend([("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)]);
        headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
    }
    agent.post_text(text, &headers).await
}

async fn say_over_http(agent: &HttpAgent, door: Door, probe: &Probe) {
    // A method that cannot stand in a header is said in the body alone.
    let (method, name) = &probe.headers;
    let method = if http::HeaderValue::from_str(method).is_ok() { method.clone() } else { "tools/call".to_owned() };
    let response = post_text(agent, door, &probe.text, &(method, name.clone())).await;
    if let (Some(id), 200) = (&probe.id, response.status().as_u16()) {
        let mut messages = Messages::new(response);
        while let Some(message) = messages.next().await {
            if message["id"] == *id {
                break;
            }
        }
    }
}
