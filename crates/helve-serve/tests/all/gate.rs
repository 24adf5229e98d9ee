//! Nothing that an agent sends reaches a server unless a decision, or a closed list of harmless methods, lets it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use helve_model::{Action, CallKind, ServerSpec};
use helve_policy::SourcedRule;
use helve_serve::face::http::{Guard, HttpFace};
use helve_serve::{Gateway, Naming, Options};
use helve_testkit::{Recording, Scenario};
use serde_json::{Value, json};

use crate::http_agent::HttpAgent;
use crate::support::{DEADLINE, Source, StreamAgent, everything, modern_meta, rule, stdio_server};

pub(crate) fn options() -> Options {
    Options::default().with(|options| {
        options.naming = Naming::None;
        options.wait = Some(DEADLINE);
    })
}

/// The messages that a server got, but for those by which helve itself gets to know it.
pub(crate) fn got(record: &Path) -> Vec<Value> {
    const OWN: [&str; 8] = [
        "initialize",
        "server/discover",
        "notifications/initialized",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
        "subscriptions/listen",
    ];
    // There is nothing to load before the server has got anything.
    let messages = Recording::load(record).map(|recording| recording.messages()).unwrap_or_default();
    messages.into_iter().filter(|message| !message["method"].as_str().is_some_and(|own| OWN.contains(&own))).collect()
}

/// Notifications that would be requests to a server that does not look for an id.
const CALLS: [&str; 6] =
    ["tools/call", "resources/read", "prompts/get", "resources/subscribe", "completion/complete", "vendor/do"];

