//! Giving up: dropping a call tells the peer, in either era and over each stream; a handshake is never cancelled.

use std::time::Duration;

use helve_testkit::{RecordedEvent, Recording, Scenario};
use helve_wire::{Session, connect_stream};
use serde_json::Value;

use crate::support::*;

/// Starts a call, and drops it when the peer has begun with it.
async fn drop_a_call(session: &Session, is_running: impl Future) {
    let permit = tool("sleep", r#"{"ms":60000}"#);
    tokio::select! {
        outcome = session.call_tool(&permit, within(PATIENCE)) => panic!("ended: {outcome:?}"),
        _ = is_running => {}
    }
}

/// The request that was cancelled is the call, and the notification is as the era wants it.
fn check_cancelled(messages: &[Value], modern: bool) {
    let call = messages.iter().find(|message| message["method"] == "tools/call").unwrap();
    let cancelled: Vec<&Value> =
        messages.iter().filter(|message| message["method"] == "notifications/cancelled").collect();
    assert_eq!(cancelled.len(), 1);
    assert_eq!(cancelled[0]["params"]["requestId"], call["id"]);
    assert_eq!(cancelled[0]["params"]["_meta"].is_object(), modern);
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_the_peer() {
    for (scenario, modern) in [(Scenario::legacy(), false), (Scenario::modern(), true)] {
        let peer = scenario.in_process();
        let session = connect_stream(peer.stream, options()).await.unwrap();
        drop_a_call(&session, peer.recorder.wait_for_method("tools/call", 1, PATIENCE)).await;
        peer.recorder.wait_for_cancel(PATIENCE).await.unwrap();
        check_cancelled(&peer.recorder.messages(), modern);
        assert_eq!(text(&call(&session, "echo", "{}").await.unwrap()), "{}");
        assert_eq!(session.diagnostics().unmatched, 0);
    }
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_over_stdio() {
    for (scenario, modern) in [(Scenario::legacy(), false), (Scenario::modern(), true)] {
        let directory = tempfile::tempdir().unwrap();
        let record = directory.path().join("record");
        let session = stdio(&scenario.record_to(&record), options()).await.unwrap();
        let recorded = |entry: fn(&RecordedEvent) -> bool| {
            let record = &record;
            move || Recording::load(record).unwrap().entries.iter().any(entry)
        };
        let running =
            |entry: &RecordedEvent| matches!(entry, RecordedEvent::Frame(frame) if frame.contains("tools/call"));
        drop_a_call(&session, eventually("the call runs", recorded(running))).await;
        eventually("it is cancelled", recorded(|entry| matches!(entry, RecordedEvent::Cancelled { .. }))).await;
        check_cancelled(&Recording::load(&record).unwrap().messages(), modern);
        session.close().await;
    }
}

#[tokio::test]
async fn a_hundred_dropped_calls_are_all_cancelled() {
    let peer = Scenario::modern().in_process();
    let session = connect_stream(peer.stream, options()).await.unwrap();
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move { call(&session, "sleep", r#"{"ms":60000}"#).await })
        })
        .collect();
    peer.recorder.wait_for_method("tools/call", 100, PATIENCE).await.unwrap();
    for call in calls {
        call.abort();
    }
    let all = |recording: &Recording| {
        let cancelled =
            recording.entries.iter().filter(|entry| matches!(entry, RecordedEvent::Cancelled { .. })).count();
        (cancelled == 100).then_some(())
    };
    peer.recorder.wait_for("100 cancelled calls", PATIENCE, all).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_handshake_is_not_cancelled() {
    let peer = Scenario::legacy().never_answers().in_process();
    let (stream, recorder) = (peer.stream, peer.recorder);
    let options = options().with(|options| options.startup = Duration::from_secs(2));
    drop(connect_stream(stream, options).await.unwrap_err());
    let eof = |recording: &Recording| recording.entries.contains(&RecordedEvent::Eof).then_some(());
    recorder.wait_for("the end of the input", PATIENCE, eof).await.unwrap();
    assert_eq!(recorder.methods(), ["server/discover", "initialize"]);
}
