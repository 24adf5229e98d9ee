//! Watches: what ends them, what they say after a reconnection, and what polls may do. What servers ask, and must not.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use helve::{
    ApprovalAnswer, ApprovalRequest, Approver, CallContext, DEFAULT_INTERVAL, ElicitationAnswer, ElicitationRequest,
    Elicitor, Host, HostEvent, MINIMUM_INTERVAL, Registry, Sampler, SamplingCall, SamplingLimits, SavedHost, Tool,
    ToolContext, ToolFailure, Toolbox, WatchChange, WatchEvent, WatchFilter, Watcher, definition,
};
use helve_model::json::RawJson;
use helve_model::{Action, CallKind, ErrorCode, Listed, Origin, Outcome, ServerName, ToolDefinition};
use helve_policy::{Caller, Permit};
use helve_testkit::{HttpScript, Scenario};
use helve_wire::BoxFuture;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::support::{
    PATIENCE, builder, call, host, http, json, kill, marked, marked_processes, program, rule, shown, stdio, until,
};

async fn next(watcher: &Watcher) -> WatchEvent {
    timeout(PATIENCE, watcher.next()).await.unwrap()
}

/// A tool that says how often it was called, or the same every time.
struct Counter {
    calls: Arc<AtomicUsize>,
    description: &'static str,
    grows: bool,
    fails: Arc<Mutex<Option<ErrorCode>>>,
}

impl Tool for Counter {
    fn definition(&self) -> ToolDefinition {
        definition("count", self.description, &serde_json::json!({"type": "object"}), &serde_json::json!({}))
    }

    fn call<'a>(&'a self, _: &'a Permit, _: &'a ToolContext) -> BoxFuture<'a, Result<Outcome, ToolFailure>> {
        let calls = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let fails = *self.fails.lock().unwrap();
        let answer = match fails {
            Some(code) => Err(ToolFailure::new(code, "as it was told")),
            None => Ok(Outcome::text(&if self.grows { calls.to_string() } else { "the same".to_owned() })),
        };
        Box::pin(std::future::ready(answer))
    }
}

impl Counter {
    fn new(description: &'static str, grows: bool) -> Self {
        Self { calls: Arc::default(), description, grows, fails: Arc::default() }
    }
}

fn toolbox(tool: Counter) -> Toolbox {
    Toolbox::new(ServerName::new("native").unwrap()).with(tool)
}

/// Says yes, and counts how often it was asked.
#[derive(Clone, Default)]
struct Yes(Arc<Mutex<Vec<String>>>);

impl Approver for Yes {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        self.0.lock().unwrap().push(request.sentence);
        Box::pin(std::future::ready(ApprovalAnswer::Once))
    }
}

#[tokio::test(start_paused = true)]
async fn a_poll_tells_of_changes_and_of_nothing_else() {
    let (growing, same) = (Counter::new("Counts", true), Counter::new("Counts", false));
    let looked = Arc::clone(&same.calls);
    let host = Host::builder().toolbox(toolbox(growing)).rules(vec![rule("*/*", Action::Allow)]).start().await.unwrap();
    let watcher = host.watcher();
    let (id, first) =
        watcher.poll_tool("native/count", RawJson::empty_object(), DEFAULT_INTERVAL, "to see").await.unwrap();
    assert_eq!(Outcome::new(first).open().unwrap().to_text(), "1");
    let event = next(&watcher).await;
    let WatchChange::Content(content) = &event.change else { panic!("{event:?}") };
    assert_eq!(Outcome::new(content.clone()).open().unwrap().to_text(), "2");
    assert_eq!((event.id, event.target.as_str(), event.reason.as_deref()), (id, "count", Some("to see")));

    // Nobody takes the events: one stays, the newest, and says how many it stands for.
    tokio::time::sleep(DEFAULT_INTERVAL * 20).await;
    let event = watcher.try_next().unwrap();
    assert!(event.superseded >= 10, "{event:?}");
    assert!(watcher.try_next().is_none());

    // One that never changes is looked at as often, and says nothing.
    host.put_toolbox(toolbox(same)).unwrap();
    tokio::time::sleep(DEFAULT_INTERVAL * 3).await;
    drop(watcher.try_next());
    let before = looked.load(Ordering::Relaxed);
    tokio::time::sleep(DEFAULT_INTERVAL * 20).await;
    assert!(watcher.try_next().is_none());
    let looks = looked.load(Ordering::Relaxed) - before;
    assert!((18..=23).contains(&looks), "{looks}");

    // It ends with its owner.
    drop(watcher);
    tokio::time::sleep(DEFAULT_INTERVAL * 3).await;
    let after = looked.load(Ordering::Relaxed);
    tokio::time::sleep(DEFAULT_INTERVAL * 3).await;
    assert_eq!(looked.load(Ordering::Relaxed), after);
}

