//! What an agent gets through helve that it would get directly: arguments, answers and reasons arrive as they were meant.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use helve::{ApproveAll, Host, HostSettings};
use helve_model::{
    Action, ConfigText, Layer, Origin, Rule, ServerName, ServerSpec, StdioSpec, TransportSpec, Validation,
};
use helve_policy::{SourcedRule, Trust};
use helve_serve::{Gateway, Naming, Options};
use helve_testkit::{Recording, Scenario, peer_program};
use indexmap::IndexMap;
use serde_json::{Value, json};

use crate::support::{DEADLINE, StreamAgent, everything, gateway, host, modern_meta, open, stdio_server};

/// A server whose tools want a `path` that is a string and a `count` that is an integer, and give back what they got.
fn demanding() -> ServerSpec {
    stdio_server("one", &Scenario::dual().hide_builtin_tools().generated_tools(2, 500))
}

async fn call(agent: &mut StreamAgent, era: &str, params: &str) -> Value {
    let params: Value = match era {
        "legacy" => serde_json::from_str(params).unwrap(),
        _ => {
            let mut params: Value = serde_json::from_str(params).unwrap();
            params["_meta"] = modern_meta(json!({}));
            params
        }
    };
    agent.ask(1, "tools/call", params).await.0
}

/// G9: what frameworks send all the time, and servers understand, is the server's to judge.
#[tokio::test]
async fn g9_a_server_judges_the_arguments_of_an_agents_call() {
    for era in ["legacy", "modern"] {
        let host = host(vec![demanding()]).await;
        let gateway = gateway(&host, Naming::Mcp);
        let mut agent = StreamAgent::connect(&gateway);
        if era == "legacy" {
            agent.initialize(json!({})).await;
        }
        for arguments in [r#"{"path":"p","count":"3"}"#, r#"{"count":0.5}"#, r#"{"more":1,"path":null}"#] {
            let params = format!(r#"{{"name":"mcp__one__gen_0","arguments":{arguments}}}"#);
            let answer = call(&mut agent, era, &params).await;
            let judged: Value = serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
            let sent: Value = serde_json::from_str(arguments).unwrap();
            assert_eq!(judged, sent, "{era}: {answer}");
            assert_ne!(answer["result"]["isError"], true, "{era}: {answer}");
        }
        host.shutdown().await;
    }
}

/// G9: the bytes are those the agent wrote.
#[tokio::test]
async fn g9_arguments_arrive_as_they_were_written() {
    let host = host(vec![demanding()]).await;
    let gateway = gateway(&host, Naming::None);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({})).await;
    let written = r#"{ "z":1.0, "count" : "3","path":"\u0041", "a":[ ] }"#;
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"gen_1","arguments":ARGS}}"#;
    agent.send_text(&call.replace("ARGS", written)).await;
    let answer = agent.next().await;
    assert_eq!(answer["result"]["content"][0]["text"], written, "{answer}");
    host.shutdown().await;
}

/// G9: a file that promises a check gets one, and so does the host that asks for one; the agent hears of its own name for
/// the tool and of nothing it cannot do.
#[tokio::test]
async fn g9_a_strict_server_refuses_in_the_agents_words() {
    let strict = HostSettings::default().with(|settings| settings.validation = Some(Validation::Strict));
    for (of_server, settings) in [(Some(Validation::Strict), HostSettings::default()), (None, strict)] {
        let server = demanding().with(|spec| spec.validation = of_server);
        let settings = settings.with(|settings| settings.schema_cache_ttl = None);
        let host = Host::builder().settings(settings).approver(ApproveAll).server(server).start().await.unwrap();
        assert!(host.settled(DEADLINE).await);
        let gateway = gateway(&host, Naming::Mcp);
        let mut agent = StreamAgent::connect(&gateway);
        agent.initialize(json!({})).await;
        let params = r#"{"name":"mcp__one__gen_0","arguments":{"path":"p","count":"3"}}"#;
        let answer = call(&mut agent, "legacy", params).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(answer["result"]["content"][0]["text"].as_str().unwrap(), @r#"
            invalid arguments for mcp__one__gen_0: 1 problem
              /count: expected integer, got "3"
            usage: mcp__one__gen_0(path: string, count?: integer)
            "#);
        }
        host.shutdown().await;
    }
}

