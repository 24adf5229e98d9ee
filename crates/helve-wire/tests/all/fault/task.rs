//! Calls that became tasks: given up in either form, broken, or never ending.

use std::sync::Arc;

use helve_model::ErrorCode;
use helve_testkit::Scenario;
use helve_wire::launch::PlainLauncher;
use helve_wire::{CallOptions, connect_stdio, connect_stream};

use crate::support::*;

fn as_task() -> CallOptions {
    within(PATIENCE).with(|options| options.as_task = Some(PATIENCE))
}

#[tokio::test]
async fn a_dropped_call_cancels_its_task() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let peer = scenario.in_process();
        let session = connect_stream(peer.stream, options()).await.unwrap();
        let permit = tool("task", r#"{"polls":1000000}"#);
        tokio::select! {
            outcome = session.call_tool(&permit, as_task()) => panic!("ended: {outcome:?}"),
            polled = peer.recorder.wait_for_method("tasks/get", 3, PATIENCE) => drop(polled.unwrap()),
        }
        let cancelled = peer.recorder.wait_for_method("tasks/cancel", 1, PATIENCE).await.unwrap();
        assert_eq!(cancelled["params"]["taskId"], "task-1");
        let polls = peer.recorder.count("tasks/get");
        assert_eq!(text(&call(&session, "echo", "{}").await.unwrap()), "{}");
        assert_eq!(peer.recorder.count("tasks/get"), polls, "nobody follows it any more");
        assert_eq!(peer.recorder.violations(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_task_that_is_over_is_not_cancelled() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let peer = scenario.in_process();
        let session = connect_stream(peer.stream, options()).await.unwrap();
        for arguments in [r#"{"polls":1}"#, r#"{"polls":1,"tool_error":true}"#] {
            session.call_tool(&tool("task", arguments), as_task()).await.unwrap();
        }
        let error = session.call_tool(&tool("task", r#"{"fail":true}"#), as_task()).await.unwrap_err();
        assert_eq!((error.code(), error.may_have_run()), (ErrorCode::ToolError, true));
        assert_eq!(text(&call(&session, "echo", "{}").await.unwrap()), "{}");
        assert_eq!(peer.recorder.count("tasks/cancel"), 0);
    }
}

/// The last word to a task must not keep the server of a session that is gone.
#[tokio::test]
async fn a_task_that_is_given_up_does_not_keep_the_process() {
    // It answers nothing but the call.
    let frame = "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"resultType\":\"task\",\"taskId\":\"t\",\"status\":\"working\",\"pollIntervalMs\":5}}\n";
    let scenario =
        Scenario::modern().scripted("tools/call", frame).scripted("tasks/get", "").scripted("tasks/cancel", "");
    let launcher = Noting::new(&PlainLauncher);
    let session = connect_stdio(&launcher, &command(&scenario.ignores_eof()), options()).await.unwrap();
    let options = within(std::time::Duration::from_millis(50)).with(|options| options.on_progress = None);
    let error = session.call_tool(&tool("any", "{}"), options).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Timeout);
    drop(session);
    let living = helve_testkit::wait_until_dead(&launcher.started(), std::time::Duration::from_secs(5)).await;
    assert_eq!(living, Vec::<u32>::new());
}

#[tokio::test]
async fn a_task_that_asks() {
    let listener = Arc::new(Listener::default());
    let session = in_process(&Scenario::modern(), listening(&listener)).await.unwrap();
    let outcome = session.call_tool(&tool("task", r#"{"ask":true}"#), as_task()).await.unwrap();
    assert!(outcome.open().unwrap().structured.unwrap().as_str().contains("Ada"));
    assert_eq!(listener.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn broken_tasks() {
    let broken = async |call: &str, get: &str| {
        let frame = |result: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{result}}}\n");
        let scenario = Scenario::modern().scripted("tools/call", &frame(call)).scripted("tasks/get", &frame(get));
        let session = in_process(&scenario, options()).await.unwrap();
        shown(&session.call_tool(&tool("any", "{}"), as_task()).await.unwrap_err())
    };
    let working = r#"{"resultType":"task","taskId":"t","status":"working","pollIntervalMs":5}"#;
    insta::assert_snapshot!(broken(r#"{"resultType":"task","status":"working"}"#, "{}").await, @r"
    PROTOCOL_ERROR: the server's result is a task without id
      hint: the server does not follow the protocol; report it to its authors
      may have run
    ");
    insta::assert_snapshot!(broken(working, r#"{"status":"dreaming"}"#).await, @r"
    PROTOCOL_ERROR: the server's result is a task in a state the protocol does not have
      hint: the server does not follow the protocol; report it to its authors
      may have run
    ");
    insta::assert_snapshot!(broken(working, r#"{"status":"completed"}"#).await, @r"
    PROTOCOL_ERROR: the server's result is a finished task without result
      hint: the server does not follow the protocol; report it to its authors
      may have run
    ");
    insta::assert_snapshot!(broken(working, r#"{"status":"failed"}"#).await, @r"
    PROTOCOL_ERROR: the server's result is a failed task without error
      hint: the server does not follow the protocol; report it to its authors
      may have run
    ");
    insta::assert_snapshot!(broken(working, r#"{"status":"cancelled"}"#).await, @r"
    CANCELLED: the task was cancelled at the server
      may have run
    ");
}
