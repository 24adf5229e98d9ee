//! What agents and servers do wrong, and what it costs: their own calls, and nobody else anything.

use std::sync::Arc;
use std::time::Duration;

use helve_serve::face::http::{Guard, HttpFace};
use helve_serve::{Gateway, Limits, Naming, Options};
use helve_testkit::Scenario;
use serde_json::json;
use tokio::time::Instant;

use crate::http_agent::HttpAgent;
use crate::support::{DEADLINE, StreamAgent, everything, gateway, host, open, stdio_server};

async fn shared(scenario: &Scenario, limits: Limits) -> (Arc<Gateway>, Arc<HttpFace>) {
    let options = Options::default().with(|options| {
        options.naming = Naming::None;
        options.wait = Some(DEADLINE);
        options.limits = limits;
    });
    let gateway = Gateway::shared(Arc::new(open(vec![stdio_server("one", scenario)])), options).await.unwrap();
    let face = Arc::new(HttpFace::new(Arc::clone(&gateway), Guard::default()));
    (gateway, face)
}

#[tokio::test]
async fn a_server_that_dies_costs_one_call() {
    let host = host(vec![stdio_server("one", &Scenario::legacy())]).await;
    let gateway = gateway(&host, Naming::None);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({})).await;
    let (died, _) = agent.ask(1, "tools/call", json!({"name": "exit", "arguments": {"status": 9}})).await;
    assert!(died["error"]["data"]["code"].is_string(), "{died}");
    let (echoed, _) = agent.ask(2, "tools/call", json!({"name": "echo", "arguments": {"x": 1}})).await;
    assert_eq!(echoed["result"]["structuredContent"], json!({"x": 1}), "{echoed}");
    host.shutdown().await;
}

/// An answer larger than all that may wait is written, and then the agent is read from again.
#[tokio::test]
async fn a_large_answer_is_not_the_last_one() {
    let host = host(vec![stdio_server("one", &Scenario::legacy())]).await;
    let gateway = gateway(&host, Naming::None);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({})).await;
    let bytes = Limits::default().waiting_bytes + 1;
    let (large, _) = agent.ask(1, "tools/call", json!({"name": "big", "arguments": {"bytes": bytes}})).await;
    assert!(large["result"].is_object());
    let (pong, _) = agent.ask(2, "ping", json!({})).await;
    assert_eq!(pong["result"], json!({}));
    host.shutdown().await;
}

/// A legacy server is started for each agent that calls it; one that is said to be shared is not.
#[tokio::test]
async fn an_entry_says_who_shares_a_server() {
    for (said, starts) in [(None, 3), (Some(true), 1), (Some(false), 3)] {
        let directory = tempfile::tempdir().unwrap();
        let record = directory.path().join("record");
        let mut server = stdio_server("one", &Scenario::legacy().record_to(&record));
        server.shared = said;
        let options = Options::default().with(|options| {
            options.naming = Naming::None;
            options.wait = Some(DEADLINE);
        });
        let gateway = Gateway::shared(Arc::new(open(vec![server])), options).await.unwrap();
        for _ in 0..2 {
            let mut agent = StreamAgent::connect(&gateway);
            agent.initialize(json!({})).await;
            let (echoed, _) = agent.ask(1, "tools/call", json!({"name": "echo", "arguments": {"x": 1}})).await;
            assert_eq!(echoed["result"]["structuredContent"], json!({"x": 1}), "{echoed}");
        }
        let recorded = fs_err::read_to_string(&record).unwrap();
        assert_eq!(recorded.matches(r#"\"initialize\""#).count(), starts, "{said:?}");
        gateway.host().shutdown().await;
    }
}

#[tokio::test]
async fn what_has_to_be_asked_is_asked_of_the_agents_person() {
    let builder = helve::Host::builder().server(stdio_server("one", &Scenario::legacy()));
    let host = builder.start().await.unwrap();
    assert!(host.settled(DEADLINE).await);
    let gateway = gateway(&host, Naming::None);
    let call = json!({"name": "echo", "arguments": {"x": 1}});

    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({"elicitation": {}})).await;
    agent.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})).await;
    let question = agent.next().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    // S26: signed, without the place of a rule, the arguments on one line.
    insta::assert_snapshot!(question["params"]["message"].as_str().unwrap(), @r#"
    helve asks: May an agent call the tool `one/echo` (high risk)?
    Arguments: {"x":1}
    "#);
    let yes = json!({"action": "accept", "content": {"decision": "once"}});
    agent.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": yes})).await;
    assert_eq!(agent.next().await["result"]["structuredContent"], json!({"x": 1}));

    // Nobody is behind this one: the model is told why, and no rule, file or command.
    let mut alone = StreamAgent::connect(&gateway);
    alone.initialize(json!({})).await;
    let (refused, _) = alone.ask(1, "tools/call", call).await;
    assert_eq!(refused["result"]["isError"], true);
    let told = refused["result"]["content"][0]["text"].as_str().unwrap();
    assert!(told.contains("needs the person's yes") && !told.contains("hint: "), "{refused}");
    host.shutdown().await;
}

