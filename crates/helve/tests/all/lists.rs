//! Lists that fail, or are partly broken.

use helve::{Events, HostEvent};
use helve_model::ErrorCode;
use helve_testkit::{HttpFault, HttpFaultKind, HttpScript, ListFault, Scenario};

use crate::support::{PATIENCE, builder, call, host, http, shown, status, stdio};

/// The next warning about a server.
async fn warning(events: &mut Events) -> String {
    loop {
        let event = tokio::time::timeout(PATIENCE, events.next()).await.unwrap().unwrap();
        if let HostEvent::Warning { server, message } = event {
            return format!("{server}: {message}");
        }
    }
}

#[tokio::test]
async fn one_malformed_tool_is_lost_and_only_that_one() {
    let whole = host([stdio("a", &Scenario::dual())]).await;
    let count = whole.snapshot().tools().count();
    whole.shutdown().await;

    let broken = Scenario::dual().list_fault(ListFault::MalformedItem);
    let host = builder([stdio("a", &broken)]).start().await.unwrap();
    let mut events = host.events();
    insta::assert_snapshot!(warning(&mut events).await, @"a: tools[1] left out: no `name`");
    assert!(host.settled(PATIENCE).await);
    assert_eq!(host.snapshot().tools().count(), count);
    call(&host, "a/echo", "{}").await.unwrap();
    host.shutdown().await;
}

#[tokio::test]
async fn a_server_that_cannot_list_is_connected_without_tools_and_says_so() {
    let refusal = r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"database is locked"}}"#;
    let broken = Scenario::legacy().scripted("tools/list", &format!("{refusal}\n"));
    let host = builder([stdio("broken", &broken), stdio("good", &Scenario::dual())]).start().await.unwrap();
    let mut events = host.events();
    insta::assert_snapshot!(
        warning(&mut events).await,
        @"broken: connected, but its tools could not be listed: the server refused `tools/list`: database is locked (-32603)"
    );
    assert!(host.settled(PATIENCE).await);
    let report = host.server_status("broken").unwrap();
    assert_eq!((report.status.to_string().as_str(), report.tools), ("connected", 0));
    insta::assert_snapshot!(
        report.last_error.unwrap(),
        @"the server refused `tools/list`: database is locked (-32603)"
    );
    assert_eq!(call(&host, "broken/echo", "{}").await.unwrap_err().code(), ErrorCode::ServerUnavailable);
    call(&host, "good/echo", "{}").await.unwrap();
    host.shutdown().await;
}

#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn the_last_good_list_stays_when_the_next_cannot_be_had() {
    let script = HttpScript::json().fault(HttpFault::rpc("tools/list", HttpFaultKind::status(500)).skip(1).times(1));
    let server = Scenario::modern().http(script).serve_http().await.unwrap();
    let host = host([http("a", server.url())]).await;
    let tools = host.snapshot().tools().count();
    let mut events = host.events();
    call(&host, "a/list_changed", r#"{"kind":"tools"}"#).await.unwrap();
    insta::assert_snapshot!(
        warning(&mut events).await,
        @"a: its tools could not be listed again, the last list stays: the server answered 500 Internal Server Error (no content type, nothing to read)"
    );
    assert_eq!((host.snapshot().tools().count(), status(&host, "a").as_str()), (tools, "connected"));
    call(&host, "a/echo", "{}").await.unwrap();
    host.shutdown().await;
}

#[tokio::test]
async fn a_list_cut_short_has_what_came() {
    let pages = Scenario::dual().page_size(3).list_fault(ListFault::RepeatedCursor);
    let host = builder([stdio("a", &pages)]).start().await.unwrap();
    let mut events = host.events();
    insta::assert_snapshot!(
        warning(&mut events).await,
        @"a: its list of tools is not whole: the server gives the same page cursor twice"
    );
    assert!(host.settled(PATIENCE).await);
    call(&host, "a/echo", "{}").await.unwrap();
    host.shutdown().await;
}

#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn a_server_without_tools_is_not_asked_for_any() {
    let offers = helve_testkit::Offers { tools: false, ..helve_testkit::Offers::default() };
    let server = Scenario::modern().offers(offers).serve_http().await.unwrap();
    let host = host([http("a", server.url())]).await;
    assert_eq!(status(&host, "a"), "connected");
    assert_eq!(server.recorder().count("tools/list"), 0);
    let error = call(&host, "a/echo", "{}").await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    TOOL_NOT_FOUND: the server `a` has no tool `echo`
      hint: look at which tools there are
    ");
    host.shutdown().await;
}
