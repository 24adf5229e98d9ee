//! An agent of either era that calls a tool of the hub, and what its person says to its form.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use helve_serve::Peer;
use helve_serve::face::http::{Body, HttpFace};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::time::timeout;

/// How long anything may take before a test gives up.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// One agent.
#[derive(Clone)]
pub(crate) struct Agent {
    face: Arc<HttpFace>,
    token: String,
    era: Era,
    session: Option<String>,
    capabilities: Value,
}

impl Agent {
    pub(crate) async fn new(face: &Arc<HttpFace>, token: &str, era: Era, capabilities: Value) -> Self {
        let mut agent = Self { face: Arc::clone(face), token: token.to_owned(), era, session: None, capabilities };
        if era == Era::Legacy {
            let params = json!({
                "protocolVersion": "2025-11-25", "capabilities": agent.capabilities,
                "clientInfo": {"name": "robot", "version": "1"},
            });
            let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
            let response = agent.post(&opening, &[]).await;
            let session = response.headers()["mcp-session-id"].to_str().expect("an id").to_owned();
            agent.session = Some(session);
            agent.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), &[]).await;
        }
        agent
    }

    pub(crate) async fn post(&self, message: &Value, headers: &[(&str, &str)]) -> Response<Body> {
        let mut request = Request::post("/mcp")
            .header("host", "127.0.0.1:7333")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("authorization", format!("Bearer {}", self.token));
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(message.to_string()))).expect("a request");
        self.face.handle(request, Peer { connection: 9, user: None }).await
    }

    /// Sends a call, in a round of it where there were others.
    pub(crate) async fn send(&self, tool: &str, arguments: &Value, more: Value) -> Messages {
        let mut params = json!({"name": tool, "arguments": arguments});
        if let (Some(params), Some(more)) = (params.as_object_mut(), more.as_object()) {
            params.extend(more.clone());
        }
        if self.era == Era::Legacy {
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            return Messages::new(self.post(&message, &[]).await);
        }
        self.ask("tools/call", params, tool).await
    }

    /// Asks for something in the way of its era; gives the answer.
    pub(crate) async fn request(&self, method: &str, params: Value, name: &str) -> Value {
        let mut messages = match self.era {
            Era::Legacy => {
                let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
                Messages::new(self.post(&message, &[]).await)
            }
            Era::Modern => self.ask(method, params, name).await,
        };
        messages.next().await.expect("an answer")
    }

    /// Asks in the modern way.
    pub(crate) async fn ask(&self, method: &str, mut params: Value, name: &str) -> Messages {
        let meta = &mut params["_meta"];
        meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
        meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "robot", "version": "1"});
        meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method), ("mcp-name", name)];
        Messages::new(self.post(&message, &headers).await)
    }

    /// Calls, answers what it is asked with this, and gives the call's answer.
    pub(crate) async fn call(&self, tool: &str, arguments: &Value, form: Option<Value>) -> Value {
        let mut messages = self.send(tool, arguments, json!({})).await;
        loop {
            let message = messages.next().await.expect("an answer");
            if message["method"].is_string() {
                // A question on the stream of a legacy call.
                let (Some(id), Some(form)) = (message.get("id"), &form) else { continue };
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": form});
                assert_eq!(self.post(&answer, &[]).await.status(), 202);
                continue;
            }
            let result = &message["result"];
            if result["resultType"] == "input_required" {
                let form = form.clone().expect("something to say");
                let keys = result["inputRequests"].as_object().expect("questions").keys();
                let responses: Value =
                    keys.map(|key| (key.clone(), form.clone())).collect::<serde_json::Map<_, _>>().into();
                let round = json!({"inputResponses": responses, "requestState": result["requestState"]});
                messages = self.send(tool, arguments, round).await;
                continue;
            }
            return message;
        }
    }
}

/// The text of a result, and whether it is an error.
pub(crate) fn said(answer: &Value) -> (String, bool) {
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().map_or_else(|| answer.to_string(), ToOwned::to_owned);
    (text, result["isError"] == true || answer.get("error").is_some())
}

/// A response being read: its messages, one by one.
pub(crate) struct Messages {
    response: Response<Body>,
    buffer: String,
}

impl Messages {
    fn new(response: Response<Body>) -> Self {
        Self { response, buffer: String::new() }
    }

    /// The next message; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let is_stream = self.response.headers().get("content-type").is_some_and(|kind| kind == "text/event-stream");
        loop {
            if is_stream && let Some((event, rest)) = self.buffer.split_once("\n\n") {
                let data: String = event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
                self.buffer = rest.to_owned();
                if data.is_empty() {
                    continue;
                }
                return Some(serde_json::from_str(&data).expect("JSON"));
            }
            let frame = timeout(DEADLINE, self.response.body_mut().frame()).await.expect("nothing came");
            match frame {
                Some(frame) => {
                    let data = frame.expect("a frame").into_data().expect("data");
                    self.buffer.push_str(std::str::from_utf8(&data).expect("text"));
                }
                None if is_stream || self.buffer.is_empty() => return None,
                None => return serde_json::from_str(&std::mem::take(&mut self.buffer)).ok(),
            }
        }
    }
}
