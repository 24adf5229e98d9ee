//! One agent on a byte stream: the handshakes, lists and calls of both eras, side by side and taken back.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use helve::{Answerer, CallError, Host, Surroundings};
use helve_model::ServerSpec;
use helve_serve::{Discovery, Gateway, HostPurpose, HostSource, Naming, Options};
use helve_testkit::{Recording, Scenario};
use helve_wire::BoxFuture;
use serde_json::{Value, json};

use crate::support::{DEADLINE, StreamAgent, gateway, host, modern_meta, stdio_server};

#[tokio::test]
async fn a_legacy_agent_lists_and_calls() {
    let host = host(vec![stdio_server("one", &Scenario::legacy()), stdio_server("two", &Scenario::modern())]).await;
    let gateway = gateway(&host, Naming::Mcp);
    let mut agent = StreamAgent::connect(&gateway);
    let hello = agent.initialize(json!({})).await;
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(hello["result"]["serverInfo"]["name"], "helve");

    let (list, _) = agent.ask(1, "tools/list", json!({})).await;
    let names: Vec<&str> =
        list["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"mcp__one__echo") && names.contains(&"mcp__two__echo"), "{names:?}");
    assert!(names.is_sorted());

    for (id, tool) in [(2, "mcp__one__echo"), (3, "mcp__two__echo")] {
        let (answer, _) = agent.ask(id, "tools/call", json!({"name": tool, "arguments": {"b": 1, "a": [2]}})).await;
        assert_eq!(answer["result"]["structuredContent"], json!({"b": 1, "a": [2]}), "{answer}");
    }
    let (answer, _) = agent.ask(4, "ping", json!({})).await;
    assert_eq!(answer["result"], json!({}));
    host.shutdown().await;
}

#[tokio::test]
async fn a_modern_agent_lists_and_calls() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let host = host(vec![stdio_server("one", &scenario)]).await;
        let gateway = gateway(&host, Naming::None);
        let mut agent = StreamAgent::connect(&gateway);
        let meta = modern_meta(json!({}));
        let (hello, _) = agent.ask(1, "server/discover", json!({"_meta": meta})).await;
        assert_eq!(hello["result"]["supportedVersions"], json!(["2026-07-28"]));
        assert_eq!(hello["result"]["resultType"], "complete");
        let (list, _) = agent.ask(2, "tools/list", json!({"_meta": meta})).await;
        assert_eq!(list["result"]["cacheScope"], "private");
        let params = json!({"name": "echo", "arguments": {"x": 1}, "_meta": meta});
        let (answer, _) = agent.ask(3, "tools/call", params).await;
        assert_eq!(answer["result"]["structuredContent"], json!({"x": 1}), "{answer}");
        assert_eq!(answer["result"]["resultType"], "complete");
        let (refused, _) = agent.ask(4, "ping", json!({"_meta": meta})).await;
        assert_eq!(refused["error"]["code"], -32601);
        host.shutdown().await;
    }
}

#[tokio::test]
async fn progress_comes_in_order_under_the_agents_token() {
    let host = host(vec![stdio_server("one", &Scenario::legacy())]).await;
    let gateway = gateway(&host, Naming::None);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({})).await;
    let params = json!({"name": "progress", "arguments": {"steps": 50}, "_meta": {"progressToken": "mine"}});
    let (_, before) = agent.ask(1, "tools/call", params).await;
    let steps: Vec<f64> = before.iter().map(|message| message["params"]["progress"].as_f64().unwrap()).collect();
    assert_eq!(steps.len(), 50);
    assert!(steps.is_sorted());
    assert!(before.iter().all(|message| message["params"]["progressToken"] == "mine"));
    host.shutdown().await;
}

#[tokio::test]
async fn an_echo_does_not_wait_for_a_sleep() {
    let host = host(vec![stdio_server("one", &Scenario::legacy())]).await;
    let gateway = gateway(&host, Naming::None);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({})).await;
    let started = Instant::now();
    agent.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sleep", "arguments": {"ms": 2_000}}})).await;
    let (_, before) = agent.ask(2, "tools/call", json!({"name": "echo", "arguments": {}})).await;
    assert!(before.is_empty());
    assert!(started.elapsed() < Duration::from_secs(1));
    assert_eq!(agent.next().await["id"], 1);
    host.shutdown().await;
}

