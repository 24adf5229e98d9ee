//! Streamable HTTP of both eras, and HTTP+SSE.

use helve_testkit::{HttpScript, RecordedEvent, Scenario};
use serde_json::{Value, json};

use crate::client::DEADLINE;
use crate::http_client::{Http, call_body, data, initialize_body, modern, modern_request, once, open_session, within};

#[tokio::test]
async fn a_modern_call_is_answered_as_json_or_as_events() {
    let server = Scenario::modern().http(HttpScript::json()).serve_http().await.unwrap();
    let (head, body) = modern(&server, "tools/call", json!({ "name": "echo", "arguments": { "a": 1 } })).await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("application/json")));
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(answer["result"]["structuredContent"], json!({ "a": 1 }));
    assert_eq!(head.header("mcp-session-id"), None);

    let server = Scenario::modern().serve_http().await.unwrap();
    let meta = json!({ "progressToken": 7 });
    let params = json!({ "name": "progress", "arguments": { "steps": 2 }, "_meta": meta });
    let (head, body) = modern(&server, "tools/call", params).await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    let messages = data(&body);
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[1]["params"]["progress"], 2);
    assert_eq!(messages[2]["result"]["resultType"], "complete");
    assert!(!body.contains("id: "), "modern streams are not numbered: {body}");
}

#[tokio::test]
async fn modern_headers_are_checked_against_the_body() {
    let server = Scenario::modern().serve_http().await.unwrap();
    let (body, _) = modern_request("tools/call", json!({ "name": "echo" }));
    let right = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "echo")];
    for missing in 0..right.len() {
        let headers: Vec<_> =
            right.iter().enumerate().filter(|(index, _)| *index != missing).map(|(_, h)| *h).collect();
        let (head, answer, _) = once(&server, "POST", &headers, &body).await.unwrap();
        assert_eq!(head.status, 400, "{answer}");
        assert!(answer.contains("-32020"), "{answer}");
    }
    let wrong = [right[0], right[1], ("mcp-name", "other")];
    let (head, answer, _) = once(&server, "POST", &wrong, &body).await.unwrap();
    assert_eq!(head.status, 400);
    assert!(answer.contains("mcp-name is 'other', the body says 'echo'"), "{answer}");
    let encoded = [right[0], right[1], ("mcp-name", "=?base64?ZWNobw==?=")];
    assert_eq!(once(&server, "POST", &encoded, &body).await.unwrap().0.status, 200);
}

#[tokio::test]
async fn arguments_are_mirrored_into_headers() {
    let server = Scenario::modern().serve_http().await.unwrap();
    let (body, _) =
        modern_request("tools/call", json!({ "name": "with_headers", "arguments": { "region": "é", "count": 3 } }));
    let base = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "with_headers")];
    let with = |more: &[(&'static str, &'static str)]| [&base[..], more].concat();
    let right = with(&[("mcp-param-region", "=?base64?w6k=?="), ("mcp-param-count", "3")]);
    assert_eq!(once(&server, "POST", &right, &body).await.unwrap().0.status, 200);
    for wrong in [
        with(&[("mcp-param-region", "=?base64?w6k=?=")]),
        with(&[("mcp-param-region", "e"), ("mcp-param-count", "3")]),
        with(&[("mcp-param-region", "=?base64?w6k=?="), ("mcp-param-count", "4")]),
    ] {
        assert_eq!(once(&server, "POST", &wrong, &body).await.unwrap().0.status, 400);
    }
    let (body, _) = modern_request("tools/call", json!({ "name": "with_headers", "arguments": {} }));
    assert_eq!(once(&server, "POST", &base, &body).await.unwrap().0.status, 200);
    assert_eq!(once(&server, "POST", &right, &body).await.unwrap().0.status, 400);
}

