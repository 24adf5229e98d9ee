//! Every call leaves a record, whichever way it ends.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use helve::{
    AgentInfo, CallContext, CallEnd, CallRecord, CallSource, Door, HostEvent, HostSettings, Recorder, Surroundings,
};
use helve_model::{Action, ErrorCode, Principal};
use helve_policy::Caller;
use helve_testkit::Scenario;

use crate::support::{PATIENCE, builder, json, program, recorded, rule, stdio};

#[tokio::test]
async fn every_end_is_recorded_once() {
    let rules = vec![rule("a/exit", Action::Deny), rule("a/big", Action::Ask), rule("*/*", Action::Allow)];
    let settings = HostSettings::default().with(|settings| {
        settings.call_timeout = PATIENCE;
        settings.result_cache_ttl = Some(Duration::from_secs(600));
    });
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
        let context = CallContext::new(Caller::Script).with(|context| context.timeout = timeout);
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
async fn whoever_listens_to_changes_alone_hears_of_no_call() {
    let host = builder([stdio("a", &Scenario::dual())]).start().await.unwrap();
    let mut changes = host.changes();
    let call = || host.call("a/echo", json("{}"), CallContext::new(Caller::Agent));
    let is_call = |event: &HostEvent| matches!(event, HostEvent::Call(_));
    call().await.unwrap();
    // Nor where somebody else wants to hear of calls.
    let mut events = host.events();
    call().await.unwrap();
    assert_eq!(std::iter::from_fn(|| events.try_next()).filter(is_call).count(), 1);
    assert_eq!(std::iter::from_fn(|| changes.try_next()).filter(is_call).count(), 0);
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

/// Writes down what it is told.
#[derive(Debug, Default)]
struct Ledger {
    wants_digest: bool,
    calls: Mutex<Vec<CallRecord>>,
}

impl Recorder for Ledger {
    fn record(&self, call: &CallRecord) {
        self.calls.lock().unwrap().push(call.clone());
    }

    fn wants_digest(&self) -> bool {
        self.wants_digest
    }
}

fn clock() -> std::time::SystemTime {
    std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)
}

#[tokio::test]
async fn a_recorder_is_told_of_every_call_exactly_once_and_by_whom_it_was_made() {
    let ledger = Arc::new(Ledger { wants_digest: true, ..Ledger::default() });
    let recorder: Arc<dyn Recorder> = Arc::<Ledger>::clone(&ledger);
    let surroundings = Surroundings::default().with(|surroundings| {
        surroundings.environment = std::env::vars_os().collect();
        surroundings.clock = clock;
        surroundings.recorder = Some(recorder);
    });
    let rules = vec![rule("a/exit", Action::Deny), rule("*/*", Action::Allow)];
    let servers = [stdio("a", &Scenario::legacy())];
    let host = builder(servers).rules(rules).surroundings(surroundings).start().await.unwrap();
    assert!(host.settled(PATIENCE).await);

    let agent = Arc::new(AgentInfo { name: "tester".to_owned(), version: "1.2".to_owned() });
    let context = || {
        CallContext::new(Caller::Agent).with(|context| {
            context.principal = Principal::token("ci");
            context.source = CallSource::new(Door::Http).by(Some(Arc::clone(&agent)), Some(Arc::from("a1-7")));
            context.meta = Some(json(r#"{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#));
        })
    };
    // More than the event bus keeps, and nobody listens to it.
    for _ in 0..1_100 {
        drop(host.call("a/exit", json("{}"), context()).await);
    }
    host.call("a/echo", json(r#"{"x":1}"#), context()).await.unwrap();
    drop(host.call("a/sleep", json(r#"{"ms":"long"}"#), context()).await);
    drop(host.call("nobody/there", json("{}"), context()).await);
    drop(host.connect("nobody/either", &context()).await.map(drop));
    let prepared = host.connect("a/echo", &context()).await.unwrap();
    let cancelled = host.call("a/sleep", json(r#"{"ms":600000}"#), context());
    drop(tokio::time::timeout(Duration::from_millis(50), cancelled).await);
    prepared.invoke(json("{}"), context()).await.unwrap();

    let calls = std::mem::take(&mut *ledger.calls.lock().unwrap());
    let lines: Vec<String> = calls[1_099..]
        .iter()
        .map(|call| {
            assert_eq!(call.principal, Principal::token("ci"));
            assert_eq!(call.source.agent.as_deref(), Some(&*agent));
            assert_eq!(call.source.session.as_deref(), Some("a1-7"));
            assert_eq!(call.trace.as_deref(), Some("4bf92f3577b34da6a3ce929d0e0e4736"));
            assert_eq!(call.started, clock().checked_sub(call.duration).unwrap());
            let digest = call.argument_digest.unwrap();
            format!("{} by {}, {:?}, {:02x}{:02x}…", call.asked(), call.source.door, call.end, digest[0], digest[1])
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    a/exit by http, Failed(Denied), 4413…
    a/echo by http, Done, 5041…
    a/sleep by http, Failed(InvalidParams), 3549…
    nobody/there by http, Failed(ServerNotFound), 4413…
    nobody/either by http, Failed(ServerNotFound), 4413…
    a/sleep by http, Failed(Cancelled), 8f0f…
    a/echo by http, Done, 4413…
    ");
    let mut ids: Vec<_> = calls.iter().map(|call| call.id).collect();
    ids.dedup();
    assert_eq!((ids.len(), calls.len()), (1_106, 1_106), "each has an id of its own");
}

#[tokio::test]
async fn no_digest_is_made_that_nobody_wants() {
    let ledger = Arc::new(Ledger::default());
    let recorder: Arc<dyn Recorder> = Arc::<Ledger>::clone(&ledger);
    let surroundings = Surroundings::default().with(|surroundings| surroundings.recorder = Some(recorder));
    let host = builder([]).surroundings(surroundings).start().await.unwrap();
    drop(host.call("nobody/there", json("{}"), CallContext::new(Caller::Script)).await);
    let calls = ledger.calls.lock().unwrap();
    assert_eq!(calls.iter().map(|call| call.argument_digest).collect::<Vec<_>>(), [None]);
    assert_eq!(calls[0].principal, Principal::LOCAL);
}
