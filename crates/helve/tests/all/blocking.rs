//! The host for callers without async.

use std::time::Duration;

use helve::CallContext;
use helve::blocking::Host;
use helve_model::ErrorCode;
use helve_policy::Caller;
use helve_testkit::Scenario;

use crate::support::{PATIENCE, builder, json, marked, marked_processes, stdio};

fn context() -> CallContext {
    CallContext::new(Caller::Script)
}

#[test]
fn everything_works_from_plain_threads() {
    let host = Host::start(builder([stdio("a", &marked(Scenario::dual(), "blocking"))])).unwrap();
    assert!(host.settled(PATIENCE));
    std::thread::scope(|scope| {
        for number in 0..4 {
            let host = &host;
            scope.spawn(move || {
                let arguments = format!(r#"{{"n":{number}}}"#);
                let outcome = host.call("a/echo", json(&arguments), context()).unwrap();
                assert_eq!(outcome.to_text(), arguments);
            });
        }
    });
    let changes = host.add_server(stdio("b", &marked(Scenario::dual(), "blocking")));
    assert_eq!(changes.added.len(), 1);
    let calls = vec![("a/echo".to_owned(), json("{}")), ("b/echo".to_owned(), json("{}"))];
    assert!(host.call_many(calls, &context()).iter().all(Result::is_ok));
    host.toggle("b", false).unwrap();
    assert_eq!(host.call("b/echo", json("{}"), context()).unwrap_err().code(), ErrorCode::ServerDisabled);
    host.remove_server("b").unwrap();
    host.reconnect_server("a").unwrap();
    assert_eq!(host.status().len(), 1);
    assert!(host.snapshot().tool("a/echo").is_ok());
    host.shutdown();
    assert_eq!(marked_processes("blocking"), Vec::<u32>::new());
}

#[test]
fn dropped_without_a_word_it_leaves_no_process() {
    let stubborn = marked(Scenario::dual().ignores_eof().ignores_sigterm(), "blocking dropped");
    let host = Host::start(builder([stdio("a", &stubborn)])).unwrap();
    assert!(host.settled(PATIENCE));
    assert_eq!(marked_processes("blocking dropped").len(), 1);
    drop(host);
    let end = std::time::Instant::now() + PATIENCE;
    while !marked_processes("blocking dropped").is_empty() {
        assert!(std::time::Instant::now() < end, "it still lives");
        std::thread::sleep(Duration::from_millis(2));
    }
}
