//! What a session can do, the same in each era and over each transport: one assertion function, a matrix of peers.

use std::sync::{Arc, Mutex};

use helve_model::json::RawJson;
use helve_model::{CallKind, Definition as _, ErrorCode};
use helve_testkit::{HttpScript, ListFault, Scenario};
use helve_wire::{Changes, CompletionSubject, Era, LogLevel, ProgressCallback, Session};

use crate::support::*;

/// Everything a well-behaved server offers.
async fn check_everything(session: &Session, listener: &Arc<Listener>) {
    let modern = session.greeting().negotiated.era == Era::Modern;
    assert!(session.greeting().server_info.is_some());

    let tools = session.list_tools(times()).await.unwrap();
    assert!(tools.incomplete.is_none() && tools.warnings.is_empty(), "{tools:?}");
    assert!(tools.items.iter().any(|tool| tool.name().as_str() == "echo"));
    assert_eq!(tools.cache.is_some(), modern);

    let arguments = r#"{"b":1,"a":[1.50,"\u00e9"],"big":9223372036854775808}"#;
    let outcome = call(session, "echo", arguments).await.unwrap();
    assert_eq!(outcome.open().unwrap().structured.unwrap().as_str(), arguments);
    assert!(call(session, "fail", r#"{"message":"on purpose"}"#).await.unwrap().is_error());

    let resources = session.list_resources(times()).await.unwrap();
    assert!(resources.items.iter().any(|resource| resource.uri() == "test://text"));
    let templates = session.list_resource_templates(times()).await.unwrap();
    assert_eq!(templates.items[0].uri_template(), "test://item/{id}");
    let read = session.read_resource(&permit(CallKind::Resource, "test://text", "{}"), within(PATIENCE)).await.unwrap();
    assert_eq!(read.contents().len(), 1);
    let missing = permit(CallKind::Resource, "test://nowhere", "{}");
    let error = session.read_resource(&missing, within(PATIENCE)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ResourceNotFound, "{}", shown(&error));

    let prompts = session.list_prompts(times()).await.unwrap();
    assert!(prompts.items.iter().any(|prompt| prompt.name() == "greet"));
    let greet = permit(CallKind::Prompt, "greet", r#"{"who":"Ada"}"#);
    let prompt = session.get_prompt(&greet, within(PATIENCE)).await.unwrap();
    assert_eq!(prompt.messages().len(), 1);
    let missing = permit(CallKind::Prompt, "nothing", "{}");
    let error = session.get_prompt(&missing, within(PATIENCE)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::PromptNotFound, "{}", shown(&error));
    let error = call(session, "nothing", "{}").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ToolNotFound, "{}", shown(&error));

    let subject = CompletionSubject::Prompt("greet");
    let completed = session.complete(subject, "who", "pa", None, times()).await.unwrap();
    assert!(completed.as_str().contains("paris"), "{completed}");
    session.set_log_level(LogLevel::Debug, times()).await.unwrap();
    session.ping(times()).await.unwrap();

    check_questions(session, listener).await;
    check_changes(session, listener).await;
    if modern || session.greeting().offers("tasks") {
        check_task(session).await;
    }

    assert_eq!(session.diagnostics().unmatched, 0);
}

/// All that is said before the answer is heard before the call returns, in order.
async fn check_told_on_the_way(session: &Session, listener: &Arc<Listener>) {
    call(session, "log", r#"{"level":"error","data":"logged"}"#).await.unwrap();
    assert!(listener.methods().iter().any(|method| method == "notifications/message"));

    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let on_progress: ProgressCallback = Arc::new(move |progress| sink.lock().unwrap().push(progress.progress));
    let options = within(PATIENCE).with(|options| options.on_progress = Some(on_progress));
    session.call_tool(&tool("progress", r#"{"steps":200}"#), options).await.unwrap();
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 200);
    assert!(seen.is_sorted(), "{seen:?}");
}

/// The server asks; the handler answers; the caller sees only the result.
async fn check_questions(session: &Session, listener: &Arc<Listener>) {
    for (arguments, questions) in [
        (r#"{"kind":"form"}"#, 1),
        (r#"{"kind":"url"}"#, 1),
        (r#"{"kind":"sampling"}"#, 1),
        (r#"{"kind":"roots"}"#, 1),
        (r#"{"kind":"form","rounds":3}"#, 3),
    ] {
        listener.asked.lock().unwrap().clear();
        let outcome = call(session, "ask", arguments).await.unwrap_or_else(|error| panic!("{}", shown(&error)));
        assert!(!outcome.is_error(), "{arguments}: {outcome:?}");
        assert_eq!(listener.asked.lock().unwrap().len(), questions, "{arguments}");
    }
    let asking = permit(CallKind::Resource, "test://asking", "{}");
    session.read_resource(&asking, within(PATIENCE)).await.unwrap();
}

/// Subscriptions and list changes arrive as the same notifications.
async fn check_changes(session: &Session, listener: &Arc<Listener>) {
    session.follow(Changes { tools: true, prompts: true, resources: true }, times()).await.unwrap();
    session.subscribe("test://watched", times()).await.unwrap();
    listener.heard.lock().unwrap().clear();
    call(session, "touch", "{}").await.unwrap();
    call(session, "list_changed", r#"{"kind":"tools"}"#).await.unwrap();
    eventually("both changes", || {
        let methods = listener.methods();
        methods.iter().any(|method| method == "notifications/resources/updated")
            && methods.iter().any(|method| method == "notifications/tools/list_changed")
    })
    .await;
    session.unsubscribe("test://watched", times()).await.unwrap();
}

/// A call answered with a task is followed to its end.
async fn check_task(session: &Session) {
    let options = within(PATIENCE).with(|options| options.as_task = Some(PATIENCE));
    let outcome = session.call_tool(&tool("task", r#"{"polls":3,"text":"finished"}"#), options.clone()).await.unwrap();
    assert_eq!(text(&outcome), "finished");
    let error = session.call_tool(&tool("task", r#"{"fail":true}"#), options).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ToolError, "{}", shown(&error));
}

fn scenarios() -> [(&'static str, Scenario); 7] {
    [
        ("2024-11-05", Scenario::legacy_version("2024-11-05")),
        ("2025-03-26", Scenario::legacy_version("2025-03-26")),
        ("2025-06-18", Scenario::legacy_version("2025-06-18")),
        ("2025-11-25", Scenario::legacy()),
        ("2026-07-28", Scenario::modern()),
        ("dual", Scenario::dual()),
        ("dual, last handshake rules", Scenario::dual().dual_rule(helve_testkit::DualRule::LastHandshake)),
    ]
}

#[tokio::test]
async fn everything_in_process() {
    for (name, scenario) in scenarios() {
        eprintln!("{name}");
        let listener = Arc::new(Listener::default());
        let session = in_process(&scenario, listening(&listener)).await.unwrap();
        check_everything(&session, &listener).await;
        check_told_on_the_way(&session, &listener).await;
        session.close().await;
    }
}

#[tokio::test]
async fn everything_over_stdio() {
    for (name, scenario) in scenarios() {
        eprintln!("{name}");
        let listener = Arc::new(Listener::default());
        let session = stdio(&scenario, listening(&listener)).await.unwrap();
        check_everything(&session, &listener).await;
        check_told_on_the_way(&session, &listener).await;
        session.close().await;
    }
}

#[tokio::test]
async fn everything_over_streamable_http() {
    // Streamable HTTP came with the second version.
    for (name, scenario) in scenarios().into_iter().skip(1) {
        for (form, script) in [("json", HttpScript::json()), ("events", HttpScript::sse())] {
            eprintln!("{name}, {form}");
            let server = scenario.clone().http(script).serve_http().await.unwrap();
            let listener = Arc::new(Listener::default());
            let session = http(&server, listening(&listener)).await.unwrap();
            check_everything(&session, &listener).await;
            // A server that answers in JSON has another stream for what it says on the way, or none.
            if form == "events" {
                check_told_on_the_way(&session, &listener).await;
            }
            session.close().await;
            assert_eq!(server.recorder().violations(), Vec::<String>::new());
        }
    }
}

#[tokio::test]
async fn everything_over_http_and_sse() {
    for (name, scenario) in scenarios().into_iter().take(4) {
        eprintln!("{name}");
        let server = scenario.serve_sse().await.unwrap();
        let listener = Arc::new(Listener::default());
        let session = http(&server, listening(&listener)).await.unwrap();
        check_everything(&session, &listener).await;
        check_told_on_the_way(&session, &listener).await;
        session.close().await;
        assert_eq!(server.recorder().violations(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_server_without_tools_is_not_asked_for_any() {
    let scenario = Scenario::legacy().offers(helve_testkit::Offers { tools: false, ..Default::default() });
    let peer = scenario.in_process();
    let session = helve_wire::connect_stream(peer.stream, options()).await.unwrap();
    assert!(session.list_tools(times()).await.unwrap().items.is_empty());
    assert_eq!(peer.recorder.count("tools/list"), 0);
}

#[tokio::test]
async fn the_open_request_refuses_what_needs_a_permit() {
    let session = in_process(&Scenario::legacy(), options()).await.unwrap();
    let others = ["Tools/call", "completion/complete", "resources/subscribe", "tasks/get", "skills/list", "vendor/do"];
    for method in ["tools/call", "resources/read", "prompts/get"].into_iter().chain(others) {
        let error = session.request(method, None, times()).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Denied);
    }
    let other = helve_policy::Request {
        principal: helve_model::Principal::LOCAL,
        name: helve_model::QualifiedName::new(
            helve_model::ServerName::new("other").unwrap(),
            helve_model::ToolName::new("echo"),
        ),
        kind: CallKind::Tool,
        arguments: RawJson::empty_object(),
    };
    let helve_policy::Decision::Allow(permit) = helve_policy::RuleSet::allow_all().decide(other) else {
        panic!("not allowed")
    };
    let error = session.call_tool(&permit, within(PATIENCE)).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @"DENIED: the permit is for the tool other/echo, not for a tool of peer");
}

#[tokio::test]
async fn pages_are_followed_and_bounded() {
    let scenario = Scenario::legacy().generated_tools(25, 300).hide_builtin_tools().page_size(10);
    let session = in_process(&scenario, options()).await.unwrap();
    let listing = session.list_tools(times()).await.unwrap();
    assert_eq!(listing.items.len(), 25);
    assert!(listing.incomplete.is_none());

    for (fault, code) in [
        (ListFault::RepeatedCursor, ErrorCode::ProtocolError),
        (ListFault::EndlessPages, ErrorCode::LimitExceeded),
        (ListFault::HugeCursor, ErrorCode::LimitExceeded),
    ] {
        let session = in_process(&scenario.clone().list_fault(fault), options()).await.unwrap();
        let listing = session.list_tools(times()).await.unwrap();
        assert_eq!(listing.incomplete.unwrap().code(), code, "{fault:?}");
        assert!(listing.items.len() >= 10, "{fault:?} keeps what came before");
    }
}

#[tokio::test]
async fn a_malformed_tool_loses_itself_only() {
    let scenario = Scenario::legacy().list_fault(ListFault::MalformedItem);
    let session = in_process(&scenario, options()).await.unwrap();
    let listing = session.list_tools(times()).await.unwrap();
    assert!(listing.items.iter().any(|tool| tool.name().as_str() == "echo"));
    assert!(!listing.warnings.is_empty());
}

#[tokio::test]
async fn unknown_fields_and_key_order_survive() {
    let literal = r#"{"zeta":{"b":1,"a":2},"name":"odd","inputSchema":{"type":"object","x":1e400},"alpha":null}"#;
    let scenario = Scenario::modern().literal_tool(literal);
    let session = in_process(&scenario, options()).await.unwrap();
    let listing = session.list_tools(times()).await.unwrap();
    let odd = listing.items.iter().find(|tool| tool.name().as_str() == "odd").unwrap();
    assert_eq!(odd.raw().as_str(), literal);
}

/// S1: what is not a notification of a client is none, whoever sends it.
#[tokio::test]
async fn s1_the_open_notification_refuses_what_is_not_on_its_list() {
    let peer = Scenario::legacy().in_process();
    let session = helve_wire::connect_stream(peer.stream, options()).await.unwrap();
    for method in
        ["tools/call", "resources/read", "Tools/call", "vendor/do", "notifications/initialized", "notifications/vendor"]
    {
        let error = session.notify(method, None).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Denied, "{method}");
    }
    session.notify("notifications/roots/list_changed", None).await.unwrap();
    session.ping(times()).await.unwrap();
    let methods = peer.recorder.methods();
    assert!(methods.ends_with(&["notifications/roots/list_changed".to_owned(), "ping".to_owned()]), "{methods:?}");
    assert!(!methods.iter().any(|method| method.contains("call") || method.contains("vendor")), "{methods:?}");
}

/// S15: notifications for a server that does not read are left out, and counted.
#[tokio::test]
async fn s15_notifications_for_a_server_that_does_not_read_are_left_out() {
    let (session, hand) = crate::hand::Hand::legacy(options()).await;
    let params = RawJson::assembled(format!(r#"{{"x":"{}"}}"#, "x".repeat(8 << 10)));
    for _ in 0..2_000 {
        session.notify("notifications/roots/list_changed", Some(&params)).await.unwrap();
    }
    assert!(session.diagnostics().dropped > 1_900, "{:?}", session.diagnostics());
    drop(hand);
}

/// S23: progress is for requests that asked for it, and keys are compared as they read.
#[tokio::test]
async fn s23_a_token_of_somebody_elses_does_not_get_through() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let peer = scenario.in_process();
        let session = helve_wire::connect_stream(peer.stream, options()).await.unwrap();
        let meta = RawJson::from_static(
            r#"{"progress\u0054oken":1,"io.modelcontextprotocol\/protocolVersion":"1999","trace":"kept"}"#,
        );
        let options = within(PATIENCE).with(|options| options.meta = Some(meta));
        session.call_tool(&tool("echo", "{}"), options).await.unwrap();
        let called = peer.recorder.messages().into_iter().find(|message| message["method"] == "tools/call").unwrap();
        let sent = peer.recorder.frames().into_iter().find(|frame| frame.contains("tools/call")).unwrap();
        assert_eq!(called["params"]["_meta"]["trace"], "kept");
        let is_modern = session.greeting().negotiated.era == Era::Modern;
        assert!(!sent.contains("\\u0054"), "{sent}");
        assert!(!is_modern || !sent.contains("1999"), "{sent}");
        assert_eq!(sent.matches("progressToken").count(), 1, "{sent}");
    }
}