#[tokio::test]
async fn modern_errors_have_their_status() {
    let server = Scenario::modern().serve_http().await.unwrap();
    let (head, body) = modern(&server, "no/such", json!({})).await;
    assert_eq!(head.status, 404);
    assert!(body.contains("-32601"), "{body}");
    let (head, _) = modern(&server, "tools/call", json!({ "name": "nothing" })).await;
    assert_eq!(head.status, 200);
    let other = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list",
                        "params": { "_meta": { "io.modelcontextprotocol/protocolVersion": "1900-01-01" } } });
    let headers = [("mcp-protocol-version", "1900-01-01"), ("mcp-method", "tools/list")];
    let (head, body, _) = once(&server, "POST", &headers, &other.to_string()).await.unwrap();
    assert_eq!(head.status, 400);
    assert!(body.contains("-32022"), "{body}");
    for verb in ["GET", "DELETE"] {
        assert_eq!(once(&server, verb, &[], "").await.unwrap().0.status, 405);
    }
}

#[tokio::test]
async fn hanging_up_cancels_a_modern_call() {
    let server = Scenario::modern().serve_http().await.unwrap();
    let (body, headers) = modern_request("tools/call", json!({ "name": "sleep", "arguments": { "ms": 60_000 } }));
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut http = Http::connect(server.address()).await;
    http.send("POST", "/mcp", &headers, &body).await;
    assert_eq!(http.head().await.unwrap().status, 200);
    drop(http);
    assert_eq!(server.recorder().wait_for_cancel(DEADLINE).await.unwrap(), "1");
}

#[tokio::test]
async fn hanging_up_cancels_a_modern_call_that_awaits_json() {
    let server = Scenario::modern().http(HttpScript::json()).serve_http().await.unwrap();
    let (body, headers) = modern_request("tools/call", json!({ "name": "sleep", "arguments": { "ms": 60_000 } }));
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut http = Http::connect(server.address()).await;
    http.send("POST", "/mcp", &headers, &body).await;
    server.recorder().wait_for_method("tools/call", 1, DEADLINE).await.unwrap();
    drop(http);
    assert_eq!(server.recorder().wait_for_cancel(DEADLINE).await.unwrap(), "1");
}

#[tokio::test]
async fn a_modern_subscription_stays_open_and_tells_what_was_asked() {
    let server = Scenario::modern().http(HttpScript::json()).serve_http().await.unwrap();
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["test://watched"] });
    let (body, headers) = modern_request("subscriptions/listen", json!({ "notifications": filter }));
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut http = Http::connect(server.address()).await;
    http.send("POST", "/mcp", &headers, &body).await;
    assert_eq!(http.head().await.unwrap().header("content-type"), Some("text/event-stream"));
    let mut rest = Vec::new();
    let acknowledged = http.event(&mut rest).await.unwrap();
    assert!(acknowledged.contains("notifications/subscriptions/acknowledged"), "{acknowledged}");
    modern(&server, "tools/call", json!({ "name": "list_changed", "arguments": { "kind": "prompts" } })).await;
    modern(&server, "tools/call", json!({ "name": "touch" })).await;
    let event = &data(&http.event(&mut rest).await.unwrap())[0];
    assert_eq!(event["method"], "notifications/resources/updated");
    assert_eq!(event["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    modern(&server, "tools/call", json!({ "name": "end_subscriptions" })).await;
    let last = &data(&http.event(&mut rest).await.unwrap())[0];
    assert_eq!(last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    assert_eq!(http.event(&mut rest).await, None);
}

#[tokio::test]
async fn a_legacy_session_is_opened_used_and_deleted() {
    let server = Scenario::legacy().serve_http().await.unwrap();
    let session = open_session(&server).await;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(once(&server, "POST", &within(&session), note).await.unwrap().0.status, 202);
    let (head, body, _) = once(&server, "POST", &within(&session), &call_body(5, "echo", json!({}))).await.unwrap();
    assert_eq!(head.status, 200);
    assert_eq!(data(&body)[0]["id"], 5);
    assert_eq!((server.sessions(), server.open_sessions()), (1, 1));

    let body = call_body(6, "echo", json!({}));
    assert_eq!(once(&server, "POST", &[], &body).await.unwrap().0.status, 400);
    assert_eq!(once(&server, "POST", &within("session-99"), &body).await.unwrap().0.status, 404);
    let odd = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "1900-01-01")];
    assert_eq!(once(&server, "POST", &odd, &body).await.unwrap().0.status, 400);
    assert_eq!(server.recorder().violations(), [] as [String; 0]);
    let bare = [("mcp-session-id", session.as_str())];
    assert_eq!(once(&server, "POST", &bare, &body).await.unwrap().0.status, 200);
    assert_eq!(server.recorder().violations(), ["mcp-protocol-version is missing"]);

    assert_eq!(once(&server, "DELETE", &within(&session), "").await.unwrap().0.status, 204);
    assert_eq!(once(&server, "POST", &within(&session), &body).await.unwrap().0.status, 404);
    assert_eq!(server.open_sessions(), 0);
    assert_eq!(server.connections(), server.requests());
}

