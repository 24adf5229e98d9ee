//! Peers that take their time: every call ends, by its own clock; later answers harm nobody.

use std::sync::Arc;
use std::time::Duration;

use helve_testkit::Scenario;
use helve_wire::{CallOptions, ProgressCallback, Times};
use tokio::time::Instant;

use crate::support::*;

fn eras() -> [Scenario; 2] {
    [Scenario::legacy(), Scenario::modern()]
}

fn seconds(idle: u64, total: u64) -> CallOptions {
    let times = Times { idle: Duration::from_secs(idle), total: Duration::from_secs(total) };
    CallOptions::default().with(|options| options.times = times)
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_never_answered() {
    let (mut told, mut by_default) = (Vec::new(), Vec::new());
    for scenario in eras() {
        let session = in_process(&scenario, options()).await.unwrap();
        let started = Instant::now();
        let permit = tool("raw", r#"{"text":""}"#);
        told.push(shown(&session.call_tool(&permit, seconds(3, 100)).await.unwrap_err()));
        assert_eq!(started.elapsed(), Duration::from_secs(3));
        assert_eq!(text(&call(&session, "echo", "{}").await.unwrap()), "{}");
        by_default.push(shown(&session.call_tool(&permit, CallOptions::default()).await.unwrap_err()));
        let error = session.request("ping", None, Times::exactly(Duration::ZERO)).await.unwrap_err();
        assert_eq!(error.code(), helve_model::ErrorCode::Timeout);
    }
    insta::assert_snapshot!(the_same(told), @r"
    TIMEOUT: the server did not answer within 3.0 s
      hint: raise the time-out of this server, or look into the server's log
      may have run
    ");
    // Without being told, a call has an end as well.
    insta::assert_snapshot!(the_same(by_default), @r"
    TIMEOUT: the server did not answer within 30.0 s
      hint: raise the time-out of this server, or look into the server's log
      may have run
    ");
}

#[tokio::test(start_paused = true)]
async fn an_answer_after_the_time_out() {
    for scenario in eras() {
        let peer = scenario.in_process();
        let session = helve_wire::connect_stream(peer.stream, options()).await.unwrap();
        for count in 1..=3 {
            let permit = tool("sleep", r#"{"ms":2000,"ignore_cancel":true}"#);
            let error = session.call_tool(&permit, seconds(1, 1)).await.unwrap_err();
            assert_eq!(error.code(), helve_model::ErrorCode::Timeout);
            assert!(error.may_have_run());
            assert_eq!(text(&call(&session, "echo", "{}").await.unwrap()), "{}");
            eventually("the late answer is counted", || session.diagnostics().unmatched == count).await;
        }
        assert_eq!(text(&call(&session, "echo", "{}").await.unwrap()), "{}");
        assert_eq!(peer.recorder.count("notifications/cancelled"), 3);
        assert_eq!(peer.recorder.violations(), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn growing_progress_restarts_the_clock() {
    for scenario in eras() {
        let session = in_process(&scenario, options()).await.unwrap();
        let started = Instant::now();
        // Ten steps, nine tenths of the idle time apart.
        let permit = tool("progress", r#"{"steps":10,"delay_ms":900}"#);
        let outcome = session.call_tool(&permit, seconds(1, 100)).await.unwrap();
        assert_eq!(text(&outcome), "10 steps");
        assert_eq!(started.elapsed(), Duration::from_secs(9));
    }
}

/// Nobody has to listen to progress for it to count.
#[tokio::test(start_paused = true)]
async fn the_same_progress_again_does_not() {
    let mut errors = Vec::new();
    for scenario in eras() {
        let session = in_process(&scenario, options()).await.unwrap();
        let started = Instant::now();
        let reports = Arc::new(std::sync::Mutex::new(0));
        let seen = Arc::clone(&reports);
        let on_progress: ProgressCallback = Arc::new(move |_| *seen.lock().unwrap() += 1);
        let permit = tool("progress", r#"{"steps":10,"delay_ms":900,"resend_last":true}"#);
        let options = seconds(1, 100).with(|options| options.on_progress = Some(on_progress));
        let error = session.call_tool(&permit, options).await.unwrap_err();
        assert_eq!(started.elapsed(), Duration::from_secs(1));
        errors.push(shown(&error));
        assert_eq!(*reports.lock().unwrap(), 2, "told all the same");
    }
    insta::assert_snapshot!(the_same(errors), @r"
    TIMEOUT: the server reported progress but did not finish within 1.0 s
      hint: raise the time-out of this server, or look into the server's log
      may have run
    ");
}

#[tokio::test(start_paused = true)]
async fn progress_buys_no_more_than_the_total() {
    let mut errors = Vec::new();
    for scenario in eras() {
        let session = in_process(&scenario, options()).await.unwrap();
        let started = Instant::now();
        let permit = tool("progress", r#"{"steps":100,"delay_ms":900}"#);
        let error = session.call_tool(&permit, seconds(1, 5)).await.unwrap_err();
        assert_eq!(started.elapsed(), Duration::from_secs(5));
        errors.push(shown(&error));
    }
    insta::assert_snapshot!(the_same(errors), @r"
    TIMEOUT: the server reported progress but did not finish within 5.0 s
      hint: raise the time-out of this server, or look into the server's log
      may have run
    ");
}

/// Rounds of questions are one call, and have one total.
#[tokio::test(start_paused = true)]
async fn rounds_of_questions_share_the_total() {
    let listener = Arc::new(Listener::default());
    let scenario = Scenario::modern().answer_delay_ms(900);
    let session = in_process(&scenario, listening(&listener)).await.unwrap();
    let started = Instant::now();
    let error = session.call_tool(&tool("ask", r#"{"rounds":9}"#), seconds(1, 4)).await.unwrap_err();
    assert_eq!(started.elapsed(), Duration::from_secs(4), "{}", shown(&error));
    assert_eq!(error.code(), helve_model::ErrorCode::Timeout);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_never_ends() {
    let mut errors = Vec::new();
    for scenario in eras() {
        let session = in_process(&scenario, options()).await.unwrap();
        let started = Instant::now();
        let permit = tool("task", r#"{"polls":1000000,"poll_ms":100}"#);
        let options = seconds(3, 5).with(|options| options.as_task = Some(PATIENCE));
        let error = session.call_tool(&permit, options).await.unwrap_err();
        assert!(started.elapsed() <= Duration::from_secs(5));
        errors.push(shown(&error));
    }
    insta::assert_snapshot!(the_same(errors), @r"
    TIMEOUT: the task was not finished within 5 s, and was cancelled
      hint: raise the total time-out of the call
      may have run
    ");
}