fn call_without_id(method: &str) -> Value {
    let params = json!({"name": "echo", "uri": "test://text", "arguments": {"by": "notification"}});
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

fn recorded_server(scenario: Scenario) -> (tempfile::TempDir, PathBuf, ServerSpec) {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let server = stdio_server("one", &scenario.record_to(&record));
    (directory, record, server)
}

/// S1: on a stream, alone and in a batch, whatever the rules are.
#[tokio::test]
async fn s1_a_notification_needs_a_permit() {
    for (action, scenario) in [(Action::Deny, Scenario::legacy()), (Action::Allow, Scenario::modern())] {
        let (_directory, record, server) = recorded_server(scenario);
        let source = Source { servers: vec![server], rules: vec![rule("*", action, None)] };
        let mut agent = StreamAgent::alone_with(source, options());
        let params = json!({
            "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}
        });
        agent.ask(0, "initialize", params).await;
        for method in CALLS {
            agent.send(call_without_id(method)).await;
            agent.send(json!([call_without_id(method)])).await;
        }
        let (called, _) = agent.ask(1, "tools/call", json!({"name": "echo", "arguments": {"by": "request"}})).await;
        let got = got(&record);
        if action == Action::Deny {
            assert_eq!(got, Vec::<Value>::new(), "{called}");
        } else {
            let by: Vec<&Value> = got.iter().map(|message| &message["params"]["arguments"]["by"]).collect();
            assert_eq!(by, ["request"], "{got:?}");
        }
        agent.leave().await;
    }
}

/// S1: over HTTP, where each agent has the server for itself.
#[tokio::test]
async fn s1_a_notification_over_http_needs_a_permit() {
    let (_directory, record, server) = recorded_server(Scenario::legacy());
    let source = Source { servers: vec![server], rules: vec![rule("*", Action::Allow, None)] };
    let gateway = Gateway::shared(Arc::new(source), options()).await.unwrap();
    let face = Arc::new(HttpFace::new(Arc::clone(&gateway), Guard::default()));
    let mut agent = HttpAgent::new(&face, 1);
    agent.initialize_as("2025-03-26", json!({})).await;
    // From now on there is a server that is this agent's alone.
    agent.ask(1, "tools/call", json!({"name": "echo", "arguments": {"by": "request"}})).await;
    for method in CALLS {
        assert_eq!(agent.post(&call_without_id(method), &[]).await.status(), 202);
        assert_eq!(agent.post(&json!([call_without_id(method)]), &[]).await.status(), 202);
    }
    agent.ask(2, "tools/call", json!({"name": "echo", "arguments": {"by": "request"}})).await;
    let got = got(&record);
    let by: Vec<&Value> = got.iter().map(|message| &message["params"]["arguments"]["by"]).collect();
    assert_eq!(by, ["request", "request"], "{got:?}");
    gateway.host().shutdown().await;
}

fn method_rule(tool: &str) -> SourcedRule {
    rule(tool, Action::Allow, Some(CallKind::Method))
}

/// The answer of a server that knows a vendor's method.
const DONE: &str = "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"done\":true}}\n";

/// The messages of this method that came, once there are as many.
async fn wait_for(record: &Path, method: &str, count: usize) -> Vec<Value> {
    let deadline = tokio::time::Instant::now() + DEADLINE;
    loop {
        let found: Vec<Value> = got(record).into_iter().filter(|message| message["method"] == method).collect();
        if found.len() >= count {
            return found;
        }
        assert!(tokio::time::Instant::now() < deadline, "{count} of {method} never came: {:?}", got(record));
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

/// S10: what nobody knows reaches nobody, in whatever spelling; what a rule opens gets through, both ways, at that server.
#[tokio::test]
async fn s10_a_rule_opens_a_vendors_method_at_one_server() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let scenario = scenario.scripted("vendor/do", DONE).scripted("Tools/call", DONE);
        for opened in [false, true] {
            let (_directory, record, server) = recorded_server(scenario.clone());
            let (_other_directory, other_record, mut other) = recorded_server(scenario.clone());
            other.name = helve_model::ServerName::new("two").unwrap();
            let mut rules = vec![rule("*", Action::Allow, None)];
            if opened {
                rules.extend([method_rule("one/vendor/*"), method_rule("one/notifications/vendor/*")]);
            }
            let source = Source { servers: vec![server, other], rules };
            let mut agent = StreamAgent::alone_with(source, options().with(|options| options.naming = Naming::Server));
            agent.initialize(json!({})).await;
            for (id, method) in (1..).zip(["Tools/call", " tools/call", "tools/\u{200b}call", "resources/READ", "x/y"])
            {
                let params = json!({"name": "echo", "arguments": {}, "uri": "test://text"});
                let (answer, _) = agent.ask(id, method, params).await;
                assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
            }
            agent.send(json!({"jsonrpc": "2.0", "method": "notifications/vendor/says", "params": {"x": 1}})).await;
            let (answer, _) = agent.ask(20, "vendor/do", json!({"x": 1, "_meta": {"trace": 1}})).await;
            if opened {
                assert_eq!(answer["result"]["done"], true, "{answer}");
                let done = wait_for(&record, "vendor/do", 1).await;
                assert_eq!((&done[0]["params"]["x"], &done[0]["params"]["_meta"]["trace"]), (&json!(1), &json!(1)));
                let said = wait_for(&record, "notifications/vendor/says", 1).await;
                assert_eq!(said[0]["params"]["x"], 1);
            } else {
                assert_eq!(answer["error"]["code"], -32601, "{answer}");
                assert_eq!(got(&record), Vec::<Value>::new());
            }
            assert_eq!(got(&other_record), Vec::<Value>::new());
            let said = json!({"method": "notifications/vendor/said", "count": 1, "params": {"b": 1, "a": 2}});
            let (_, before) = agent.ask(21, "tools/call", json!({"name": "one__notify", "arguments": said})).await;
            // It comes beside the answer: by the next answer it is there.
            let (_, after) = agent.ask(22, "tools/call", json!({"name": "one__echo", "arguments": {}})).await;
            let heard = before.iter().chain(&after).filter(|message| message["method"] == "notifications/vendor/said");
            assert_eq!(heard.count(), usize::from(opened));
            agent.leave().await;
        }
    }
}

/// S10: what is about a resource or a prompt is decided as one; and only where the server declared the extension.
#[tokio::test]
async fn s10_whatever_names_a_resource_or_a_prompt_is_decided_as_one() {
    let fixture = || Scenario { contents: helve_testkit::Contents::Fixture, ..Scenario::modern() };
    for (scenario, declares) in [(fixture(), true), (Scenario::modern(), false)] {
        let (_directory, record, server) = recorded_server(scenario);
        let rules = vec![
            rule("one/skill://greeting/references**", Action::Deny, Some(CallKind::Resource)),
            rule("one/test://static-text", Action::Deny, Some(CallKind::Resource)),
            rule("one/test_prompt_with_arguments", Action::Deny, Some(CallKind::Prompt)),
        ];
        let source = Source { servers: vec![server], rules };
        let mut agent = StreamAgent::alone_with(source, options());
        agent.initialize(json!({})).await;
        let denied = [
            ("resources/directory/read", json!({"uri": "skill://greeting/references"})),
            ("skills/get", json!({"uri": "skill://greeting/references/words.md"})),
            ("resources/subscribe", json!({"uri": "test://static-text"})),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/resource", "uri": "test://static-text"}, "argument": {"name": "a", "value": "b"}}),
            ),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"}, "argument": {"name": "a", "value": "b"}}),
            ),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "x", "uri": "test://static-text"}, "argument": {"name": "a", "value": "b"}}),
            ),
        ];
        for (id, (method, params)) in (1..).zip(denied) {
            let (answer, _) = agent.ask(id, method, params).await;
            assert!(answer.get("error").is_some(), "{method}: {answer}");
        }
        assert_eq!(got(&record), Vec::<Value>::new());
        for (id, (method, params)) in (10..).zip([
            ("skills/list", json!({})),
            ("skills/get", json!({"uri": "skill://greeting/SKILL.md"})),
            ("resources/directory/read", json!({"uri": "skill://greeting"})),
        ]) {
            let (answer, _) = agent.ask(id, method, params).await;
            assert_eq!(answer.get("result").is_some(), declares, "{method}: {answer}");
            assert_eq!(got(&record).iter().any(|message| message["method"] == method), declares, "{method}");
        }
        agent.leave().await;
    }
}

