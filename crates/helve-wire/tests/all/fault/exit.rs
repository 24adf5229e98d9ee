//! Servers that end, or do not want to: what their calls are told, and that nothing of them is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use helve_model::ErrorCode;
use helve_testkit::{Scenario, alive, descendants_of, wait_until_dead};
use helve_wire::launch::{CloseTimes, ExitReport, Launcher, PlainLauncher};
use helve_wire::{ConnectOptions, ProgressCallback, Session, connect_stdio};
use rustix::process::{Pid, Signal, kill_process};

use super::{AT_ONCE, at_once};
use crate::support::*;

pub(super) fn kill(process: u32) {
    kill_process(Pid::from_raw(process.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
}

fn short(milliseconds: u64) -> ConnectOptions {
    let time = Duration::from_millis(milliseconds);
    options().with(|options| options.close_times = CloseTimes { after_eof: time, after_terminate: time })
}

#[tokio::test]
async fn a_server_that_exits_at_once() {
    let error = stdio(&Scenario::legacy().exits_at_once(3), options()).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    TRANSPORT_ERROR: the server `peer` is gone: exited with status 3
      hint: it wrote nothing to stderr; run the command by hand to see what it does
    ");
    // However soon it exits, before or after it is written to.
    let mut errors = Vec::new();
    for _ in 0..20 {
        let script = "echo 'Error: API_KEY is not set' >&2; exit 7";
        errors.push(shown(&connect_stdio(&PlainLauncher, &shell(script), options()).await.unwrap_err()));
    }
    insta::assert_snapshot!(the_same(errors), @r"
    TRANSPORT_ERROR: the server `peer` is gone: exited with status 7
      hint: the last lines of its stderr:
    Error: API_KEY is not set
    ");
}

#[tokio::test]
async fn the_last_lines_of_stderr_are_told() {
    let script = "i=1; while [ $i -le 500 ]; do echo \"line $i\" >&2; i=$((i+1)); done; echo >&2; kill -SEGV $$";
    let error = connect_stdio(&PlainLauncher, &shell(script), options()).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    TRANSPORT_ERROR: the server `peer` is gone: killed by SIGSEGV
      hint: the last lines of its stderr:
    line 493
    line 494
    line 495
    line 496
    line 497
    line 498
    line 499
    line 500
    ");
    // One endless line must not become an endless error.
    let script = "head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1";
    let error = connect_stdio(&PlainLauncher, &shell(script), options()).await.unwrap_err();
    assert!(shown(&error).len() < 10_000, "{} bytes", shown(&error).len());
    assert!(error.hints().iter().any(|hint| hint.contains("xxx")));
}

#[tokio::test]
async fn a_server_that_is_too_slow_says_what_it_does() {
    let options = options().with(|options| options.startup = Duration::from_millis(500));
    let script = "echo 'downloading the internet' >&2; exec sleep 1000";
    let error = connect_stdio(&PlainLauncher, &shell(script), options).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r#"
    TIMEOUT: the server `peer` was not ready within 0.5 s
      hint: a first start may have to download something: try again, or give it more time
      hint: the last lines of its stderr:
    downloading the internet
    "#);
}

#[tokio::test]
async fn a_server_that_exits_during_a_call() {
    let (mut during, mut after) = (Vec::new(), Vec::new());
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let session = stdio(&scenario, options()).await.unwrap();
        during.push(shown(&call(&session, "exit", r#"{"status":5}"#).await.unwrap_err()));
        assert_eq!(session.diagnostics().exit, Some(ExitReport::Exited(5)));
        after.push(shown(&at_once("a call on a dead connection", call(&session, "echo", "{}")).await.unwrap_err()));
        after.push(shown(&session.ended().await));
    }
    insta::assert_snapshot!(the_same(during), @r"
    TRANSPORT_ERROR: the server `peer` is gone: exited with status 5
      hint: it wrote nothing to stderr; run the command by hand to see what it does
      may have run
    ");
    // Later calls cannot have run.
    insta::assert_snapshot!(the_same(after), @r"
    TRANSPORT_ERROR: the server `peer` is gone: exited with status 5
      hint: it wrote nothing to stderr; run the command by hand to see what it does
    ");
}

/// Last words count: what was answered before the end is an answer.
#[tokio::test]
async fn a_server_that_answers_and_exits() {
    let session = stdio(&Scenario::legacy(), options()).await.unwrap();
    assert_eq!(text(&call(&session, "exit", r#"{"status":0,"answer":true}"#).await.unwrap()), "bye");
    assert_eq!(session.ended().await.code(), ErrorCode::TransportError);
}

/// Calls in flight, each known to run at the server.
async fn in_flight(session: &Session, count: usize) -> Vec<tokio::task::JoinHandle<(helve_wire::Error, Instant)>> {
    let running = Arc::new(AtomicUsize::new(0));
    let calls = (0..count).map(|_| {
        let (session, running) = (session.clone(), Arc::clone(&running));
        tokio::spawn(async move {
            let on_progress: ProgressCallback = Arc::new(move |_| {
                running.fetch_add(1, Ordering::Relaxed);
            });
            let options = within(PATIENCE).with(|options| options.on_progress = Some(on_progress));
            let outcome = session.call_tool(&tool("progress", r#"{"steps":1,"delay_ms":60000}"#), options).await;
            (outcome.unwrap_err(), Instant::now())
        })
    });
    let calls = calls.collect();
    eventually("all calls run", || running.load(Ordering::Relaxed) == count).await;
    calls
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_with_a_hundred_calls_in_flight() {
    let launchers: [&dyn Launcher; 2] = [&PlainLauncher, &warden()];
    let mut errors = Vec::new();
    for (scenario, launcher) in [Scenario::legacy(), Scenario::modern()].into_iter().zip(launchers) {
        let launcher = Noting::new(launcher);
        let session = connect_stdio(&launcher, &command(&scenario), options()).await.unwrap();
        let calls = in_flight(&session, 100).await;
        let started = launcher.started()[0];
        // Behind a warden the server is its child.
        kill(descendants_of(started).first().copied().unwrap_or(started));
        let killed = Instant::now();
        for call in calls {
            let (error, failed) = call.await.unwrap();
            let took = failed.saturating_duration_since(killed);
            assert!(took < AT_ONCE, "a call failed {took:?} after the kill");
            errors.push(shown(&error));
        }
    }
    insta::assert_snapshot!(the_same(errors), @r"
    TRANSPORT_ERROR: the server `peer` is gone: killed by SIGKILL
      hint: it wrote nothing to stderr; run the command by hand to see what it does
      may have run
    ");
}

/// It hears nothing and says nothing, and goes on where it was when it is let.
#[tokio::test]
async fn a_server_that_is_stopped_for_a_while() {
    let launcher = Noting::new(&PlainLauncher);
    let session = connect_stdio(&launcher, &command(&Scenario::legacy()), options()).await.unwrap();
    let server = Pid::from_raw(launcher.started()[0].try_into().unwrap()).unwrap();
    kill_process(server, Signal::STOP).unwrap();
    let started = Instant::now();
    let time = Duration::from_millis(200);
    let error = session.call_tool(&tool("echo", "{}"), within(time)).await.unwrap_err();
    assert_eq!((error.code(), error.may_have_run()), (ErrorCode::Timeout, true));
    assert!(started.elapsed() < time + AT_ONCE, "{:?}", started.elapsed());
    kill_process(server, Signal::CONT).unwrap();
    assert_eq!(text(&call(&session, "echo", "{}").await.unwrap()), "{}");
    assert_eq!(session.diagnostics().unmatched, 1, "the late answer");
}

/// A child that holds the server's output does not hide its death.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_a_child_holds_the_output() {
    let mut errors = Vec::new();
    for shape in ["wrapper", "setsid"] {
        let launcher = Noting::new(&PlainLauncher);
        let session = connect_stdio(&launcher, &command(&Scenario::legacy()), options()).await.unwrap();
        let arguments = format!(r#"{{"shapes":["{shape}"],"inherit_stdout":true,"lifetime_ms":3000}}"#);
        call(&session, "spawn_descendants", &arguments).await.unwrap();
        let calls = in_flight(&session, 3).await;
        kill(launcher.started()[0]);
        let killed = Instant::now();
        for call in calls {
            let (error, failed) = call.await.unwrap();
            let took = failed.saturating_duration_since(killed);
            assert!(took < AT_ONCE, "a call failed {took:?} after the kill ({shape})");
            errors.push(shown(&error));
        }
    }
    insta::assert_snapshot!(the_same(errors), @r"
    TRANSPORT_ERROR: the server `peer` is gone: killed by SIGKILL
      hint: it wrote nothing to stderr; run the command by hand to see what it does
      may have run
    ");
}

#[tokio::test]
async fn a_server_that_closes_its_output_but_lives() {
    let mut errors = Vec::new();
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let launcher = Noting::new(&PlainLauncher);
        let session = connect_stdio(&launcher, &command(&scenario.ignores_eof()), short(100)).await.unwrap();
        let ending = call(&session, "close_stdout", "{}");
        errors.push(shown(&at_once("the end of the output", ending).await.unwrap_err()));
        assert!(alive(launcher.started()[0]));
        session.close().await;
        assert!(!alive(launcher.started()[0]));
    }
    insta::assert_snapshot!(the_same(errors), @r"
    TRANSPORT_ERROR: the server `peer` closed its output but still runs
      hint: it wrote nothing to stderr; run the command by hand to see what it does
      may have run
    ");
}

/// It reads nothing any more, but its output is open: calls need not wait for their time-outs.
#[tokio::test]
async fn a_server_that_closes_its_input_but_lives() {
    let greeting = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}"#;
    let script = format!("read line; echo '{greeting}'; read line; exec 0<&-; echo closed >&2; exec sleep 1000");
    let session = connect_stdio(&PlainLauncher, &shell(&script), pinned("2025-11-25")).await.unwrap();
    eventually("its input is closed", || session.diagnostics().stderr == "closed\n").await;
    let error = call(&session, "echo", "{}").await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    TRANSPORT_ERROR: the server's input is closed
      because: Broken pipe (os error 32)
      hint: the server does not read any more; restart it
    ");
    // More calls at once than are written directly.
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move { call(&session, "echo", "{}").await.unwrap_err() })
        })
        .collect();
    for call in calls {
        let error = call.await.unwrap();
        assert_eq!((error.code(), error.may_have_run()), (ErrorCode::TransportError, false), "{}", shown(&error));
    }
}

#[tokio::test]
async fn a_server_that_ignores_the_end_of_its_input_and_sigterm() {
    let mut errors = Vec::new();
    for (scenario, least) in [
        (Scenario::legacy().ignores_eof(), 100),
        (Scenario::legacy().ignores_eof().ignores_sigterm(), 200),
        (Scenario::modern().ignores_eof().ignores_sigterm(), 200),
    ] {
        let launcher = Noting::new(&PlainLauncher);
        let session = connect_stdio(&launcher, &command(&scenario), short(100)).await.unwrap();
        let calling = in_flight(&session, 1).await;
        let started = Instant::now();
        session.close().await;
        assert!(!alive(launcher.started()[0]));
        assert!(started.elapsed() >= Duration::from_millis(least));
        for call in calling {
            let (error, failed) = call.await.unwrap();
            assert!(
                failed.saturating_duration_since(started) < AT_ONCE,
                "calls do not wait for the end of the process"
            );
            errors.push(shown(&error));
        }
    }
    insta::assert_snapshot!(the_same(errors), @r"
    TRANSPORT_ERROR: the connection was closed
      may have run
    ");
}

#[tokio::test]
async fn a_session_that_is_dropped_takes_its_process_along() {
    for scenario in [Scenario::legacy().ignores_eof().ignores_sigterm(), Scenario::modern()] {
        let launcher = Noting::new(&PlainLauncher);
        let session = connect_stdio(&launcher, &command(&scenario), options()).await.unwrap();
        let other = session.clone();
        session.follow(helve_wire::Changes { tools: true, ..Default::default() }, times()).await.unwrap();
        drop(session);
        assert_eq!(text(&call(&other, "echo", "{}").await.unwrap()), "{}", "the last one counts");
        drop(other);
        assert_eq!(wait_until_dead(&launcher.started(), PATIENCE).await, Vec::<u32>::new());
    }
}

#[tokio::test]
async fn the_end_of_a_session_is_told_to_those_who_wait_for_it() {
    let session = stdio(&Scenario::legacy(), options()).await.unwrap();
    let waiting = tokio::spawn({
        let session = session.clone();
        async move { session.ended().await }
    });
    assert_eq!(text(&call(&session, "echo", "{}").await.unwrap()), "{}");
    assert!(!waiting.is_finished());
    session.close().await;
    insta::assert_snapshot!(shown(&waiting.await.unwrap()), @"TRANSPORT_ERROR: the connection was closed");
    // Closing twice, and asking again, is fine.
    session.close().await;
    assert_eq!(session.ended().await.code(), ErrorCode::TransportError);
}

#[tokio::test]
async fn closing_a_stream_tells_the_peer() {
    let peer = Scenario::legacy().in_process();
    let session = helve_wire::connect_stream(peer.stream, options()).await.unwrap();
    session.close().await;
    let eof = |recording: &helve_testkit::Recording| {
        recording.entries.contains(&helve_testkit::RecordedEvent::Eof).then_some(())
    };
    peer.recorder.wait_for("the end of the input", PATIENCE, eof).await.unwrap();
}
