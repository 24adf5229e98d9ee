//! Calls, from name to outcome.

use helve::{ApprovalAnswer, ApprovalRequest, Approver, CallContext, CallEnd, HostSettings};
use helve_model::{Action, ErrorCode, Outcome};
use helve_policy::Caller;
use helve_testkit::Scenario;
use helve_wire::BoxFuture;

use crate::support::{PATIENCE, builder, call, host, json, recorded, rule, shown, stdio};

#[tokio::test]
async fn a_tool_is_called_in_every_spelling() {
    let host = host([stdio("brave-search", &Scenario::dual())]).await;
    for name in
        ["brave-search/echo", "brave-search:echo", "mcp__brave-search__echo", "device.BraveSearchMCP.echo", "echo"]
    {
        let outcome = call(&host, name, r#"{"a":1}"#).await.unwrap();
        assert_eq!(outcome.to_text(), r#"{"a":1}"#, "{name}");
    }
    host.shutdown().await;
}

#[tokio::test]
async fn unknown_names_are_answered_with_what_comes_near() {
    let host = host([stdio("files", &Scenario::modern())]).await;
    let error = call(&host, "files/ecco", "{}").await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    TOOL_NOT_FOUND: the server `files` has no tool `ecco`
      hint: did you mean `files/echo` or `files/exit` or `files/ask`?
    ");
    let error = call(&host, "filez/echo", "{}").await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    SERVER_NOT_FOUND: there is no server `filez`
      hint: did you mean `files/echo` or `files/exit`?
    ");
    host.shutdown().await;
}

#[tokio::test]
async fn arguments_are_checked_before_anything_is_sent() {
    let schema =
        r#"{"name":"add","inputSchema":{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}}}"#;
    let host = host([stdio("math", &Scenario::dual().literal_tool(schema))]).await;
    let error = call(&host, "math/add", r#"{"a":"one"}"#).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r#"
    INVALID_PARAMS: invalid arguments for add: 1 problem
      /a: expected integer, got "one"
    usage: add(a: integer)
      hint: look at the whole definition of `math/add`
    "#);
    host.shutdown().await;
}

#[tokio::test]
async fn nobody_there_to_ask_is_a_refusal() {
    let host = builder([stdio("files", &Scenario::dual())]).rules(Vec::new()).start().await.unwrap();
    assert!(host.settled(PATIENCE).await);
    let mut events = host.events();
    let error = call(&host, "files/echo", "{}").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ApprovalRequired);
    let record = recorded(&mut events).await;
    assert_eq!(record.end, CallEnd::Failed(ErrorCode::ApprovalRequired));
    assert!(record.ground.is_some());
    host.shutdown().await;
}

struct Answering(ApprovalAnswer, std::sync::Arc<std::sync::Mutex<Vec<ApprovalRequest>>>);

impl Approver for Answering {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        self.1.lock().unwrap().push(request);
        Box::pin(std::future::ready(self.0.clone()))
    }
}

#[tokio::test]
async fn an_approval_for_the_run_is_asked_for_once() {
    let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let approver = Answering(ApprovalAnswer::Run, std::sync::Arc::clone(&asked));
    let host = builder([stdio("files", &Scenario::dual())])
        .rules(vec![rule("files/echo", Action::Ask)])
        .approver(approver)
        .start()
        .await
        .unwrap();
    call(&host, "files/echo", r#"{"n":1}"#).await.unwrap();
    call(&host, "files/echo", r#"{"n":2}"#).await.unwrap();
    let asked = std::mem::take(&mut *asked.lock().unwrap());
    assert_eq!(asked.len(), 1);
    insta::assert_snapshot!(
        asked[0].sentence,
        @"an agent wants to call `files/echo` (high risk): rule `files/echo` (ask, command line layer) at the embedding program"
    );
    host.shutdown().await;
}

#[tokio::test]
async fn progress_comes_in_order_and_before_the_result() {
    let host = host([stdio("work", &Scenario::dual())]).await;
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = std::sync::Arc::clone(&seen);
    let mut context = CallContext::new(Caller::Agent);
    context.on_progress =
        Some(std::sync::Arc::new(move |progress: helve_wire::Progress| sink.lock().unwrap().push(progress.progress)));
    host.call("work/progress", json(r#"{"steps":5}"#), context).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0]);
    host.shutdown().await;
}

#[tokio::test]
async fn many_calls_at_once_keep_their_order() {
    let host = host([stdio("a", &Scenario::dual()), stdio("b", &Scenario::dual())]).await;
    let calls =
        (0..50).map(|n| (format!("{}/echo", if n % 2 == 0 { "a" } else { "b" }), json(&format!(r#"{{"n":{n}}}"#))));
    let results = host.call_many(calls.collect(), &CallContext::new(Caller::Agent)).await;
    for (n, result) in results.into_iter().enumerate() {
        assert_eq!(result.unwrap().to_text(), format!(r#"{{"n":{n}}}"#));
    }
    host.shutdown().await;
}

#[tokio::test]
async fn a_tool_that_fails_is_an_outcome() {
    let host = host([stdio("files", &Scenario::dual())]).await;
    let outcome = call(&host, "files/fail", r#"{"message":"disk full"}"#).await.unwrap();
    assert!(outcome.outcome.is_error());
    assert_eq!(outcome.to_text(), "disk full");
    assert!(Outcome::failure("disk full").is_error());
    host.shutdown().await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_says_which_setting_to_change() {
    let host = host([stdio("slow", &Scenario::dual())]).await;
    let context = CallContext::new(Caller::Agent).with_timeout(std::time::Duration::from_millis(100));
    let error = host.call("slow/sleep", json(r#"{"ms":60000}"#), context).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    TIMEOUT: the server did not answer within 0.1 s
      hint: raise the time-out of this server, or look into the server's log
      hint: raise the time of its calls, 0.1 s now, of server `slow` at the embedding program
      hint: the call may have run: look before you repeat it
    ");
    host.shutdown().await;
}

/// G4: a tool that can only be called as a task is made one, and followed to its end.
#[tokio::test]
async fn g4_a_required_task_is_made_and_followed() {
    let host = host([stdio("a", &Scenario::legacy())]).await;
    let called = call(&host, "a/task", r#"{"polls":2,"poll_ms":5,"text":"done at last"}"#).await.unwrap();
    assert_eq!(called.to_text(), "done at last");
    let failed = call(&host, "a/task", r#"{"polls":1,"poll_ms":5,"tool_error":true}"#).await.unwrap();
    assert!(failed.outcome.is_error());
    host.shutdown().await;
}

/// G7: lines that nobody can read are mentioned, and harm nobody.
#[tokio::test]
async fn g7_noise_during_a_call_is_mentioned() {
    let host = host([stdio("a", &Scenario::legacy())]).await;
    let called = call(&host, "a/noise", r#"{"lines":3,"kind":"text"}"#).await.unwrap();
    let warned = ["during the call the server wrote 3 lines to its stdout that are not messages"];
    assert_eq!(called.warnings, warned);
    assert_eq!(call(&host, "a/echo", "{}").await.unwrap().warnings, Vec::<String>::new());
    host.shutdown().await;
}

/// G9: who judges the arguments is the server's entry's to say, then the host's, then the caller's.
#[tokio::test]
async fn g9_who_judges_the_arguments_is_a_setting() {
    use helve_model::Validation::{self, Server, Strict};
    for (entry, settings, caller, judged) in [
        (None, None, Strict, Strict),
        (None, None, Server, Server),
        (None, Some(Strict), Server, Strict),
        (None, Some(Server), Strict, Server),
        (Some(Strict), Some(Server), Server, Strict),
        (Some(Server), Some(Strict), Strict, Server),
    ] {
        let spec = stdio("a", &Scenario::dual().generated_tools(1, 500)).with(|spec| spec.validation = entry);
        let host_settings = HostSettings::default().with(|host| {
            host.validation = settings;
            host.call_timeout = PATIENCE;
        });
        let host = builder([spec]).settings(host_settings).start().await.unwrap();
        let context = CallContext::new(Caller::Script).with(|context| context.validation = caller);
        let called = host.call("a/gen_0", json(r#"{"path":"p","count":"3"}"#), context).await;
        let found: Validation = if called.is_ok() { Server } else { Strict };
        assert_eq!(found, judged, "{entry:?} {settings:?} {caller:?}: {called:?}");
        host.shutdown().await;
    }
}

/// What code spells wrong is told as precisely as in any other spelling.
#[tokio::test]
async fn names_in_the_spelling_of_code_say_what_is_missing() {
    let host = host([stdio("brave-search", &Scenario::legacy())]).await;
    let told = async |name: &str| {
        let error = call(&host, name, "{}").await.unwrap_err();
        format!("{}: {}", error.code(), error.chain())
    };
    assert_eq!(
        told("device.BraveSearchMCP.ecoh").await,
        "TOOL_NOT_FOUND: the server `brave-search` has no tool `ecoh`"
    );
    assert_eq!(told("device.NopeMCP.echo").await, "SERVER_NOT_FOUND: there is no server `NopeMCP`");
    host.shutdown().await;
}
