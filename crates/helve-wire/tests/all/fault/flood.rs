//! Peers that talk too much: logs on stdout, notifications, stderr.

use std::sync::Arc;
use std::time::{Duration, Instant};

use helve_testkit::{InProcess, Noise, Recording, Scenario};
use helve_wire::{Event, EventQueue, Limits, Notification, PeerHandler, connect_stream};

use crate::support::*;

/// A thousand calls with five hundred lines before and after each: a million lines.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_million_log_lines_around_a_thousand_calls() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let scenario = Scenario::legacy().noise_around_calls(Noise::mixed(500)).record_to(&record);
    let session = stdio(&scenario, options()).await.unwrap();
    let started = Instant::now();
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..1_000 {
        let session = session.clone();
        calls.spawn(async move {
            let arguments = format!(r#"{{"number":{number}}}"#);
            let outcome = call(&session, "echo", &arguments).await.unwrap();
            assert_eq!(outcome.open().unwrap().structured.unwrap().as_str(), arguments);
        });
    }
    while let Some(done) = calls.join_next().await {
        done.unwrap();
    }
    let took = started.elapsed();
    assert!(took < PATIENCE, "took {took:?}");
    eventually("all lines are read", || session.diagnostics().noise == 1_000_000).await;
    assert_eq!(
        session.diagnostics().first_noise,
        [
            "[info] line 0: listening, all is well",
            r#"{"level":"info","seq":1,"msg":"line 1","ts":1753660800}"#,
            "[info] line 2: listening, all is well"
        ]
    );
    session.close().await;
    // Not one byte was written back: the handshake and the calls are all that came.
    let messages = Recording::load(&record).unwrap().messages();
    assert_eq!(messages.len(), 3 + 1_000);
    assert_eq!(messages.iter().filter(|message| message["method"] == "tools/call").count(), 1_000);
}

/// One call at a time, each kind of line, in either era: the very bytes that are written are counted.
#[tokio::test]
async fn log_lines_are_never_answered() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        for noise in [Noise::text(3_000), Noise::json(3_000), Noise::mixed(3_000)] {
            let InProcess { stream, recorder } = scenario.clone().noise_at_start(noise).in_process();
            let session = connect_stream(stream, options()).await.unwrap();
            let kind = serde_json::to_string(&noise.kind).unwrap();
            let arguments = format!(r#"{{"lines":3000,"kind":{kind}}}"#);
            assert_eq!(text(&call(&session, "noise", &arguments).await.unwrap()), "that was noise");
            assert_eq!(session.diagnostics().noise, 6_000);
            let written: usize = recorder.frames().iter().map(|frame| frame.len() + 1).sum();
            assert_eq!(recorder.bytes_received(), written as u64);
            assert_eq!(recorder.violations(), Vec::<String>::new());
        }
    }
}

/// Keeps what it can and never makes the reader wait.
struct Queueing(EventQueue);

impl PeerHandler for Queueing {
    fn notification(&self, notification: Notification) {
        self.0.push(notification);
    }
}

#[tokio::test]
async fn a_flood_of_notifications_is_bounded_and_calls_go_on() {
    const FLOOD: u64 = 50_000;
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let queueing = Arc::new(Queueing(EventQueue::new(Limits::default().notifications_queued)));
        let handler = Arc::clone(&queueing) as Arc<dyn PeerHandler>;
        let session = in_process(&scenario, options().with(|options| options.handler = handler)).await.unwrap();
        let arguments = format!(r#"{{"count":{FLOOD}}}"#);
        let flood = call(&session, "notify", &arguments);
        let calls = async {
            for _ in 0..20 {
                assert_eq!(text(&call(&session, "echo", "{}").await.unwrap()), "{}");
            }
        };
        let (flood, ()) = tokio::join!(flood, calls);
        assert_eq!(text(&flood.unwrap()), "notified");
        let Some(Event::Lost(lost)) = queueing.0.try_next() else { panic!("nothing was lost") };
        let mut kept = Vec::new();
        while let Some(event) = queueing.0.try_next() {
            let Event::Notification(notification) = event else { panic!("lost twice") };
            kept.push(notification.params.unwrap().member("data").unwrap().parse::<u64>().unwrap());
        }
        assert_eq!(kept, (FLOOD - 1_024..FLOOD).collect::<Vec<_>>(), "the newest, in order");
        assert_eq!(lost, FLOOD - 1_024);
    }
}

/// Progress of nobody's call, or of one that is over, is counted and told nobody.
#[tokio::test]
async fn a_flood_of_progress_for_nobody() {
    let listener = Arc::new(Listener::default());
    let session = in_process(&Scenario::legacy(), listening(&listener)).await.unwrap();
    let arguments = r#"{"count":1000,"method":"notifications/progress","params":{"progressToken":99999,"progress":1}}"#;
    assert_eq!(text(&call(&session, "notify", arguments).await.unwrap()), "notified");
    assert_eq!(session.diagnostics().unmatched, 1_000);
    assert_eq!(listener.methods(), Vec::<String>::new());
}

#[tokio::test]
async fn stderr_is_always_read_and_its_end_kept() {
    let limits = Limits { stderr_bytes: 1_000, ..Limits::default() };
    let scenario = Scenario::legacy().stderr_at_start(5 << 20);
    let session = stdio(&scenario, options().with(|options| options.limits = limits)).await.unwrap();
    assert_eq!(text(&call(&session, "stderr", r#"{"bytes":5000000}"#).await.unwrap()), "written");
    eventually("the last bytes are read", || session.diagnostics().stderr.len() == 1_000).await;
    session.close().await;

    let script = "i=1; while [ $i -le 3000 ]; do echo \"line $i\" >&2; i=$((i+1)); done; read line; exec sleep 1000";
    let limits = Limits { stderr_bytes: 20, ..Limits::default() };
    let options = options().with(|options| {
        options.limits = limits;
        options.startup = Duration::from_millis(700);
    });
    let error =
        helve_wire::connect_stdio(&helve_wire::launch::PlainLauncher, &shell(script), options).await.unwrap_err();
    assert!(error.hints().iter().any(|hint| hint.ends_with("2999\nline 3000")), "{}", shown(&error));
}