#[tokio::test]
async fn forgotten_sessions_are_not_found() {
    let server = Scenario::legacy().serve_http().await.unwrap();
    let session = open_session(&server).await;
    server.forget_sessions();
    assert_eq!(once(&server, "POST", &within(&session), &call_body(1, "echo", json!({}))).await.unwrap().0.status, 404);
}

#[tokio::test]
async fn a_legacy_peer_without_sessions_gives_no_id() {
    let script = HttpScript { sessions: false, ..HttpScript::json() };
    let server = Scenario::legacy().http(script).serve_http().await.unwrap();
    let (head, _, _) = once(&server, "POST", &[], &initialize_body("2025-06-18")).await.unwrap();
    assert_eq!((head.status, head.header("mcp-session-id")), (200, None));
    let (head, body, _) = once(&server, "POST", &[], &call_body(1, "echo", json!({}))).await.unwrap();
    assert_eq!((head.status, head.header("content-type")), (200, Some("application/json")));
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["id"], 1);
}

#[tokio::test]
async fn a_legacy_peer_refuses_the_modern_probe_without_a_modern_error() {
    let server = Scenario::legacy().serve_http().await.unwrap();
    let (head, body) = modern(&server, "server/discover", json!({})).await;
    assert_eq!(head.status, 400);
    assert!(body.contains("-32000"), "{body}");
}

#[tokio::test]
async fn a_dual_peer_serves_both_eras_at_one_address() {
    let server = Scenario::dual().serve_http().await.unwrap();
    let (head, _) = modern(&server, "server/discover", json!({})).await;
    assert_eq!(head.status, 200);
    open_session(&server).await;
}

#[tokio::test]
async fn the_get_stream_carries_what_belongs_to_no_request() {
    let server = Scenario::legacy().serve_http().await.unwrap();
    let session = open_session(&server).await;
    let mut http = Http::connect(server.address()).await;
    http.send("GET", "/mcp", &within(&session), "").await;
    assert_eq!(http.head().await.unwrap().status, 200);
    let arguments = json!({ "kind": "tools" });
    once(&server, "POST", &within(&session), &call_body(1, "list_changed", arguments)).await.unwrap();
    let event = http.event(&mut Vec::new()).await.unwrap();
    assert!(event.starts_with("id: 0-0\n"), "{event}");
    assert!(event.contains("notifications/tools/list_changed"), "{event}");
    // Only one such stream at a time.
    assert_eq!(once(&server, "GET", &within(&session), "").await.unwrap().0.status, 409);
}

#[tokio::test]
async fn a_broken_legacy_stream_is_resumed_after_the_last_event() {
    let script = HttpScript { retry_ms: Some(20), close_after_events: Some(2), ..HttpScript::sse() };
    let server = Scenario::legacy().http(script).serve_http().await.unwrap();
    let session = open_session(&server).await;
    let call = call_body(9, "progress", json!({ "steps": 3 }));
    let (_, body, _) = once(&server, "POST", &within(&session), &call).await.unwrap();
    let stream = body.strip_prefix("id: ").and_then(|rest| rest.split('-').next()).unwrap();
    assert!(body.contains(&format!("id: {stream}-0\nretry: 20\ndata: \n\n")), "{body}");
    assert_eq!(data(&body).len(), 1);
    let mut seen = data(&body);
    for last in [1, 3] {
        let last = format!("{stream}-{last}");
        let headers = [&within(&session)[..], &[("last-event-id", last.as_str())]].concat();
        let (head, body, _) = once(&server, "GET", &headers, "").await.unwrap();
        assert_eq!(head.status, 200);
        seen.extend(data(&body));
    }
    assert_eq!(seen.len(), 4);
    assert_eq!(seen[2]["params"]["progress"], 3);
    assert_eq!(seen[3]["id"], 9);
    let headers = [&within(&session)[..], &[("last-event-id", "77-1")]].concat();
    assert_eq!(once(&server, "GET", &headers, "").await.unwrap().0.status, 400);
}

