//! An agent over HTTP, without a network: it hands its requests to the service.

use std::sync::Arc;

use bytes::Bytes;
use helve_serve::Peer;
use helve_serve::face::http::{Body, HttpFace};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{DEADLINE, answer_to, modern_meta};

/// One agent.
pub(crate) struct HttpAgent {
    pub(crate) face: Arc<HttpFace>,
    pub(crate) peer: Peer,
    /// The session's id, of a legacy agent.
    pub(crate) session: Option<String>,
}

/// A response being read: its messages, one by one.
pub(crate) struct Messages {
    pub(crate) response: Response<Body>,
    buffer: String,
}

impl HttpAgent {
    pub(crate) fn new(face: &Arc<HttpFace>, connection: u64) -> Self {
        Self { face: Arc::clone(face), peer: Peer { connection, user: None }, session: None }
    }

    /// Sends one message; headers are added to the usual ones.
    pub(crate) async fn post(&self, message: &Value, headers: &[(&str, &str)]) -> Response<Body> {
        let usual = [("accept", "application/json, text/event-stream")];
        self.post_with(message, &[&usual, headers].concat()).await
    }

    /// Sends a text as it is.
    pub(crate) async fn post_text(&self, text: &str, headers: &[(&str, &str)]) -> Response<Body> {
        let usual = [("accept", "application/json, text/event-stream")];
        self.post_body(text.to_owned(), &[&usual, headers].concat()).await
    }

    /// Sends one message with these headers alone, besides those that every message has.
    pub(crate) async fn post_with(&self, message: &Value, headers: &[(&str, &str)]) -> Response<Body> {
        self.post_body(message.to_string(), headers).await
    }

    async fn post_body(&self, body: String, headers: &[(&str, &str)]) -> Response<Body> {
        self.post_at("/mcp", body, headers).await
    }

    async fn post_at(&self, place: &str, body: String, headers: &[(&str, &str)]) -> Response<Body> {
        let mut request = Request::post(place).header("host", "localhost").header("content-type", "application/json");
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        timeout(DEADLINE, self.face.handle(request, self.peer)).await.expect("no response")
    }

    pub(crate) async fn get(&self, headers: &[(&str, &str)]) -> Response<Body> {
        let mut request = Request::get("/mcp").header("host", "localhost").header("accept", "text/event-stream");
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.face.handle(request.body(Full::new(Bytes::new())).unwrap(), self.peer).await
    }

    /// Says `initialize`.
    pub(crate) async fn initialize(&mut self, capabilities: Value) -> Value {
        self.initialize_as("2025-11-25", capabilities).await
    }

    /// Says `initialize` in this version.
    pub(crate) async fn initialize_as(&mut self, version: &str, capabilities: Value) -> Value {
        let params = json!({
            "protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "a", "version": "1"}
        });
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let response = self.post(&message, &[]).await;
        self.session = Some(response.headers()["mcp-session-id"].to_str().unwrap().to_owned());
        let answer = Messages::new(response).next().await.unwrap();
        self.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), &[]).await;
        answer
    }

    /// Asks in the legacy way, and answers what it is asked meanwhile.
    pub(crate) async fn ask(&self, id: u64, method: &str, params: Value) -> (Value, Vec<Value>) {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let mut messages = Messages::new(self.post(&message, &[]).await);
        let mut before = Vec::new();
        while let Some(message) = messages.next().await {
            if message["id"] == id && message.get("method").is_none() {
                return (message, before);
            }
            if let (Some(question), Some(method)) = (message.get("id"), message["method"].as_str()) {
                let answer = json!({"jsonrpc": "2.0", "id": question, "result": answer_to(method)});
                assert_eq!(self.post(&answer, &[]).await.status(), 202);
            }
            before.push(message);
        }
        panic!("the stream ended without an answer");
    }

    /// Asks once in the modern way.
    pub(crate) async fn modern(
        &self,
        id: u64,
        method: &str,
        params: Value,
        capabilities: &Value,
    ) -> (Value, Vec<Value>) {
        let mut messages = Messages::new(self.modern_response(id, method, params, capabilities).await);
        let mut before = Vec::new();
        while let Some(message) = messages.next().await {
            if message["id"] == id {
                return (message, before);
            }
            before.push(message);
        }
        panic!("the stream ended without an answer");
    }

    pub(crate) async fn modern_response(
        &self,
        id: u64,
        method: &str,
        mut params: Value,
        capabilities: &Value,
    ) -> Response<Body> {
        let mut meta = modern_meta(capabilities.clone());
        if let Some(more) = params["_meta"].as_object() {
            meta.as_object_mut().unwrap().extend(more.clone());
        }
        params["_meta"] = meta;
        let named = ["name", "uri", "taskId"].iter().find_map(|key| params[key].as_str());
        let name = named.unwrap_or_default().to_owned();
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        if !name.is_empty() {
            headers.push(("mcp-name", &name));
        }
        self.post(&message, &headers).await
    }
}

/// One agent of HTTP+SSE: it sends at one place, and reads all answers at another.
pub(crate) struct SseAgent {
    agent: HttpAgent,
    endpoint: String,
    messages: Messages,
}

impl SseAgent {
    pub(crate) async fn connect(face: &Arc<HttpFace>, connection: u64) -> Self {
        let agent = HttpAgent::new(face, connection);
        let request = Request::get("/sse").header("host", "localhost").body(Full::new(Bytes::new())).unwrap();
        let mut messages = Messages::new(agent.face.handle(request, agent.peer).await);
        let endpoint = messages.next_data().await.unwrap();
        Self { agent, endpoint, messages }
    }

    /// Sends a text as it is; true when an answer to it is to come.
    pub(crate) async fn send_text(&self, text: &str, headers: &[(&str, &str)]) -> bool {
        self.agent.post_at(&self.endpoint, text.to_owned(), headers).await.status() == 202
    }

    pub(crate) async fn next(&mut self) -> Value {
        self.messages.next().await.expect("the stream has ended")
    }
}

impl Messages {
    pub(crate) fn new(response: Response<Body>) -> Self {
        Self { response, buffer: String::new() }
    }

    /// The next message; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let data = self.next_data().await?;
        Some(serde_json::from_str(&data).unwrap())
    }

    /// What the next event or the body says; `None` at the end.
    pub(crate) async fn next_data(&mut self) -> Option<String> {
        let is_stream = self.response.headers()["content-type"] == "text/event-stream";
        loop {
            if is_stream && let Some((event, rest)) = self.buffer.split_once("\n\n") {
                let data: String = event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
                self.buffer = rest.to_owned();
                if data.is_empty() {
                    continue;
                }
                return Some(data);
            }
            let frame = timeout(DEADLINE, self.response.body_mut().frame()).await.expect("nothing came");
            match frame {
                Some(frame) => {
                    let data = frame.unwrap().into_data().unwrap();
                    self.buffer.push_str(std::str::from_utf8(&data).unwrap());
                }
                None if is_stream || self.buffer.is_empty() => return None,
                None => return Some(std::mem::take(&mut self.buffer)),
            }
        }
    }
}
