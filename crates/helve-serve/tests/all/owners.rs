//! Whose something is: what a server made for one principal belongs to nobody else, and no server speaks for another.

use std::collections::HashMap;
use std::path::Path;

use helve_model::{Definition as _, ServerSpec};
use helve_policy::pin::DefinitionHash;
use helve_serve::Limits;
use helve_testkit::{Recording, Scenario};
use serde_json::{Value, json};

use crate::http_agent::{HttpAgent, Messages};
use crate::support::{agent_of, call, everything, open, serve, stdio_server};

fn shared(name: &str, scenario: &Scenario) -> ServerSpec {
    stdio_server(name, scenario).with(|spec| spec.shared = Some(true))
}

/// Makes a server answer with these very members.
fn answering(server: &str, result: &Value) -> Value {
    let frame = format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{result}}}\n");
    call(&format!("{server}__raw"), json!({"text": frame}))
}

fn with_tasks() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})
}

/// Makes a task at a modern server; gives the name that the agent gets.
async fn make_task(agent: &HttpAgent, server: &str, text: &str) -> String {
    let task = call(&format!("{server}__task"), json!({"polls": 0, "text": text}));
    let (made, _) = agent.modern(1, "tools/call", task, &with_tasks()).await;
    assert_eq!(made["result"]["resultType"], "task", "{made}");
    made["result"]["taskId"].as_str().unwrap().to_owned()
}

async fn ask_about(agent: &HttpAgent, method: &str, task: &str) -> Value {
    agent.modern(2, method, json!({"taskId": task}), &with_tasks()).await.0
}

fn received(record: &Path, method: &str) -> usize {
    let messages = Recording::load(record).map(|recording| recording.messages()).unwrap_or_default();
    messages.iter().filter(|message| message["method"] == method).count()
}

