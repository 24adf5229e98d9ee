//! Servers coming, going, failing and coming back.

use helve_model::ErrorCode;
use helve_testkit::Scenario;

use crate::support::{PATIENCE, builder, call, host, program, shown, status, stdio};

#[tokio::test]
async fn a_program_that_is_not_there_is_a_reason_and_the_rest_goes_on() {
    let host = host([program("gone", "no-such-program-anywhere", &[]), stdio("good", &Scenario::dual())]).await;
    call(&host, "good/echo", "{}").await.unwrap();
    let error = call(&host, "gone/echo", "{}").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ServerUnavailable);
    insta::assert_snapshot!(
        error.message(),
        @"the server `gone` is not available: cannot find the program `no-such-program-anywhere`"
    );
    host.shutdown().await;
}

/// A host without HTTP has its programs, and says what it cannot do.
#[cfg(not(feature = "http"))]
#[tokio::test]
async fn a_server_at_an_address_is_refused_where_http_is_not_built_in() {
    let away = crate::support::http("away", "http://127.0.0.1:1/mcp");
    let host = host([away, stdio("good", &Scenario::dual())]).await;
    call(&host, "good/echo", "{}").await.unwrap();
    let error = call(&host, "away/echo", "{}").await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    SERVER_UNAVAILABLE: the server `away` is not available: http://127.0.0.1:1/mcp cannot be reached: this program was built without HTTP
      hint: build it with the features `http` and `tls`
    ");
    host.shutdown().await;
}

/// A program that is to be confined is not started where nothing confines it.
#[cfg(not(sandbox))]
#[tokio::test]
async fn a_server_in_a_sandbox_is_refused_where_there_is_none() {
    use helve_model::sandbox::{Choice, Profile, SandboxSpec};
    let mut confined = stdio("confined", &Scenario::dual());
    confined.sandbox = Some(SandboxSpec::new(Choice::In(Profile::Standard)));
    let host = host([confined, stdio("good", &Scenario::dual())]).await;
    call(&host, "good/echo", "{}").await.unwrap();
    let error = call(&host, "confined/echo", "{}").await.unwrap_err();
    let told = shown(&error);
    assert!(told.contains("a program cannot be confined here: sandboxes need Linux"), "{told}");
    assert!(told.contains("`sandbox = \"off\"` of the server `confined`"), "{told}");
    host.shutdown().await;
}

#[tokio::test]
async fn a_required_server_that_fails_fails_the_start() {
    let mut required = stdio("broken", &Scenario::dual().exits_at_once(3));
    required.required = true;
    let error = builder([required]).start().await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    SERVER_UNAVAILABLE: the server `broken` is not available: the server `broken` is gone: exited with status 3
      hint: it wrote nothing to stderr; run the command by hand to see what it does
      hint: the server is `required`, so nothing was started without it
    ");
}

#[tokio::test]
async fn toggled_off_its_tools_leave_and_on_they_return_with_the_same_process() {
    let host = host([stdio("files", &Scenario::dual())]).await;
    let before = host.snapshot().tools().count();
    host.toggle("files", false).unwrap();
    let mut events = host.events();
    while status(&host, "files") != "disabled (switched off)" {
        drop(events.next().await);
    }
    assert_eq!(host.snapshot().tools().count(), 0);
    assert_eq!(call(&host, "files/echo", "{}").await.unwrap_err().code(), ErrorCode::ServerDisabled);
    host.toggle("files", true).unwrap();
    while status(&host, "files") != "connected" {
        drop(events.next().await);
    }
    assert_eq!(host.snapshot().tools().count(), before);
    call(&host, "files/echo", "{}").await.unwrap();
    assert_eq!(host.server_status("files").unwrap().restarts, 0);
    host.shutdown().await;
}

/// However far the supervisor is behind: off is off at once, and a call after on waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn off_and_on_faster_than_anybody_follows() {
    let host = host([stdio("files", &Scenario::dual())]).await;
    for round in 0..2_000 {
        host.toggle("files", false).unwrap();
        if round % 2 == 0 {
            let refused = call(&host, "files/echo", "{}").await.unwrap_err();
            assert_eq!(refused.code(), ErrorCode::ServerDisabled, "{}", shown(&refused));
        }
        host.toggle("files", true).unwrap();
        call(&host, "files/echo", "{}").await.unwrap_or_else(|error| panic!("round {round}: {}", shown(&error)));
    }
    assert_eq!(host.server_status("files").unwrap().restarts, 0);
    host.shutdown().await;
}

#[tokio::test]
async fn a_crashed_server_comes_back_and_calls_wait_for_it() {
    let host = host([stdio("files", &Scenario::dual())]).await;
    let error = call(&host, "files/exit", r#"{"status":7}"#).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    TRANSPORT_ERROR: the server `files` is gone: exited with status 7
      hint: it wrote nothing to stderr; run the command by hand to see what it does
      hint: the call may have run: look before you repeat it
    ");
    let outcome = call(&host, "files/echo", r#"{"again":true}"#).await.unwrap();
    assert_eq!(outcome.to_text(), r#"{"again":true}"#);
    assert_eq!(host.server_status("files").unwrap().restarts, 1);
    host.shutdown().await;
}

#[tokio::test]
async fn a_lazy_server_starts_at_its_first_use() {
    let mut lazy = stdio("lazy", &Scenario::dual());
    lazy.lazy = true;
    let host = builder([lazy]).start().await.unwrap();
    assert!(host.settled(PATIENCE).await);
    assert_eq!(status(&host, "lazy"), "pending (starts at first use)");
    call(&host, "lazy/echo", "{}").await.unwrap();
    assert_eq!(status(&host, "lazy"), "connected");
    host.shutdown().await;
}

#[tokio::test]
async fn setting_servers_touches_only_what_changed() {
    let host =
        host([stdio("a", &Scenario::dual()), stdio("b", &Scenario::dual()), stdio("c", &Scenario::dual())]).await;
    let changed = stdio("b", &Scenario::dual().page_size(3));
    let changes = host.set_servers(vec![stdio("a", &Scenario::dual()), changed, stdio("d", &Scenario::dual())]).await;
    let names = |names: &[helve_model::ServerName]| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    assert_eq!(
        [names(&changes.added), names(&changes.removed), names(&changes.changed), names(&changes.kept)],
        ["d", "c", "b", "a"]
    );
    assert!(host.settled(PATIENCE).await);
    for server in ["a", "b", "d"] {
        call(&host, &format!("{server}/echo"), "{}").await.unwrap();
    }
    assert_eq!(call(&host, "c/echo", "{}").await.unwrap_err().code(), ErrorCode::ServerNotFound);
    host.shutdown().await;
}

/// C5: which of two servers is meant must not depend on which of them is faster.
#[tokio::test]
async fn c5_a_name_that_two_servers_share_waits_for_both() {
    let late = Scenario { start_delay_ms: 700, ..Scenario::dual() };
    let host = builder([stdio("brave-search", &Scenario::dual()), stdio("brave_search", &late)]).start().await.unwrap();
    // The first is there, the second is on its way.
    host.ready("brave-search", PATIENCE).await.unwrap();
    let error = call(&host, "device.BraveSearchMCP.echo", "{}").await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @"
    TOOL_NOT_FOUND: several servers have a tool `device.BraveSearchMCP.echo`
      hint: say which one: `brave-search/echo`, `brave_search/echo`
    ");
    host.shutdown().await;
}