#[tokio::test(start_paused = true)]
async fn many_polls_do_not_fall_together() {
    let tool = Counter::new("Counts", false);
    let calls = Arc::clone(&tool.calls);
    let host = Host::builder().toolbox(toolbox(tool)).rules(vec![rule("*/*", Action::Allow)]).start().await.unwrap();
    let watcher = host.watcher();
    for _ in 0..1000 {
        drop(watcher.poll_tool("native/count", RawJson::empty_object(), DEFAULT_INTERVAL, "").await.unwrap());
    }
    assert_eq!(watcher.reports().len(), 1000);
    let mut most = 0;
    for _ in 0..50 {
        let before = calls.load(Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(100)).await;
        most = most.max(calls.load(Ordering::Relaxed) - before);
    }
    // Evenly spread it were twenty in a tenth of a second; a burst would be hundreds.
    assert!(most < 80, "{most}");
    assert_eq!(watcher.end(&WatchFilter { server: Some("native".to_owned()), ..WatchFilter::default() }), 1000);
}

#[tokio::test(start_paused = true)]
async fn permission_is_asked_when_it_is_made_and_again_when_the_tool_is_another() {
    let yes = Yes::default();
    let tool = Counter::new("Counts", true);
    let host = Host::builder().toolbox(toolbox(tool)).approver(yes.clone()).start().await.unwrap();
    let watcher = host.watcher();
    drop(watcher.poll_tool("native/count", RawJson::empty_object(), DEFAULT_INTERVAL, "").await.unwrap());
    tokio::time::sleep(DEFAULT_INTERVAL * 10).await;
    insta::assert_snapshot!(yes.0.lock().unwrap().join("\n"), @"a poll wants to call `native/count` (high risk): no rule or list mentions it");
    host.put_toolbox(toolbox(Counter::new("Counts and deletes", true))).unwrap();
    tokio::time::sleep(DEFAULT_INTERVAL * 10).await;
    assert_eq!(yes.0.lock().unwrap().len(), 2);
    assert_eq!(watcher.reports().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_or_gone_ends_a_poll_and_what_is_down_does_not() {
    let tool = Counter::new("Counts", true);
    let fails = Arc::clone(&tool.fails);
    let host = Host::builder().toolbox(toolbox(tool)).rules(vec![rule("*/*", Action::Allow)]).start().await.unwrap();
    let watcher = host.watcher();
    drop(watcher.poll_tool("native/count", RawJson::empty_object(), MINIMUM_INTERVAL, "").await.unwrap());
    *fails.lock().unwrap() = Some(ErrorCode::ServerUnavailable);
    drop(watcher.try_next());
    let event = loop {
        let event = next(&watcher).await;
        if !matches!(event.change, WatchChange::Content(_)) {
            break event;
        }
    };
    assert!(
        matches!(&event.change, WatchChange::Failed(error) if error.code() == ErrorCode::ServerUnavailable),
        "{event:?}"
    );
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(watcher.try_next().is_none(), "it is said once");
    let report = watcher.reports().remove(0);
    // Every second it would be six hundred.
    assert!((8..40).contains(&report.failures), "{report:?}");
    *fails.lock().unwrap() = None;
    assert!(matches!(next(&watcher).await.change, WatchChange::Content(_)));

    host.put_toolbox(Toolbox::new(ServerName::new("native").unwrap())).unwrap();
    let event = next(&watcher).await;
    let WatchChange::Ended(error) = &event.change else { panic!("{event:?}") };
    assert_eq!(error.code(), ErrorCode::ToolNotFound);
    assert!(watcher.reports().is_empty());

    let short = watcher.poll_tool("native/count", RawJson::empty_object(), Duration::from_millis(999), "").await;
    insta::assert_snapshot!(shown(&short.unwrap_err()), @r"
    INVALID_PARAMS: an interval of 999 ms is too short
      hint: the shortest is 1000 ms
    ");
}

/// After its server was killed, a subscription is there again, and says that it may have missed something.
#[tokio::test]
async fn a_subscription_outlives_its_connection() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let mark = format!("subscribed {:?}", scenario.era);
        let host = host([stdio("peer", &marked(scenario, &mark))]).await;
        let watcher = host.watcher();
        watcher.subscribe("peer", "test://watched", "").await.unwrap();
        for process in marked_processes(&mark) {
            kill(process);
        }
        assert!(matches!(next(&watcher).await.change, WatchChange::MayHaveChanged));
        drop(call(&host, "peer/touch", r#"{"uri":"test://watched"}"#).await.unwrap());
        assert!(matches!(next(&watcher).await.change, WatchChange::Updated(_)));
        assert!(watcher.try_next().is_none());
        host.shutdown().await;
    }
}

/// A modern server that no longer lets itself be listened to, or no longer to this resource, ends the watch.
#[tokio::test]
async fn what_is_no_longer_told_ends_a_subscription() {
    let mut ends = Vec::new();
    for next_listener in ["refused", "shortened"] {
        let host = host([stdio("peer", &Scenario::modern())]).await;
        let watcher = host.watcher();
        watcher.subscribe("peer", "test://watched", "").await.unwrap();
        drop(call(&host, "peer/end_subscriptions", &format!(r#"{{"next":"{next_listener}"}}"#)).await.unwrap());
        let event = next(&watcher).await;
        let WatchChange::Ended(error) = &event.change else { panic!("{next_listener}: {event:?}") };
        ends.push(shown(error));
        assert!(watcher.reports().is_empty());
        host.shutdown().await;
    }
    insta::assert_snapshot!(ends.join("\n"), @r"
    PROTOCOL_ERROR: the server cannot be listened to: no more listeners (-32603)
      hint: list again from time to time instead
    RESOURCE_NOT_FOUND: the server does not let test://watched be subscribed to
      hint: read the resource again from time to time instead
    ");
}

/// One that only paused says that something may be missed.
#[tokio::test]
async fn a_subscription_that_is_made_again_may_have_missed_something() {
    let host = host([stdio("peer", &Scenario::modern())]).await;
    let watcher = host.watcher();
    watcher.subscribe("peer", "test://watched", "").await.unwrap();
    drop(call(&host, "peer/end_subscriptions", "{}").await.unwrap());
    assert!(matches!(next(&watcher).await.change, WatchChange::MayHaveChanged));
    drop(call(&host, "peer/touch", r#"{"uri":"test://watched"}"#).await.unwrap());
    assert!(matches!(next(&watcher).await.change, WatchChange::Updated(_)));
    host.shutdown().await;
}

/// A server that cannot be started again is said to be gone, once; and to be there again.
#[tokio::test]
async fn a_subscription_says_that_its_server_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("peer");
    let install = || fs_err::os::unix::fs::symlink(helve_testkit::peer_program(), &path).unwrap();
    install();
    let mark = "gone for a while";
    let scenario = marked(Scenario::legacy(), mark).to_json();
    let host = host([program("peer", &path.to_string_lossy(), &[&scenario])]).await;
    let watcher = host.watcher();
    watcher.subscribe("peer", "test://watched", "").await.unwrap();
    fs_err::remove_file(&path).unwrap();
    for process in marked_processes(mark) {
        kill(process);
    }
    let event = next(&watcher).await;
    assert!(matches!(&event.change, WatchChange::Failed(_)), "{event:?}");
    assert!(watcher.reports()[0].last_error.is_some());
    // It is tried again and again, and the next word is that it is back.
    until(&host, "tried again", |host| {
        host.server_status("peer").is_some_and(|report| report.status.word() == "failed")
    })
    .await;
    install();
    let event = next(&watcher).await;
    assert!(matches!(&event.change, WatchChange::MayHaveChanged), "{event:?}");
    assert!(watcher.reports()[0].last_error.is_none());
    host.shutdown().await;
}

/// A tool that only reads, until it does not.
struct Turning {
    annotations: serde_json::Value,
}

impl Tool for Turning {
    fn definition(&self) -> ToolDefinition {
        definition("look", "Looks", &serde_json::json!({"type": "object"}), &self.annotations)
    }

    fn call<'a>(&'a self, _: &'a Permit, _: &'a ToolContext) -> BoxFuture<'a, Result<Outcome, ToolFailure>> {
        Box::pin(std::future::ready(Ok(Outcome::text("the same"))))
    }
}

#[tokio::test(start_paused = true)]
async fn a_poll_whose_tool_turns_destructive_is_stopped() {
    let looking = |annotations| Toolbox::new(ServerName::new("native").unwrap()).with(Turning { annotations });
    let reads = serde_json::json!({"readOnlyHint": true});
    let host = Host::builder().toolbox(looking(reads)).start().await.unwrap();
    let watcher = host.watcher();
    drop(watcher.poll_tool("native/look", RawJson::empty_object(), DEFAULT_INTERVAL, "").await.unwrap());
    host.put_toolbox(looking(serde_json::json!({"readOnlyHint": false, "destructiveHint": true}))).unwrap();
    let event = next(&watcher).await;
    let WatchChange::Ended(error) = &event.change else { panic!("{event:?}") };
    assert_eq!(error.code(), ErrorCode::ApprovalRequired, "{error:?}");
    assert!(watcher.reports().is_empty());
}

/// A server that forgets its sessions forgets who listens.
#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn a_forgotten_session_is_listened_to_again() {
    let server = Scenario::legacy().http(HttpScript::sse()).serve_http().await.unwrap();
    let host = host([http("peer", server.url())]).await;
    let watcher = host.watcher();
    watcher.subscribe("peer", "test://watched", "").await.unwrap();
    server.forget_sessions();
    drop(call(&host, "peer/echo", "{}").await.unwrap());
    assert!(matches!(next(&watcher).await.change, WatchChange::MayHaveChanged));
    drop(call(&host, "peer/touch", r#"{"uri":"test://watched"}"#).await.unwrap());
    assert!(matches!(next(&watcher).await.change, WatchChange::Updated(_)));
    host.shutdown().await;
}

#[tokio::test]
async fn a_flood_of_updates_is_one_event() {
    let host = host([stdio("peer", &Scenario::legacy())]).await;
    let watcher = host.watcher();
    watcher.subscribe("peer", "test://watched", "").await.unwrap();
    let flood = r#"{"count":5000,"method":"notifications/resources/updated","params":{"uri":"test://watched"}}"#;
    drop(call(&host, "peer/notify", flood).await.unwrap());
    let event = next(&watcher).await;
    assert_eq!(event.superseded, 4999);
    assert!(watcher.try_next().is_none());
    drop(call(&host, "peer/echo", "{}").await.unwrap());
    host.shutdown().await;
}

/// An address that only begins like another is not part of it.
#[tokio::test]
async fn a_neighbour_is_not_what_is_watched() {
    let host = host([stdio("peer", &Scenario::legacy())]).await;
    let watcher = host.watcher();
    watcher.subscribe("peer", "test://watched", "").await.unwrap();
    for uri in ["test://watched2", "test://watch", "test://watched/part"] {
        let updated = format!(r#"{{"count":1,"method":"notifications/resources/updated","params":{{"uri":"{uri}"}}}}"#);
        drop(call(&host, "peer/notify", &updated).await.unwrap());
    }
    let event = next(&watcher).await;
    let WatchChange::Updated(params) = &event.change else { panic!("{event:?}") };
    assert_eq!(params.member_str("uri").as_deref(), Some("test://watched/part"));
    assert_eq!(event.superseded, 0);
    host.shutdown().await;
}

/// Two watches of one resource are one subscription at the server, and the first to end leaves the other.
#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn one_subscription_for_many() {
    let server = Scenario::legacy().serve_http().await.unwrap();
    let host = host([http("peer", server.url())]).await;
    let (one, two) = (host.watcher(), host.watcher());
    one.subscribe("peer", "test://watched", "").await.unwrap();
    two.subscribe("peer", "test://watched", "").await.unwrap();
    assert_eq!(server.recorder().count("resources/subscribe"), 1);
    drop(one);
    drop(call(&host, "peer/touch", r#"{"uri":"test://watched"}"#).await.unwrap());
    assert!(matches!(next(&two).await.change, WatchChange::Updated(_)));
    assert_eq!(server.recorder().count("resources/unsubscribe"), 0);
    drop(two);
    drop(server.recorder().wait_for_method("resources/unsubscribe", 1, PATIENCE).await);
    host.shutdown().await;
}

#[tokio::test]
async fn the_six_management_tools() {
    let host = host([stdio("peer", &Scenario::dual())]).await;
    let watcher = host.watcher();
    let registry = Registry::new(host.clone());
    registry.offer_management(&watcher).unwrap();
    let run = async |name: &str, input: &str| match registry
        .execute(name, json(input), CallContext::new(Caller::Agent))
        .await
    {
        Ok(outcome) => outcome.to_text(),
        Err(error) => shown(&error),
    };
    insta::assert_snapshot!(run("ListMcpResources", r#"{"server":"peer"}"#).await, @r#"[{"mimeType":"text/plain","name":"text","server":"peer","uri":"test://text"},{"mimeType":"application/octet-stream","name":"binary","server":"peer","uri":"test://binary"},{"description":"Changes when `touch` is called","name":"watched","server":"peer","uri":"test://watched"},{"description":"Asks the client before it answers","name":"asking","server":"peer","uri":"test://asking"}]"#);
    insta::assert_snapshot!(run("ReadMcpResource", r#"{"server":"peer","uri":"test://text"}"#).await, @r#"{"contents":[{"mimeType":"text/plain","text":"Hello, wörld","uri":"test://text"}]}"#);
    // C7: bytes are kept.
    let binary = json(&run("ReadMcpResource", r#"{"server":"peer","uri":"test://binary"}"#).await);
    let binary = binary.member("contents").and_then(|contents| contents.elements()).unwrap_or_default().remove(0);
    assert!(binary.member_str("blob").unwrap().starts_with("AAECAwQF"), "{binary:?}");
    assert_eq!(binary.member_str("mimeType").as_deref(), Some("application/octet-stream"));
    insta::assert_snapshot!(run("ReadMcpResource", r#"{"server":"peer","uri":"test://nowhere"}"#).await, @r"
    RESOURCE_NOT_FOUND: the server refused `resources/read`: Resource not found (-32602)
    ");
    insta::assert_snapshot!(run("ReadMcpResource", r#"{"server":"nobody","uri":"test://text"}"#).await, @r"
    SERVER_NOT_FOUND: there is no server `nobody`
    ");

    let made = run("SubscribeMcpResource", r#"{"server":"peer","uri":"test://watched","reason":"why"}"#).await;
    let id = json(&made).member_str("subscriptionId").unwrap();
    assert_eq!(made, format!(r#"{{"subscribed":true,"subscriptionId":"{id}"}}"#));
    drop(call(&host, "peer/touch", r#"{"uri":"test://watched"}"#).await.unwrap());
    assert_eq!(next(&watcher).await.reason.as_deref(), Some("why"));
    let polled = r#"{"type":"tool","server":"peer","toolName":"echo","arguments":{"a":1},"intervalMs":1500.5}"#;
    assert!(run("SubscribePolling", polled).await.starts_with(r#"{"subscribed":true"#));
    let polled = r#"{"type":"resource","server":"peer","uri":"test://text"}"#;
    assert!(run("SubscribePolling", polled).await.starts_with(r#"{"subscribed":true"#));
    assert_eq!(watcher.reports().len(), 3);
    insta::assert_snapshot!(run("SubscribePolling", r#"{"type":"tool","server":"peer","toolName":"echo","intervalMs":10}"#).await, @r#"
    INVALID_PARAMS: invalid arguments for SubscribePolling: 1 problem
      /intervalMs: expected a number of at least 1000, got 10
    usage: SubscribePolling(arguments?: object, intervalMs?: number = 5000, reason?: string, server: string, toolName?: string, type: "tool" | "resource", uri?: string)
      hint: look at the whole definition of `native/SubscribePolling`
    "#);
    insta::assert_snapshot!(run("SubscribePolling", r#"{"type":"tool","server":"peer"}"#).await, @"INVALID_PARAMS: `toolName` is missing: it says which tool is to be polled");
    insta::assert_snapshot!(run("SubscribePolling", r#"{"type":"tool","server":"peer","toolName":"nothing"}"#).await, @r"
    TOOL_NOT_FOUND: the server `peer` has no tool `nothing`
    ");

    insta::assert_snapshot!(run("UnsubscribeMcpResource", &format!(r#"{{"subscriptionId":"{id}"}}"#)).await, @r#"{"unsubscribed":true}"#);
    insta::assert_snapshot!(run("UnsubscribeMcpResource", &format!(r#"{{"subscriptionId":"{id}"}}"#)).await, @r#"{"unsubscribed":false}"#);
    insta::assert_snapshot!(run("UnsubscribeMcpResource", r#"{"subscriptionId":"nonsense"}"#).await, @r#"{"unsubscribed":false}"#);
    insta::assert_snapshot!(run("UnsubscribePolling", r#"{"server":"peer","target":"echo"}"#).await, @r#"{"unsubscribed":true}"#);
    insta::assert_snapshot!(run("UnsubscribePolling", r#"{"server":"peer"}"#).await, @r#"{"unsubscribed":true}"#);
    insta::assert_snapshot!(run("UnsubscribePolling", "{}").await, @"INVALID_PARAMS: say which: `subscriptionId`, or `server`, or `server` with what is watched there");
    assert!(watcher.reports().is_empty());
    host.shutdown().await;
}

#[tokio::test]
async fn what_may_not_be_read_is_not_listed_for_a_model() {
    let mut denied = rule("peer/test://text", Action::Deny);
    denied.rule.kind = Some(CallKind::Resource);
    let host = builder([stdio("peer", &Scenario::dual())]).rules(vec![denied]).start().await.unwrap();
    let watcher = host.watcher();
    let registry = Registry::new(host.clone());
    registry.offer_management(&watcher).unwrap();
    let listed = registry.execute("ListMcpResources", json("{}"), CallContext::new(Caller::Agent)).await.unwrap();
    assert!(listed.to_text().contains("test://binary") && !listed.to_text().contains("test://text"), "{listed:?}");
    host.shutdown().await;
}

/// A model hears that it is refused: not by which rule in which file, and not which tools are hidden from it.
#[tokio::test]
async fn s16_management_tools_tell_models_no_rule_and_no_hidden_tool() {
    let written = |tool: &str, action: Action, kind: Option<CallKind>, line: u32| {
        let mut rule = rule(tool, action);
        rule.rule.kind = kind;
        rule.rule.origin = Origin::File { path: Path::new("secret-place/helve.toml").into(), line, column: 1 };
        rule
    };
    let rules = vec![
        written("peer/echo", Action::Deny, None, 7),
        written("peer/test://text", Action::Deny, Some(CallKind::Resource), 8),
        written("peer/test://watched", Action::Deny, Some(CallKind::Resource), 9),
        written("peer/fail", Action::Ask, None, 10),
    ];
    let mut peer = stdio("peer", &Scenario::dual());
    peer.access.disabled_tools = vec![Listed { glob: "big".to_owned(), origin: Origin::Program }];
    let host = builder([peer]).rules(rules).start().await.unwrap();
    assert!(host.settled(PATIENCE).await);
    let watcher = host.watcher();
    let registry = Registry::new(host.clone());
    registry.offer_management(&watcher).unwrap();
    let mut told = String::new();
    for (name, input) in [
        ("SubscribePolling", r#"{"type":"tool","server":"peer","toolName":"echo"}"#),
        ("SubscribePolling", r#"{"type":"tool","server":"peer","toolName":"big"}"#),
        ("SubscribePolling", r#"{"type":"tool","server":"peer","toolName":"bigg"}"#),
        ("SubscribePolling", r#"{"type":"tool","server":"peer","toolName":"fail"}"#),
        ("SubscribePolling", r#"{"type":"resource","server":"peer","uri":"test://text"}"#),
        ("SubscribeMcpResource", r#"{"server":"peer","uri":"test://watched"}"#),
        ("ReadMcpResource", r#"{"server":"peer","uri":"test://text"}"#),
        ("ReadMcpResource", r#"{"server":"pear","uri":"test://text"}"#),
    ] {
        let error = registry.execute(name, json(input), CallContext::new(Caller::Agent)).await.unwrap_err();
        told.push_str(&shown(&error));
        told.push('\n');
    }
    assert!(!told.contains("helve.toml") && !told.contains("rule `") && !told.contains("hint"), "{told}");
    insta::assert_snapshot!(told, @"
    TOOL_NOT_FOUND: the server `peer` has no tool `echo`
    TOOL_NOT_FOUND: the server `peer` has no tool `big`
    TOOL_NOT_FOUND: the server `peer` has no tool `bigg`
    APPROVAL_REQUIRED: `peer/fail` is refused (APPROVAL_REQUIRED): it needs the person's yes, and they cannot be asked here
    DENIED: `peer/test://text` is refused (DENIED): it is not allowed by the person's rules
    DENIED: `peer/test://watched` is refused (DENIED): it is not allowed by the person's rules
    DENIED: `peer/test://text` is refused (DENIED): it is not allowed by the person's rules
    SERVER_NOT_FOUND: there is no server `pear`
    ");
    host.shutdown().await;
}

/// Waits to be let go, and counts who asked.
#[derive(Clone, Default)]
struct Slow {
    asked: Arc<AtomicUsize>,
    is_asked: Arc<Notify>,
    goes_on: Arc<Notify>,
}

impl Elicitor for Slow {
    fn elicit(&self, _request: ElicitationRequest) -> BoxFuture<'_, ElicitationAnswer> {
        Box::pin(async {
            self.asked.fetch_add(1, Ordering::Relaxed);
            self.is_asked.notify_one();
            self.goes_on.notified().await;
            ElicitationAnswer::Decline
        })
    }
}

#[tokio::test]
async fn a_second_question_while_one_is_open_is_declined() {
    let slow = Slow::default();
    let host = builder([stdio("peer", &Scenario::legacy())]).elicitor(slow.clone()).start().await.unwrap();
    let mut events = host.events();
    let (asking, other) = (host.clone(), host.clone());
    let first = tokio::spawn(async move { call(&asking, "peer/ask", r#"{"kind":"form"}"#).await });
    slow.is_asked.notified().await;
    let second = call(&other, "peer/ask", r#"{"kind":"form"}"#).await.unwrap();
    assert!(second.to_text().contains("decline"), "{}", second.to_text());
    let warning = loop {
        if let HostEvent::Warning { message, .. } = timeout(PATIENCE, events.next()).await.unwrap().unwrap() {
            break message;
        }
    };
    insta::assert_snapshot!(warning, @"asks the person while an earlier question of its own is still open; it was declined");
    slow.goes_on.notify_one();
    drop(first.await.unwrap().unwrap());
    assert_eq!(slow.asked.load(Ordering::Relaxed), 1);
    host.shutdown().await;
}

#[tokio::test]
async fn who_was_not_given_the_right_is_refused() {
    let host = host([stdio("legacy", &Scenario::legacy()), stdio("modern", &Scenario::modern())]).await;
    for kind in ["form", "sampling", "roots"] {
        for server in ["legacy", "modern"] {
            let asked = call(&host, &format!("{server}/ask"), &format!(r#"{{"kind":"{kind}"}}"#)).await;
            // A legacy server is told that there is no such method, and says so in its result; a modern one must not ask.
            let is_refused = asked.as_ref().map_or(server == "modern", |outcome| outcome.to_text().contains("-32601"));
            assert!(is_refused, "{server} {kind}: {asked:?}");
        }
    }
    drop(call(&host, "legacy/echo", "{}").await.unwrap());
    host.shutdown().await;
}

struct Talker;

impl Sampler for Talker {
    fn sample(&self, _request: SamplingCall) -> BoxFuture<'_, Result<RawJson, String>> {
        let answer = r#"{"role":"assistant","content":{"type":"text","text":"yes"},"model":"scripted"}"#;
        Box::pin(std::future::ready(Ok(json(answer))))
    }
}

#[tokio::test]
async fn a_model_is_lent_within_limits() {
    let limits = SamplingLimits { calls: 2, ..SamplingLimits::default() };
    let host = builder([stdio("peer", &Scenario::modern()), stdio("other", &Scenario::legacy())])
        .sampler(Talker, limits)
        .start()
        .await
        .unwrap();
    for _ in 0..2 {
        drop(call(&host, "peer/ask", r#"{"kind":"sampling"}"#).await.unwrap());
    }
    let third = call(&host, "peer/ask", r#"{"kind":"sampling"}"#).await.unwrap_err();
    insta::assert_snapshot!(shown(&third), @"DENIED: the server asked for `sampling/createMessage` and was refused: it has made all of its 2 sampling requests (-1)");
    // Each server has its own.
    assert!(!call(&host, "other/ask", r#"{"kind":"sampling"}"#).await.unwrap().outcome.is_error());
    host.shutdown().await;
}

/// Era, session and watches survive a restart: no second `initialize`, and the watch goes on.
#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn a_host_is_saved_and_resumed() {
    let server = Scenario::legacy().serve_http().await.unwrap();
    let first = host([http("peer", server.url())]).await;
    let watcher = first.watcher();
    let subscription = watcher.subscribe("peer", "test://watched", "for later").await.unwrap();
    let (poll, _) = watcher.poll_resource("peer", "test://text", DEFAULT_INTERVAL, "").await.unwrap();
    let saved = first.save(&[&watcher]).unwrap().to_json();
    first.shutdown().await;
    assert_eq!(server.open_sessions(), 1, "the session is left open");
    assert_eq!(server.recorder().count("initialize"), 1);

    let saved = SavedHost::read(&saved).unwrap();
    let second = builder([http("peer", server.url())]).resume(saved.clone()).start().await.unwrap();
    assert!(second.settled(PATIENCE).await);
    assert_eq!(server.recorder().count("initialize"), 1);
    let watcher = second.watcher();
    for watch in saved.watches() {
        watcher.resume(watch).await.unwrap();
    }
    let kept: Vec<_> = watcher.reports().into_iter().map(|report| (report.id, report.polls)).collect();
    assert_eq!(kept, [(subscription, 0), (poll, 1)]);
    let event = next(&watcher).await;
    assert!(matches!(event.change, WatchChange::MayHaveChanged), "{event:?}");
    drop(call(&second, "peer/touch", r#"{"uri":"test://watched"}"#).await.unwrap());
    assert!(matches!(next(&watcher).await.change, WatchChange::Updated(_)));
    second.shutdown().await;
    assert_eq!(server.open_sessions(), 0);

    // A session that is over costs nothing but the handshake that was saved.
    let third = builder([http("peer", server.url())]).resume(saved).start().await.unwrap();
    drop(call(&third, "peer/echo", "{}").await.unwrap());
    until(&third, "connected", |host| host.server_status("peer").is_some_and(|report| report.tools > 0)).await;
    third.shutdown().await;
}

/// C7: a poll asks whoever the call asks that makes it, once; what that person said yes to until they go holds as long.
#[tokio::test(start_paused = true)]
async fn c7_making_a_poll_asks_the_callers_own_person() {
    let host = Host::builder().toolbox(toolbox(Counter::new("Counts", true))).start().await.unwrap();
    let watcher = host.watcher();
    let registry = Registry::new(host.clone());
    registry.offer_management(&watcher).unwrap();
    let polled = r#"{"type":"tool","server":"native","toolName":"count"}"#;
    let run = async |context: CallContext| registry.execute("SubscribePolling", json(polled), context).await;

    let refused = run(CallContext::new(Caller::Agent)).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::ApprovalRequired, "the host asks nobody");
    let yes = Yes::default();
    let asking = CallContext::new(Caller::Agent).with(|context| context.approver = Some(Arc::new(yes.clone())));
    let made = run(asking).await.unwrap();
    assert!(made.to_text().starts_with(r#"{"subscribed":true"#), "{made:?}");
    assert!(matches!(next(&watcher).await.change, WatchChange::Content(_)));
    tokio::time::sleep(DEFAULT_INTERVAL * 5).await;
    let asked = yes.0.lock().unwrap().clone();
    assert_eq!(asked.len(), 1, "{asked:?}");
    // A changed tool is another question, and the call with its person is over.
    host.put_toolbox(toolbox(Counter::new("Counts otherwise", true))).unwrap();
    loop {
        if let WatchChange::Ended(error) = next(&watcher).await.change {
            assert_eq!(error.code(), ErrorCode::ApprovalRequired);
            break;
        }
    }
    assert_eq!(yes.0.lock().unwrap().len(), 1);
}

/// C7: servers that do not answer are named beside the list, which stays JSON.
#[tokio::test]
async fn c7_what_is_said_beside_a_list_of_resources_does_not_break_it() {
    let unlisted = Scenario::legacy()
        .scripted("resources/list", r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"not today"}}"#);
    let host = host([stdio("peer", &Scenario::legacy()), stdio("broken", &unlisted)]).await;
    let watcher = host.watcher();
    let registry = Registry::new(host.clone());
    registry.offer_management(&watcher).unwrap();
    let listed = registry.execute("ListMcpResources", json("{}"), CallContext::new(Caller::Agent)).await.unwrap();
    let resources: serde_json::Value = serde_json::from_str(&listed.to_text()).unwrap();
    assert_eq!(resources.as_array().unwrap().len(), 4, "{resources}");
    let blocks = listed.outcome.open().unwrap().content;
    let [_, aside] = blocks.as_slice() else { panic!("{blocks:?}") };
    assert!(aside.raw.as_str().contains("some servers did not answer") && aside.raw.as_str().contains("broken"));
    host.shutdown().await;
}
