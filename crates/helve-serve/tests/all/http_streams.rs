//! Streams of the HTTP face: agents that lose them, come back or stay away, read slowly, or read none.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use helve_serve::face::http::{Guard, HttpFace};
use helve_serve::{Gateway, Limits, Naming, Options};
use helve_testkit::{Recording, Scenario};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::http_agent::{HttpAgent, Messages};
use crate::support::{DEADLINE, answer_to, everything, open, stdio_server};

async fn face(scenario: &Scenario, limits: Limits) -> (Arc<Gateway>, Arc<HttpFace>) {
    let options = Options::default().with(|options| {
        options.naming = Naming::None;
        options.wait = Some(DEADLINE);
        options.limits = limits;
    });
    let gateway = Gateway::shared(Arc::new(open(vec![stdio_server("one", scenario)])), options).await.unwrap();
    let face = Arc::new(HttpFace::new(Arc::clone(&gateway), Guard::default()));
    (gateway, face)
}

fn call(id: u64, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// Reads until something was said, breaks off, and gives the id of the last event.
async fn broken_off(agent: &HttpAgent, call: &Value) -> String {
    let mut response = agent.post(call, &[]).await;
    let mut text = String::new();
    while !text.contains("\"params\"") {
        let frame = response.body_mut().frame().await.unwrap().unwrap().into_data().unwrap();
        text.push_str(std::str::from_utf8(&frame).unwrap());
    }
    text.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().unwrap().to_owned()
}

async fn told_to_cancel(record: &std::path::Path) {
    let deadline = tokio::time::Instant::now() + DEADLINE;
    while !Recording::load(record).unwrap().methods().iter().any(|method| method == "notifications/cancelled") {
        assert!(tokio::time::Instant::now() < deadline, "the server was not told");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn who_came_back_is_not_given_up() {
    let limits = Limits { resume_time: Duration::from_millis(500), ..Limits::default() };
    let (gateway, face) = face(&Scenario::legacy(), limits).await;
    let mut agent = HttpAgent::new(&face, 1);
    agent.initialize(json!({})).await;
    // The call takes four times as long as a broken stream is waited for.
    let last = broken_off(&agent, &call(7, "progress", json!({"steps": 20, "delay_ms": 100}))).await;
    let mut rest = Messages::new(agent.get(&[("last-event-id", &last)]).await);
    let answer = loop {
        let message = rest.next().await.expect("the stream ended without the answer");
        if message["id"] == 7 {
            break message;
        }
    };
    assert_eq!(answer["result"]["content"][0]["text"], "20 steps", "{answer}");
    assert_eq!(rest.next().await, None);
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn who_stays_away_takes_its_call_back_and_hears_so() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let limits = Limits { resume_time: Duration::from_millis(50), ..Limits::default() };
    let (gateway, face) = face(&Scenario::legacy().record_to(&record), limits).await;
    let mut agent = HttpAgent::new(&face, 1);
    agent.initialize(json!({})).await;
    let last = broken_off(&agent, &call(7, "progress", json!({"steps": 100_000, "delay_ms": 5}))).await;
    told_to_cancel(&record).await;
    let mut rest = Messages::new(agent.get(&[("last-event-id", &last)]).await);
    let mut heard = Vec::new();
    while let Some(message) = rest.next().await {
        heard.push(message);
    }
    insta::assert_snapshot!(heard.last().unwrap(), @r#"{"error":{"code":-32000,"message":"nobody came back to this stream within 0.05 s, and the request was given up"},"id":7,"jsonrpc":"2.0"}"#);
    // Nothing else of the session is gone.
    let (echoed, _) = agent.ask(8, "tools/call", json!({"name": "echo", "arguments": {"x": 1}})).await;
    assert_eq!(echoed["result"]["structuredContent"], json!({"x": 1}));
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn a_large_answer_whose_delivery_broke_is_read_again() {
    let (gateway, face) = face(&Scenario::legacy(), Limits::default()).await;
    let mut agent = HttpAgent::new(&face, 1);
    agent.initialize(json!({})).await;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    let large = "x".repeat(200_000);
    let result = format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{{"content":[],"large":"{large}"}}}}"#);
    let mut messages =
        Messages::new(agent.post(&call(7, "raw", json!({"text": format!("{note}\n{result}\n")})), &[]).await);
    while messages.next().await.unwrap()["id"] != 7 {}
    drop(messages);
    // The agent got the first events only, as far as it knows; and again.
    for _ in 0..2 {
        let mut rest = Messages::new(agent.get(&[("last-event-id", "1-0")]).await);
        assert_eq!(rest.next().await.unwrap()["method"], "notifications/message");
        assert_eq!(rest.next().await.unwrap()["result"]["large"], json!(large));
    }
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn a_slow_reader_loses_notifications_and_nothing_else() {
    let limits = Limits { waiting_bytes: 50_000, ..Limits::default() };
    let (gateway, face) = face(&Scenario::legacy(), limits).await;
    let mut agent = HttpAgent::new(&face, 1);
    agent.initialize(json!({})).await;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    let result = r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"x":1}}"#;
    let text = format!("{}{result}\n", format!("{note}\n").repeat(20_000));
    let response = agent.post(&call(7, "raw", json!({"text": text})), &[]).await;
    // Other requests are answered as if nothing were the matter; behind this answer there is nothing left of the flood.
    let (echoed, _) = agent.ask(8, "tools/call", json!({"name": "echo", "arguments": {"x": 1}})).await;
    assert_eq!(echoed["result"]["structuredContent"], json!({"x": 1}));
    let mut messages = Messages::new(response);
    let mut heard = 0;
    loop {
        let message = messages.next().await.expect("the answer is lost");
        if message["id"] == 7 {
            assert_eq!(message["result"]["x"], 1);
            break;
        }
        heard += 1;
    }
    assert!(heard < 1_000, "{heard} notifications were held");
    gateway.host().shutdown().await;
}

/// An agent that reads no streams of its requests is asked on the stream of its session, or not at all.
#[tokio::test]
async fn an_agent_that_reads_no_stream_is_asked_beside_it() {
    let (gateway, face) = face(&Scenario::legacy(), Limits::default()).await;
    let mut agent = HttpAgent::new(&face, 1);
    agent.initialize(everything()).await;
    let json_only = [("accept", "application/json")];
    let refused =
        Messages::new(agent.post_with(&call(1, "ask", json!({"kind": "form"})), &json_only).await).next().await;
    assert!(!refused.unwrap().to_string().contains("the agent's answer"));

    let mut beside = Messages::new(agent.get(&[]).await);
    let answering = async {
        let question = loop {
            let message = beside.next().await.unwrap();
            if message["method"] == "elicitation/create" {
                break message;
            }
        };
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": answer_to("elicitation/create")});
        assert_eq!(agent.post(&answer, &[]).await.status(), 202);
    };
    let asking = call(2, "ask", json!({"kind": "form"}));
    let (response, ()) = tokio::join!(agent.post_with(&asking, &json_only), answering);
    assert_eq!(response.headers()["content-type"], "application/json");
    let answer = Messages::new(response).next().await.unwrap();
    assert!(answer.to_string().contains("the agent's answer"), "{answer}");
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn batches_are_answered_as_arrays_in_the_version_that_has_them() {
    let (gateway, face) = face(&Scenario::legacy(), Limits::default()).await;
    let ping = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let told = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    let mut agent = HttpAgent::new(&face, 1);
    agent.initialize_as("2025-03-26", json!({})).await;
    let ask = async |agent: &HttpAgent, batch: Value| {
        let response = agent.post(&batch, &[]).await;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    };
    insta::assert_debug_snapshot!(ask(&agent, json!([ping(1), told, ping(2), 7])).await, @r#"
    (
        200,
        "[{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"this is not a request of JSON-RPC 2.0\"}},{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}]",
    )
    "#);
    assert_eq!(ask(&agent, json!([told])).await, (202, String::new()));
    insta::assert_debug_snapshot!(ask(&agent, json!([])).await, @r#"
    (
        400,
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"a batch has at least one message\"}}",
    )
    "#);
    let mut newer = HttpAgent::new(&face, 2);
    newer.initialize(json!({})).await;
    insta::assert_debug_snapshot!(ask(&newer, json!([ping(1)])).await, @r#"
    (
        400,
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"there are no batches in this version of the protocol: send one message at a time\"}}",
    )
    "#);
    gateway.host().shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_carries_comments() {
    let host = helve::Host::builder().start().await.unwrap();
    let gateway = Gateway::new(host, Options::default());
    let face = Arc::new(HttpFace::new(Arc::clone(&gateway), Guard::default()));
    let mut agent = HttpAgent::new(&face, 1);
    agent.initialize(json!({})).await;
    let mut stream = agent.get(&[]).await;
    for _ in 0..3 {
        let comment = stream.body_mut().frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(comment, Bytes::from_static(b":\n\n"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_stops_in_the_middle_is_not_waited_for() {
    let host = helve::Host::builder().start().await.unwrap();
    let gateway = Gateway::new(host, Options::default());
    let face = HttpFace::new(gateway, Guard::default());
    let first = futures_util::stream::iter([Ok::<_, std::io::Error>(data(b"{"))]);
    let body = http_body_util::StreamBody::new(futures_util::StreamExt::chain(first, futures_util::stream::pending()));
    let request = http::Request::post("/mcp").header("host", "localhost").header("content-type", "application/json");
    let response = face.handle(request.body(body).unwrap(), helve_serve::Peer { connection: 1, user: None }).await;
    assert_eq!(response.status(), 408);
}

fn data(bytes: &'static [u8]) -> hyper::body::Frame<Bytes> {
    hyper::body::Frame::data(Bytes::from_static(bytes))
}

/// Waiting for a slow server makes the first answer late, not another one: its head tells the session.
#[tokio::test]
async fn the_first_answer_is_a_body_however_late() {
    // Other answers are streams after a second.
    let (gateway, face) = face(&Scenario::legacy().start_delay_ms(1_200), Limits::default()).await;
    let mut agent = HttpAgent::new(&face, 1);
    agent.initialize(json!({})).await;
    let (pong, _) = agent.ask(1, "ping", json!({})).await;
    assert_eq!(pong["result"], json!({}));
    gateway.host().shutdown().await;
}