#[tokio::test]
async fn a_parked_call_waits_for_its_agent_alone_and_not_for_ever() {
    let limits = Limits { parked_time: Duration::from_millis(300), ..Limits::default() };
    let (gateway, face) = shared(&Scenario::legacy(), limits).await;
    let (agent, stranger) = (HttpAgent::new(&face, 1), HttpAgent::new(&face, 2));
    let call = json!({"name": "ask", "arguments": {"kind": "form"}});
    let (asked, _) = agent.modern(1, "tools/call", call.clone(), &everything()).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let mut again = call.clone();
    again["requestState"] = asked["result"]["requestState"].clone();
    let key = asked["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    again["inputResponses"] = json!({key: crate::support::answer_to("elicitation/create")});

    let (refused, _) = stranger.modern(2, "tools/call", again.clone(), &everything()).await;
    assert_eq!(refused["error"]["code"], -32602, "another agent's call can be reached: {refused}");
    let (done, _) = agent.modern(3, "tools/call", again.clone(), &everything()).await;
    assert!(done["result"].to_string().contains("the agent's answer"), "{done}");
    let (twice, _) = agent.modern(4, "tools/call", again, &everything()).await;
    assert_eq!(twice["error"]["code"], -32602, "{twice}");

    let (asked, _) = agent.modern(5, "tools/call", call.clone(), &everything()).await;
    let mut late = call;
    late["requestState"] = asked["result"]["requestState"].clone();
    let deadline = Instant::now() + DEADLINE;
    loop {
        // Asking again without an answer keeps the call open no longer than its time.
        tokio::time::sleep(Duration::from_millis(400)).await;
        let (gone, _) = agent.modern(6, "tools/call", late.clone(), &everything()).await;
        if gone["error"]["code"] == -32602 {
            break;
        }
        assert!(Instant::now() < deadline, "{gone}");
    }
    gateway.host().shutdown().await;
}

/// What an agent brings back belongs to the very call it was given for.
#[tokio::test]
async fn a_state_is_no_pass_to_another_call() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let (gateway, face) = shared(&scenario, Limits::default()).await;
        let agent = HttpAgent::new(&face, 1);
        let call = json!({"name": "ask", "arguments": {"kind": "form", "rounds": 1}});
        let (asked, _) = agent.modern(1, "tools/call", call.clone(), &everything()).await;
        let mut again = call.clone();
        again["requestState"] = asked["result"]["requestState"].clone();
        let key = asked["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
        again["inputResponses"] = json!({key: crate::support::answer_to("elicitation/create")});
        let mut other_tool = again.clone();
        other_tool["name"] = json!("echo");
        let mut other_arguments = again.clone();
        other_arguments["arguments"]["kind"] = json!("roots");
        for (id, other) in [(2, other_tool), (3, other_arguments)] {
            let (refused, _) = agent.modern(id, "tools/call", other, &everything()).await;
            assert_eq!(refused["error"]["code"], -32602, "{refused}");
        }
        let (done, _) = agent.modern(4, "tools/call", again, &everything()).await;
        assert!(done["result"].to_string().contains("the agent's answer"), "{done}");
        gateway.host().shutdown().await;
    }
}

/// A server that asks what the agent never offered: the agent is told what it would need.
#[tokio::test]
async fn what_an_agent_cannot_answer_is_not_asked() {
    let (gateway, face) = shared(&Scenario::modern(), Limits::default()).await;
    let agent = HttpAgent::new(&face, 1);
    let question =
        r#"{"k":{"method":"elicitation/create","params":{"mode":"url","message":"?","url":"https://example.com"}}}"#;
    let result = format!(r#"{{"resultType":"input_required","inputRequests":{question}}}"#);
    let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{result}}}\n");
    let call = json!({"name": "raw", "arguments": {"text": text}});
    let (refused, _) = agent.modern(1, "tools/call", call.clone(), &json!({"elicitation": {"form": {}}})).await;
    insta::assert_snapshot!(refused["error"], @r#"{"code":-32021,"data":{"requiredCapabilities":{"elicitation":{"url":{}}}},"message":"Missing required client capability"}"#);
    let (asked, _) = agent.modern(2, "tools/call", call, &everything()).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    gateway.host().shutdown().await;
}