/// G9: rules see arguments that no schema has looked at, and a refusal names the tool as the agent knows it.
#[tokio::test]
async fn g9_rules_see_arguments_that_are_not_checked() {
    let deny = Rule {
        pattern: Some("path=secret*".to_owned()),
        ..Rule::new("one/*", Action::Deny, Origin::Program, Layer::User)
    };
    let allow = Rule { pattern: None, action: Action::Allow, ..deny.clone() };
    let rules = [deny, allow].map(|rule| SourcedRule { rule, trust: Trust::Trusted });
    let settings = HostSettings::default().with(|settings| settings.schema_cache_ttl = None);
    let host = Host::builder().settings(settings).rules(rules.to_vec()).server(demanding()).start().await.unwrap();
    assert!(host.settled(DEADLINE).await);
    let gateway = gateway(&host, Naming::Mcp);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({})).await;
    let params = r#"{"name":"mcp__one__gen_0","arguments":{"path":"secrets","count":"3"}}"#;
    let refused = call(&mut agent, "legacy", params).await;
    let told = "`mcp__one__gen_0` is refused (DENIED): it is not allowed by the person's rules";
    assert_eq!(refused["result"]["content"][0]["text"], told);
    let params = r#"{"name":"mcp__one__gen_0","arguments":{"path":"open","count":"3"}}"#;
    let answer = call(&mut agent, "legacy", params).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"path": "open", "count": "3"}), "{answer}");
    host.shutdown().await;
}

/// A server that is a shell script.
fn script(directory: &Path, text: &str) -> ServerSpec {
    let program = directory.join("server");
    fs_err::write(&program, text).unwrap();
    let transport = TransportSpec::Stdio(StdioSpec {
        command: ConfigText::literal("/bin/sh"),
        arguments: vec![ConfigText::literal(program.to_string_lossy())],
        environment: IndexMap::new(),
        working_directory: None,
    });
    ServerSpec::new(ServerName::new("one").unwrap(), transport, Origin::Program, Layer::User)
}

/// What an agent is told, without the time that is left.
fn told(error: &Value) -> String {
    let wait = error["data"]["retryAfterMs"].as_u64().unwrap_or_else(|| panic!("when it is tried again: {error}"));
    assert!(wait < 120_000, "{error}");
    let (before, after) = error["message"].as_str().unwrap().split_once("tried again in ").expect("when");
    let (_, after) = after.split_once(" s").unwrap();
    let (data, message) = (&error["data"], format!("{before}tried again in N s{after}"));
    format!("{message}\n{} of {}, may have run: {}", data["code"], data["server"], data["may_have_run"])
}

/// G2: what a server has stays known while it is down, and a call is told why it cannot be made.
#[tokio::test]
async fn g2_a_server_that_is_down_says_why_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let peer = peer_program();
    // Started once; from then on it only says why not.
    let server = script(
        directory.path(),
        &format!(
            "test -e {0}/once && {{ echo warming up >&2; echo no database at port 5432 >&2; exit 3; }}\ntrue > {0}/once\nexec {1} '{{\"era\":\"legacy\"}}'\n",
            directory.path().display(),
            peer.display()
        ),
    );
    let host = host(vec![server]).await;
    let gateway = gateway(&host, Naming::Server);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({})).await;
    let (died, _) = agent.ask(1, "tools/call", json!({"name": "one__exit", "arguments": {}})).await;
    assert_eq!(died["error"]["data"]["may_have_run"], true, "{died}");

    // The first restart is waited for, and fails; from then on nobody waits.
    let (first, _) = agent.ask(2, "tools/call", json!({"name": "one__echo", "arguments": {}})).await;
    insta::assert_snapshot!(told(&first["error"]), @r#"
    the server `one` is not available; it is tried again in N s; its last words: no database at port 5432
    "SERVER_UNAVAILABLE" of "one", may have run: false
    "#);
    let asked = Instant::now();
    let (second, _) = agent.ask(3, "tools/call", json!({"name": "one__echo", "arguments": {}})).await;
    assert_eq!(told(&second["error"]), told(&first["error"]));
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());

    // It is listed as before: nothing about what it has is known to have changed.
    let (list, before) = agent.ask(4, "tools/list", json!({})).await;
    assert!(list["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "one__echo"), "{list}");
    assert_eq!(before, Vec::<Value>::new());

    // It is back as soon as it can be.
    fs_err::remove_file(directory.path().join("once")).unwrap();
    host.reconnect_server("one").await.unwrap();
    let (answer, _) = agent.ask(5, "tools/call", json!({"name": "one__echo", "arguments": {"n": 1}})).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"n": 1}), "{answer}");
    host.shutdown().await;
}