#[tokio::test]
async fn the_peer_asks_on_the_stream_of_the_call() {
    let server = Scenario::legacy().serve_http().await.unwrap();
    let session = open_session(&server).await;
    let mut http = Http::connect(server.address()).await;
    http.send("POST", "/mcp", &within(&session), &call_body(2, "ask", json!({}))).await;
    http.head().await.unwrap();
    let mut rest = Vec::new();
    let asked = &data(&http.event(&mut rest).await.unwrap())[0];
    assert_eq!(asked["method"], "elicitation/create");
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "action": "decline" } });
    assert_eq!(once(&server, "POST", &within(&session), &answer.to_string()).await.unwrap().0.status, 202);
    let last = &data(&http.event(&mut rest).await.unwrap())[0];
    assert_eq!(last["result"]["structuredContent"]["answers"][0]["action"], "decline");
}

#[tokio::test]
async fn wrong_request_forms_are_refused_and_recorded() {
    let server = Scenario::dual().serve_http().await.unwrap();
    let body = initialize_body("2025-11-25");
    assert_eq!(once(&server, "POST", &[("accept", "application/json")], &body).await.unwrap().0.status, 406);
    assert_eq!(once(&server, "POST", &[("content-type", "text/plain")], &body).await.unwrap().0.status, 415);
    assert_eq!(once(&server, "POST", &[("origin", "http://evil.example")], &body).await.unwrap().0.status, 403);
    assert_eq!(server.recorder().violations().len(), 2);
    let first = server.recorder().recording().entries.into_iter().next();
    assert!(matches!(first, Some(RecordedEvent::Http { verb, path, .. }) if verb == "POST" && path == "/mcp"));
}

#[tokio::test]
async fn http_sse_names_its_address_and_answers_on_the_stream() {
    let server = Scenario::legacy().serve_sse().await.unwrap();
    let mut http = Http::connect(server.address()).await;
    http.send("GET", "/sse", &[], "").await;
    assert_eq!(http.head().await.unwrap().header("content-type"), Some("text/event-stream"));
    let mut rest = Vec::new();
    let endpoint = http.event(&mut rest).await.unwrap();
    let address = endpoint.strip_prefix("event: endpoint\ndata: ").unwrap();
    let mut posts = Http::connect(server.address()).await;
    for body in [initialize_body("2024-11-05"), call_body(1, "echo", json!({ "a": 1 }))] {
        posts.send("POST", address, &[], &body).await;
        let head = posts.head().await.unwrap();
        assert_eq!(head.status, 202);
        posts.body(&head).await;
    }
    let first = http.event(&mut rest).await.unwrap();
    assert!(first.starts_with("event: message\ndata: "), "{first}");
    assert_eq!(data(&first)[0]["result"]["protocolVersion"], "2024-11-05");
    let second = http.event(&mut rest).await.unwrap();
    assert_eq!(data(&second)[0]["result"]["structuredContent"], json!({ "a": 1 }));
    assert_eq!(server.open_sessions(), 1);

    // The endpoint takes no POST, as clients that probe for Streamable HTTP find out.
    let mut http = Http::connect(server.address()).await;
    http.send("POST", "/sse", &[], "{}").await;
    assert_eq!(http.head().await.unwrap().status, 405);
    posts.send("POST", "/messages?session=none", &[], "{}").await;
    assert_eq!(posts.head().await.unwrap().status, 404);
}
