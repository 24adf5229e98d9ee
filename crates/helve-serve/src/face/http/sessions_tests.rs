//! What is kept of finished streams, and the ids of sessions.

use std::collections::BTreeSet;

use helve::Host;
use helve_model::json::RawJson;

use super::*;
use crate::gateway::Options;
use crate::message::Message;

async fn gateway(limits: Limits) -> Arc<Gateway> {
    let host = Host::builder().start().await.unwrap();
    Gateway::new(host, Options { limits, ..Options::default() })
}

/// A stream that was read to its end.
fn finished(session: &HttpSession, limits: &Limits, bytes: usize) -> u64 {
    let stream = Arc::new(EventStream::new(limits));
    session.keep(&stream, false, limits);
    let result = RawJson::assembled(format!("{{\"x\":\"{}\"}}", "x".repeat(bytes)));
    stream.send(Message::answer(&RawJson::from_static("1"), &Ok(result)));
    stream.end();
    let reader = stream.read_from(None).unwrap();
    let context = std::task::Context::from_waker(std::task::Waker::noop());
    while let std::task::Poll::Ready(super::super::events::Next::Event(_)) = stream.poll_next(reader, &context) {}
    stream.left(reader);
    session.settle(limits);
    lock(&session.streams).last
}

#[tokio::test(start_paused = true)]
async fn finished_streams_are_kept_within_bounds() {
    let limits = Limits { session_answer_bytes: 25_000, answer_bytes: 40_000, ..Limits::default() };
    let gateway = gateway(limits.clone()).await;
    let sessions = Sessions::default();
    let open = |connection| sessions.open(&gateway, Principal::Connection(connection)).unwrap();
    let (one, two) = (open(1), open(2));
    let first = finished(&one, &limits, 10_000);
    let second = finished(&one, &limits, 10_000);
    assert!(one.stream(first).is_some() && one.stream(second).is_some());
    // In its own session the oldest makes room; a stream that is too large for it is not kept.
    let third = finished(&one, &limits, 10_000);
    assert!(one.stream(first).is_none() && one.stream(third).is_some());
    assert_eq!(one.stream(finished(&two, &limits, 30_000)).map(|stream| stream.bytes()), None);
    // All sessions together have a bound too.
    let fourth = finished(&two, &limits, 15_000);
    assert!(two.stream(fourth).is_some());
    assert!(two.stream(finished(&two, &limits, 8_000)).is_none());
    assert!(sessions.kept() > 35_000 && sessions.kept() <= 40_000);
    // Nobody comes back.
    tokio::time::advance(limits.answer_time + std::time::Duration::from_secs(1)).await;
    sessions.sweep(&limits);
    assert_eq!(sessions.kept(), 0);
    assert!(one.stream(third).is_none() && one.stream(STANDALONE).is_some());
}

#[tokio::test]
async fn nobody_guesses_the_id_of_a_session() {
    let gateway = gateway(Limits::default()).await;
    let sessions = Sessions::default();
    let ids: BTreeSet<String> =
        (0..500).map(|number| sessions.open(&gateway, Principal::Connection(number)).unwrap().id.clone()).collect();
    assert_eq!(ids.len(), 500);
    assert!(ids.iter().all(|id| id.len() == ID_BYTES.div_ceil(3) * 4));
    // No place of an id is the same in all of them, or nearly so.
    for place in 0..32 {
        let letters: BTreeSet<u8> = ids.iter().map(|id| id.as_bytes()[place]).collect();
        assert!(letters.len() > 40, "{place}: {}", letters.len());
    }
}