/// The same of a server that asks in the middle of its call: it is refused at once, and the call goes on.
#[tokio::test]
async fn what_an_agent_cannot_answer_does_not_hold_a_call() {
    let (gateway, face) = shared(&Scenario::legacy(), Limits::default()).await;
    let agent = HttpAgent::new(&face, 1);
    let call = json!({"name": "ask", "arguments": {"kind": "url"}});
    let (done, _) = agent.modern(1, "tools/call", call, &json!({"elicitation": {"form": {}}})).await;
    let told = done["result"]["content"][0]["text"].as_str().unwrap();
    insta::assert_snapshot!(told, @r#"{"answers":[{"error":{"code":-32602,"message":"the client does not declare {\"elicitation\":{\"url\":{}}}"}}]}"#);
    gateway.host().shutdown().await;
}

/// It is us who answers, whoever is behind us.
#[tokio::test]
async fn a_servers_name_in_a_result_becomes_ours() {
    let (gateway, face) = shared(&Scenario::modern(), Limits::default()).await;
    let agent = HttpAgent::new(&face, 1);
    let meta = r#"{"b":1,"io.modelcontextprotocol/serverInfo":{"name":"behind","version":"1"},"a":2}"#;
    let result = format!(r#"{{"resultType":"complete","content":[],"_meta":{meta}}}"#);
    let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{result}}}\n");
    let (answer, _) =
        agent.modern(1, "tools/call", json!({"name": "raw", "arguments": {"text": text}}), &json!({})).await;
    assert_eq!(answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "helve", "{answer}");
    assert_eq!(answer["result"]["_meta"]["b"], 1);
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn sessions_that_nobody_uses_go() {
    let limits = Limits { session_idle: Duration::ZERO, ..Limits::default() };
    let (gateway, face) = shared(&Scenario::modern(), limits).await;
    for connection in 0..1_000 {
        let mut agent = HttpAgent::new(&face, connection);
        agent.initialize(json!({})).await;
    }
    // Each new session sweeps out those before it.
    assert!(face.sessions() <= 2, "{}", face.sessions());
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn an_agent_that_hangs_up_takes_its_call_back() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let (gateway, face) = shared(&Scenario::modern().record_to(&record), Limits::default()).await;
    let agent = HttpAgent::new(&face, 1);
    let params = json!({"name": "sleep", "arguments": {"ms": 60_000}});
    // After a second without an answer there is a stream, and dropping it is hanging up.
    let response = agent.modern_response(1, "tools/call", params, &json!({})).await;
    drop(response);
    let deadline = Instant::now() + DEADLINE;
    loop {
        let recording = helve_testkit::Recording::load(&record).unwrap();
        if recording.methods().iter().any(|method| method == "notifications/cancelled") {
            break;
        }
        assert!(Instant::now() < deadline, "the server was not told");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    gateway.host().shutdown().await;
}

/// S26: whichever eras agent and server speak, and by form or page, the person reads first who asks.
#[tokio::test]
async fn s26_a_server_asks_under_its_own_name() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        for kind in ["form", "url"] {
            let call = json!({"name": "ask", "arguments": {"kind": kind}});
            let (gateway, face) = shared(&scenario, Limits::default()).await;
            // One of several, and the only one: the servers of that one were told of it when they were started.
            let alone = StreamAgent::alone(vec![stdio_server("one", &scenario)], Naming::None);
            for mut agent in [StreamAgent::connect(&gateway), alone] {
                agent.initialize(everything()).await;
                agent.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})).await;
                let mut question = agent.next().await;
                while question["method"] != "elicitation/create" {
                    assert_ne!(question["id"], 1, "{question}");
                    question = agent.next().await;
                }
                let message = question["params"]["message"].as_str().unwrap();
                assert!(message.starts_with("The server `one` asks: "), "{message}");
                agent.leave().await;
            }

            let agent = HttpAgent::new(&face, 1);
            let (asked, _) = agent.modern(1, "tools/call", call, &everything()).await;
            let questions = asked["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("{asked}"));
            for question in questions.values() {
                let message = question["params"]["message"].as_str().unwrap();
                assert!(message.starts_with("The server `one` asks: "), "{message}");
            }
            gateway.host().shutdown().await;
        }
    }
}
