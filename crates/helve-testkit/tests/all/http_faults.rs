//! Each fault that only HTTP has.

use std::io::Read;

use helve_testkit::{CutKind, HttpFault, HttpFaultKind, HttpScript, Scenario};
use serde_json::{Value, json};

use crate::client::DEADLINE;
use crate::http_client::{
    End, Http, call_body, data, initialize_body, modern, modern_request, once, open_session, within,
};

fn legacy(fault: HttpFault) -> Scenario {
    Scenario::legacy().http(HttpScript::sse().fault(fault))
}

#[tokio::test]
async fn canned_answers_are_given_as_they_are() {
    let kinds = [
        (HttpFaultKind::unauthorized(None), 401),
        (HttpFaultKind::unauthorized(Some("Bearer scope=\"a\"")), 401),
        (HttpFaultKind::status(403), 403),
        (HttpFaultKind::status(503), 503),
        (HttpFaultKind::redirect("http://example.com/mcp"), 307),
        (HttpFaultKind::html(), 200),
        (HttpFaultKind::with_body(200, "text/plain", "hm"), 200),
        (HttpFaultKind::modern_error(), 400),
        (HttpFaultKind::status(400), 400),
    ];
    for (kind, status) in kinds {
        let server = legacy(HttpFault::any(kind.clone())).serve_http().await.unwrap();
        let (head, body, _) = once(&server, "POST", &[], &call_body(42, "echo", json!({}))).await.unwrap();
        assert_eq!(head.status, status, "{kind:?}");
        if let HttpFaultKind::Canned { headers, body: wanted, .. } = &kind {
            for (name, value) in headers {
                assert_eq!(head.header(name), Some(value.as_str()));
            }
            assert_eq!(body, wanted.replace("$ID", "42"));
        }
        assert_eq!(server.recorder().count("tools/call"), 1);
    }
}

#[tokio::test]
async fn a_redirect_within_the_origin_leads_to_the_endpoint() {
    let fault = HttpFault::path("/mcp", HttpFaultKind::redirect("/moved"));
    let server = legacy(fault).serve_http().await.unwrap();
    let (head, _, _) = once(&server, "POST", &[], &initialize_body("2025-11-25")).await.unwrap();
    assert_eq!((head.status, head.header("location")), (307, Some("/moved")));
    let mut http = Http::connect(server.address()).await;
    http.send("POST", "/moved", &[], &initialize_body("2025-11-25")).await;
    assert_eq!(http.head().await.unwrap().status, 200);
}

#[tokio::test]
async fn a_fault_strikes_the_requests_it_is_meant_for() {
    let fault = HttpFault::rpc("tools/call", HttpFaultKind::status(500)).skip(1).times(1);
    let server = legacy(fault).serve_http().await.unwrap();
    let session = open_session(&server).await;
    let mut statuses = Vec::new();
    for id in 0..3 {
        let call = call_body(id, "echo", json!({}));
        statuses.push(once(&server, "POST", &within(&session), &call).await.unwrap().0.status);
    }
    assert_eq!(statuses, [200, 500, 200]);
    let fault = HttpFault::verb("GET", HttpFaultKind::status(405));
    let server = legacy(fault).serve_http().await.unwrap();
    let session = open_session(&server).await;
    assert_eq!(once(&server, "GET", &within(&session), "").await.unwrap().0.status, 405);
}

#[tokio::test]
async fn a_session_can_be_forgotten_in_the_middle() {
    let fault = HttpFault::rpc("tools/call", HttpFaultKind::ForgetSession).times(1);
    let server = legacy(fault).serve_http().await.unwrap();
    let session = open_session(&server).await;
    let call = call_body(1, "echo", json!({}));
    for _ in 0..2 {
        assert_eq!(once(&server, "POST", &within(&session), &call).await.unwrap().0.status, 404);
    }
    let session = open_session(&server).await;
    assert_eq!(once(&server, "POST", &within(&session), &call).await.unwrap().0.status, 200);
    assert_eq!(server.sessions(), 2);
}

