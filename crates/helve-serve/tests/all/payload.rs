//! What a server sends is what the agent receives, byte for byte in the payload.

use std::sync::Arc;

use helve_serve::face::http::{Guard, HttpFace};
use helve_serve::{Gateway, Naming, Options};
use helve_testkit::Scenario;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::http_agent::HttpAgent;
use crate::support::{DEADLINE, StreamAgent, gateway, host, modern_meta, open, stdio_server};

/// Pieces of JSON that a careless relay changes.
const ODD: [&str; 12] = [
    "9223372036854775808",
    "1e400",
    "-0.0",
    "1.10",
    r#""\u0041\/\u00e9é\u0000""#,
    r#""\ud83d\ude00😀\u2028""#,
    r#"{"z":1,"a":2,"z2":{"":null}}"#,
    "[ ]",
    "{ }",
    "123456789012345678901234567890.123456789",
    r#"{"unknown field":[true,false,null]}"#,
    "1E+2",
];

/// A result that no other number gives.
fn generated(number: usize) -> String {
    let piece = |step: usize| ODD[(number * step + step) % ODD.len()];
    let content = format!(r#"[{{"type":"hologram","size":{},"x":{}}}]"#, piece(1), piece(5));
    let members = [
        format!(r#""content":{content}"#),
        format!(r#""structuredContent":{{"n{number}":{},"b":{}}}"#, piece(7), piece(11)),
        format!(r#""surprise":{}"#, piece(3)),
        format!(r#""_meta":{{"vendor/{number}":{}}}"#, piece(2)),
    ];
    let turned: Vec<&str> = (0..members.len()).map(|at| members[(at + number) % members.len()].as_str()).collect();
    format!("{{{}}}", turned.join(","))
}

/// A call that the server answers with this result, byte for byte.
fn asking_for(id: usize, result: &str) -> Value {
    let frame = format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#);
    let params = json!({"name": "raw", "arguments": {"text": format!("{frame}\n")}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

#[tokio::test]
async fn five_hundred_results_arrive_as_they_were_sent_over_http() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let options = Options::default().with(|options| {
            options.naming = Naming::None;
            options.wait = Some(DEADLINE);
        });
        let servers = open(vec![stdio_server("one", &scenario)]);
        let gateway = Gateway::shared(Arc::new(servers), options).await.unwrap();
        let face = Arc::new(HttpFace::new(Arc::clone(&gateway), Guard::default()));
        let mut agent = HttpAgent::new(&face, 1);
        agent.initialize(json!({})).await;
        for number in 0..500 {
            let (id, result) = (1_000 + number, generated(number));
            let response = agent.post(&asking_for(id, &result), &[]).await;
            assert_eq!(response.headers()["content-type"], "application/json");
            let body = response.into_body().collect().await.unwrap().to_bytes();
            let wanted = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
            assert_eq!(std::str::from_utf8(&body).unwrap(), wanted);
        }
        gateway.host().shutdown().await;
    }
}

#[tokio::test]
async fn five_hundred_results_arrive_as_they_were_sent() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let host = host(vec![stdio_server("one", &scenario)]).await;
        let gateway = gateway(&host, Naming::None);
        let mut agent = StreamAgent::connect(&gateway);
        agent.initialize(json!({})).await;
        for number in 0..500 {
            let (id, result) = (1_000 + number, generated(number));
            agent.send(asking_for(id, &result)).await;
            assert_eq!(agent.next_text().await, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
        }
        host.shutdown().await;
    }
}

/// For a modern agent the type is added behind, and nothing else is touched.
#[tokio::test]
async fn what_a_modern_agent_gets_has_a_type_besides() {
    let host = host(vec![stdio_server("one", &Scenario::legacy())]).await;
    let gateway = gateway(&host, Naming::None);
    let mut agent = StreamAgent::connect(&gateway);
    for number in 0..50 {
        let result = generated(number);
        let frame = format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#);
        let id = 2_000 + number;
        let params =
            json!({"name": "raw", "arguments": {"text": format!("{frame}\n")}, "_meta": modern_meta(json!({}))});
        agent.send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).await;
        let open = result.strip_suffix('}').unwrap();
        let wanted = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{open},"resultType":"complete"}}}}"#);
        assert_eq!(agent.next_text().await, wanted);
    }
    host.shutdown().await;
}

#[tokio::test]
async fn a_broken_payload_costs_one_call() {
    let host = host(vec![stdio_server("one", &Scenario::legacy())]).await;
    let gateway = gateway(&host, Naming::None);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({})).await;
    let broken = "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[nonsense]}}\n";
    let (answer, _) = agent.ask(1, "tools/call", json!({"name": "raw", "arguments": {"text": broken}})).await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("not JSON"), "{answer}");
    let (answer, _) = agent.ask(2, "tools/call", json!({"name": "echo", "arguments": {"x": 1}})).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"x": 1}));
    host.shutdown().await;
}

#[tokio::test]
async fn a_servers_own_refusal_is_passed_on_as_it_is() {
    let host = host(vec![stdio_server("one", &Scenario::legacy())]).await;
    let gateway = gateway(&host, Naming::None);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({})).await;
    let refusal = r#"{"code":-31999,"message":"no \u00e9","data":{"b":1,"a":1e400}}"#;
    let frame = format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":{refusal}}}\n");
    let params = json!({"name": "raw", "arguments": {"text": frame}});
    agent.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).await;
    let wanted = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-31999,"message":"no é","data":{"b":1,"a":1e400}}}"#;
    assert_eq!(agent.next_text().await, wanted);
    host.shutdown().await;
}
