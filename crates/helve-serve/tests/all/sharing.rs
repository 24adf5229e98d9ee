//! Several agents at once: what is each one's alone, what they share, and what one of them can cost the others.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use helve_model::{Action, CallKind};
use helve_serve::face::http::{Guard, HttpFace};
use helve_serve::{Gateway, Limits, Options};
use helve_testkit::Scenario;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::http_agent::{HttpAgent, Messages};
use crate::support::{DEADLINE, answer_to, call, everything, http_server, rule, ruled, serve, stdio_server};

async fn tool_names(agent: &HttpAgent, id: u64) -> Vec<String> {
    let (list, _) = agent.ask(id, "tools/list", json!({})).await;
    let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("{list}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Calls `one__echo`; whoever is asked whether it may run says this. Gives the result, and how often somebody was asked.
async fn echo_deciding(agent: &HttpAgent, id: u64, decision: &str) -> (Value, usize) {
    let message =
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call("one__echo", json!({"x": id}))});
    let mut messages = Messages::new(agent.post(&message, &[]).await);
    let mut asked = 0;
    loop {
        let message = messages.next().await.expect("the stream ended without an answer");
        if message["method"] == "elicitation/create" {
            asked += 1;
            let answer = json!({"action": "accept", "content": {"decision": decision}});
            agent.post(&json!({"jsonrpc": "2.0", "id": message["id"], "result": answer}), &[]).await;
        } else if message["id"] == id {
            return (message["result"].clone(), asked);
        }
    }
}

pub(crate) async fn delete(agent: &HttpAgent) {
    let request = http::Request::delete("/mcp")
        .header("host", "localhost")
        .header("mcp-session-id", agent.session.as_ref().unwrap())
        .body(http_body_util::Full::new(bytes::Bytes::new()))
        .unwrap();
    assert!(agent.face.handle(request, agent.peer).await.status().is_success());
}

/// How many processes there are of the server that records here.
pub(crate) fn processes(record: &Path) -> usize {
    let marker = record.to_string_lossy().into_owned();
    let is_ours = |process: &u32| {
        let line = fs_err::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&marker)
    };
    helve_testkit::descendants_of(std::process::id()).iter().filter(|process| is_ours(process)).count()
}