#[tokio::test]
async fn what_is_taken_back_is_taken_back_at_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let host = host(vec![stdio_server("one", &Scenario::legacy().record_to(&record))]).await;
    let gateway = gateway(&host, Naming::None);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({})).await;
    let call = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "sleep", "arguments": {"ms": 60_000}}});
    agent.send(call(1)).await;
    agent.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    // The cancelled request is never answered.
    let (_, before) = agent.ask(2, "ping", json!({})).await;
    assert!(before.is_empty());
    // An agent that goes takes back what it asked for.
    agent.send(call(3)).await;
    agent.leave().await;
    host.shutdown().await;
    let recording = Recording::load(&record).unwrap();
    let cancelled = recording.messages().into_iter().filter(|message| message["method"] == "notifications/cancelled");
    assert!(cancelled.count() >= 1);
}

#[tokio::test]
async fn nonsense_is_answered_and_nothing_breaks() {
    let host = host(vec![stdio_server("one", &Scenario::legacy())]).await;
    let gateway = gateway(&host, Naming::None);
    let mut agent = StreamAgent::connect(&gateway);
    agent.send_text("not json").await;
    insta::assert_snapshot!(agent.next_text().await, @r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this is not JSON"}}"#);
    agent.send_text("{\"id\":1}").await;
    insta::assert_snapshot!(agent.next_text().await, @r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"this is not a request of JSON-RPC 2.0"}}"#);
    agent.send_text(r#"{"jsonrpc":"2.0","id":"x","method":"tools/none"}"#).await;
    insta::assert_snapshot!(agent.next_text().await, @r#"{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"method not found: tools/none"}}"#);
    let (unknown, _) = agent.ask(3, "tools/call", json!({"name": "nothing"})).await;
    insta::assert_snapshot!(unknown["error"], @r#"{"code":-32602,"message":"Unknown tool: nothing"}"#);
    host.shutdown().await;
}

#[tokio::test]
async fn a_changed_list_is_announced() {
    let host = host(vec![stdio_server("one", &Scenario::legacy())]).await;
    let gateway = gateway(&host, Naming::None);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({})).await;
    agent.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_changed", "arguments": {"kind": "tools"}}})).await;
    loop {
        let message = agent.next().await;
        if message["method"] == "notifications/tools/list_changed" {
            break;
        }
    }
    let (list, _) = agent.ask(2, "tools/list", json!({})).await;
    assert!(list["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "added"));
    host.shutdown().await;
}

#[tokio::test]
async fn three_tools_find_all_others() {
    let host = host(vec![stdio_server("one", &Scenario::legacy())]).await;
    let options = Options::default().with(|options| {
        options.naming = Naming::Server;
        options.discovery = Discovery::Search;
    });
    let gateway = Gateway::new(host.clone(), options);
    let mut agent = StreamAgent::connect(&gateway);
    let hello = agent.initialize(json!({})).await;
    assert!(hello["result"]["instructions"].as_str().unwrap().contains("search_tools"), "{hello}");
    let (list, _) = agent.ask(1, "tools/list", json!({})).await;
    let names: Vec<&str> =
        list["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["search_tools", "describe_tool", "call_tool"]);

    let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let (found, _) = agent.ask(2, "tools/call", call("search_tools", json!({"query": "echo", "limit": 1}))).await;
    assert_eq!(found["result"]["structuredContent"]["tools"][0]["name"], "one__echo", "{found}");
    let text = found["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.lines().nth(1).unwrap().starts_with("one__echo("), "{text}");
    assert!(found["result"]["structuredContent"]["tools"][0]["signature"].as_str().unwrap().starts_with("one__echo("));

    // Several queries give one list, words that no tool has are named, and another server has nothing.
    let several = json!({"query": ["echo frobnicate", "echo"], "server": "one", "limit": 5});
    let (found, _) = agent.ask(21, "tools/call", call("search_tools", several)).await;
    let result = &found["result"]["structuredContent"];
    let names: Vec<&str> =
        result["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names.iter().filter(|name| **name == "one__echo").count(), 1, "{found}");
    assert_eq!(result["unmatched"], json!(["frobnicate"]));
    let (nothing, _) = agent.ask(22, "tools/call", call("search_tools", json!({"query": "frobnicate"}))).await;
    assert_eq!(nothing["result"]["structuredContent"]["found"], 0);
    assert!(nothing["result"]["content"][0]["text"].as_str().unwrap().contains("`frobnicate`"), "{nothing}");
    let (all, _) = agent.ask(23, "tools/call", call("search_tools", json!({"query": ""}))).await;
    assert!(all["result"]["structuredContent"]["found"].as_u64().unwrap() > 1, "{all}");
    let (absent, _) =
        agent.ask(24, "tools/call", call("search_tools", json!({"query": "echo", "server": "oen"}))).await;
    assert_eq!(absent["result"]["isError"], true, "{absent}");

    let (described, _) = agent.ask(3, "tools/call", call("describe_tool", json!({"name": "one__echo"}))).await;
    assert_eq!(described["result"]["structuredContent"]["name"], "one__echo");
    assert!(described["result"]["structuredContent"]["inputSchema"].is_object());
    let inner = json!({"name": "one__echo", "arguments": {"b": 1, "a": 2}});
    let (echoed, _) = agent.ask(4, "tools/call", call("call_tool", inner)).await;
    assert_eq!(echoed["result"]["structuredContent"], json!({"b": 1, "a": 2}), "{echoed}");
    let (unknown, _) = agent.ask(5, "tools/call", call("call_tool", json!({"name": "nothing"}))).await;
    assert_eq!(unknown["error"]["code"], -32602);
    host.shutdown().await;
}

#[tokio::test]
async fn many_definitions_switch_discovery_on() {
    let host = host(vec![stdio_server("one", &Scenario::legacy().generated_tools(200, 1_000))]).await;
    let count = async |discovery: Discovery| {
        let options = Options::default().with(|options| options.discovery = discovery);
        let gateway = Gateway::new(host.clone(), options);
        let mut agent = StreamAgent::connect(&gateway);
        agent.initialize(json!({})).await;
        agent.ask(1, "tools/list", json!({})).await.0["result"]["tools"].as_array().unwrap().len()
    };
    assert_eq!(count(Discovery::default()).await, 3);
    assert!(count(Discovery::All).await > 200);
    assert!(count(Discovery::Above(10 << 20)).await > 200);
    host.shutdown().await;
}

/// Starts hosts that remember, each with the same server.
struct Remembering(ServerSpec, PathBuf);

impl HostSource for Remembering {
    fn start(&self, answerer: Arc<dyn Answerer>, _purpose: HostPurpose) -> BoxFuture<'_, Result<Host, CallError>> {
        let surroundings =
            Surroundings::default().with(|surroundings| surroundings.cache_directory = Some(self.1.clone()));
        Box::pin(Host::builder().surroundings(surroundings).server(self.0.clone()).answerer(answerer).start())
    }
}

/// Servers are not there yet when an agent says `initialize`: what they said in an earlier run is told, or they are waited for.
#[tokio::test]
async fn the_first_answer_says_what_servers_say() {
    let directory = tempfile::tempdir().unwrap();
    let source = || Remembering(stdio_server("one", &Scenario::legacy()), directory.path().join("lists"));
    // Waited for in the first run, remembered in the second.
    for wait in [Some(DEADLINE), None] {
        let options = Options::default().with(|options| {
            options.wait = wait;
            options.discovery = Discovery::Above(1);
        });
        let source = source();
        let mut agent = StreamAgent::alone_with(source, options);
        let hello = agent.initialize(json!({})).await;
        let instructions = hello["result"]["instructions"].as_str().unwrap_or_default();
        assert!(instructions.contains("A fake server for tests"), "{wait:?}: {hello}");
        assert!(instructions.contains("behind search_tools"), "{wait:?}: {hello}");
        assert!(hello["result"]["capabilities"]["tasks"].is_object(), "{wait:?}: {hello}");
        agent.leave().await;
    }
}

/// Nobody knows how many tools there will be: no number is told.
#[tokio::test]
async fn what_is_not_known_yet_is_not_counted() {
    let builder = Host::builder().server(stdio_server("one", &Scenario::legacy().never_answers()));
    let host = builder.start().await.unwrap();
    let hello = async |discovery: Discovery| {
        let gateway = Gateway::new(host.clone(), Options::default().with(|options| options.discovery = discovery));
        let mut agent = StreamAgent::connect(&gateway);
        agent.initialize(json!({})).await["result"]["instructions"].clone()
    };
    insta::assert_snapshot!(hello(Discovery::Search).await, @r#""There are tools behind search_tools: look for one, read it with describe_tool, call it with call_tool.""#);
    insta::assert_snapshot!(hello(Discovery::Above(1)).await, @r#""If there is a tool search_tools, there are more behind it: look for one, read it with describe_tool, call it with call_tool.""#);
    insta::assert_snapshot!(hello(Discovery::All).await, @"null");
    host.shutdown().await;
}

#[tokio::test]
async fn batches_are_answered_as_arrays_in_the_version_that_has_them() {
    let host = host(vec![stdio_server("one", &Scenario::legacy())]).await;
    let gateway = gateway(&host, Naming::None);
    let ping = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let mut agent = StreamAgent::connect(&gateway);
    let params =
        json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}});
    agent.ask(0, "initialize", params).await;
    agent.send(json!([ping(1), ping(2)])).await;
    insta::assert_snapshot!(agent.next_text().await, @r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]"#);
    agent.send(json!([])).await;
    insta::assert_snapshot!(agent.next_text().await, @r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a batch has at least one message"}}"#);

    let mut newer = StreamAgent::connect(&gateway);
    newer.initialize(json!({})).await;
    newer.send(json!([ping(1)])).await;
    insta::assert_snapshot!(newer.next_text().await, @r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"there are no batches in this version of the protocol: send one message at a time"}}"#);
    host.shutdown().await;
}

#[tokio::test]
async fn two_requests_of_one_id_are_not_answered_at_once() {
    let host = host(vec![stdio_server("one", &Scenario::legacy())]).await;
    let gateway = gateway(&host, Naming::None);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({})).await;
    let sleep = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "sleep", "arguments": {"ms": 60_000}}});
    agent.send(sleep.clone()).await;
    agent.send(sleep).await;
    insta::assert_snapshot!(agent.next_text().await, @r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"a request of the id 7 is being answered already"}}"#);
    // The first one can still be taken back, and then the id is free.
    agent.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})).await;
    let (answer, _) = agent.ask(7, "ping", json!({})).await;
    assert_eq!(answer["result"], json!({}));
    host.shutdown().await;
}

/// Servers are told what the agent can do, so they are not started before it has said so.
#[tokio::test]
async fn what_an_agent_says_before_it_says_what_it_can_do() {
    for (first, answer) in [
        (r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#, r#"{"jsonrpc":"2.0","id":9,"result":{}}"#),
        (
            r#"{"jsonrpc":"2.0","id":9,"method":"server/discover","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"`_meta` lacks io.modelcontextprotocol/protocolVersion"}}"#,
        ),
        ("broken", r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this is not JSON"}}"#),
    ] {
        let mut agent = StreamAgent::alone(vec![stdio_server("one", &Scenario::legacy())], Naming::None);
        agent.send_text(first).await;
        assert_eq!(agent.next_text().await, answer);
        agent.initialize(crate::support::everything()).await;
        let (asked, _) = agent.ask(1, "tools/call", json!({"name": "ask", "arguments": {"kind": "form"}})).await;
        assert!(asked["result"].to_string().contains("the agent's answer"), "{first}: {asked}");
        agent.leave().await;
    }
}
