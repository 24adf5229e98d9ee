//! What waits for the owner of watches.

use std::sync::Arc;

use helve_model::json::RawJson;
use helve_model::{ErrorCode, ServerName};
use tokio::time::advance;

use super::*;
use crate::error::CallError;

fn event(number: u64, change: WatchChange) -> WatchEvent {
    let server = ServerName::new("peer").unwrap();
    WatchEvent { id: WatchId(number), server, target: "test://x".to_owned(), reason: None, change, superseded: 0 }
}

fn content(text: &str) -> WatchChange {
    WatchChange::Content(RawJson::assembled(format!("\"{text}\"")))
}

fn failed() -> WatchChange {
    WatchChange::Failed(Arc::new(CallError::new(ErrorCode::Timeout, "too late")))
}

fn taken(queue: &Queue) -> String {
    let Some(event) = queue.try_next() else { return "nothing".to_owned() };
    let what = match event.change {
        WatchChange::Content(content) => content.as_str().to_owned(),
        other => format!("{other:?}").split('(').next().unwrap_or_default().to_owned(),
    };
    format!("{}: {what}, superseded {}", event.id, event.superseded)
}

#[tokio::test(start_paused = true)]
async fn trouble_takes_no_change_away() {
    let queue = Queue::default();
    queue.push(event(1, content("a")));
    queue.push(event(1, content("b")));
    queue.push(event(1, failed()));
    queue.push(event(1, failed()));
    insta::assert_snapshot!(taken(&queue), @r#"watch-1: "b", superseded 1"#);
    insta::assert_snapshot!(taken(&queue), @"watch-1: Failed, superseded 1");
    insta::assert_snapshot!(taken(&queue), @"nothing");
}

#[tokio::test(start_paused = true)]
async fn what_goes_well_again_is_no_trouble() {
    let queue = Queue::default();
    queue.push(event(1, failed()));
    queue.push(event(1, content("a")));
    insta::assert_snapshot!(taken(&queue), @r#"watch-1: "a", superseded 1"#);
    insta::assert_snapshot!(taken(&queue), @"nothing");
}

#[tokio::test(start_paused = true)]
async fn who_takes_at_once_is_not_flooded_and_misses_nothing() {
    let queue = Queue::default();
    queue.push(event(1, content("a")));
    insta::assert_snapshot!(taken(&queue), @r#"watch-1: "a", superseded 0"#);
    for text in ["b", "c", "d"] {
        queue.push(event(1, content(text)));
        assert_eq!(taken(&queue), "nothing");
    }
    // Others do not wait for it.
    queue.push(event(2, content("x")));
    insta::assert_snapshot!(taken(&queue), @r#"watch-2: "x", superseded 0"#);
    advance(SHORTEST_GAP).await;
    insta::assert_snapshot!(taken(&queue), @r#"watch-1: "d", superseded 2"#);
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_woken_when_the_gap_is_over() {
    let queue = Queue::default();
    queue.push(event(1, content("a")));
    drop(queue.next().await);
    let before = Instant::now();
    queue.push(event(1, content("b")));
    drop(queue.next().await);
    assert!(before.elapsed() >= SHORTEST_GAP);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_of_what_is_over() {
    let queue = Queue::default();
    for number in 0..100 {
        queue.push(event(number, content("a")));
        drop(queue.try_next());
        queue.push(event(number, WatchChange::Ended(Arc::new(CallError::new(ErrorCode::Denied, "no")))));
        if number % 2 == 0 {
            queue.forget(WatchId(number));
        }
    }
    advance(SHORTEST_GAP).await;
    while queue.try_next().is_some() {}
    let waiting = lock(&queue.waiting);
    assert!(waiting.slots.is_empty() && waiting.order.is_empty() && waiting.resting.is_empty());
}