/// S9: what is not JSON is refused to the agent, and the server goes on.
#[tokio::test]
async fn s9_broken_json_reaches_no_server() {
    let (_directory, record, server) = recorded_server(Scenario::legacy());
    let rules = vec![rule("*", Action::Allow, None), method_rule("one/vendor/*")];
    let mut agent = StreamAgent::alone_with(Source { servers: vec![server], rules }, options());
    agent.initialize(json!({"roots": {"listChanged": true}})).await;
    for (method, params) in [
        ("tools/call", r#"{"name":"echo","arguments":{},"_meta":{"a":bogus}}"#),
        ("tools/call", r#"{"name":"echo","arguments":{},"more":{"a":01}}"#),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":tru}}"#,
        ),
        ("vendor/do", r#"{"a":nul}"#),
        ("vendor/do", r#"{"a":1,"a":2}"#),
    ] {
        agent.send_text(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)).await;
        let answer = agent.next().await;
        assert_eq!((&answer["id"], answer.get("result")), (&json!(1), None), "{answer}");
    }
    for method in ["notifications/roots/list_changed", "vendor/says"] {
        agent.send_text(&format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"a":bogus}}}}"#)).await;
    }
    agent.ask(2, "tools/call", json!({"name": "echo", "arguments": {}})).await;
    assert_eq!(got(&record).len(), 1, "{:?}", got(&record));
    agent.leave().await;
}

/// S23: whatever a reserved key is written with, it does not reach the server.
#[tokio::test]
async fn s23_reserved_keys_are_read_before_they_are_compared() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let (_directory, record, server) = recorded_server(scenario);
        let source = Source { servers: vec![server], rules: vec![rule("*", Action::Allow, None)] };
        let mut agent = StreamAgent::alone_with(source, options());
        agent.initialize(json!({})).await;
        let meta =
            r#"{"progress\u0054oken":77,"io.modelcontextprotocol\/clientInfo":{"name":"forged"},"trace":"kept"}"#;
        let params = format!(r#"{{"name":"echo","arguments":{{}},"_meta":{meta}}}"#);
        agent.send_text(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)).await;
        let answer = agent.next().await;
        assert!(answer.get("result").is_some(), "{answer}");
        let frames = Recording::load(&record).unwrap().frames();
        let call = frames.iter().find(|frame| frame.contains("tools/call")).unwrap();
        assert!(call.contains("kept") && !call.contains("forged") && !call.contains("77"), "{call}");
        assert_eq!(call.matches("progress").count(), 1, "{call}");
        agent.leave().await;
    }
}

/// S24: a state that was given for one resource is none for another, whatever else stands in both requests.
#[tokio::test]
async fn s24_a_state_is_for_what_the_method_is_about() {
    let asks = "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{},\"requestState\":\"mine\"}}\n";
    let (_directory, record, server) = recorded_server(Scenario::modern().scripted("resources/read", asks));
    let mut agent = StreamAgent::alone_with(Source { servers: vec![server], rules: Vec::new() }, options());
    let params = |uri: &str, state: Option<&Value>| {
        let mut params = json!({"uri": uri, "name": "the same", "_meta": modern_meta(everything())});
        if let Some(state) = state {
            params["requestState"] = state.clone();
        }
        params
    };
    let (asked, _) = agent.ask(1, "resources/read", params("m://a", None)).await;
    let state = asked["result"]["requestState"].clone();
    assert!(state.is_string(), "{asked}");
    let (other, _) = agent.ask(2, "resources/read", params("m://b", Some(&state))).await;
    assert_eq!(other["error"]["code"], -32602, "{other}");
    let (same, _) = agent.ask(3, "resources/read", params("m://a", Some(&state))).await;
    assert!(same.get("result").is_some(), "{same}");
    let read: Vec<Value> = wait_for(&record, "resources/read", 2).await;
    assert!(read.iter().all(|message| message["params"]["uri"] == "m://a"), "{read:?}");
    agent.leave().await;
}

