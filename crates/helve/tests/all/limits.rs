//! Calls that are made again, and calls that wait for their turn.

use std::time::Duration;

use helve::{CallContext, Host, HostSettings};
use helve_model::{ErrorCode, ServerSpec};
use helve_policy::Caller;
use helve_testkit::{HttpFault, HttpFaultKind, HttpScript, HttpServer, RecordedEvent, Recording, Scenario};

use crate::fault::crash::{begin_endless_calls, endless_calls};
use crate::support::{PATIENCE, builder, call, host, http, json, recorded, shown, stdio};

/// A server that breaks the first calls, and a host in front of it.
async fn breaking(calls: u32, kind: HttpFaultKind, change: impl FnOnce(&mut ServerSpec)) -> (HttpServer, Host) {
    let script = HttpScript::json().fault(HttpFault::rpc("tools/call", kind).times(calls));
    let server = Scenario::modern().http(script).serve_http().await.unwrap();
    let mut spec = http("a", server.url());
    change(&mut spec);
    let host = host([spec]).await;
    (server, host)
}

/// How often the call was sent, and what the host says about that.
async fn sent(server: &HttpServer, host: &Host, tool: &str) -> (Result<(), ErrorCode>, usize, u32) {
    let mut events = host.events();
    let result = call(host, tool, "{}").await.map(drop).map_err(|error| error.code());
    let record = recorded(&mut events).await;
    (result, server.recorder().count("tools/call"), record.attempts)
}

#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn a_call_that_may_have_run_is_repeated_only_when_twice_is_once() {
    let reset = || HttpFaultKind::ResetBeforeHeaders;
    let believed = |retries: Option<u32>| {
        move |spec: &mut ServerSpec| {
            spec.access.trust_annotations = true;
            spec.max_retries = retries;
        }
    };
    // `fail` says nothing about itself, `echo` says that it is idempotent.
    let (server, host) = breaking(1, reset(), believed(None)).await;
    assert_eq!(sent(&server, &host, "a/fail").await, (Err(ErrorCode::TransportError), 1, 1));
    let (server, host) = breaking(2, reset(), believed(None)).await;
    assert_eq!(sent(&server, &host, "a/echo").await, (Ok(()), 3, 3));
    let (server, host) = breaking(9, reset(), believed(None)).await;
    assert_eq!(sent(&server, &host, "a/echo").await, (Err(ErrorCode::TransportError), 3, 3));
    let (server, host) = breaking(9, reset(), believed(Some(4))).await;
    assert_eq!(sent(&server, &host, "a/echo").await, (Err(ErrorCode::TransportError), 5, 5));
    let (server, host) = breaking(9, reset(), believed(Some(0))).await;
    assert_eq!(sent(&server, &host, "a/echo").await, (Err(ErrorCode::TransportError), 1, 1));
}

#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn s13_a_claim_that_nobody_believes_repeats_nothing() {
    let (server, host) = breaking(9, HttpFaultKind::ResetBeforeHeaders, |_| ()).await;
    assert_eq!(sent(&server, &host, "a/echo").await, (Err(ErrorCode::TransportError), 1, 1));
}

#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn a_call_that_cannot_have_run_is_repeated() {
    // Too many requests: turned away at the door.
    let (server, host) = breaking(2, HttpFaultKind::status(429), |_| ()).await;
    assert_eq!(sent(&server, &host, "a/fail").await, (Ok(()), 3, 3));
    // A server's own refusal is an answer.
    let refusal = r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"no"}}"#;
    let (server, host) = breaking(9, HttpFaultKind::with_body(200, "application/json", refusal), |_| ()).await;
    assert_eq!(sent(&server, &host, "a/echo").await, (Err(ErrorCode::ToolError), 1, 1));
}

/// The most calls that the server had at one time.
fn most_at_once(recording: &Recording) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for entry in &recording.entries {
        match entry {
            RecordedEvent::Frame(frame) if frame.contains(r#""method":"tools/call""#) => now += 1,
            RecordedEvent::Cancelled { .. } => now -= 1,
            _ => {}
        }
        most = most.max(now);
    }
    most
}

#[tokio::test]
async fn no_more_calls_are_on_their_way_than_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let recorded = directory.path().join("recorded");
    let settings = HostSettings::default().with(|settings| {
        settings.in_flight_per_server = 3;
        settings.call_timeout = PATIENCE;
    });
    let server = stdio("a", &Scenario::legacy().record_to(&recorded));
    let host = builder([server]).settings(settings).start().await.unwrap();
    // Three that never end by themselves, and others that wait for them.
    let first = endless_calls(&host, "a", 3).await;
    let (others, mut has_begun) = begin_endless_calls(&host, "a", 7);
    assert!(has_begun.try_recv().is_err());
    for cancelled in first {
        // One goes, one comes.
        cancelled.abort();
        tokio::time::timeout(PATIENCE, has_begun.recv()).await.unwrap().unwrap();
        assert!(has_begun.try_recv().is_err());
    }
    host.shutdown().await;
    let recording = Recording::load(&recorded).unwrap();
    assert_eq!(most_at_once(&recording), 3);
    assert_eq!(recording.methods().iter().filter(|method| *method == "tools/call").count(), 6);
    for other in others {
        assert!(other.await.unwrap().is_err());
    }
}

#[tokio::test]
async fn a_call_that_waits_too_long_for_its_turn_says_so() {
    let settings = HostSettings::default().with(|settings| {
        settings.in_flight_per_server = 1;
        settings.call_timeout = PATIENCE;
    });
    let host = builder([stdio("a", &Scenario::legacy()), stdio("b", &Scenario::legacy())])
        .settings(settings)
        .start()
        .await
        .unwrap();
    let endless = endless_calls(&host, "a", 1).await;
    let context = CallContext::new(Caller::Agent).with_timeout(Duration::from_millis(100));
    let error = host.call("a/echo", json("{}"), context).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    LIMIT_EXCEEDED: `a/echo` did not get its turn in time: its server is sent no more than 1 at once
      hint: give the call more time, or raise the host's limit of calls in flight for each server
    ");
    assert!(!error.may_have_run());
    // The limit is each server's own.
    call(&host, "b/echo", "{}").await.unwrap();
    for call in endless {
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
    }
    call(&host, "a/echo", "{}").await.unwrap();
    host.shutdown().await;
}

#[tokio::test]
async fn a_total_bounds_a_call_whatever_it_reports() {
    let host = host([stdio("a", &Scenario::legacy())]).await;
    let mut context = CallContext::new(Caller::Agent);
    context.total = Some(Duration::from_millis(300));
    let error = host.call("a/progress", json(r#"{"steps":100000,"delay_ms":10}"#), context).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    TIMEOUT: `a/progress` timed out after 0.3 s in all
      hint: give the call more time, or its tool less to do
    ");
    assert!(error.may_have_run());
    host.shutdown().await;
}