#[tokio::test]
async fn s19_a_task_is_one_servers_and_one_principals() {
    let servers = vec![stdio_server("one", &Scenario::modern()), stdio_server("two", &Scenario::modern())];
    let (gateway, face) = serve(open(servers), Limits::default()).await;
    let (owner, other) = (agent_of(&face, 2001), agent_of(&face, 2002));
    // Both servers call it `task-1`.
    let (one, two) = (make_task(&owner, "one", "of one").await, make_task(&owner, "two", "of two").await);
    assert!(one != two && !one.contains("task-") && !two.contains("task-"), "{one} {two}");
    // A server that names another's task, by either name, has one of its own.
    for claimed in ["task-1", &one] {
        let claim = json!({"resultType": "task", "taskId": claimed, "status": "working", "ttlMs": null,
            "createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z"});
        let (made, _) = owner.modern(3, "tools/call", answering("two", &claim), &with_tasks()).await;
        let name = made["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{made}"));
        assert!(name != one && name != claimed, "{made}");
    }
    for (task, text) in [(&one, "of one"), (&two, "of two")] {
        let got = ask_about(&owner, "tasks/get", task).await;
        assert_eq!(got["result"]["taskId"], **task, "{got}");
        assert_eq!(got["result"]["result"]["content"][0]["text"], text, "{got}");
    }
    // Nobody else knows it, and what servers call it is nobody's name for it.
    for task in [one.as_str(), two.as_str(), "task-1"] {
        for method in ["tasks/get", "tasks/cancel"] {
            let refused = ask_about(&other, method, task).await;
            assert_eq!(refused["error"]["message"], format!("Unknown task: {task}"), "{refused}");
        }
    }
    let own = ask_about(&owner, "tasks/get", "task-1").await;
    assert_eq!(own["error"]["message"], "Unknown task: task-1", "{own}");
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn s19_a_list_of_tasks_has_the_agents_own() {
    let (gateway, face) = serve(open(vec![shared("one", &Scenario::legacy())]), Limits::default()).await;
    let (mut first, mut second) = (agent_of(&face, 2001), agent_of(&face, 2002));
    let mut made = Vec::new();
    for (agent, tasks) in [(&mut first, 2), (&mut second, 1)] {
        agent.initialize(json!({})).await;
        let mut names = Vec::new();
        for id in 0..tasks {
            let mut task = call("one__task", json!({"polls": 100}));
            task["task"] = json!({"ttl": 60_000});
            let (answer, _) = agent.ask(10 + id, "tools/call", task).await;
            names.push(answer["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned());
            let related = &answer["result"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"];
            assert_eq!(*related, **names.last().unwrap(), "{answer}");
        }
        names.sort();
        made.push(names);
    }
    for (agent, names) in [(&first, &made[0]), (&second, &made[1])] {
        let (list, _) = agent.ask(20, "tasks/list", json!({})).await;
        let tasks = list["result"]["tasks"].as_array().unwrap_or_else(|| panic!("{list}"));
        let mut listed: Vec<String> = tasks.iter().map(|task| task["taskId"].as_str().unwrap().to_owned()).collect();
        listed.sort();
        assert_eq!(&listed, names);
    }
    let (refused, _) = second.ask(21, "tasks/cancel", json!({"taskId": made[0][0]})).await;
    assert_eq!(refused["error"]["message"], format!("Unknown task: {}", made[0][0]), "{refused}");
    let (got, _) = first.ask(22, "tasks/get", json!({"taskId": made[0][0]})).await;
    assert_eq!((&got["result"]["taskId"], &got["result"]["status"]), (&json!(made[0][0]), &json!("working")), "{got}");
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn s19_many_tasks_or_long_ids_of_one_cost_the_other_nothing() {
    let servers = vec![stdio_server("one", &Scenario::modern()), stdio_server("two", &Scenario::modern())];
    let (gateway, face) = serve(open(servers), Limits { tasks: 3, ..Limits::default() }).await;
    let (quiet, loud) = (agent_of(&face, 2001), agent_of(&face, 2002));
    let kept = make_task(&quiet, "one", "kept").await;
    for _ in 0..5 {
        make_task(&loud, "one", "loud").await;
        make_task(&quiet, "two", "loud").await;
    }
    let long = json!({"resultType": "task", "taskId": "x".repeat(2_000), "status": "working"});
    let (refused, _) = quiet.modern(3, "tools/call", answering("one", &long), &with_tasks()).await;
    insta::assert_snapshot!(refused["error"]["message"], @r#""the server's taskId has 2000 bytes: no more than 1024 are taken""#);
    assert_eq!(refused["error"]["data"]["code"], "PROTOCOL_ERROR", "{refused}");
    let got = ask_about(&quiet, "tasks/get", &kept).await;
    assert_eq!(got["result"]["result"]["content"][0]["text"], "kept", "{got}");
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn s19_news_of_a_task_reaches_whoever_it_was_made_for() {
    let (gateway, face) = serve(open(vec![shared("one", &Scenario::legacy())]), Limits::default()).await;
    let (mut owner, mut other) = (agent_of(&face, 2001), agent_of(&face, 2002));
    owner.initialize(json!({})).await;
    other.initialize(json!({})).await;
    let mut task = call("one__task", json!({"polls": 100}));
    task["task"] = json!({});
    let (made, _) = owner.ask(1, "tools/call", task).await;
    let name = made["result"]["task"]["taskId"].clone();
    let told = json!({"method": "notifications/tasks/status", "count": 1, "params": {"taskId": "task-1", "status": "working"}});
    let mut stream = Messages::new(owner.get(&[]).await);
    // It is the other one who is listening with a call.
    let (notified, heard) = other.ask(2, "tools/call", call("one__notify", told)).await;
    assert!(notified["result"].is_object() && heard.is_empty(), "{notified} {heard:?}");
    let news = loop {
        let message = stream.next().await.unwrap();
        if message["method"] == "notifications/tasks/status" {
            break message;
        }
    };
    assert_eq!(news["params"], json!({"taskId": name, "status": "working"}));
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn s20_a_log_that_names_no_request_reaches_no_agent_of_a_shared_server() {
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"of another"}}"#;
    let logging = call("one__raw", json!({"text": format!("{log}\n"), "then_answer": true}));
    for is_shared in [true, false] {
        let one = stdio_server("one", &Scenario::legacy()).with(|spec| spec.shared = Some(is_shared));
        let (gateway, face) = serve(open(vec![one]), Limits::default()).await;
        let mut agent = agent_of(&face, 2001);
        agent.initialize(json!({})).await;
        let mut events = gateway.host().events();
        let (answer, heard) = agent.ask(1, "tools/call", logging.clone()).await;
        assert!(answer["result"].is_object(), "{answer}");
        let logs = heard.iter().filter(|message| message["method"] == "notifications/message").count();
        // Of a server that is the agent's alone it can only be for that agent.
        assert_eq!(logs, usize::from(!is_shared), "shared: {is_shared}, {heard:?}");
        let is_log = |event: helve::HostEvent| matches!(event, helve::HostEvent::Log { .. });
        let was_logged = std::iter::from_fn(|| events.try_next()).any(is_log);
        assert_eq!(was_logged, is_shared, "whoever runs the host hears what its servers log");
        gateway.host().shutdown().await;
    }
}

/// Logs that name no request reach an agent that asked for them: the server runs for it alone.
#[tokio::test]
async fn s20_an_agent_that_wants_logs_has_a_server_of_its_own() {
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"its own"}}"#;
    let logging = call("one__raw", json!({"text": format!("{log}\n"), "then_answer": true}));
    for scenario in [Scenario::modern(), Scenario::dual()] {
        let (gateway, face) = serve(open(vec![stdio_server("one", &scenario)]), Limits::default()).await;
        let mut agent = agent_of(&face, 2001);
        agent.initialize(json!({})).await;
        let logs_heard = async |id: u64| {
            let (answer, heard) = agent.ask(id, "tools/call", logging.clone()).await;
            assert!(answer["result"].is_object(), "{answer}");
            heard.iter().filter(|message| message["method"] == "notifications/message").count()
        };
        assert_eq!(logs_heard(1).await, 0, "it shares the server with others");
        agent.ask(2, "logging/setLevel", json!({"level": "debug"})).await;
        assert_eq!(logs_heard(3).await, 1);
        gateway.host().shutdown().await;
    }
}

#[tokio::test]
async fn s11_a_pinned_tool_that_changed_is_not_listed_until_it_is_accepted() {
    for is_shared in [true, false] {
        let one = stdio_server("one", &Scenario::legacy()).with(|spec| spec.shared = Some(is_shared));
        let allowed = open(vec![one.clone()]);
        let (gateway, face) = serve(open(vec![one]), Limits::default()).await;
        let mut agent = agent_of(&face, 2001);
        agent.initialize(json!({})).await;
        let mut stream = Messages::new(agent.get(&[]).await);
        let is_listed = async |id: u64| {
            let (list, _) = agent.ask(id, "tools/list", json!({})).await;
            list["result"]["tools"].to_string().contains("one__echo")
        };
        assert!(is_listed(1).await);
        let snapshot = gateway.host().snapshot();
        let tool = snapshot.tool("one/echo").unwrap();
        let now = DefinitionHash::of(tool.definition().raw().as_str());
        for (id, pin, expected) in [(2, DefinitionHash::of("{}"), false), (3, now, true)] {
            let pins = Some(HashMap::from([(tool.name().clone(), pin)]));
            gateway.set_servers(allowed.plan().with(|plan| plan.pins = pins)).await;
            while stream.next().await.unwrap()["method"] != "notifications/tools/list_changed" {}
            assert_eq!(is_listed(id).await, expected);
            let (called, _) = agent.ask(id + 10, "tools/call", call("one__echo", json!({"x": 1}))).await;
            assert_eq!(called["result"]["structuredContent"] == json!({"x": 1}), expected, "{called}");
        }
        // What changed has its name all the same for whoever runs the host.
        assert!(gateway.host().snapshot().tool("mcp__one__echo").is_ok());
        gateway.host().shutdown().await;
    }
}

#[tokio::test]
async fn s27_the_first_server_with_a_link_keeps_it() {
    let directory = tempfile::tempdir().unwrap();
    let record = |name: &str| directory.path().join(name);
    let server = |name: &str| stdio_server(name, &Scenario::modern().record_to(record(name)));
    let (gateway, face) = serve(open(vec![server("one"), server("two"), server("three")]), Limits::default()).await;
    let agent = agent_of(&face, 2001);
    let link = json!({"resultType": "complete",
        "content": [{"type": "resource_link", "uri": "vendor://secret", "name": "secret"}]});
    for name in ["two", "one", "three"] {
        let (linked, _) = agent.modern(1, "tools/call", answering(name, &link), &everything()).await;
        assert_eq!(linked["result"]["content"][0]["uri"], "vendor://secret", "{linked}");
    }
    let uri = json!({"uri": "vendor://secret"});
    agent.modern(2, "resources/read", uri.clone(), &everything()).await;
    let reads = || ["one", "two", "three"].map(|name| received(&record(name), "resources/read"));
    assert_eq!(reads(), [0, 1, 0]);
    // What a result pointed one to, another does not know.
    let (missing, _) = agent_of(&face, 2002).modern(3, "resources/read", uri, &everything()).await;
    assert_eq!(missing["error"]["message"], "Resource not found: vendor://secret", "{missing}");
    assert_eq!(reads(), [0, 1, 0]);
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn s27_listening_to_many_resources_asks_servers_little() {
    let directory = tempfile::tempdir().unwrap();
    let record = |name: &str| directory.path().join(name);
    let server = |name: &str| stdio_server(name, &Scenario::modern().record_to(record(name)));
    let (gateway, face) = serve(open(vec![server("one"), server("two")]), Limits::default()).await;
    let agent = agent_of(&face, 2001);
    let wanted = |count: usize| {
        let uris: Vec<String> = (0..count).map(|number| format!("nobody://{number}")).collect();
        json!({"notifications": {"resourceSubscriptions": uris, "toolsListChanged": true}})
    };
    let (refused, _) = agent.modern(1, "subscriptions/listen", wanted(32_388), &json!({})).await;
    insta::assert_snapshot!(refused["error"], @r#"{"code":-32602,"message":"resourceSubscriptions has 32388 URIs: no more than 512 are taken"}"#);
    let mut stream = Messages::new(agent.modern_response(2, "subscriptions/listen", wanted(500), &json!({})).await);
    let acknowledged = stream.next().await.unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"], json!({"toolsListChanged": true}), "{acknowledged}");
    for name in ["one", "two"] {
        let asked = received(&record(name), "resources/list") + received(&record(name), "resources/templates/list");
        assert!(asked <= 100, "{name} was asked {asked} times about 500 resources that nobody has");
    }
    gateway.host().shutdown().await;
}