pub(crate) async fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is_true() {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_changed_plan_reaches_the_servers_of_every_agent() {
    let one = stdio_server("one", &Scenario::legacy());
    let (gateway, face) = serve(ruled(vec![one.clone()], vec![]), Limits::default()).await;
    let mut old = HttpAgent::new(&face, 1);
    old.initialize(json!({})).await;
    let (echoed, _) = old.ask(1, "tools/call", call("one__echo", json!({"x": 1}))).await;
    assert_eq!(echoed["result"]["structuredContent"], json!({"x": 1}), "{echoed}");

    let two = stdio_server("two", &Scenario::legacy());
    let changed = ruled(vec![one, two.clone()], vec![rule("one/echo", Action::Deny, None)]);
    gateway.set_servers(changed.plan()).await;
    let mut new = HttpAgent::new(&face, 2);
    new.initialize(json!({})).await;
    for agent in [&old, &new] {
        let (added, _) = agent.ask(2, "tools/call", call("two__echo", json!({"x": 2}))).await;
        assert_eq!(added["result"]["structuredContent"], json!({"x": 2}), "{added}");
        let (other, _) = agent.ask(3, "tools/call", call("one__fail", json!({"message": "no"}))).await;
        assert_eq!(other["result"]["isError"], true, "{other}");
        let (denied, _) = agent.ask(4, "tools/call", call("one__echo", json!({"x": 3}))).await;
        assert_eq!(denied["error"]["message"], "Unknown tool: one__echo", "{denied}");
        assert!(!tool_names(agent, 5).await.contains(&"one__echo".to_owned()));
    }

    gateway.set_servers(ruled(vec![two], vec![]).plan()).await;
    let (removed, _) = old.ask(6, "tools/call", call("one__fail", json!({}))).await;
    assert_eq!(removed["error"]["message"], "Unknown tool: one__fail", "{removed}");
    assert!(tool_names(&new, 7).await.iter().all(|name| name.starts_with("two__")));
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn a_yes_until_the_agent_ends_is_that_agents_alone() {
    let mut one = stdio_server("one", &Scenario::legacy());
    one.shared = Some(true);
    let source = ruled(vec![one], vec![rule("one/echo", Action::Ask, None)]);
    let (gateway, face) = serve(source, Limits::default()).await;
    let mut agents = Vec::new();
    for connection in 1..4 {
        let mut agent = HttpAgent::new(&face, connection);
        agent.initialize(if connection == 3 { json!({}) } else { json!({"elicitation": {}}) }).await;
        agents.push(agent);
    }
    let (yes, asked) = echo_deciding(&agents[0], 1, "until the agent ends").await;
    assert_eq!((&yes["structuredContent"], asked), (&json!({"x": 1}), 1), "{yes}");
    let (again, asked) = echo_deciding(&agents[0], 2, "no").await;
    assert_eq!((&again["structuredContent"], asked), (&json!({"x": 2}), 0), "{again}");
    let (other, asked) = echo_deciding(&agents[1], 3, "no").await;
    assert_eq!((&other["isError"], asked), (&json!(true), 1), "another agent's yes counts: {other}");
    delete(&agents[0]).await;
    let (late, asked) = echo_deciding(&agents[2], 4, "no").await;
    assert_eq!((&late["isError"], asked), (&json!(true), 0), "the yes outlived its agent: {late}");
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn one_user_is_only_so_many_agents() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let one = stdio_server("one", &Scenario::legacy().record_to(&record));
    let limits = Limits { agents_per_principal: 3, ..Limits::default() };
    let (gateway, face) = serve(ruled(vec![one], vec![]), limits).await;
    let agent = HttpAgent::new(&face, 1);
    let echo = call("one__echo", json!({}));
    for number in 0..8 {
        let capabilities = json!({"extensions": {"x/y": {"number": number}}});
        let (echoed, _) = agent.modern(number, "tools/call", echo.clone(), &capabilities).await;
        assert!(echoed["result"]["content"].is_array(), "{echoed}");
    }
    // The shared one, and those of three agents.
    until("four processes", || processes(&record) == 4).await;
    // What nobody knows makes no other agent.
    for number in 0..8 {
        let capabilities = json!({"extensions": {"x/y": {"number": 7}}, "nonsense": number});
        agent.modern(number, "tools/call", echo.clone(), &capabilities).await;
    }
    // One that is ending may still be seen; one too many would stay.
    until("four processes still", || processes(&record) == 4).await;
    let large = json!({"extensions": {"x/y": "x".repeat(100_000)}});
    let (refused, _) = agent.modern(9, "tools/list", json!({}), &large).await;
    insta::assert_snapshot!(refused["error"], @r#"{"code":-32602,"message":"clientCapabilities has 100025 bytes: no more than 16384 are taken"}"#);
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn one_user_has_only_so_many_servers_of_his_own() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let one = stdio_server("one", &Scenario::legacy().record_to(&record));
    let limits = Limits { own_hosts_per_principal: 2, ..Limits::default() };
    let (gateway, face) = serve(ruled(vec![one], vec![]), limits).await;
    let mut agents = Vec::new();
    for number in 0..4 {
        let mut agent = HttpAgent::new(&face, number);
        agent.peer.user = Some(1000);
        agent.initialize(json!({})).await;
        agents.push(agent);
    }
    // Each is idle when the next comes, and gets servers again when it comes back.
    for round in 0..2 {
        for agent in &agents {
            let (echoed, _) = agent.ask(round, "tools/call", call("one__echo", json!({"x": 1}))).await;
            assert_eq!(echoed["result"]["structuredContent"], json!({"x": 1}), "{echoed}");
        }
    }
    until("three processes", || processes(&record) == 3).await;
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn an_agent_that_listens_is_not_idle() {
    let limits = Limits { agents_per_principal: 1, ..Limits::default() };
    let (gateway, face) = serve(ruled(vec![stdio_server("one", &Scenario::legacy())], vec![]), limits).await;
    let agent = HttpAgent::new(&face, 1);
    let wanted = json!({"notifications": {"resourceSubscriptions": ["test://watched"]}});
    let mut stream = Messages::new(agent.modern_response(1, "subscriptions/listen", wanted, &json!({})).await);
    let acknowledged = stream.next().await.unwrap();
    assert_eq!(acknowledged["params"]["notifications"]["resourceSubscriptions"], json!(["test://watched"]));
    let (refused, _) = agent.modern(2, "tools/list", json!({}), &everything()).await;
    insta::assert_snapshot!(refused["error"], @r#"{"code":-32000,"message":"the same user or token is too many agents at once: try again later"}"#);
    // It still hears what happens, and may go when it has hung up.
    let (touched, _) = agent.modern(3, "tools/call", call("one__touch", json!({})), &json!({})).await;
    assert!(touched["result"].is_object(), "{touched}");
    assert_eq!(stream.next().await.unwrap()["method"], "notifications/resources/updated");
    drop(stream);
    let (listed, _) = agent.modern(4, "tools/list", json!({}), &everything()).await;
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn a_server_that_does_not_list_keeps_nobody_waiting() {
    let silent = Scenario::legacy().scripted("resources/list", "").scripted("prompts/list", "");
    let servers = vec![stdio_server("one", &Scenario::legacy()), stdio_server("silent", &silent)];
    let (gateway, face) = serve(ruled(servers, vec![]), Limits::default()).await;
    let mut agent = HttpAgent::new(&face, 1);
    agent.initialize(json!({})).await;
    for (id, method, key) in [(1, "resources/list", "resources"), (2, "prompts/list", "prompts")] {
        let (first, _) = agent.ask(id, method, json!({})).await;
        assert!(first["result"][key].as_array().is_some_and(|list| !list.is_empty()), "{first}");
        // It is waited for once.
        let started = Instant::now();
        for again in 0..5 {
            agent.ask(id * 10 + again, method, json!({})).await;
        }
        assert!(started.elapsed() < Duration::from_secs(2), "{method}: {:?}", started.elapsed());
    }
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn lists_wait_once_for_servers_that_do_not_come() {
    let servers =
        vec![stdio_server("one", &Scenario::legacy()), stdio_server("mute", &Scenario::legacy().never_answers())];
    let options = Options::default().with(|options| options.wait = Some(Duration::from_millis(500)));
    let gateway = Gateway::shared(Arc::new(ruled(servers, vec![])), options).await.unwrap();
    gateway.host().ready("one", DEADLINE).await.unwrap();
    let face = Arc::new(HttpFace::new(Arc::clone(&gateway), Guard::default()));
    let mut agent = HttpAgent::new(&face, 1);
    agent.initialize(json!({})).await;
    let (resources, _) = agent.ask(1, "resources/list", json!({})).await;
    assert!(resources["result"]["resources"].as_array().is_some_and(|list| !list.is_empty()), "{resources}");
    let started = Instant::now();
    for id in 2..8 {
        agent.ask(id, if id % 2 == 0 { "tools/list" } else { "resources/list" }, json!({})).await;
    }
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn a_question_finds_its_agent_while_another_call_is_open() {
    let (gateway, face) = serve(ruled(vec![stdio_server("one", &Scenario::legacy())], vec![]), Limits::default()).await;
    let agent = HttpAgent::new(&face, 1);
    let sleeping = call("one__sleep", json!({"ms": 60_000}));
    // Open for longer than a moment: it is a stream.
    let open = agent.modern_response(1, "tools/call", sleeping, &everything()).await;
    let ask = call("one__ask", json!({"kind": "form"}));
    let mut session = HttpAgent::new(&face, 2);
    session.initialize(everything()).await;
    let slept =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("one__sleep", json!({"ms": 60_000}))});
    let open_too = session.post(&slept, &[]).await;
    let (asked, questions) = session.ask(2, "tools/call", ask.clone()).await;
    assert!(asked["result"].to_string().contains("the agent's answer"), "{asked}: {questions:?}");
    drop((open, open_too));
    gateway.host().shutdown().await;
}

/// A modern agent is whoever has its token and can do the same: a server that does not say for which call it asks asks
/// nobody while more than one is open, or may be (S21).
#[tokio::test]
async fn s21_a_question_is_not_put_to_another_client() {
    let (gateway, face) = serve(ruled(vec![stdio_server("one", &Scenario::legacy())], vec![]), Limits::default()).await;
    let (one, two) = (HttpAgent::new(&face, 1), HttpAgent::new(&face, 1));
    let open = one.modern_response(1, "tools/call", call("one__sleep", json!({"ms": 60_000})), &everything()).await;
    let ask = call("one__ask", json!({"kind": "form"}));
    let (refused, _) = two.modern(2, "tools/call", ask.clone(), &everything()).await;
    let said = refused.to_string();
    assert!(said.contains("nobody was asked") && !said.contains("input_required"), "{said}");
    drop(open);
    gateway.host().shutdown().await;
}

/// A yes is a client's: where several may be behind an agent, none is offered that lasts (S21).
#[tokio::test]
async fn s21_a_yes_of_one_client_is_not_anothers() {
    let mut one = stdio_server("one", &Scenario::legacy());
    one.shared = Some(true);
    let (gateway, face) = serve(ruled(vec![one], vec![rule("one/echo", Action::Ask, None)]), Limits::default()).await;
    let agent = HttpAgent::new(&face, 1);
    let echo = call("one__echo", json!({"x": 1}));
    for id in 1..3 {
        let (asked, _) = agent.modern(id, "tools/call", echo.clone(), &everything()).await;
        let question = asked["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("not asked: {asked}"));
        let (key, form) = question.iter().next().unwrap();
        let choices = &form["params"]["requestedSchema"]["properties"]["decision"]["enum"];
        assert_eq!(*choices, json!(["once", "no"]));
        let mut answered = echo.clone();
        let yes = json!({"action": "accept", "content": {"decision": "until the agent ends"}});
        answered["inputResponses"] = json!({key.clone(): yes});
        answered["requestState"] = asked["result"]["requestState"].clone();
        let (done, _) = agent.modern(id + 10, "tools/call", answered, &everything()).await;
        assert_eq!(done["result"]["structuredContent"], json!({"x": 1}), "{done}");
    }
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn a_question_finds_its_agent_by_result() {
    let (gateway, face) = serve(ruled(vec![stdio_server("one", &Scenario::legacy())], vec![]), Limits::default()).await;
    let agent = HttpAgent::new(&face, 1);
    let ask = call("one__ask", json!({"kind": "form"}));
    let (asked, _) = agent.modern(2, "tools/call", ask.clone(), &everything()).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let mut answered = ask;
    let key = asked["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    answered["inputResponses"] = json!({key: answer_to("elicitation/create")});
    answered["requestState"] = asked["result"]["requestState"].clone();
    let (done, _) = agent.modern(3, "tools/call", answered, &everything()).await;
    assert!(done["result"].to_string().contains("the agent's answer"), "{done}");
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn what_an_agent_can_do_is_told_before_it_lists() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let one = stdio_server("one", &Scenario::legacy().record_to(&record));
    let (gateway, face) = serve(ruled(vec![one], vec![]), Limits::default()).await;
    let mut plain = HttpAgent::new(&face, 1);
    plain.initialize(json!({})).await;
    tool_names(&plain, 1).await;
    assert_eq!(processes(&record), 1, "an agent that can do nothing sees what everybody sees");
    let mut able = HttpAgent::new(&face, 2);
    able.initialize(everything()).await;
    tool_names(&able, 1).await;
    let recorded = fs_err::read_to_string(&record).unwrap();
    assert!(recorded.contains("sampling"), "the list was made before the server knew: {recorded}");
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn the_log_level_is_told_to_servers_that_come_later() {
    let (gateway, face) = serve(ruled(vec![stdio_server("one", &Scenario::legacy())], vec![]), Limits::default()).await;
    let mut agent = HttpAgent::new(&face, 1);
    agent.initialize(json!({})).await;
    agent.ask(1, "logging/setLevel", json!({"level": "error"})).await;
    let levels = async |id: u64| {
        let (recorded, _) = agent.ask(id, "tools/call", call("one__recorded", json!({}))).await;
        recorded["result"].to_string().matches("logging/setLevel").count()
    };
    assert!(levels(2).await > 0, "a server that was started later was not told");
    // It ends, and the next one is told too.
    agent.ask(3, "tools/call", call("one__exit", json!({"status": 9}))).await;
    assert!(levels(4).await > 0, "a server that was started again was not told");
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn one_agent_leaves_room_for_others_at_a_server_they_share() {
    let (gateway, face) = serve(ruled(vec![stdio_server("one", &Scenario::modern())], vec![]), Limits::default()).await;
    let greedy = Arc::new(HttpAgent::new(&face, 1));
    let mut open = Vec::new();
    for id in 0..100 {
        let (greedy, sleep) = (Arc::clone(&greedy), call("one__sleep", json!({"ms": 60_000})));
        open.push(tokio::spawn(async move { greedy.modern_response(id, "tools/call", sleep, &json!({})).await }));
    }
    let mut streams = Vec::new();
    for response in open {
        streams.push(response.await.unwrap());
    }
    let other = HttpAgent::new(&face, 2);
    let echoed = timeout(DEADLINE, other.modern(1, "tools/call", call("one__echo", json!({"x": 1})), &json!({}))).await;
    let (echoed, _) = echoed.expect("another agent does not get its turn");
    assert_eq!(echoed["result"]["structuredContent"], json!({"x": 1}), "{echoed}");
    drop(streams);
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn what_may_not_be_read_or_got_is_not_listed() {
    let rules = vec![
        rule("one/test://text", Action::Deny, Some(CallKind::Resource)),
        rule("one/greet", Action::Deny, Some(CallKind::Prompt)),
    ];
    let (gateway, face) = serve(ruled(vec![stdio_server("one", &Scenario::legacy())], rules), Limits::default()).await;
    let mut agent = HttpAgent::new(&face, 1);
    agent.initialize(json!({})).await;
    let (resources, _) = agent.ask(1, "resources/list", json!({})).await;
    let listed = resources["result"].to_string();
    assert!(listed.contains("test://binary") && !listed.contains("test://text"), "{listed}");
    let (prompts, _) = agent.ask(2, "prompts/list", json!({})).await;
    let listed = prompts["result"].to_string();
    assert!(prompts["result"]["prompts"].is_array() && !listed.contains("one__greet"), "{listed}");
    let argument = json!({"name": "who", "value": ""});
    let subject = json!({"type": "ref/prompt", "name": "one__greet"});
    let (refused, _) = agent.ask(3, "completion/complete", json!({"ref": subject, "argument": argument})).await;
    assert_eq!(refused["error"]["message"], "Unknown prompt: one__greet", "{refused}");
    let (refused, _) = agent.ask(4, "resources/read", json!({"uri": "test://text"})).await;
    // Which file and line says so is not an agent's business.
    insta::assert_snapshot!(refused["error"]["message"], @r#""`one/test://text` is refused (DENIED): it is not allowed by the person's rules""#);
    insta::assert_snapshot!(refused["error"]["data"]["hints"], @"[]");
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn another_agents_subscription_cannot_be_reached() {
    let (gateway, face) = serve(ruled(vec![stdio_server("one", &Scenario::legacy())], vec![]), Limits::default()).await;
    let (mut owner, mut other) = (HttpAgent::new(&face, 1), HttpAgent::new(&face, 2));
    owner.initialize(json!({})).await;
    other.initialize(json!({})).await;
    let mut stream = Messages::new(owner.get(&[]).await);
    let watched = json!({"uri": "test://watched"});
    assert_eq!(owner.ask(1, "resources/subscribe", watched.clone()).await.0["result"], json!({}));
    assert_eq!(other.ask(1, "resources/unsubscribe", watched).await.0["result"], json!({}));
    owner.ask(2, "tools/call", call("one__touch", json!({}))).await;
    let updated = loop {
        let message = stream.next().await.unwrap();
        if message["method"] == "notifications/resources/updated" {
            break message;
        }
    };
    assert_eq!(updated["params"]["uri"], "test://watched");
    gateway.host().shutdown().await;
}

/// Agents that come, call and leave, leave nothing.
#[tokio::test]
async fn a_thousand_agents_leave_nothing() {
    let listening = Scenario::legacy().serve_http().await.unwrap();
    let mut one = http_server("one", listening.url());
    one.shared = Some(false);
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let two = stdio_server("two", &Scenario::legacy().record_to(&record));
    let (gateway, face) = serve(ruled(vec![one, two], vec![]), Limits::default()).await;
    let visit = async |connection: u64, tool: &str| {
        let mut agent = HttpAgent::new(&face, connection);
        agent.initialize(json!({})).await;
        let (echoed, _) = agent.ask(1, "tools/call", call(tool, json!({"x": 1}))).await;
        assert_eq!(echoed["result"]["structuredContent"], json!({"x": 1}), "{echoed}");
        delete(&agent).await;
    };
    visit(0, "one__echo").await;
    visit(1, "two__echo").await;
    until("one process", || processes(&record) == 1).await;
    let files = || helve_testkit::open_fds(std::process::id()).unwrap();
    let memory = || helve_testkit::rss_bytes(std::process::id()).unwrap();
    let (files_before, memory_before) = (files(), memory());
    for connection in 2..1_000 {
        visit(connection, if connection % 50 == 0 { "two__echo" } else { "one__echo" }).await;
    }
    assert_eq!(face.sessions(), 0);
    until("one process", || processes(&record) == 1).await;
    until("as many files as before", || files() <= files_before + FILES_OF_OTHER_TESTS).await;
    assert!(memory() < memory_before + MEMORY_OF_OTHER_TESTS, "{} bytes more", memory() - memory_before);
    gateway.host().shutdown().await;
}

/// What other tests of this process may use meanwhile.
const FILES_OF_OTHER_TESTS: usize = 400;
const MEMORY_OF_OTHER_TESTS: u64 = 256 << 20;
