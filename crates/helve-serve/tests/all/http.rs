//! The HTTP service itself: who comes in, sessions, streams that break and are read on, headers, the oldest transport.

use std::sync::Arc;

use bytes::Bytes;
use helve_serve::face::http::{Guard, HttpFace};
use helve_serve::{Authenticate, Gateway, KnownTokens, LocalUsers, Naming, Options, Peer};
use helve_testkit::Scenario;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};

use crate::http_agent::{HttpAgent, Messages};
use crate::support::{DEADLINE, open, stdio_server};

/// Known by their number.
fn tokens(tokens: &[&str]) -> Arc<dyn Authenticate> {
    Arc::new(KnownTokens::new(tokens.iter().enumerate().map(|(number, token)| (number, (*token).into()))))
}

async fn face_with(guard: Guard) -> (Arc<Gateway>, Arc<HttpFace>) {
    let servers = open(vec![stdio_server("one", &Scenario::dual())]);
    let options = Options::default().with(|options| {
        options.naming = Naming::None;
        options.wait = Some(DEADLINE);
    });
    let gateway = Gateway::shared(Arc::new(servers), options).await.unwrap();
    let face = Arc::new(HttpFace::new(Arc::clone(&gateway), guard));
    (gateway, face)
}

#[tokio::test]
async fn a_session_belongs_to_whoever_opened_it() {
    let (gateway, face) = face_with(Guard::default().with(|guard| guard.authenticate = tokens(&["one", "two"]))).await;
    let agent = HttpAgent::new(&face, 1);
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}});
    assert_eq!(agent.post(&initialize, &[]).await.status(), 401);
    let opened = agent.post(&initialize, &[("authorization", "Bearer one")]).await;
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    assert!(session.len() >= 32);

    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    let with = async |token: &str, session: &str| {
        agent.post(&ping, &[("authorization", token), ("mcp-session-id", session)]).await.status().as_u16()
    };
    assert_eq!(with("Bearer one", &session).await, 200);
    assert_eq!(with("Bearer two", &session).await, 404);
    assert_eq!(with("Bearer one", "guessed").await, 404);
    assert_eq!(agent.post(&ping, &[("authorization", "Bearer one")]).await.status(), 400);
    assert_eq!(face.sessions(), 1);

    let delete = Request::builder().method(Method::DELETE).uri("/mcp").header("host", "localhost");
    let delete = delete.header("authorization", "Bearer one").header("mcp-session-id", &session);
    let deleted = face.handle(delete.body(Full::new(Bytes::new())).unwrap(), agent.peer).await;
    assert_eq!(deleted.status(), 204);
    assert_eq!(with("Bearer one", &session).await, 404);
    assert_eq!(face.sessions(), 0);
    gateway.host().shutdown().await;
}

/// The server's log has no call of a connection whose user nobody knows, nor of another user.
#[tokio::test]
async fn s2_without_a_token_an_unknown_user_runs_nothing() {
    let (gateway, face) =
        face_with(Guard::default().with(|guard| guard.authenticate = Arc::new(LocalUsers { only: Some(1000) }))).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {},
        "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}});
    let status = async |connection: u64, user: Option<u32>| {
        let mut agent = HttpAgent::new(&face, connection);
        agent.peer = Peer { connection, user };
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "echo")];
        agent.post(&call, &headers).await.status().as_u16()
    };
    assert_eq!(status(1, None).await, 403);
    assert_eq!(status(2, Some(1001)).await, 403);
    assert_eq!(status(3, Some(1000)).await, 200);
    gateway.host().shutdown().await;
}

