//! Every call leaves a record, whichever way it ends.

use std::time::Duration;

use helve::{CallContext, CallEnd, HostEvent, HostSettings};
use helve_model::{Action, ErrorCode};
use helve_policy::Caller;
use helve_testkit::Scenario;

use crate::support::{PATIENCE, builder, json, program, recorded, rule, stdio};

#[tokio::test]
async fn every_end_is_recorded_once() {
    let rules = vec![rule("a/exit", Action::Deny), rule("a/big", Action::Ask), rule("*/*", Action::Allow)];
    let settings = HostSettings {
        call_timeout: PATIENCE,
        result_cache_ttl: Some(Duration::from_secs(600)),
        ..HostSettings::default()
    };
    let missing = program("gone", "no-such-program-anywhere", &[]);
    let mut believed = stdio("a", &Scenario::legacy());
    believed.access.trust_annotations = true;
    let host = builder([believed, missing]).rules(rules).settings(settings).start().await.unwrap();
    assert!(host.settled(PATIENCE).await);
    let short = Some(Duration::from_millis(200));
    let mut lines = Vec::new();
    for (name, arguments, timeout) in [
        ("a/contents", "{}", None),
        ("a/echo", r#"{"kept":true}"#, None),
        ("mcp__a__echo", r#"{"kept":true}"#, None),
        ("a:fail", "{}", None),
        ("a/sleep", r#"{"ms":"long"}"#, None),
        ("a/exit", "{}", None),
        ("a/big", "{}", None),
        ("a/sleep", r#"{"ms":600000}"#, short),
        ("a/raw", r#"{"text":"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":7}\n"}"#, None),
        ("a/nothing", "{}", None),
        ("gone/echo", "{}", None),
        ("nobody/echo", "{}", None),
        ("whatever", "{}", None),
    ] {
        let mut events = host.events();
        let context = CallContext { timeout, ..CallContext::new(Caller::Script) };
        drop(host.call(name, json(arguments), context).await);
        let record = recorded(&mut events).await;
        let more = std::iter::from_fn(|| events.try_next()).filter(|event| matches!(event, HostEvent::Call(_)));
        assert_eq!(more.count(), 0, "{name} is recorded once");
        assert_eq!((&*record.asked(), record.caller), (name, Caller::Script));
        assert_eq!(record.argument_bytes, arguments.len());
        assert_eq!(record.result_bytes > 0, matches!(record.end, CallEnd::Done | CallEnd::ToolError), "{name}");
        let named = record.name.as_ref().map_or_else(|| "nobody".to_owned(), ToString::to_string);
        let ground = record.ground.as_ref().map_or("undecided", |_| "decided");
        lines.push(format!("{name}: {named}, {ground}, sent {}, {:?}", record.attempts, record.end));
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    a/contents: a/contents, decided, sent 1, Done
    a/echo: a/echo, decided, sent 1, Done
    mcp__a__echo: a/echo, decided, sent 0, FromCache
    a:fail: a/fail, decided, sent 1, ToolError
    a/sleep: a/sleep, undecided, sent 0, Failed(InvalidParams)
    a/exit: a/exit, decided, sent 0, Failed(Denied)
    a/big: a/big, decided, sent 0, Failed(ApprovalRequired)
    a/sleep: a/sleep, decided, sent 1, Failed(Timeout)
    a/raw: a/raw, decided, sent 1, Failed(ProtocolError)
    a/nothing: a/nothing, undecided, sent 0, Failed(ToolNotFound)
    gone/echo: gone/echo, undecided, sent 0, Failed(ServerUnavailable)
    nobody/echo: nobody/echo, undecided, sent 0, Failed(ServerNotFound)
    whatever: nobody, undecided, sent 0, Failed(ToolNotFound)
    ");
    host.shutdown().await;
}

#[tokio::test]
async fn a_call_dropped_while_it_waits_for_its_server_is_recorded() {
    let host = builder([stdio("a", &Scenario::dual().never_answers())]).start().await.unwrap();
    let mut events = host.events();
    let waiting = host.call("a/echo", json("{}"), CallContext::new(Caller::Agent));
    assert!(tokio::time::timeout(Duration::from_millis(50), waiting).await.is_err());
    let record = recorded(&mut events).await;
    assert_eq!((record.end, record.attempts), (CallEnd::Failed(ErrorCode::Cancelled), 0));
    assert_eq!((&*record.asked(), record.name.as_ref()), ("a/echo", None));
    host.shutdown().await;
}
