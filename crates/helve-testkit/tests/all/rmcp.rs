//! The server on rmcp, driven by hand: both eras, both transports.
#![expect(clippy::disallowed_methods, reason = "these tests start the server by hand, without any launcher")]

use std::process::Stdio;
use std::time::Duration;

use helve_testkit::rmcp_program;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::client::{Client, with_meta};
use crate::http_client::{Http, call_body, data, initialize_body, modern_request};

fn start(arguments: &[&str]) -> Child {
    Command::new(rmcp_program())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

fn client(child: &mut Child) -> Client {
    Client::over(child.stdout.take().unwrap(), child.stdin.take().unwrap())
}

#[tokio::test]
async fn legacy_over_stdio() {
    for era in [&["stdio", "legacy"][..], &["stdio"]] {
        let mut child = start(era);
        let mut client = client(&mut child);
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": { "elicitation": {} },
                             "clientInfo": { "name": "by hand", "version": "1" } });
        let agreed = client.request("initialize", params).await["result"]["protocolVersion"].clone();
        assert_eq!(agreed, "2025-06-18");
        client.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        assert_eq!(client.call("echo", json!({ "a": 1 })).await["structuredContent"], json!({ "a": 1 }));
        let params = json!({ "name": "progress", "arguments": { "steps": 2 }, "_meta": { "progressToken": 5 } });
        client.request("tools/call", params).await;
        assert_eq!(client.others.len(), 2);

        let call = client.start("tools/call", json!({ "name": "elicit" })).await;
        let asked = client.message().await;
        assert_eq!(asked["method"], "elicitation/create");
        let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
        client.write(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer }).to_string()).await;
        assert_eq!(client.answer(call).await["result"]["content"][0]["text"], "Ada");

        let read = client.request("resources/read", json!({ "uri": "test://text" })).await;
        assert_eq!(read["result"]["contents"][0]["text"], "Hello, wörld");
        let prompt = client.request("prompts/get", json!({ "name": "greet", "arguments": { "who": "Ada" } })).await;
        assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "Greet Ada");
        client.close_writer().await;
        let status = tokio::time::timeout(Duration::from_secs(10), child.wait()).await.unwrap().unwrap();
        assert!(status.success());
    }
}

#[tokio::test]
async fn modern_over_stdio() {
    for era in [&["stdio", "modern"][..], &["stdio"]] {
        let mut child = start(era);
        let mut client = client(&mut child);
        let versions = client.modern("server/discover", json!({})).await["result"]["supportedVersions"].clone();
        assert!(versions.as_array().unwrap().contains(&json!("2026-07-28")), "{versions}");
        let tools = client.modern("tools/list", json!({})).await["result"]["tools"].clone();
        assert_eq!(tools.as_array().unwrap().len(), 4);
        let first = client.modern("tools/call", json!({ "name": "elicit" })).await["result"].clone();
        assert_eq!(first["resultType"], "input_required");
        let answers = json!({ "name": { "action": "accept", "content": { "name": "Ada" } } });
        let retry = json!({ "name": "elicit", "inputResponses": answers, "requestState": first["requestState"] });
        let last = client.modern("tools/call", retry).await;
        assert_eq!(last["result"]["content"][0]["text"], "Ada");
        let listen = json!({ "notifications": {} });
        client.start("subscriptions/listen", with_meta(listen)).await;
        assert_eq!(client.message().await["method"], "notifications/subscriptions/acknowledged");
    }
}

#[tokio::test]
async fn an_era_that_is_not_spoken_is_refused() {
    let mut child = start(&["stdio", "modern"]);
    let refusal = client(&mut child).initialize("2025-11-25").await;
    assert!(refusal.get("error").is_some(), "{refusal}");
}

#[tokio::test]
async fn both_eras_over_http() {
    let mut child = start(&["http"]);
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).await.unwrap();
    let address = url.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).unwrap();
    let address = address.parse().unwrap();

    let mut http = Http::connect(address).await;
    http.send("POST", "/mcp", &[], &initialize_body("2025-11-25")).await;
    let head = http.head().await.unwrap();
    let session = head.header("mcp-session-id").unwrap().to_string();
    http.body(&head).await;
    let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2025-11-25")];
    http.send("POST", "/mcp", &headers, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let head = http.head().await.unwrap();
    assert_eq!(head.status, 202);
    http.body(&head).await;
    http.send("POST", "/mcp", &headers, &call_body(3, "echo", json!({ "a": 1 }))).await;
    let head = http.head().await.unwrap();
    let (body, _) = http.body(&head).await;
    let messages = data(std::str::from_utf8(&body).unwrap());
    assert_eq!(messages.last().unwrap()["result"]["structuredContent"], json!({ "a": 1 }));

    let (body, headers) = modern_request("tools/call", json!({ "name": "echo", "arguments": { "b": 2 } }));
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut http = Http::connect(address).await;
    http.send("POST", "/mcp", &headers, &body).await;
    let head = http.head().await.unwrap();
    assert_eq!(head.status, 200);
    let (body, _) = http.body(&head).await;
    let text = String::from_utf8(body).unwrap();
    let answer: Value = data(&text).pop().unwrap_or_else(|| serde_json::from_str(&text).unwrap());
    assert_eq!(answer["result"]["structuredContent"], json!({ "b": 2 }));
}
