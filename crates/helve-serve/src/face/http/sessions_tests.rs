//! What is kept of finished streams, and the ids of sessions.

use std::collections::BTreeSet;

use helve::Host;
use helve_model::json::RawJson;

use super::*;
use crate::gateway::Options;
use crate::message::Message;
use crate::reach::Reach;

async fn gateway(limits: Limits) -> Arc<Gateway> {
    let host = Host::builder().start().await.unwrap();
    Gateway::new(host, Options { limits, ..Options::default() })
}

fn connections() -> Arc<Connections> {
    Arc::new(Connections::new(16))
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
    let open = |token| sessions.open(&gateway, &connections(), Principal::token(token), Reach::default()).unwrap();
    let (one, two, other) = (open(1), open(1), open(2));
    let kept = || gateway.ledger.kept_answers.held(&Principal::token(1));
    let first = finished(&one, &limits, 10_000);
    let second = finished(&one, &limits, 10_000);
    assert!(one.stream(first).is_some() && one.stream(second).is_some());
    // In its own session the oldest makes room; a stream that is too large for it is not kept.
    let third = finished(&one, &limits, 10_000);
    assert!(one.stream(first).is_none() && one.stream(third).is_some());
    assert_eq!(one.stream(finished(&two, &limits, 30_000)).map(|stream| stream.bytes()), None);
    // All sessions of a principal together have a bound too, and it is that principal's alone.
    let elsewhere = finished(&other, &limits, 20_000);
    let fourth = finished(&two, &limits, 15_000);
    assert!(two.stream(fourth).is_some());
    assert!(two.stream(finished(&two, &limits, 8_000)).is_none());
    assert!(kept() > 35_000 && kept() <= 40_000 && other.stream(elsewhere).is_some());
    // Nobody comes back.
    tokio::time::advance(limits.answer_time + std::time::Duration::from_secs(1)).await;
    sessions.sweep(&limits);
    assert_eq!(kept(), 0);
    assert!(one.stream(third).is_none() && one.stream(STANDALONE).is_some());
}

#[tokio::test]
async fn nobody_guesses_the_id_of_a_session() {
    let gateway = gateway(Limits::default()).await;
    let sessions = Sessions::default();
    let id_of = |number: u64| {
        let session = sessions.open(&gateway, &connections(), Principal::connection(number), Reach::default()).unwrap();
        session.id.strip_prefix(ID_VERSION).unwrap().to_owned()
    };
    let ids: BTreeSet<String> = (0..500).map(id_of).collect();
    assert_eq!(ids.len(), 500);
    assert!(ids.iter().all(|id| id.len() == ID_BYTES.div_ceil(3) * 4));
    // No place of an id is the same in all of them, or nearly so.
    for place in 0..32 {
        let letters: BTreeSet<u8> = ids.iter().map(|id| id.as_bytes()[place]).collect();
        assert!(letters.len() > 40, "{place}: {}", letters.len());
    }
}

/// One principal's sessions cost another none, and those that never did anything go first.
#[tokio::test(start_paused = true)]
async fn s8_sessions_that_never_did_anything_go_first() {
    let limits = Limits { sessions: 10, sessions_per_principal: 6, ..Limits::default() };
    let gateway = gateway(limits.clone()).await;
    let sessions = Sessions::default();
    let open = |token| sessions.open(&gateway, &connections(), Principal::token(token), Reach::default());
    let is_open = |session: &HttpSession| sessions.find(&session.id, &session.agent.principal, None).is_some();
    let quiet: Vec<_> = (0..3).map(|_| open(1).unwrap()).collect();
    let used = open(2).unwrap();
    used.does_something();
    for _ in 0..10_000 {
        open(2).unwrap();
    }
    assert!(quiet.iter().all(|session| is_open(session)), "another principal's session went");
    assert!(is_open(&used), "a session that did something went before those that did nothing");
    assert_eq!(sessions.len(), 3 + 6);
    // All did something: the one idle longest goes, and one with a reader never.
    let theirs: Vec<_> = lock(&sessions.0).of[&Principal::token(2)].values().cloned().collect();
    theirs.iter().for_each(|session| session.does_something());
    theirs[0].reader_came();
    tokio::time::advance(std::time::Duration::from_secs(1)).await;
    theirs[2..].iter().for_each(|session| drop(sessions.find(&session.id, &session.agent.principal, None)));
    open(2).unwrap();
    assert!(is_open(&theirs[0]) && !is_open(&theirs[1]) && is_open(&theirs[2]));
    // As many as there may be in all: the principal that has most makes room.
    let third = open(3).unwrap();
    assert_eq!(sessions.len(), 10);
    let fourth = open(4).unwrap();
    assert!(is_open(&third) && is_open(&fourth) && quiet.iter().all(|session| is_open(session)));
    assert_eq!(sessions.len(), 10);
}

#[tokio::test(start_paused = true)]
async fn s8_busy_sessions_stay_and_the_next_one_is_refused() {
    let gateway = gateway(Limits { sessions_per_principal: 2, ..Limits::default() }).await;
    let sessions = Sessions::default();
    let busy: Vec<_> = (0..2)
        .map(|_| sessions.open(&gateway, &connections(), Principal::token(1), Reach::default()).unwrap())
        .collect();
    busy.iter().for_each(|session| session.reader_came());
    let refused = sessions.open(&gateway, &connections(), Principal::token(1), Reach::default()).map(drop);
    assert_eq!(refused, Err(Unopened::TooMany(Exceeded(Limit::Sessions))));
    assert!(sessions.open(&gateway, &connections(), Principal::token(2), Reach::default()).is_ok());
}
