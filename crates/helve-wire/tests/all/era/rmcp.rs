//! A server that helve did not write at the other end: `rmcp` over stdio, in both eras, also when it starts slowly.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use helve_model::{CallKind, ErrorCode};
use helve_testkit::rmcp_program;
use helve_wire::launch::{CloseTimes, PlainLauncher, ServerCommand, child_environment};
use helve_wire::{Era, ProgressCallback, Session, connect_stdio};

use super::{LEGACY, MODERN, negotiated};
use crate::support::*;

fn rmcp(arguments: &[&str]) -> ServerCommand {
    ServerCommand {
        program: rmcp_program().into(),
        args: arguments.iter().map(Into::into).collect(),
        working_directory: None,
        environment: child_environment([], []),
        ..ServerCommand::default()
    }
}

/// The same after half a second.
fn slow_rmcp(arguments: &[&str]) -> ServerCommand {
    shell(&format!("sleep 0.5; exec {} {}", rmcp_program().display(), arguments.join(" ")))
}

async fn check(command: ServerCommand, expected: (Era, &str), processes: usize) {
    let listener = Arc::new(Listener::default());
    let launcher = Noting::new(&PlainLauncher);
    // It does not end with its input while a call runs that was cancelled.
    let time = Duration::from_millis(100);
    let close_times = CloseTimes { after_eof: time, after_terminate: time };
    let session =
        connect_stdio(&launcher, &command, listening(&listener).with(|options| options.close_times = close_times))
            .await
            .unwrap_or_else(|error| panic!("{}", shown(&error)));
    assert_eq!(negotiated(session.greeting()), expected);
    assert_eq!(launcher.started().len(), processes);
    check_everything(&session, &listener).await;
    session.close().await;
}

async fn check_everything(session: &Session, listener: &Listener) {
    let tools = session.list_tools(times()).await.unwrap_or_else(|error| panic!("{}", shown(&error)));
    let names: Vec<&str> = tools.items.iter().map(|tool| tool.name().as_str()).collect();
    assert_eq!(names, ["echo", "progress", "elicit", "sleep"]);

    let echoed = call(session, "echo", r#"{"a":[1,"é"]}"#).await.unwrap();
    assert_eq!(echoed.open().unwrap().structured.unwrap().as_str(), r#"{"a":[1,"é"]}"#);
    let error = call(session, "nothing", "{}").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ToolNotFound, "{}", shown(&error));

    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let on_progress: ProgressCallback = Arc::new(move |progress| sink.lock().unwrap().push(progress.progress));
    let options = within(PATIENCE).with(|options| options.on_progress = Some(on_progress));
    session.call_tool(&tool("progress", r#"{"steps":20}"#), options).await.unwrap();
    assert_eq!(seen.lock().unwrap().len(), 20);

    assert_eq!(text(&call(session, "elicit", "{}").await.unwrap()), "Ada");
    assert_eq!(listener.asked.lock().unwrap().len(), 1);

    let read = session.read_resource(&permit(CallKind::Resource, "test://text", "{}"), within(PATIENCE)).await.unwrap();
    assert_eq!(read.contents().len(), 1);
    let greet = permit(CallKind::Prompt, "greet", r#"{"who":"Ada"}"#);
    assert_eq!(session.get_prompt(&greet, within(PATIENCE)).await.unwrap().messages().len(), 1);
    session.ping(times()).await.unwrap();

    let mut calls = tokio::task::JoinSet::new();
    for number in 0..50 {
        let session = session.clone();
        calls.spawn(async move {
            let arguments = format!(r#"{{"number":{number}}}"#);
            let echoed = call(&session, "echo", &arguments).await.unwrap();
            assert_eq!(echoed.open().unwrap().structured.unwrap().as_str(), arguments);
        });
    }
    while let Some(done) = calls.join_next().await {
        done.unwrap();
    }

    let cancelled = session.clone();
    drop(tokio::time::timeout(Duration::from_millis(50), call(&cancelled, "sleep", r#"{"ms":60000}"#)).await);
    session.ping(times()).await.unwrap();
}

#[tokio::test]
async fn each_era() {
    check(rmcp(&["stdio", "legacy"]), LEGACY, 1).await;
    check(rmcp(&["stdio", "modern"]), MODERN, 1).await;
    check(rmcp(&["stdio"]), MODERN, 1).await;
}

#[tokio::test]
async fn a_slow_start() {
    check(slow_rmcp(&["stdio", "legacy"]), LEGACY, 1).await;
    check(slow_rmcp(&["stdio"]), LEGACY, 1).await;
    // It answers `initialize` with an error and exits.
    check(slow_rmcp(&["stdio", "modern"]), MODERN, 2).await;
}