/// What a server writes byte for byte in answer to a call.
fn raw(result: &str) -> Value {
    json!({"name": "raw", "arguments": {"text": format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,{result}}}\n")}})
}

/// S25: results, questions and pages that the protocol does not have are errors, and no agent sees them.
#[tokio::test]
async fn s25_what_a_server_asks_is_checked() {
    let asked = |method: &str, params: &str| {
        format!(
            r#""result":{{"resultType":"input_required","inputRequests":{{"q":{{"method":"{method}","params":{params}}}}},"requestState":"s"}}"#
        )
    };
    let page = |url: &str| format!(r#"{{"mode":"url","message":"?","elicitationId":"e","url":"{url}"}}"#);
    let mut answers = vec![
        asked("tools/call", r#"{"name":"danger","arguments":{}}"#),
        asked("resources/read", r#"{"uri":"test://text"}"#),
        asked("elicitation/Create", "{}"),
        r#""result":{"resultType":"surprise","content":[]}"#.to_owned(),
        r#""result":{"resultType":"task","taskId":"t"}"#.to_owned(),
        r#""result":{"resultType":"complete","resultType":"input_required","inputRequests":{}}"#.to_owned(),
        r#""result":{"resultType":"input_required","inputRequests":{"q":{"method":"roots/list"},"q":{"method":"tools/call"}}}"#.to_owned(),
        asked("elicitation/create", r#"{"mode":"telepathy","message":"?"}"#),
        asked("elicitation/create", r#"{"message":"?","url":"javascript:alert(1)"}"#),
    ];
    for url in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https:\\u002f\\u002fgood.example@evil.example",
        "data:text/html,x",
    ] {
        answers.push(asked("elicitation/create", &page(url)));
        answers
            .push(format!(r#""error":{{"code":-32042,"message":"visit","data":{{"elicitations":[{}]}}}}"#, page(url)));
    }
    let (_directory, _record, server) = recorded_server(Scenario::modern());
    let source = Source { servers: vec![server], rules: vec![rule("*", Action::Allow, None)] };
    let mut agent = StreamAgent::alone_with(source, options());
    for (id, answer) in (1..).zip(&answers) {
        let mut params = raw(answer);
        params["_meta"] = modern_meta(everything());
        let (got, _) = agent.ask(id, "tools/call", params).await;
        assert_eq!(got["error"]["data"]["code"], "PROTOCOL_ERROR", "{answer}: {got}");
    }
    // What the protocol has gets through.
    let mut params = raw(&asked("elicitation/create", &page("https://good.example/x")));
    params["_meta"] = modern_meta(everything());
    let (answer, _) = agent.ask(100, "tools/call", params).await;
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    agent.leave().await;

    // An agent of the other era is asked by requests.
    let (_directory, record, server) = recorded_server(Scenario::legacy());
    let source = Source { servers: vec![server], rules: vec![rule("*", Action::Allow, None)] };
    let mut agent = StreamAgent::alone_with(source, options());
    agent.initialize(everything()).await;
    for (id, (method, params)) in (1..).zip([
        ("elicitation/create", page("javascript:alert(1)")),
        ("elicitation/create", page("file:///etc/passwd")),
        ("tools/call", r#"{"name":"danger"}"#.to_owned()),
        ("sampling/createMessage", r#"{"messages":bogus}"#.to_owned()),
    ]) {
        let question = format!(r#"{{"jsonrpc":"2.0","id":"q{id}","method":"{method}","params":{params}}}"#);
        let text = format!("{question}\n{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{{\"content\":[]}}}}\n");
        let (_, before) = agent.ask(id, "tools/call", json!({"name": "raw", "arguments": {"text": text}})).await;
        let (_, after) = agent.ask(id + 100, "ping", json!({})).await;
        assert_eq!(before.iter().chain(&after).collect::<Vec<_>>(), Vec::<&Value>::new(), "{question}");
    }
    let deadline = tokio::time::Instant::now() + DEADLINE;
    while got(&record).iter().filter(|message| message.get("error").is_some()).count() < 4 {
        assert!(tokio::time::Instant::now() < deadline, "{:?}", got(&record));
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    agent.leave().await;
}

/// S25: an answer that is not JSON reaches no server.
#[tokio::test]
async fn s25_a_broken_answer_reaches_no_server() {
    let (_directory, record, server) = recorded_server(Scenario::legacy());
    let source = Source { servers: vec![server], rules: vec![rule("*", Action::Allow, None)] };
    let mut agent = StreamAgent::alone_with(source, options());
    agent.initialize(everything()).await;
    let call = json!({"name": "ask", "arguments": {"kind": "form", "rounds": 1}});
    agent.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})).await;
    loop {
        let message = agent.next().await;
        if message["method"] == "elicitation/create" {
            let id = &message["id"];
            agent
                .send_text(&format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"accept","content":{{"x":bogus}}}}}}"#
                ))
                .await;
        } else if message["id"] == 1 {
            break;
        }
    }
    let frames = Recording::load(&record).unwrap().frames();
    assert!(!frames.iter().any(|frame| frame.contains("bogus")), "{frames:?}");
    agent.leave().await;
}