/// Of two headers of a name each reader could believe another one.
#[tokio::test]
async fn s16_doubled_headers_are_refused() {
    let (gateway, face) = face_with(Guard::default().with(|guard| guard.authenticate = tokens(&["one"]))).await;
    let status = async |headers: &[(&str, &str)]| {
        let mut request = Request::post("/mcp").header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = Full::new(Bytes::from_static(b"{}"));
        face.handle(request.body(body).unwrap(), Peer { connection: 1, user: None }).await.status().as_u16()
    };
    let (host, token) = (("host", "localhost"), ("authorization", "Bearer one"));
    assert_ne!(status(&[host, token]).await, 401);
    assert_eq!(status(&[host, ("host", "evil.example.com"), token]).await, 400);
    assert_eq!(status(&[host, host, token]).await, 400);
    assert_eq!(status(&[host, token, ("authorization", "Bearer two")]).await, 400);
    assert_eq!(status(&[host, token, ("origin", "null"), ("origin", "http://localhost")]).await, 400);
    assert_eq!(status(&[host, token, ("mcp-session-id", "a"), ("mcp-session-id", "b")]).await, 400);
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn a_stream_that_broke_is_read_on() {
    let (gateway, face) = face_with(Guard::default()).await;
    let mut agent = HttpAgent::new(&face, 1);
    agent.initialize(json!({})).await;
    let params = json!({"name": "progress", "arguments": {"steps": 5, "delay_ms": 20}, "_meta": {"progressToken": 1}});
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    let mut response = agent.post(&call, &[]).await;
    // The first events, as text, to find the id; then the connection is gone.
    let mut text = String::new();
    while !text.contains("\"progress\":") {
        let frame = response.body_mut().frame().await.unwrap().unwrap().into_data().unwrap();
        text.push_str(std::str::from_utf8(&frame).unwrap());
    }
    drop(response);
    let last = text.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().unwrap().to_owned();
    let mut rest = Messages::new(agent.get(&[("last-event-id", &last)]).await);
    let mut heard = Vec::new();
    loop {
        let message = rest.next().await.expect("the stream ended without the answer");
        heard.push(message);
        if heard.last().is_some_and(|message| message["id"] == 7) {
            break;
        }
    }
    let before = text.matches("notifications/progress").count();
    let after = heard.iter().filter(|message| message["method"] == "notifications/progress").count();
    assert_eq!(before + after, 5);
    assert_eq!(agent.get(&[("last-event-id", "99-1")]).await.status(), 400);
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn headers_have_to_say_what_the_body_says() {
    let (gateway, face) = face_with(Guard::default()).await;
    let agent = HttpAgent::new(&face, 1);
    let meta = crate::support::modern_meta(json!({}));
    let call = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "echo", "arguments": {}, "_meta": meta}});
    let status = async |message: &Value, headers: &[(&str, &str)]| {
        let response = agent.post(message, headers).await;
        let status = response.status().as_u16();
        (status, Messages::new(response).next().await.unwrap()["error"]["code"].clone())
    };
    let version = ("mcp-protocol-version", "2026-07-28");
    let fine = [version, ("mcp-method", "tools/call"), ("mcp-name", "=?base64?ZWNobw==?=")];
    assert_eq!(status(&call(1), &fine).await, (200, Value::Null));
    assert_eq!(
        status(&call(2), &[version, ("mcp-method", "tools/list"), ("mcp-name", "echo")]).await,
        (400, json!(-32020))
    );
    assert_eq!(status(&call(3), &[version, ("mcp-method", "tools/call")]).await, (400, json!(-32020)));
    assert_eq!(status(&call(4), &[]).await, (400, json!(-32020)));
    let bare = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {}});
    assert_eq!(status(&bare, &[version, ("mcp-method", "tools/list")]).await, (400, json!(-32602)));
    let (unknown, _) = agent.modern(6, "tools/none", json!({}), &json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601);
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn strangers_are_kept_out() {
    let (gateway, face) = face_with(Guard::default()).await;
    let peer = Peer { connection: 1, user: None };
    let status = async |host: &str, origin: Option<&str>, path: &str| {
        let mut request = Request::post(path).header("host", host).header("content-type", "application/json");
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        face.handle(request.body(Full::new(Bytes::from("{}"))).unwrap(), peer).await.status().as_u16()
    };
    assert_eq!(status("evil.example.com", None, "/mcp").await, 403);
    assert_eq!(status("localhost", Some("https://evil.example.com"), "/mcp").await, 403);
    assert_eq!(status("localhost", None, "/elsewhere").await, 404);
    assert_eq!(status("localhost", Some("http://localhost:3000"), "/mcp").await, 400);
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn the_oldest_agents_come_to_another_address() {
    let (gateway, face) = face_with(Guard::default()).await;
    let peer = Peer { connection: 1, user: None };
    let open = Request::get("/sse").header("host", "localhost").body(Full::new(Bytes::new())).unwrap();
    let mut stream = face.handle(open, peer).await;
    let first = stream.body_mut().frame().await.unwrap().unwrap().into_data().unwrap();
    let first = String::from_utf8(first.to_vec()).unwrap();
    let endpoint = first.strip_prefix("event: endpoint\ndata: ").unwrap().trim().to_owned();
    let post = async |message: Value| {
        let request = Request::post(&endpoint).header("host", "localhost").header("content-type", "application/json");
        face.handle(request.body(Full::new(Bytes::from(message.to_string()))).unwrap(), peer).await.status().as_u16()
    };
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}});
    assert_eq!(post(initialize).await, 202);
    let mut messages = Messages::new(stream);
    assert_eq!(messages.next().await.unwrap()["result"]["protocolVersion"], "2024-11-05");
    assert_eq!(post(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo", "arguments": {"x": 1}}})).await, 202);
    let answer = loop {
        let message = messages.next().await.unwrap();
        if message["id"] == 2 {
            break message;
        }
    };
    assert_eq!(answer["result"]["structuredContent"], json!({"x": 1}), "{answer}");
    drop(messages);
    assert_eq!(post(json!({"jsonrpc": "2.0", "id": 3, "method": "ping"})).await, 404);
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn a_page_that_was_named_can_read_what_it_asks_for() {
    let guard = Guard::default().with(|guard| {
        guard.origins = vec!["https://app.example.com".into()];
        guard.authenticate = tokens(&["one"]);
    });
    let (gateway, face) = face_with(guard).await;
    let peer = Peer { connection: 1, user: None };
    let preflight = async |origin: &str| {
        let request = Request::builder().method(Method::OPTIONS).uri("/mcp").header("host", "localhost");
        let request = request.header("origin", origin).header("access-control-request-method", "POST");
        let request = request.header("access-control-request-headers", "content-type, mcp-session-id");
        face.handle(request.body(Full::new(Bytes::new())).unwrap(), peer).await
    };
    let told = preflight("https://app.example.com").await;
    assert_eq!(told.status(), 204);
    let header = |name: &str| told.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    insta::assert_debug_snapshot!(
        ["access-control-allow-origin", "access-control-allow-methods", "access-control-allow-headers", "vary"].map(header), @r#"
    [
        Some(
            "https://app.example.com",
        ),
        Some(
            "GET, POST, DELETE",
        ),
        Some(
            "content-type, mcp-session-id",
        ),
        Some(
            "Origin",
        ),
    ]
    "#);
    assert_eq!(preflight("https://evil.example.com").await.status(), 403);
    // Pages of this machine may ask, but nobody told us to let them read.
    assert_eq!(preflight("http://localhost:3000").await.status(), 401);

    let agent = HttpAgent::new(&face, 1);
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}});
    let opened =
        agent.post(&initialize, &[("authorization", "Bearer one"), ("origin", "https://app.example.com")]).await;
    assert_eq!(opened.headers()["access-control-allow-origin"], "https://app.example.com");
    assert_eq!(opened.headers()["access-control-expose-headers"], "Mcp-Session-Id, WWW-Authenticate");
    let refused = agent.post(&initialize, &[("origin", "https://app.example.com")]).await;
    assert_eq!((refused.status().as_u16(), refused.headers().contains_key("access-control-allow-origin")), (401, true));
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn the_newer_era_has_no_streams_beside_its_requests() {
    let (gateway, face) = face_with(Guard::default()).await;
    let agent = HttpAgent::new(&face, 1);
    let refused = agent.get(&[("mcp-protocol-version", "2026-07-28")]).await;
    assert_eq!((refused.status().as_u16(), refused.headers()["allow"].to_str().unwrap()), (405, "POST"));
    gateway.host().shutdown().await;
}
