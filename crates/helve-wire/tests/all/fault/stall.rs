//! Peers that do not read: writing to them never blocks anybody, and what was not sent did not run.

use std::sync::Arc;
use std::time::Duration;

use helve_model::{ErrorCode, Outcome};
use helve_testkit::{OneAtATime, Scenario};
use helve_wire::{Limits, Result, Session, connect_stream};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::hand::Hand;
use crate::support::*;

/// How much the stream holds that the peer does not read.
const ROOM: usize = 4 << 10;

fn stalling(milliseconds: u64) -> Limits {
    Limits { write_stall: Duration::from_millis(milliseconds), ..Limits::default() }
}

/// Arguments that do not fit into the stream.
fn large() -> String {
    format!(r#"{{"large":"{}"}}"#, "x".repeat(4 * ROOM))
}

fn start(session: &Session, name: &'static str, arguments: String) -> JoinHandle<Result<Outcome>> {
    let session = session.clone();
    tokio::spawn(async move { call(&session, name, &arguments).await })
}

#[tokio::test(start_paused = true)]
async fn calls_behind_a_stalled_one_are_withdrawn() {
    let listener = Arc::new(Listener::default());
    let options = listening(&listener).with(|options| options.limits = stalling(500));
    let (session, mut hand) = Hand::legacy_with_room(options, ROOM).await;
    let stalled = start(&session, "stalled", large());
    tokio::task::yield_now().await;
    let started = Instant::now();
    let waiting = [start(&session, "second", "{}".into()), start(&session, "third", large())];

    // What the peer says is heard all the while.
    hand.line(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#).await;
    eventually("the notification", || listener.methods() == ["notifications/message"]).await;

    let mut errors = Vec::new();
    for call in waiting {
        errors.push(shown(&call.await.unwrap().unwrap_err()));
        assert!(started.elapsed() <= Duration::from_millis(1_010), "{:?}", started.elapsed());
    }
    insta::assert_snapshot!(the_same(errors), @r"
    TRANSPORT_ERROR: the server has not read its input for 0.5 s
      hint: the server is stuck; restart it, or raise the limit `write_stall`
    ");

    // Once it reads again, the message that was half out comes whole, and nothing of the others.
    let message = hand.read().await;
    assert_eq!(message["params"]["name"], "stalled");
    hand.answer(message["id"].as_u64().unwrap(), r#"{"content":"late, but fine"}"#).await;
    assert_eq!(text(&stalled.await.unwrap().unwrap()), "late, but fine");
    let next = start(&session, "next", "{}".into());
    let id = hand.request("tools/call").await;
    hand.answer(id, r#"{"content":"fine"}"#).await;
    assert_eq!(text(&next.await.unwrap().unwrap()), "fine");
}

/// The call that is half out may have been understood all the same.
#[tokio::test(start_paused = true)]
async fn the_stalled_call_itself_has_its_own_time_out() {
    let (session, _hand) = Hand::legacy_with_room(options().with(|options| options.limits = stalling(500)), ROOM).await;
    let error = session.call_tool(&tool("stalled", &large()), within(Duration::from_secs(2))).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    TIMEOUT: the server did not answer within 2.0 s
      hint: raise the time-out of this server, or look into the server's log
      may have run
    ");
}

/// Until the peer reads, a call can be taken back without a trace.
#[tokio::test(start_paused = true)]
async fn a_call_that_was_not_written_is_withdrawn_instead_of_cancelled() {
    let (session, mut hand) = Hand::legacy_with_room(options(), ROOM).await;
    let first = start(&session, "first", large());
    let dropped = start(&session, "dropped", "{}".into());
    tokio::task::yield_now().await;
    let error = session.call_tool(&tool("too late", "{}"), within(Duration::from_millis(50))).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    TIMEOUT: the server did not answer within 0.1 s
      hint: raise the time-out of this server, or look into the server's log
    ");
    dropped.abort();
    assert!(dropped.await.unwrap_err().is_cancelled());
    let last = start(&session, "last", "{}".into());
    for name in ["first", "last"] {
        let message = hand.read().await;
        assert_eq!(message["params"]["name"], name, "no trace of the others");
        hand.answer(message["id"].as_u64().unwrap(), "{}").await;
    }
    assert!(first.await.unwrap().is_ok() && last.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn only_so_many_bytes_wait() {
    let limits = Limits { outgoing_bytes: 8 * ROOM, ..Limits::default() };
    let (session, mut hand) = Hand::legacy_with_room(options().with(|options| options.limits = limits), ROOM).await;
    let first = start(&session, "first", large());
    tokio::task::yield_now().await;
    let error = call(&session, "second", &format!(r#"{{"large":"{}"}}"#, "x".repeat(5 * ROOM))).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    LIMIT_EXCEEDED: more than 32768 bytes wait to be read by the server
      hint: the server does not read its input; restart it, or raise the limit `outgoing_bytes`
    ");
    // What was never sent needs no cancelling.
    let third = start(&session, "third", "{}".into());
    for name in ["first", "third"] {
        let message = hand.read().await;
        assert_eq!(message["params"]["name"], name, "{message}");
        hand.answer(message["id"].as_u64().unwrap(), "{}").await;
    }
    assert!(first.await.unwrap().is_ok() && third.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_message_over_the_limit_is_not_sent() {
    let limits = Limits { message_bytes: 10_000, ..Limits::default() };
    let (session, mut hand) = Hand::legacy(options().with(|options| options.limits = limits)).await;
    let error = call(&session, "large", &large()).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    LIMIT_EXCEEDED: the message is larger than 10000 bytes, and was not sent
      hint: send less, or raise the limit `message_bytes`
    ");
    let small = start(&session, "small", "{}".into());
    let id = hand.request("tools/call").await;
    hand.answer(id, "{}").await;
    assert!(small.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_server_that_never_reads_is_never_ready() {
    let options = options().with(|options| options.startup = Duration::from_millis(700));
    let error = stdio(&Scenario::legacy().never_reads(), options).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r#"
    TIMEOUT: the server `peer` was not ready within 0.7 s
      hint: a first start may have to download something: try again, or give it more time
    "#);
}

#[tokio::test]
async fn only_so_many_calls_are_in_flight() {
    let limits = Limits { calls_in_flight: 2, ..Limits::default() };
    let (session, mut hand) = Hand::legacy(options().with(|options| options.limits = limits)).await;
    let calls = [start(&session, "one", "{}".into()), start(&session, "two", "{}".into())];
    let ids = [hand.request("tools/call").await, hand.request("tools/call").await];
    insta::assert_snapshot!(shown(&call(&session, "three", "{}").await.unwrap_err()), @r"
    LIMIT_EXCEEDED: 2 calls are in flight already
      hint: wait for some of them, or raise the limit `calls_in_flight`
    ");
    for id in ids {
        hand.answer(id, "{}").await;
    }
    for call in calls {
        assert!(call.await.unwrap().is_ok());
    }
    let four = start(&session, "four", "{}".into());
    let message = hand.read().await;
    assert_eq!(message["params"]["name"], "four");
    hand.answer(message["id"].as_u64().unwrap(), "{}").await;
    assert!(four.await.unwrap().is_ok());
}

/// Some servers cannot take a second request while one runs.
#[tokio::test]
async fn one_call_at_a_time() {
    for rule in [OneAtATime::Drops, OneAtATime::Fails, OneAtATime::Exits] {
        for scenario in [Scenario::legacy(), Scenario::modern()] {
            let peer = scenario.one_at_a_time(rule).in_process();
            let options = options().with(|options| options.one_at_a_time = true);
            let session = connect_stream(peer.stream, options).await.unwrap();
            let calls: Vec<_> = (0..10).map(|_| start(&session, "sleep", r#"{"ms":2}"#.into())).collect();
            let pings = async {
                for _ in 0..3 {
                    session.ping(times()).await.unwrap();
                }
            };
            pings.await;
            for call in calls {
                assert_eq!(text(&call.await.unwrap().unwrap()), "slept");
            }
            assert_eq!(peer.recorder.violations(), Vec::<String>::new());
        }
    }
    // The peer does notice when the switch is off.
    let peer = Scenario::legacy().one_at_a_time(OneAtATime::Fails).in_process();
    let session = connect_stream(peer.stream, options()).await.unwrap();
    let calls: Vec<_> = (0..10).map(|_| start(&session, "sleep", r#"{"ms":50}"#.into())).collect();
    let mut failed = 0;
    for call in calls {
        failed += usize::from(call.await.unwrap().is_err());
    }
    assert_eq!(failed, 9);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_turn_has_an_end() {
    let options = options().with(|options| options.one_at_a_time = true);
    let session = in_process(&Scenario::legacy(), options).await.unwrap();
    let slow = start(&session, "sleep", r#"{"ms":10000}"#.into());
    tokio::task::yield_now().await;
    let error = session.call_tool(&tool("echo", "{}"), within(Duration::from_secs(2))).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    TIMEOUT: an earlier call still runs, and this server takes one at a time
      hint: wait for it, cancel it, or raise the time-out
    ");
    assert_eq!(error.code(), ErrorCode::Timeout);
    assert_eq!(text(&slow.await.unwrap().unwrap()), "slept");
}

/// Listening has no end: it must not take the turn of everybody else for ever.
#[tokio::test(start_paused = true)]
async fn listening_leaves_the_turn_to_calls() {
    let options = options().with(|options| options.one_at_a_time = true);
    let session = in_process(&Scenario::modern(), options).await.unwrap();
    session.follow(helve_wire::Changes { tools: true, ..Default::default() }, times()).await.unwrap();
    assert_eq!(text(&call(&session, "echo", "{}").await.unwrap()), "{}");
}