#[tokio::test]
async fn a_gzip_bomb_unpacks_to_its_size() {
    let server = legacy(HttpFault::any(HttpFaultKind::GzipBomb { bytes: 3 << 20 })).serve_http().await.unwrap();
    let mut http = Http::connect(server.address()).await;
    http.send("POST", "/mcp", &[], "{}").await;
    let head = http.head().await.unwrap();
    assert_eq!(head.header("content-encoding"), Some("gzip"));
    let (packed, end) = http.body(&head).await;
    assert_eq!(end, End::Whole);
    assert!(packed.len() < 16_384, "{}", packed.len());
    let mut unpacked = Vec::new();
    flate2::read::MultiGzDecoder::new(packed.as_slice()).read_to_end(&mut unpacked).unwrap();
    assert_eq!(unpacked.len(), 3 << 20);
}

#[tokio::test]
async fn a_body_of_any_size_can_be_sent() {
    let bytes = 5_000_000;
    for content_type in ["application/json", "text/event-stream"] {
        let kind = HttpFaultKind::Body { bytes, content_type: content_type.to_string() };
        let server = legacy(HttpFault::any(kind)).serve_http().await.unwrap();
        let (head, body, end) = once(&server, "POST", &[], &call_body(1, "echo", json!({}))).await.unwrap();
        assert_eq!((head.header("content-type"), end), (Some(content_type), End::Whole));
        assert_eq!(body.len() as u64, bytes);
    }
}

#[tokio::test]
async fn the_connection_can_be_reset_before_and_after_the_head() {
    let server = legacy(HttpFault::any(HttpFaultKind::ResetBeforeHeaders)).serve_http().await.unwrap();
    assert_eq!(once(&server, "POST", &[], "{}").await.map(|_| ()), Err(End::Reset));

    let server = legacy(HttpFault::any(HttpFaultKind::ResetAfterHeaders)).serve_http().await.unwrap();
    let (head, body, end) = once(&server, "POST", &[], "{}").await.unwrap();
    assert_eq!((head.status, body.as_str(), end), (200, "", End::Reset));
}

#[tokio::test]
async fn an_answer_can_be_cut_at_every_byte() {
    let call = call_body(1, "progress", json!({ "steps": 2 }));
    let whole = {
        let server = Scenario::legacy().serve_http().await.unwrap();
        let session = open_session(&server).await;
        once(&server, "POST", &within(&session), &call).await.unwrap().1
    };
    assert_eq!(data(&whole).len(), 3);
    for body_bytes in 0..whole.len() as u64 {
        let fault = HttpFault::rpc("tools/call", HttpFaultKind::Cut { body_bytes, how: CutKind::Close });
        let server = legacy(fault).serve_http().await.unwrap();
        let session = open_session(&server).await;
        let (head, body, end) = once(&server, "POST", &within(&session), &call).await.unwrap();
        assert_eq!((head.status, end), (200, End::Closed));
        assert_eq!(body, whole[..usize::try_from(body_bytes).unwrap()]);
    }
}

#[tokio::test]
async fn a_json_answer_can_be_cut_by_a_reset() {
    let fault = HttpFault::rpc("tools/list", HttpFaultKind::Cut { body_bytes: 10, how: CutKind::Reset });
    let server = Scenario::modern().http(HttpScript::json().fault(fault)).serve_http().await.unwrap();
    let (body, headers) = modern_request("tools/list", json!({}));
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let (head, body, end) = once(&server, "POST", &headers, &body).await.unwrap();
    assert!(head.header("content-length").is_some());
    assert_ne!(end, End::Whole);
    // A reset may overtake the bytes before it.
    assert!(body.len() <= 10, "{body}");
}

#[tokio::test]
async fn comments_can_go_on_for_ever() {
    let server = legacy(HttpFault::any(HttpFaultKind::SseComments { every_ms: 1 })).serve_http().await.unwrap();
    let mut http = Http::connect(server.address()).await;
    http.send("POST", "/mcp", &[], "{}").await;
    assert_eq!(http.head().await.unwrap().header("content-type"), Some("text/event-stream"));
    let mut rest = Vec::new();
    for _ in 0..20 {
        assert_eq!(http.event(&mut rest).await.unwrap(), ": still here");
    }
}

