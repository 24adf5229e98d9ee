//! What nobody here knows gets through all the same: members of requests, capabilities.

use std::path::Path;

use helve_serve::Naming;
use helve_testkit::{Offers, Recording, Scenario};
use serde_json::{Value, json};

use crate::support::{DEADLINE, StreamAgent, answer_to, everything, gateway, host, stdio_server};

/// The newest message of this method that the server got, once there is one.
async fn recorded(record: &Path, method: &str) -> Value {
    let deadline = tokio::time::Instant::now() + DEADLINE;
    loop {
        // There is nothing to load before the server has got anything.
        let messages = Recording::load(record).map(|recording| recording.messages()).unwrap_or_default();
        if let Some(message) = messages.into_iter().rfind(|message| message["method"] == method) {
            return message;
        }
        assert!(tokio::time::Instant::now() < deadline, "{method} never came");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn members_of_requests() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let directory = tempfile::tempdir().unwrap();
        let record = directory.path().join("record");
        let mut agent = StreamAgent::alone(vec![stdio_server("one", &scenario.record_to(&record))], Naming::None);
        agent.initialize(json!({})).await;
        let more = json!({"vendor": {"b": 1, "a": [2]}, "_meta": {"trace": "1-2", "progressToken": "mine"}});
        for (id, method, params) in [
            (1, "tools/call", json!({"name": "echo", "arguments": {"x": 1}})),
            (2, "resources/read", json!({"uri": "test://text"})),
            (3, "prompts/get", json!({"name": "greet", "arguments": {"who": "you"}})),
            (
                4,
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": "y"}}),
            ),
        ] {
            let mut params = params;
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let (answer, _) = agent.ask(id, method, params.clone()).await;
            assert!(answer.get("result").is_some(), "{method}: {answer}");
            let mut got = recorded(&record, method).await["params"].take();
            assert_eq!(got["_meta"]["trace"], "1-2", "{method}: {got}");
            assert_ne!(got["_meta"]["progressToken"], "mine");
            got.as_object_mut().unwrap().remove("_meta");
            params.as_object_mut().unwrap().remove("_meta");
            assert_eq!(got, params, "{method}");
        }
        agent.leave().await;
    }
}

/// What a server says with a list passes where it is the only one; of several, none speaks for the whole.
#[tokio::test]
async fn members_of_lists() {
    const SAID: &str = r#""vendor":{"b":1,"a":[2]},"_meta":{"trace":"1-2"}"#;
    let lists = [("tools", ""), ("resources", ""), ("resourceTemplates", "templates/"), ("prompts", "")];
    let method = |key: &str, below: &str| match below {
        "" => format!("{key}/list"),
        below => format!("resources/{below}list"),
    };
    let mut scenario = Scenario::legacy();
    for (key, below) in lists {
        let frame = format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{{\"{key}\":[],{SAID}}}}}\n");
        scenario = scenario.scripted(&method(key, below), &frame);
    }
    let one = || stdio_server("one", &scenario);
    for (servers, is_told) in [(vec![one()], true), (vec![one(), stdio_server("two", &scenario)], false)] {
        let naming = if is_told { Naming::None } else { Naming::default() };
        let mut agent = StreamAgent::alone(servers, naming);
        agent.initialize(json!({})).await;
        for (id, (key, below)) in (1..).zip(lists) {
            let (mut list, _) = agent.ask(id, &method(key, below), json!({})).await;
            let mut result = json!({ key: [] });
            if is_told {
                let said: Value = serde_json::from_str(&format!("{{{SAID}}}")).unwrap();
                result.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
            }
            assert_eq!(list["result"].take(), result);
        }
        agent.leave().await;
    }
}

#[tokio::test]
async fn capabilities_of_agents() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let scenario = Scenario::legacy().record_to(&record);
    let mut agent = StreamAgent::alone(vec![stdio_server("one", &scenario)], Naming::None);
    let capabilities = json!({
        "elicitation": {"form": {"z": 1}}, "sampling": {"context": {}, "tools": {}}, "experimental": {"x": {}}, "vendor": {"q": 1}
    });
    agent.initialize(capabilities.clone()).await;
    assert_eq!(recorded(&record, "initialize").await["params"]["capabilities"], capabilities);
    agent.leave().await;
}

/// A server that takes its question back is not answered, and the agent is told.
#[tokio::test]
async fn a_question_that_is_taken_back() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let scenario = Scenario::legacy().record_to(&record);
    let mut agent = StreamAgent::alone(vec![stdio_server("one", &scenario)], Naming::None);
    agent.initialize(everything()).await;
    let raw = |id: u64, first: &str| {
        let text = format!("{first}\n{}\n", r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}"#);
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "raw", "arguments": {"text": text}}})
    };
    let question = r#"{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}"#;
    agent.send(raw(1, question)).await;
    let asked = loop {
        let message = agent.next().await;
        if message["method"] == "elicitation/create" {
            break message["id"].clone();
        }
    };
    agent.send(raw(2, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q1"}}"#)).await;
    loop {
        let message = agent.next().await;
        if message["method"] == "notifications/cancelled" {
            assert_eq!(message["params"]["requestId"], asked);
            break;
        }
    }
    agent.send(json!({"jsonrpc": "2.0", "id": asked, "result": answer_to("elicitation/create")})).await;
    agent.ask(3, "tools/call", json!({"name": "echo", "arguments": {}})).await;
    let answered = Recording::load(&record).unwrap().messages().into_iter().any(|message| message["id"] == "q1");
    assert!(!answered);
    agent.leave().await;
}

/// With several servers, what a result points to is read from the server that pointed to it.
#[tokio::test]
async fn links_to_what_nobody_lists() {
    let host = host(vec![stdio_server("one", &Scenario::legacy()), stdio_server("two", &Scenario::legacy())]).await;
    let gateway = gateway(&host, Naming::Server);
    let mut agent = StreamAgent::connect(&gateway);
    agent.initialize(json!({})).await;
    let read = json!({"uri": "test://item/7"});
    let link = r#"{"type":"resource_link","uri":"test://item/7","name":"seven"}"#;
    let text = format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{{"content":[{link}]}}}}"#);
    let params = json!({"name": "two__raw", "arguments": {"text": format!("{text}\n")}});
    let (linked, _) = agent.ask(1, "tools/call", params).await;
    assert_eq!(linked["result"]["content"][0]["uri"], "test://item/7", "{linked}");
    let (got, _) = agent.ask(2, "resources/read", read).await;
    assert_eq!(got["result"]["contents"][0]["uri"], "test://item/7", "{got}");
    host.shutdown().await;
}

#[tokio::test]
async fn nothing_is_offered_that_no_server_has() {
    let plain = Offers { subscriptions: false, ..Offers::default() };
    for (scenario, resources) in [
        (Scenario::legacy(), json!({"subscribe": true, "listChanged": true})),
        (Scenario::legacy().offers(plain), json!({"listChanged": true})),
    ] {
        let host = host(vec![stdio_server("one", &scenario)]).await;
        let gateway = gateway(&host, Naming::None);
        let mut agent = StreamAgent::connect(&gateway);
        let hello = agent.initialize(json!({})).await;
        assert_eq!(hello["result"]["capabilities"]["resources"], resources);
        host.shutdown().await;
    }
}