/// G2: a server that was never there is not a tool that was never there.
#[tokio::test]
async fn g2_a_tool_of_a_server_that_never_started_is_not_unknown() {
    for (naming, name) in [(Naming::Server, "one__echo"), (Naming::Mcp, "mcp__one__echo"), (Naming::None, "echo")] {
        let directory = tempfile::tempdir().unwrap();
        let server = script(directory.path(), "echo no licence >&2; exit 3\n");
        let host = host(vec![server]).await;
        let gateway = gateway(&host, naming);
        let mut agent = StreamAgent::connect(&gateway);
        agent.initialize(json!({})).await;
        let (answer, _) = agent.ask(1, "tools/call", json!({"name": name, "arguments": {}})).await;
        assert!(told(&answer["error"]).contains("its last words: no licence"), "{answer}");
        assert_eq!(answer["error"]["data"]["code"], "SERVER_UNAVAILABLE");
        host.shutdown().await;
    }
}

/// G2: a restart that takes long is waited for as long as it is worth, and no longer.
#[tokio::test]
async fn g2_a_slow_restart_is_not_waited_for_until_the_calls_own_time_is_over() {
    let directory = tempfile::tempdir().unwrap();
    let (peer, place) = (peer_program(), directory.path().display());
    let server = script(
        directory.path(),
        &format!(
            "test -e {place}/once && /bin/sleep 600\ntrue > {place}/once\nexec {} '{{\"era\":\"legacy\"}}'\n",
            peer.display()
        ),
    );
    let settings = HostSettings::default().with(|settings| {
        settings.restart_wait = Duration::from_millis(300);
        settings.schema_cache_ttl = None;
    });
    let host = Host::builder().settings(settings).approver(ApproveAll).server(server).start().await.unwrap();
    assert!(host.settled(DEADLINE).await);
    let gateway = gateway(&host, Naming::Server);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({})).await;
    agent.ask(1, "tools/call", json!({"name": "one__exit", "arguments": {}})).await;
    let (answer, _) = agent.ask(2, "tools/call", json!({"name": "one__echo", "arguments": {}})).await;
    let error = &answer["error"];
    assert_eq!(error["data"]["code"], "SERVER_UNAVAILABLE", "{answer}");
    assert_eq!(error["data"]["may_have_run"], false, "{answer}");
    assert!(error["message"].as_str().unwrap().starts_with("the server `one` is not available; it is"), "{answer}");
    host.shutdown().await;
}

/// A process of the peer for each agent that needs one: how often one was greeted.
fn greeted(record: &Path) -> usize {
    let recording = Recording::load(record).unwrap();
    recording.messages().into_iter().filter(|message| message["method"] == "initialize").count()
}

/// G4: a completion may depend on who is signed in: it is asked of the server that works for the agent.
#[tokio::test]
async fn g4_completions_are_asked_of_the_agents_own_server() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let server = stdio_server("one", &Scenario::legacy().record_to(&record));
    let options = Options::default().with(|options| options.wait = Some(DEADLINE));
    let gateway = Gateway::shared(Arc::new(open(vec![server])), options).await.unwrap();
    assert!(gateway.host().settled(DEADLINE).await);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({})).await;
    agent.ask(1, "prompts/list", json!({})).await;
    assert_eq!(greeted(&record), 1);
    let params = json!({
        "ref": {"type": "ref/prompt", "name": "one__greet"}, "argument": {"name": "who", "value": ""},
    });
    let (answer, _) = agent.ask(2, "completion/complete", params).await;
    assert!(answer["result"]["completion"]["values"].is_array(), "{answer}");
    assert_eq!(greeted(&record), 2);
    gateway.host().shutdown().await;
}

