//! Recording, finding and counting calls; the chain.

use std::time::Duration;

use helve_store::{Decided, Ended, Moment, NewCall, Retention, Search, Store};

const NOW: Moment = Moment::from_micros(1_800_000_000_000_000);

pub(crate) fn call(number: u64) -> NewCall {
    NewCall {
        at: NOW.after(Duration::from_millis(number)),
        host: "c1-00000000000000aa".to_owned(),
        number,
        principal: if number.is_multiple_of(2) { "local".to_owned() } else { "token:ci".to_owned() },
        agent: Some("claude-code 2.1".to_owned()),
        door: 5,
        server: Some(format!("s{}", number % 5)),
        tool: Some(format!("s{}/read", number % 5)),
        decision: Decided::Allow,
        rule: Some("helve.toml:3 allow s*/read".to_owned()),
        ended: if number.is_multiple_of(10) { Ended::Failed } else { Ended::Done },
        took: 500,
        attempts: 1,
        bytes_in: 20,
        bytes_out: 200,
        ..NewCall::default()
    }
}

/// Waits until everything that was handed in is in the file: whatever is done by the writer is done after it.
fn settle(store: &Store) {
    store.tokens_used(Vec::new()).expect("the writer answers");
}

fn filled(directory: &std::path::Path, count: u64) -> Store {
    let store = Store::open(directory, |_| {}).expect("it opens");
    (0..count).for_each(|number| store.record(Box::new(call(number))));
    settle(&store);
    store
}

fn all() -> Search {
    Search { from: NOW, until: NOW.after(Duration::from_secs(3600)), limit: 100, ..Search::default() }
}

#[test]
fn calls_are_found_by_window_and_filter_newest_first() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = filled(directory.path(), 1_000);
    let found = store.search(&all()).expect("search");
    assert_eq!(found.calls.len(), 100);
    assert_eq!(found.calls[0].call, call(999));
    let next = store.search(&Search { before: found.next, ..all() }).expect("search");
    assert_eq!(next.calls[0].call.number, 899);
    let by_server = Search { server: Some("s3".to_owned()), ended: Some(Ended::Done), ..all() };
    let found = store.search(&by_server).expect("search");
    assert!(found.calls.iter().all(|found| found.call.server.as_deref() == Some("s3")));
    assert_eq!(found.calls.len(), 100);
    let pages = std::iter::successors(Some(found), |found| {
        found.next.map(|before| store.search(&Search { before: Some(before), ..by_server.clone() }).expect("search"))
    });
    assert_eq!(pages.map(|found| found.calls.len()).sum::<usize>(), 200, "each is found once");
    let nobody = Search { principal: Some("token:nobody".to_owned()), ..all() };
    assert!(store.search(&nobody).expect("search").calls.is_empty());
    let window =
        Search { from: NOW.after(Duration::from_millis(10)), until: NOW.after(Duration::from_millis(20)), ..all() };
    assert_eq!(store.search(&window).expect("search").calls.len(), 10);
}

#[test]
fn traffic_is_counted_as_it_is_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = filled(directory.path(), 1_000);
    let traffic = store.traffic(None, NOW, NOW.after(Duration::from_secs(60))).expect("traffic");
    assert_eq!((traffic.calls, traffic.failed), (1_000, 100));
    assert_eq!(traffic.took_at_most(0.95), Some(512));
    let one = store.traffic(Some("s0"), NOW, NOW.after(Duration::from_secs(60))).expect("traffic");
    assert_eq!((one.calls, one.failed), (200, 100));
    assert_eq!(store.traffic_by_server(NOW, NOW).expect("traffic").len(), 5);
}

#[test]
fn the_chain_goes_on_over_runs_and_shows_what_was_changed_or_taken_out() {
    let directory = tempfile::tempdir().expect("a directory");
    drop(filled(directory.path(), 300));
    let store = filled(directory.path(), 300);
    let report = store.verify().expect("verify");
    assert_eq!((report.calls, report.broken.clone()), (600, None));
    let mut export = Vec::new();
    assert_eq!(store.export(&mut export).expect("export"), 600);
    assert!(String::from_utf8(export).expect("text").contains(&report.head));
    drop(store);
    let damage = |sql: &str| {
        let path = directory.path().join("hub.db");
        let copy = tempfile::tempdir().expect("a directory");
        fs_err::copy(&path, copy.path().join("hub.db")).expect("copy");
        let raw = rusqlite::Connection::open(copy.path().join("hub.db")).expect("open");
        raw.execute(sql, []).expect("damage");
        drop(raw);
        Store::open(copy.path(), |_| {}).expect("open").verify().expect("verify").broken
    };
    assert!(damage("UPDATE call SET principal = (SELECT id FROM name WHERE text = 'local') WHERE seq = 2").is_some());
    assert!(damage("DELETE FROM call WHERE seq = 7").is_some());
    assert!(damage("DELETE FROM batch WHERE id = (SELECT max(id) FROM batch)").is_some());
    assert_eq!(damage("DELETE FROM minute"), None);
}

