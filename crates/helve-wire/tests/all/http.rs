//! What goes wrong over HTTP, and what it costs: one call an error with a code and a hint, the next call nothing.

use std::time::{Duration, Instant};

use helve_model::ErrorCode;
use helve_testkit::{CutKind, HttpFault, HttpFaultKind, HttpScript, HttpServer, Scenario, UnknownSession};
use helve_wire::{Limits, Session, Times};

use crate::support::*;

/// An era and a form of answer.
type Form = (&'static str, Scenario, HttpScript);

fn forms() -> [Form; 4] {
    [
        ("legacy, json", Scenario::legacy(), HttpScript::json()),
        ("legacy, events", Scenario::legacy(), HttpScript { resumable: false, ..HttpScript::sse() }),
        ("modern, json", Scenario::modern(), HttpScript::json()),
        ("modern, events", Scenario::modern(), HttpScript::sse()),
    ]
}

async fn connected(scenario: &Scenario, script: HttpScript) -> (HttpServer, Session) {
    let server = scenario.clone().http(script).serve_http().await.unwrap();
    let limits = Limits { message_bytes: 1 << 20, event_bytes: 1 << 20, ..Limits::default() };
    let session = http(&server, options().with(|options| options.limits = limits)).await.unwrap();
    (server, session)
}

/// Lets the fault strike one call, in both eras and both forms of answer: the call ends as it should, at once, and the
/// next one works. Gives the error of the last form.
async fn check(kind: &HttpFaultKind, code: ErrorCode, may_have_run: bool) -> helve_wire::Error {
    let mut last = None;
    for (name, scenario, script) in forms() {
        let fault = HttpFault::rpc("tools/call", kind.clone()).times(1);
        let (_server, session) = connected(&scenario, script.fault(fault)).await;
        let started = Instant::now();
        let error = call(&session, "echo", "{}").await.err().unwrap_or_else(|| panic!("{name}: {kind:?} went by"));
        assert!(started.elapsed() < PATIENCE / 2, "{name}: {kind:?} took {:?}", started.elapsed());
        assert_eq!(error.code(), code, "{name}: {}", shown(&error));
        assert_eq!(error.may_have_run(), may_have_run, "{name}: {}", shown(&error));
        assert!(!error.hints().is_empty(), "{name}: {}", shown(&error));
        let outcome = call(&session, "echo", r#"{"after":true}"#).await;
        assert!(outcome.is_ok(), "{name}: {kind:?}: the next call: {}", shown(&outcome.unwrap_err()));
        last = Some(error);
    }
    last.unwrap()
}

#[tokio::test]
async fn refusals_by_status() {
    check(&HttpFaultKind::status(500), ErrorCode::TransportError, true).await;
    check(&HttpFaultKind::status(503), ErrorCode::TransportError, true).await;
    check(&HttpFaultKind::status(429), ErrorCode::TransportError, false).await;
    check(&HttpFaultKind::status(400), ErrorCode::ProtocolError, false).await;
    check(&HttpFaultKind::status(202), ErrorCode::ProtocolError, true).await;
    let error = check(&HttpFaultKind::status(413), ErrorCode::LimitExceeded, false).await;
    assert_eq!(error.http_status(), Some(413));
}

#[tokio::test]
async fn credentials() {
    let challenge = r#"Bearer resource_metadata="https://example.com/.well-known/oauth-protected-resource""#;
    let error = check(&HttpFaultKind::unauthorized(Some(challenge)), ErrorCode::AuthRequired, false).await;
    assert_eq!(error.challenge(), Some(challenge));
    let error = check(&HttpFaultKind::unauthorized(None), ErrorCode::AuthRequired, false).await;
    assert_eq!((error.challenge(), error.http_status()), (None, Some(401)));
    check(&HttpFaultKind::status(403), ErrorCode::AuthRequired, false).await;

    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let script = HttpScript::json().fault(HttpFault::any(HttpFaultKind::unauthorized(Some(challenge))));
        let server = scenario.http(script).serve_http().await.unwrap();
        let error = http(&server, options()).await.err().unwrap();
        assert_eq!((error.code(), error.challenge()), (ErrorCode::AuthRequired, Some(challenge)));
    }
}

#[tokio::test]
async fn answers_that_are_none() {
    check(&HttpFaultKind::html(), ErrorCode::ProtocolError, true).await;
    check(&HttpFaultKind::with_body(200, "application/json", "{"), ErrorCode::ProtocolError, true).await;
    check(
        &HttpFaultKind::with_body(200, "application/json", r#"{"jsonrpc":"2.0","id":"x","result":{}}"#),
        ErrorCode::ProtocolError,
        true,
    )
    .await;
    check(&HttpFaultKind::with_body(200, "text/event-stream", "data: x\n\n"), ErrorCode::TransportError, true).await;
    check(&HttpFaultKind::GzipBomb { bytes: 256 << 20 }, ErrorCode::ProtocolError, true).await;
}

#[tokio::test]
async fn answers_without_end() {
    for content_type in ["application/json", "text/event-stream", "text/html"] {
        let kind = HttpFaultKind::Body { bytes: 512 << 20, content_type: content_type.to_owned() };
        let code = if content_type == "text/html" { ErrorCode::ProtocolError } else { ErrorCode::LimitExceeded };
        check(&kind, code, true).await;
    }
}

#[tokio::test]
async fn connections_that_break() {
    check(&HttpFaultKind::ResetBeforeHeaders, ErrorCode::TransportError, true).await;
    check(&HttpFaultKind::ResetAfterHeaders, ErrorCode::TransportError, true).await;
    for how in [CutKind::Close, CutKind::Reset] {
        check(&HttpFaultKind::Cut { body_bytes: 20, how }, ErrorCode::TransportError, true).await;
    }
}

#[tokio::test]
async fn redirects() {
    let elsewhere = Scenario::modern().serve_http().await.unwrap();
    let error = check(&HttpFaultKind::redirect(&elsewhere.url()), ErrorCode::ProtocolError, false).await;
    assert!(error.message().contains("another origin"), "{error}");
    assert_eq!(elsewhere.requests(), 0);
    for (name, scenario, script) in forms() {
        let fault = HttpFault::path("/mcp", HttpFaultKind::redirect("/moved")).skip(4);
        let (_server, session) = connected(&scenario, script.fault(fault)).await;
        for _ in 0..5 {
            let outcome = call(&session, "echo", "{}").await;
            assert!(outcome.is_ok(), "{name}: {}", shown(&outcome.unwrap_err()));
        }
    }
}

#[tokio::test]
async fn silence_is_ended_by_the_clock() {
    for kind in [HttpFaultKind::Silent, HttpFaultKind::SseComments { every_ms: 5 }] {
        for (name, scenario, script) in forms() {
            let fault = HttpFault::rpc("tools/call", kind.clone()).times(1);
            let (_server, session) = connected(&scenario, script.fault(fault)).await;
            let error = session.call_tool(&tool("echo", "{}"), within(Duration::from_millis(500))).await.unwrap_err();
            assert_eq!((error.code(), error.may_have_run()), (ErrorCode::Timeout, true), "{name}");
            call(&session, "echo", "{}").await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_session_the_server_forgot_is_renewed() {
    let bad_request = HttpScript { unknown_session: UnknownSession::BadRequest, ..HttpScript::sse() };
    for script in [HttpScript::json(), HttpScript::sse(), bad_request] {
        let (server, session) = connected(&Scenario::legacy(), script).await;
        call(&session, "echo", "{}").await.unwrap();
        server.forget_sessions();
        call(&session, "echo", "{}").await.unwrap();
        assert_eq!(server.sessions(), 2);
        session.close().await;
        assert_eq!(server.open_sessions(), 0, "closing ends the session at the server");
    }
}

/// A server that refuses whatever session it is asked in is greeted once more, and then believed.
#[tokio::test]
async fn what_is_refused_in_a_new_session_too_is_refused() {
    let refusal = r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"Bad Request: not today"}}"#;
    let kind = HttpFaultKind::Canned {
        status: 400,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: refusal.to_owned(),
    };
    let (server, session) =
        connected(&Scenario::legacy(), HttpScript::json().fault(HttpFault::rpc("tools/call", kind))).await;
    let error = call(&session, "echo", "{}").await.unwrap_err();
    assert_eq!(error.rpc().map(|refusal| refusal.message.as_str()), Some("Bad Request: not today"));
    assert!(!error.may_have_run());
    assert_eq!(server.sessions(), 2);
    session.close().await;
}

#[tokio::test]
async fn a_server_killed_in_mid_answer() {
    for (name, scenario, script) in [
        ("legacy", Scenario::legacy(), HttpScript { resumable: false, ..HttpScript::sse() }),
        ("legacy, could be resumed", Scenario::legacy(), HttpScript::sse()),
        ("legacy, json", Scenario::legacy(), HttpScript::json()),
        ("modern", Scenario::modern(), HttpScript::sse()),
        ("modern, json", Scenario::modern(), HttpScript::json()),
    ] {
        let (server, session) = connected(&scenario, script).await;
        let killing = async {
            server.recorder().wait_for_method("tools/call", 1, PATIENCE).await.unwrap();
            let started = Instant::now();
            server.kill().await;
            started
        };
        let (answer, started) = tokio::join!(call(&session, "sleep", r#"{"ms":60000}"#), killing);
        let error = answer.unwrap_err();
        assert_eq!(
            (error.code(), error.may_have_run()),
            (ErrorCode::TransportError, true),
            "{name}: {}",
            shown(&error)
        );
        assert!(started.elapsed() < Duration::from_secs(5), "{name}: {:?}", started.elapsed());
    }
}

#[tokio::test]
async fn a_legacy_answer_is_resumed_wherever_it_breaks() {
    for body_bytes in (0..400).step_by(7) {
        for how in [CutKind::Close, CutKind::Reset] {
            let fault = HttpFault::rpc("tools/call", HttpFaultKind::Cut { body_bytes, how }).times(1);
            let script = HttpScript { retry_ms: Some(1), ..HttpScript::sse() }.fault(fault);
            let (_server, session) = connected(&Scenario::legacy(), script).await;
            match call(&session, "progress", r#"{"steps":3}"#).await {
                Ok(outcome) => assert!(!outcome.is_error()),
                // Cut before the first event was whole, nothing can be resumed.
                Err(error) => {
                    assert_eq!((error.code(), error.may_have_run()), (ErrorCode::TransportError, true));
                    assert!(body_bytes < 60, "{body_bytes}: {}", shown(&error));
                }
            }
        }
    }
}

#[tokio::test]
async fn a_server_that_hangs_up_after_every_event() {
    let script = HttpScript { retry_ms: Some(1), close_after_events: Some(1), ..HttpScript::sse() };
    let (_server, session) = connected(&Scenario::legacy(), script).await;
    for _ in 0..3 {
        call(&session, "progress", r#"{"steps":3}"#).await.unwrap();
    }
}

#[tokio::test]
async fn a_thousand_calls_use_one_connection() {
    for (name, scenario, script) in forms() {
        let (server, session) = connected(&scenario, script).await;
        for _ in 0..1_000 {
            call(&session, "echo", "{}").await.unwrap();
        }
        // A legacy server has a stream of its own besides; and a stream's end may be late on a busy machine, while an
        // answer in JSON has its end with it.
        let expected = if name.starts_with("legacy") { 2 } else { 1 };
        let late = if name.ends_with("json") { 0 } else { 2 };
        let connections = server.connections();
        assert!((expected..=expected + late).contains(&connections), "{name}: {connections} connections");
    }
}

#[tokio::test]
async fn over_http_and_sse_the_end_of_the_stream_is_the_end() {
    let server = Scenario::legacy().serve_sse().await.unwrap();
    let session = http(&server, options()).await.unwrap();
    call(&session, "echo", "{}").await.unwrap();
    let breaking = async {
        server.recorder().wait_for_method("tools/call", 2, PATIENCE).await.unwrap();
        server.close_connections();
    };
    let (answer, ()) = tokio::join!(call(&session, "sleep", r#"{"ms":60000}"#), breaking);
    let error = answer.unwrap_err();
    assert_eq!((error.code(), error.may_have_run()), (ErrorCode::TransportError, true), "{}", shown(&error));
    assert_eq!(session.ended().await.code(), ErrorCode::TransportError);
    let error = session.ping(Times::exactly(PATIENCE)).await.unwrap_err();
    assert!(!error.may_have_run());
}