/// G4: what an agent makes a task of can be asked about by the server it was made for, and by no other.
#[tokio::test]
async fn g4_a_server_reaches_the_task_that_an_agent_made_for_it() {
    let servers = vec![stdio_server("one", &Scenario::legacy()), stdio_server("two", &Scenario::legacy())];
    let mut agent = StreamAgent::alone(servers, Naming::Server);
    let tasks = json!({"cancel": {}, "list": {}, "requests": {"elicitation": {"create": {}}}});
    agent.initialize(json!({"elicitation": {"form": {}}, "tasks": tasks})).await;
    let call = |id: u64, name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    agent.send(call(1, "one__ask", json!({"kind": "form", "params": {"task": {"ttl": 60_000}}}))).await;
    let question = agent.next().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    assert_eq!(question["params"]["task"], json!({"ttl": 60_000}));
    let task = json!({"taskId": "mine", "status": "working", "createdAt": "2026-07-28T00:00:00Z", "ttl": 60_000});
    agent.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": {"task": task}})).await;
    assert_eq!(agent.next().await["id"], 1);

    let get = json!({"jsonrpc": "2.0", "id": "about it", "method": "tasks/get", "params": {"taskId": "mine"}});
    let raw = json!({"text": format!("{get}\n"), "then_answer": true});
    agent.send(call(2, "one__raw", raw.clone())).await;
    let mut asked = None;
    for _ in 0..2 {
        let message = agent.next().await;
        if message["method"] == "tasks/get" {
            asked = Some(message);
        }
    }
    assert_eq!(asked.expect("the agent is asked")["params"]["taskId"], "mine");

    // Another server is told that there is none, and the agent hears nothing.
    let (_, before) = agent.ask(3, "tools/call", json!({"name": "two__raw", "arguments": raw})).await;
    let (_, after) = agent.ask(4, "tools/call", json!({"name": "two__echo", "arguments": {}})).await;
    assert_eq!((before, after), (Vec::new(), Vec::new()));
    agent.leave().await;
}