#[test]
fn retention_takes_whole_batches_from_the_front_and_the_chain_still_holds() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path(), |_| {}).expect("open");
    for number in 0..40 {
        store.record(Box::new(NewCall { at: NOW.after(Duration::from_secs(number * 3600)), ..call(number) }));
        settle(&store);
    }
    let retention = Retention { time: Duration::from_secs(10 * 3600), ..Retention::default() };
    let swept = store.sweep(retention, NOW.after(Duration::from_secs(40 * 3600))).expect("sweep");
    assert_eq!(swept.deleted, 30);
    let report = store.verify().expect("verify");
    assert_eq!((report.calls, report.broken), (10, None));
    let none_left = Retention { time: Duration::ZERO, bytes: 0 };
    store.sweep(none_left, NOW.after(Duration::from_secs(90 * 3600))).expect("sweep");
    assert_eq!(store.verify().expect("verify").broken, None);
}

#[test]
fn names_from_outside_cannot_fill_the_dictionary() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path(), |_| {}).expect("open");
    for number in 0..5_000 {
        let agent = Some(format!("{number}{}", "x".repeat(10_000)));
        store.record(Box::new(NewCall { agent, ..call(number) }));
    }
    settle(&store);
    let found = store.search(&all()).expect("search");
    assert_eq!(found.calls[0].call.agent.as_deref(), Some("(other)"));
    assert_eq!(store.verify().expect("verify").broken, None);
    assert!(store.sizes().expect("sizes").bytes < 8 << 20);
}

#[test]
fn what_was_used_is_counted_for_whom_and_by_what() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = filled(directory.path(), 100);
    let used = store.used_tools(NOW).expect("usage");
    assert_eq!(used.len(), 10, "five tools for two principals");
    assert!(used.iter().all(|usage| usage.calls == 10), "{used:?}");
    assert_eq!(store.used_tools(NOW.after(Duration::from_millis(90))).expect("usage").len(), 10);
    assert!(store.used_tools(NOW.after(Duration::from_secs(60))).expect("usage").is_empty());
    let rules = store.used_rules(NOW).expect("rules");
    assert_eq!(rules.len(), 1);
    assert_eq!((rules[0].calls, rules[0].last), (100, call(99).at));
}

/// A clock that is set back hides no call: the newest are the newest, whatever time it was.
#[test]
fn a_clock_that_is_set_back_hides_no_call() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path(), |_| {}).expect("it opens");
    let at = |number: u64, seconds: u64| NewCall { at: NOW.after(Duration::from_secs(seconds)), ..call(number) };
    (0..50).for_each(|number| store.record(Box::new(at(number, 3_600 + number))));
    (50..60).for_each(|number| store.record(Box::new(at(number, number))));
    settle(&store);
    let now = Search { until: NOW.after(Duration::from_secs(120)), ..all() };
    let found = store.search(&now).expect("search");
    assert_eq!(
        found.calls.iter().map(|found| found.call.number).collect::<Vec<_>>(),
        (50..60).rev().collect::<Vec<_>>()
    );
    assert!(store.verify().expect("a report").broken.is_none());
    assert_eq!(store.check().expect("a file"), Vec::<String>::new());
}

/// Calls that come without a pause are written all the same, and not only once a batch is full.
#[test]
fn a_steady_stream_is_written_as_it_comes() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path(), |_| {}).expect("it opens");
    let mut recorded = 0;
    while store.health().written == 0 {
        assert!(recorded < 1_000, "nothing is written while calls come");
        store.record(Box::new(call(recorded)));
        recorded += 1;
        // Often enough that the queue is never found empty.
        std::thread::sleep(Duration::from_millis(2));
    }
}
