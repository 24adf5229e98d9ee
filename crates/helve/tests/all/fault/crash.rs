//! Servers that are killed, close their output or go silent, with calls on their way.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use helve::{CallContext, CallError, CallOutcome, Host, HostSettings};
use helve_model::ErrorCode;
use helve_policy::Caller;
use helve_testkit::{Scenario, wait_until_dead};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::support::{PATIENCE, builder, call, host, json, kill, marked, marked_processes, status, stdio, until};

/// Calls that the server has begun with and will not end.
const IN_FLIGHT: usize = 100;

pub(crate) type Calling = JoinHandle<Result<CallOutcome, CallError>>;

/// Begins calls that never end, and waits until the server has begun with each.
pub(crate) async fn endless_calls(host: &Host, server: &str, count: usize) -> Vec<Calling> {
    let (calls, mut has_begun) = begin_endless_calls(host, server, count);
    for _ in 0..count {
        tokio::time::timeout(PATIENCE, has_begun.recv()).await.unwrap().unwrap();
    }
    calls
}

/// The same without waiting; whenever the server has begun with one, it is told.
pub(crate) fn begin_endless_calls(
    host: &Host,
    server: &str,
    count: usize,
) -> (Vec<Calling>, mpsc::UnboundedReceiver<()>) {
    let (begun, has_begun) = mpsc::unbounded_channel();
    let calls = (0..count).map(|_| {
        let (host, name, begun) = (host.clone(), format!("{server}/progress"), begun.clone());
        let mut context = CallContext::new(Caller::Agent);
        context.on_progress = Some(Arc::new(move |_| begun.send(()).unwrap_or_default()));
        tokio::spawn(async move { host.call(&name, json(r#"{"steps":2,"delay_ms":600000}"#), context).await })
    });
    (calls.collect(), has_begun)
}

fn many_at_once() -> HostSettings {
    HostSettings::default().with(|settings| {
        settings.call_timeout = PATIENCE * 10;
        settings.in_flight_per_server = IN_FLIGHT + 1;
    })
}

#[tokio::test]
async fn a_killed_server_fails_its_calls_and_comes_back() {
    for (era, scenario) in [("legacy", Scenario::legacy()), ("modern", Scenario::modern())] {
        let mark = format!("killed {era}");
        let settings = many_at_once();
        let host = builder([stdio("a", &marked(scenario, &mark)), stdio("b", &Scenario::dual())])
            .settings(settings)
            .start()
            .await
            .unwrap();
        assert!(host.settled(PATIENCE).await);
        let calls = endless_calls(&host, "a", IN_FLIGHT).await;
        let bystander = endless_calls(&host, "b", 1).await;

        let before = marked_processes(&mark);
        assert_eq!(before.len(), 1, "{before:?}");
        assert!(kill(before[0]));
        let killed = Instant::now();
        for result in join_all(calls).await {
            let error = result.unwrap().unwrap_err();
            assert_eq!((error.code(), error.may_have_run()), (ErrorCode::TransportError, true), "{error}");
            assert!(error.message().ends_with("is gone: killed by SIGKILL"), "{error}");
        }
        // Not by time-out, which is minutes away.
        assert!(killed.elapsed() < PATIENCE / 2, "{:?}", killed.elapsed());

        // Made while it is away, and answered by the next process.
        assert_eq!(call(&host, "a/echo", r#"{"n":1}"#).await.unwrap().to_text(), r#"{"n":1}"#);
        let after = marked_processes(&mark);
        assert!(after.len() == 1 && after != before, "{before:?} {after:?}");
        assert_eq!(host.server_status("a").unwrap().restarts, 1);

        assert!(!bystander[0].is_finished(), "the calls of another server go on");
        host.shutdown().await;
        for call in bystander {
            assert_eq!(call.await.unwrap().unwrap_err().code(), ErrorCode::TransportError);
        }
    }
}

#[tokio::test]
async fn a_call_made_right_after_the_end_waits_for_the_next_process() {
    let host = builder([stdio("a", &marked(Scenario::legacy(), "right after"))])
        // A call that got a dead session would fail.
        .settings(HostSettings::default().with(|settings| {
            settings.max_retries = 0;
            settings.call_timeout = PATIENCE;
        }))
        .start()
        .await
        .unwrap();
    for _ in 0..2 {
        call(&host, "a/echo", "{}").await.unwrap();
        let exits = call(&host, "a/exit", "{}").await.unwrap_err();
        assert_eq!(exits.code(), ErrorCode::TransportError);
        // `fail` is not idempotent: it must have been sent once, to a living server.
        assert!(call(&host, "a/fail", "{}").await.unwrap().outcome.is_error());
    }
    host.shutdown().await;
}

#[tokio::test]
async fn a_server_that_closes_its_output_is_ended_and_started_again() {
    let scenario = marked(Scenario::legacy().ignores_eof(), "closed output");
    let host = host([stdio("a", &scenario)]).await;
    let before = marked_processes("closed output");
    let error = call(&host, "a/close_stdout", "{}").await.unwrap_err();
    assert!(error.message().contains("closed its output but still runs"), "{error}");
    call(&host, "a/echo", "{}").await.unwrap();
    assert_eq!(wait_until_dead(&before, PATIENCE).await, Vec::<u32>::new());
    assert_eq!(marked_processes("closed output").len(), 1);
    host.shutdown().await;
}

#[tokio::test]
async fn a_server_that_goes_silent_is_noticed_and_replaced() {
    let scenario = marked(Scenario::legacy(), "silent");
    let settings = HostSettings::default().with(|settings| {
        settings.ping_interval = Some(Duration::from_millis(50));
        settings.ping_timeout = Duration::from_secs(2);
        settings.call_timeout = PATIENCE;
    });
    let host = builder([stdio("a", &scenario)]).settings(settings).start().await.unwrap();
    assert!(host.settled(PATIENCE).await);
    let before = marked_processes("silent");
    let process = rustix::process::Pid::from_raw(before[0].try_into().unwrap()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::STOP).unwrap();
    until(&host, "it is given up", |host| status(host, "a") == "pending (reconnecting)").await;
    call(&host, "a/echo", "{}").await.unwrap();
    // A process that is stopped cannot be asked; it is killed.
    assert_eq!(wait_until_dead(&before, PATIENCE).await, Vec::<u32>::new());
    let report = host.server_status("a").unwrap();
    assert_eq!(report.restarts, 1);
    assert!(report.last_error.unwrap().starts_with("the server no longer answers pings"));
    host.shutdown().await;
}

#[tokio::test]
async fn a_server_that_dies_again_and_again_counts_as_failed_with_its_reason() {
    // Gets through its start, then its first call ends it.
    let host = host([stdio("a", &Scenario::legacy())]).await;
    for _ in 0..3 {
        call(&host, "a/exit", r#"{"status":9}"#).await.unwrap_err();
    }
    until(&host, "it has failed", |host| status(host, "a").starts_with("failed")).await;
    let error = call(&host, "a/echo", "{}").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ServerUnavailable);
    assert!(error.message().ends_with("is gone: exited with status 9"), "{error}");
    // Its tools stay known (G2): whoever calls one is told why not.
    assert!(host.snapshot().tools().next().is_some());
    // A person who knows better need not wait.
    host.reconnect_server("a").await.unwrap();
    call(&host, "a/echo", "{}").await.unwrap();
    host.shutdown().await;
}