/// G4: a tool that can only be called as a task is called as one, for agents that know nothing of tasks.
#[tokio::test]
async fn g4_a_required_task_is_made_and_followed_for_agents_without_tasks() {
    for era in ["legacy", "modern"] {
        let host = host(vec![stdio_server("one", &Scenario::legacy())]).await;
        let gateway = gateway(&host, Naming::Server);
        let mut agent = StreamAgent::connect(&gateway);
        if era == "legacy" {
            agent.initialize(json!({})).await;
        }
        let arguments = r#"{"polls":2,"poll_ms":5,"text":"done at last"}"#;
        let answer = call(&mut agent, era, &format!(r#"{{"name":"one__task","arguments":{arguments}}}"#)).await;
        assert_eq!(answer["result"]["content"][0]["text"], "done at last", "{era}: {answer}");
        host.shutdown().await;
    }
}

/// G4: how long a list counts is the servers' to say.
#[tokio::test]
async fn g4_the_time_a_list_counts_is_handed_on() {
    let host = host(vec![stdio_server("one", &Scenario::modern())]).await;
    let gateway = gateway(&host, Naming::Server);
    let mut agent = StreamAgent::connect(&gateway);
    for (id, method) in [(1, "tools/list"), (2, "resources/list"), (3, "resources/templates/list"), (4, "prompts/list")]
    {
        let (answer, _) = agent.ask(id, method, json!({"_meta": modern_meta(json!({}))})).await;
        let milliseconds = answer["result"]["ttlMs"].as_u64().unwrap();
        assert!((30_000..=60_000).contains(&milliseconds), "{method}: {milliseconds}");
    }
    host.shutdown().await;
}

/// G10: what a server does not announce is found where it is looked for.
#[tokio::test]
async fn g10_a_tool_that_was_not_announced_can_be_called_and_listed() {
    let host = host(vec![stdio_server("one", &Scenario::legacy())]).await;
    let gateway = gateway(&host, Naming::Server);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({})).await;
    let silent = json!({"name": "one__list_changed", "arguments": {"kind": "tools", "silent": true}});
    agent.ask(1, "tools/call", silent).await;
    // Servers are not asked for each name that somebody makes up.
    tokio::time::pause();
    tokio::time::advance(Duration::from_millis(1_100)).await;
    tokio::time::resume();
    let (answer, _) = agent.ask(2, "tools/call", json!({"name": "one__added", "arguments": {"n": 1}})).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"n": 1}), "{answer}");
    let (list, _) = agent.ask(3, "tools/list", json!({})).await;
    assert!(list["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "one__added"), "{list}");
    let (unknown, _) = agent.ask(4, "tools/call", json!({"name": "one__nothing", "arguments": {}})).await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    host.shutdown().await;
}

/// G10: a list that a server says counts for no time is asked for each time.
#[tokio::test]
async fn g10_a_list_that_does_not_count_is_asked_for_again() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let mut scenario = Scenario::modern().record_to(&record);
    scenario.list_ttl_ms = 0;
    let host = host(vec![stdio_server("one", &scenario)]).await;
    let gateway = gateway(&host, Naming::Server);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({})).await;
    let silent = json!({"name": "one__list_changed", "arguments": {"kind": "tools", "silent": true}});
    agent.ask(1, "tools/call", silent).await;
    let (list, before) = agent.ask(2, "tools/list", json!({})).await;
    assert!(list["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "one__added"), "{list}");
    // Nothing is announced that the list itself tells, but what came between the two looks at it.
    assert!(before.len() <= 1, "{before:?}");
    let (again, before) = agent.ask(3, "tools/list", json!({})).await;
    assert_eq!((again["result"].clone(), before), (list["result"].clone(), Vec::new()));
    let recording = Recording::load(&record).unwrap();
    let asked = recording.messages().into_iter().filter(|message| message["method"] == "tools/list").count();
    assert_eq!(asked, 3);
    host.shutdown().await;
}

/// G12: what a modern server's envelope says is not for agents of the other era, whose frameworks show it to models.
#[tokio::test]
async fn g12_the_envelope_of_an_era_stays_in_it() {
    let host = host(vec![stdio_server("one", &Scenario::modern())]).await;
    let gateway = gateway(&host, Naming::None);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({})).await;
    let (resources, _) = agent.ask(1, "resources/list", json!({})).await;
    let uri = resources["result"]["resources"][0]["uri"].clone();
    for (id, method, params) in [
        (2, "tools/call", json!({"name": "echo", "arguments": {"n": 1}})),
        (3, "tools/list", json!({})),
        (4, "resources/read", json!({"uri": uri})),
        (5, "prompts/get", json!({"name": "greet", "arguments": {"who": "x"}})),
    ] {
        let (answer, _) = agent.ask(id, method, params).await;
        let result = answer["result"].as_object().unwrap_or_else(|| panic!("{method}: {answer}"));
        for envelope in ["resultType", "ttlMs", "cacheScope", "_meta"] {
            assert!(!result.contains_key(envelope), "{method}: {envelope} in {answer}");
        }
    }
    host.shutdown().await;
}

/// G12: a server that is started for one agent, and has what everybody's has, is not news.
#[tokio::test]
async fn g12_only_real_differences_are_announced() {
    let options = Options::default().with(|options| options.wait = Some(DEADLINE));
    let servers = vec![stdio_server("one", &Scenario::legacy()), stdio_server("two", &Scenario::legacy())];
    let gateway = Gateway::shared(Arc::new(open(servers)), options).await.unwrap();
    assert!(gateway.host().settled(DEADLINE).await);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(everything()).await;
    let (_, before) = agent.ask(1, "tools/list", json!({})).await;
    assert_eq!(before, Vec::<Value>::new());
    for (id, tool) in [(2, "one__echo"), (3, "two__echo"), (4, "one__echo")] {
        let (_, before) = agent.ask(id, "tools/call", json!({"name": tool, "arguments": {}})).await;
        assert_eq!(before, Vec::<Value>::new(), "{tool}");
    }
    // One that is: twice the same change is none, three changes at once are told no more than twice.
    let mut heard = 0;
    for id in 5..8 {
        let change = json!({"name": "one__list_changed", "arguments": {"kind": "tools"}});
        let (_, before) = agent.ask(id, "tools/call", change).await;
        heard += before.len();
    }
    while heard == 0 {
        assert_eq!(agent.next().await["method"], "notifications/tools/list_changed");
        heard += 1;
    }
    let (list, before) = agent.ask(9, "tools/list", json!({})).await;
    assert!(list["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "one__added"), "{list}");
    assert!(heard + before.len() <= 2, "{heard} {before:?}");
    gateway.host().shutdown().await;
}
