//! How things end: hosts dropped, calls dropped, servers switched and reconnected many times. Nothing is left.

use std::time::Duration;

use helve::{CallContext, CallEnd};
use helve_model::ErrorCode;
use helve_policy::Caller;
use helve_testkit::{Scenario, descendants_of, open_fds, wait_until_dead};

use super::crash::endless_calls;
use crate::alone;
use crate::support::{
    PATIENCE, builder, call, host, http, json, marked, marked_processes, recorded, status, stdio, until_status,
};

#[tokio::test]
async fn a_dropped_host_takes_its_processes_along() {
    let stubborn = marked(Scenario::dual().ignores_eof().ignores_sigterm(), "dropped host");
    let hanging = marked(Scenario::dual().never_answers(), "dropped host");
    let host =
        builder([stdio("a", &stubborn), stdio("b", &stubborn), stdio("hanging", &hanging)]).start().await.unwrap();
    until_status(&host, "a", "connected").await;
    until_status(&host, "b", "connected").await;
    let processes = marked_processes("dropped host");
    assert!(processes.len() >= 3, "{processes:?}");
    // Neither what can be called nor a call on its way may keep anything alive.
    let snapshot = host.snapshot();
    let prepared = snapshot.prepare("a/progress").unwrap();
    let mut events = host.events();
    let (begun, mut has_begun) = tokio::sync::mpsc::unbounded_channel();
    let mut context = CallContext::new(Caller::Agent);
    context.on_progress = Some(std::sync::Arc::new(move |_| begun.send(()).unwrap_or_default()));
    let calling = tokio::spawn(prepared.invoke(json(r#"{"steps":2,"delay_ms":600000}"#), context));
    has_begun.recv().await.unwrap();
    drop(host);
    let error = tokio::time::timeout(PATIENCE, calling).await.unwrap().unwrap().unwrap_err();
    assert_eq!(error.code(), ErrorCode::TransportError, "{error}");
    assert_eq!(wait_until_dead(&processes, PATIENCE).await, Vec::<u32>::new());
    assert_eq!(marked_processes("dropped host"), Vec::<u32>::new());
    // What is left of it says so.
    let error = snapshot.prepare("a/echo").unwrap_err();
    assert_eq!((error.code(), error.message()), (ErrorCode::ServerUnavailable, "the host has ended"));
    while events.next().await.is_some() {}
}

#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn a_dropped_call_is_cancelled_at_the_server_and_recorded() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let server = scenario.serve_http().await.unwrap();
        let host = host([http("a", server.url())]).await;
        let mut events = host.events();
        let calls = endless_calls(&host, "a", 1).await;
        for call in calls {
            call.abort();
        }
        server.recorder().wait_for_cancel(PATIENCE).await.unwrap();
        let record = recorded(&mut events).await;
        assert_eq!(record.end, CallEnd::Failed(ErrorCode::Cancelled));
        assert_eq!((&*record.asked(), record.attempts), ("a/progress", 1));
        call(&host, "a/echo", "{}").await.unwrap();
        host.shutdown().await;
    }
}

#[tokio::test]
async fn a_second_shutdown_waits_for_the_first() {
    let stubborn = marked(Scenario::dual().ignores_eof(), "two shutdowns");
    let host = host([stdio("a", &stubborn)]).await;
    let first = tokio::spawn({
        let host = host.clone();
        async move { host.shutdown().await }
    });
    while status(&host, "a") == "connected" {
        tokio::task::yield_now().await;
    }
    host.shutdown().await;
    assert_eq!(marked_processes("two shutdowns"), Vec::<u32>::new());
    first.await.unwrap();
    let error = call(&host, "a/echo", "{}").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ServerNotFound);
    let changes = host.add_server(stdio("a", &Scenario::dual())).await;
    assert_eq!(changes.errors[0].1.message(), "the host has been shut down");
}

#[test]
fn a_thousand_toggles_and_reconnections_leave_nothing_behind() {
    alone::run("fault::ends::toggles_and_reconnections");
}

#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
#[ignore = "counts what its process has open: started by the test above"]
async fn toggles_and_reconnections() {
    if !alone::is_alone() {
        return;
    }
    const TOGGLES: usize = 960;
    const RECONNECTIONS: usize = 40;
    let server = Scenario::dual().serve_http().await.unwrap();
    let host = host([stdio("program", &Scenario::dual()), http("address", server.url())]).await;
    let names = ["program", "address"];
    for name in names {
        host.reconnect_server(name).await.unwrap();
        call(&host, &format!("{name}/echo"), "{}").await.unwrap();
    }
    let me = std::process::id();
    let before = settled_descriptors(None).await;
    for round in 0..RECONNECTIONS / 2 {
        for name in names {
            host.reconnect_server(name).await.unwrap();
            for _ in 0..TOGGLES / RECONNECTIONS / 2 {
                host.toggle(name, false).unwrap();
                assert_eq!(
                    call(&host, &format!("{name}/echo"), "{}").await.unwrap_err().code(),
                    ErrorCode::ServerDisabled
                );
                host.toggle(name, true).unwrap();
                until_status(&host, name, "connected").await;
            }
            call(&host, &format!("{name}/echo"), "{}").await.unwrap_or_else(|error| panic!("{round}: {error}"));
        }
    }
    assert_eq!(descendants_of(me).len(), 1);
    let after = settled_descriptors(Some(before)).await;
    assert!(after <= before, "{before} -> {after}");
    host.shutdown().await;
    assert_eq!(descendants_of(me), Vec::<u32>::new());
}

/// How many descriptors are open once they are no more than expected; threads that collect exit statuses take a moment.
async fn settled_descriptors(expected: Option<usize>) -> usize {
    let mut open = open_fds(std::process::id()).unwrap();
    for _ in 0..1_000 {
        if expected.is_some_and(|expected| open <= expected) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
        open = open_fds(std::process::id()).unwrap();
    }
    open
}
