//! Lists of an earlier run: shown before the server is there, never used for a call unchecked.

use std::path::Path;

use helve::{ElicitationAnswer, ElicitationRequest, Elicitor, Host, HostBuilder, Surroundings};
use helve_model::{ErrorCode, ServerSpec};
use helve_testkit::{Scenario, peer_program};
use helve_wire::BoxFuture;

use crate::support::{PATIENCE, builder, call, marked, marked_processes, program, shown, status, until};

/// A tool that only the list knows; what it takes depends on the day.
fn version(number: u32, kind: &str) -> String {
    let schema =
        format!(r#"{{"type":"object","required":["v{number}"],"properties":{{"v{number}":{{"type":"{kind}"}}}}}}"#);
    format!(r#"{{"name":"gen_0","inputSchema":{schema}}}"#)
}

struct Days {
    directory: tempfile::TempDir,
}

impl Days {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    /// What the same command does from now on.
    fn changes_to(&self, scenario: &Scenario) {
        fs_err::write(self.directory.path().join("scenario"), scenario.to_json()).unwrap();
    }

    /// A server whose command never changes, started at its first use.
    fn server(&self) -> ServerSpec {
        let script = r#"exec "$0" "$(cat "$1")""#;
        let file = self.directory.path().join("scenario").to_string_lossy().into_owned();
        let server = program("a", "sh", &["-c", script, &peer_program().to_string_lossy(), &file]);
        server.with(|spec| spec.lazy = true)
    }

    fn host(&self) -> HostBuilder {
        with_cache(builder([self.server()]), self.directory.path())
    }
}

fn with_cache(builder: HostBuilder, directory: &Path) -> HostBuilder {
    let environment = std::env::vars_os().filter(|(name, _)| name == "PATH").collect();
    let cache_directory = Some(directory.join("cache"));
    builder.surroundings(Surroundings::default().with(|surroundings| {
        surroundings.environment = environment;
        surroundings.cache_directory = cache_directory;
    }))
}

/// A host that shows what it remembers.
async fn remembering(builder: HostBuilder) -> Host {
    let host = builder.start().await.unwrap();
    until(&host, "the kept list is shown", |host| host.snapshot().tools().count() > 0).await;
    assert_eq!(status(&host, "a"), "pending (starts at first use)");
    assert!(host.server_status("a").unwrap().from_cache);
    host
}

#[tokio::test]
async fn a_kept_list_is_shown_without_a_process_and_checked_before_a_call() {
    let days = Days::new();
    days.changes_to(&marked(Scenario::legacy().hide_builtin_tools().literal_tool(&version(1, "integer")), "day one"));
    let host = days.host().start().await.unwrap();
    assert_eq!(host.snapshot().tools().count(), 0);
    call(&host, "a/gen_0", r#"{"v1":1}"#).await.unwrap();
    host.shutdown().await;

    days.changes_to(&marked(Scenario::legacy().hide_builtin_tools().literal_tool(&version(2, "string")), "day two"));
    let host = remembering(days.host()).await;
    let tool = host.snapshot().tool("a/gen_0").unwrap().input_schema().to_owned();
    assert!(tool.contains("v1"), "{tool}");
    assert_eq!(marked_processes("day two"), Vec::<u32>::new());
    // The arguments of yesterday are those of another tool.
    let error = call(&host, "a/gen_0", r#"{"v1":1}"#).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    INVALID_PARAMS: invalid arguments for gen_0: 1 problem
      missing property `v2` (string), got `v1` instead
    usage: gen_0(v2: string)
      hint: look at the whole definition of `a/gen_0`
    ");
    call(&host, "a/gen_0", r#"{"v2":"x"}"#).await.unwrap();
    assert!(!host.server_status("a").unwrap().from_cache);
    host.shutdown().await;

    days.changes_to(&Scenario::legacy());
    let host = remembering(days.host()).await;
    let error = call(&host, "a/gen_0", r#"{"v2":"x"}"#).await.unwrap_err();
    insta::assert_snapshot!(
        shown(&error),
        @"TOOL_NOT_FOUND: the server `a` no longer has the tool `gen_0`"
    );
    // What is new is found too.
    call(&host, "a/echo", "{}").await.unwrap();
    host.shutdown().await;
}

#[tokio::test]
async fn a_name_that_the_kept_list_does_not_have_is_asked_for() {
    let days = Days::new();
    days.changes_to(&Scenario::legacy().hide_builtin_tools().generated_tools(1, 10));
    let host = days.host().start().await.unwrap();
    call(&host, "a/gen_0", r#"{"path":"x"}"#).await.unwrap();
    host.shutdown().await;

    days.changes_to(&Scenario::legacy());
    let host = remembering(days.host()).await;
    call(&host, "mcp__a__echo", "{}").await.unwrap();
    host.shutdown().await;
}

#[tokio::test]
async fn a_kept_list_of_a_server_that_cannot_list_any_more_is_shown_and_never_called() {
    let days = Days::new();
    days.changes_to(&Scenario::legacy());
    let host = days.host().start().await.unwrap();
    call(&host, "a/echo", "{}").await.unwrap();
    host.shutdown().await;

    let refusal = "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":{\"code\":-32603,\"message\":\"no\"}}\n";
    days.changes_to(&Scenario::legacy().scripted("tools/list", refusal));
    let host = remembering(days.host()).await;
    let error = call(&host, "a/echo", "{}").await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    SERVER_UNAVAILABLE: the server `a` is connected, but its tools could not be listed: the server refused `tools/list`: no (-32603)
      hint: what it listed in an earlier run is only shown, never called
    ");
    assert_eq!(status(&host, "a"), "connected");
    assert!(host.snapshot().tool("a/echo").is_ok());
    host.shutdown().await;
}

#[tokio::test]
async fn g2_a_kept_list_stays_known_when_its_server_fails() {
    let days = Days::new();
    days.changes_to(&Scenario::legacy());
    let host = days.host().start().await.unwrap();
    call(&host, "a/echo", "{}").await.unwrap();
    host.shutdown().await;

    days.changes_to(&Scenario::legacy().exits_at_once(5));
    let host = remembering(days.host()).await;
    let error = call(&host, "a/echo", "{}").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ServerUnavailable);
    assert!(error.message().ends_with("is gone: exited with status 5"), "{error}");
    assert!(host.snapshot().tool("a/echo").is_ok());
    host.shutdown().await;
}

#[tokio::test]
async fn switched_off_and_on_a_kept_list_is_shown_again() {
    let days = Days::new();
    days.changes_to(&marked(Scenario::legacy(), "off and on"));
    let host = days.host().start().await.unwrap();
    call(&host, "a/echo", "{}").await.unwrap();
    host.shutdown().await;

    let host = remembering(days.host()).await;
    host.toggle("a", false).unwrap();
    assert_eq!(host.snapshot().tools().count(), 0);
    host.toggle("a", true).unwrap();
    until(&host, "it is shown again", |host| host.snapshot().tools().count() > 0).await;
    assert_eq!(marked_processes("off and on"), Vec::<u32>::new());
    call(&host, "a/echo", "{}").await.unwrap();
    assert!(tokio::time::timeout(PATIENCE, host.shutdown()).await.is_ok());
}

/// Somebody who says no to whatever a server asks.
struct SaysNo;

impl Elicitor for SaysNo {
    fn elicit(&self, _: ElicitationRequest) -> BoxFuture<'_, ElicitationAnswer> {
        Box::pin(std::future::ready(ElicitationAnswer::Decline))
    }
}

/// A server may list other tools for those it can ask: what it listed for them is shown to nobody else (G11).
#[tokio::test]
async fn g11_a_list_made_for_one_who_can_be_asked_is_not_anothers() {
    let days = Days::new();
    days.changes_to(&marked(Scenario::legacy(), "whom it asked"));
    let host = days.host().elicitor(SaysNo).start().await.unwrap();
    call(&host, "a/echo", "{}").await.unwrap();
    host.shutdown().await;

    let host = days.host().start().await.unwrap();
    host.recalled().await;
    assert_eq!(host.snapshot().tools().count(), 0, "the list was made for somebody else");
    host.shutdown().await;
    remembering(days.host().elicitor(SaysNo)).await.shutdown().await;
}
