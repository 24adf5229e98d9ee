//! What a peer can make us hold: measured from outside, in a process of its own.

use std::time::{Duration, Instant};

use helve_model::ErrorCode;
use helve_testkit::{Scenario, peak_rss_bytes, rss_bytes};
use helve_wire::Limits;

use crate::alone;
use crate::hand::Hand;
use crate::support::*;

const MEBIBYTE: u64 = 1 << 20;

fn growth(before: u64) -> u64 {
    peak_rss_bytes(std::process::id()).unwrap().saturating_sub(before) / MEBIBYTE
}

fn held() -> u64 {
    rss_bytes(std::process::id()).unwrap()
}

#[test]
fn a_line_of_half_a_gibibyte_costs_little_more_than_the_limit() {
    alone::run("fault::memory::half_a_gibibyte");
}

#[test]
fn an_array_of_millions_costs_little_more_than_its_bytes() {
    alone::run("fault::memory::arrays_of_millions");
}

#[tokio::test]
#[ignore = "another test runs it, in a process of its own"]
async fn half_a_gibibyte() {
    let limits = Limits { message_bytes: 8 << 20, ..Limits::default() };
    let mut errors = Vec::new();
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let session = stdio(&scenario, options().with(|options| options.limits = limits.clone())).await.unwrap();
        call(&session, "echo", "{}").await.unwrap();
        let before = held();
        let started = Instant::now();
        let error = call(&session, "big", r#"{"bytes":536870912}"#).await.unwrap_err();
        // Long before the line is over.
        let took = started.elapsed();
        errors.push(shown(&error));
        assert!(took < Duration::from_secs(1), "took {took:?}");
        // The next answer stands behind the whole line.
        assert_eq!(text(&call(&session, "echo", "{}").await.unwrap()), "{}");
        assert!(growth(before) < 8 + 64, "grew by {} MiB", growth(before));
        session.close().await;
    }
    insta::assert_snapshot!(the_same(errors), @r"
    LIMIT_EXCEEDED: the server's answer is larger than 8388608 bytes
      hint: ask for less, or raise the limit `message_bytes`
      may have run
    ");
}

/// Each element is small, but there are many: as a batch of messages, and as a list.
#[tokio::test]
#[ignore = "another test runs it, in a process of its own"]
async fn arrays_of_millions() {
    const BYTES: usize = 16 << 20;
    let (session, mut hand) = Hand::legacy(options()).await;
    let before = held();
    let line = format!("[{}1]\n", "1,".repeat(BYTES / 2));
    hand.write(&line).await;
    eventually("the batch is taken apart", || session.diagnostics().noise > 0).await;
    let listing = tokio::spawn({
        let session = session.clone();
        async move { session.list_tools(times()).await }
    });
    let id = hand.request("tools/list").await;
    hand.answer(id, &format!(r#"{{"tools":{}}}"#, line.trim_end())).await;
    let listing = listing.await.unwrap().unwrap();
    assert_eq!(listing.incomplete.unwrap().code(), ErrorCode::LimitExceeded);
    // The line itself is held twice here: by the test, and on its way.
    assert!(growth(before) < 64 + 5 * 16, "grew by {} MiB", growth(before));
}