#[tokio::test]
async fn an_answer_can_be_late_or_never_come() {
    let fault = HttpFault::any(HttpFaultKind::Late { milliseconds: 20 });
    let server = legacy(fault).serve_http().await.unwrap();
    assert_eq!(once(&server, "POST", &[], &initialize_body("2025-11-25")).await.unwrap().0.status, 200);

    let server = legacy(HttpFault::any(HttpFaultKind::Silent)).serve_http().await.unwrap();
    let mut http = Http::connect(server.address()).await;
    http.send("POST", "/mcp", &[], "{}").await;
    let answer = tokio::time::timeout(std::time::Duration::from_millis(50), http.head()).await;
    assert!(answer.is_err(), "{answer:?}");
}

#[tokio::test]
async fn a_server_can_be_killed_in_the_middle_of_an_answer() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let server = scenario.serve_http().await.unwrap();
        let address = server.address();
        let mut http = Http::connect(address).await;
        if scenario == Scenario::legacy() {
            let session = open_session(&server).await;
            http.send("POST", "/mcp", &within(&session), &call_body(1, "sleep", json!({ "ms": 60_000 }))).await;
        } else {
            let (body, headers) =
                modern_request("tools/call", json!({ "name": "sleep", "arguments": { "ms": 60_000 } }));
            let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            http.send("POST", "/mcp", &headers, &body).await;
        }
        assert_eq!(http.head().await.unwrap().status, 200);
        server.kill().await;
        assert_eq!(http.chunk().await, Err(End::Closed));
        assert!(tokio::net::TcpStream::connect(address).await.is_err(), "still listening");
    }
}

#[tokio::test]
async fn connections_can_be_closed_while_the_server_lives() {
    let server = Scenario::modern().serve_http().await.unwrap();
    let (body, headers) = modern_request("tools/call", json!({ "name": "sleep", "arguments": { "ms": 60_000 } }));
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut http = Http::connect(server.address()).await;
    http.send("POST", "/mcp", &headers, &body).await;
    assert_eq!(http.head().await.unwrap().status, 200);
    server.close_connections();
    assert_eq!(http.chunk().await, Err(End::Closed));
    // In the modern era that ends the request.
    server.recorder().wait_for_cancel(DEADLINE).await.unwrap();
    assert_eq!(modern(&server, "tools/list", json!({})).await.0.status, 200);
}

#[tokio::test]
async fn the_tool_exit_ends_the_server() {
    let server = Scenario::modern().serve_http().await.unwrap();
    let (body, headers) = modern_request("tools/call", json!({ "name": "exit", "arguments": { "status": 1 } }));
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let ended = once(&server, "POST", &headers, &body).await;
    assert!(ended.is_err() || ended.is_ok_and(|(_, _, end)| end != End::Whole));
}

#[tokio::test]
async fn raw_bytes_become_the_body_of_a_json_answer() {
    let server = Scenario::modern().http(HttpScript::json()).serve_http().await.unwrap();
    let params = json!({ "name": "raw", "arguments": { "text": "{\"half\":" } });
    let (head, body) = modern(&server, "tools/call", params).await;
    assert_eq!((head.status, body.as_str()), (200, "{\"half\":"));
}

#[tokio::test]
async fn a_big_answer_is_streamed_in_both_forms() {
    for script in [HttpScript::json(), HttpScript::sse()] {
        let server = Scenario::modern().http(script.clone()).serve_http().await.unwrap();
        let (_, body) =
            modern(&server, "tools/call", json!({ "name": "big", "arguments": { "bytes": 3_000_000 } })).await;
        let answer: Value =
            if script == HttpScript::json() { serde_json::from_str(&body).unwrap() } else { data(&body)[0].clone() };
        assert_eq!(answer["result"]["content"][0]["text"].as_str().unwrap().len(), 3_000_000);
    }
}
