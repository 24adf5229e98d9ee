//! Every pair of eras, over every way in and out, with one assertion: what a server offers gets through, and what it asks
//! gets to the agent and back.

use std::sync::Arc;

use helve_serve::face::http::{Guard, HttpFace};
use helve_serve::{Gateway, Naming, Options};
use helve_testkit::Scenario;
use serde_json::{Value, json};

use crate::http_agent::HttpAgent;
use crate::support::{DEADLINE, StreamAgent, answer_to, everything, http_server, modern_meta, open, stdio_server};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Legacy,
    Modern,
}

/// An agent of either era, over either transport.
enum Agent {
    Stream(Era, StreamAgent),
    Http(Era, HttpAgent),
}

impl Agent {
    async fn begin(&mut self) {
        match self {
            Self::Stream(Era::Legacy, agent) => drop(agent.initialize(everything()).await),
            Self::Http(Era::Legacy, agent) => drop(agent.initialize(everything()).await),
            Self::Stream(Era::Modern, _) | Self::Http(Era::Modern, _) => {}
        }
    }

    /// One request, with all the rounds it takes.
    async fn ask(&mut self, id: u64, method: &str, params: Value) -> (Value, Vec<Value>) {
        let mut params = params;
        let mut all = Vec::new();
        for round in 0..10 {
            let id = id * 100 + round;
            let (answer, before) = match self {
                Self::Stream(Era::Legacy, agent) => return agent.ask(id, method, params).await,
                Self::Http(Era::Legacy, agent) => return agent.ask(id, method, params).await,
                Self::Stream(Era::Modern, agent) => {
                    let mut params = params.clone();
                    let more = params["_meta"].take();
                    params["_meta"] = modern_meta(everything());
                    if let Some(more) = more.as_object() {
                        params["_meta"].as_object_mut().unwrap().extend(more.clone());
                    }
                    agent.ask(id, method, params).await
                }
                Self::Http(Era::Modern, agent) => agent.modern(id, method, params.clone(), &everything()).await,
            };
            all.extend(before);
            if answer["result"]["resultType"] != "input_required" {
                return (answer, all);
            }
            let questions = answer["result"]["inputRequests"].as_object().cloned().unwrap_or_default();
            let answers =
                questions.iter().map(|(key, asked)| (key.clone(), answer_to(asked["method"].as_str().unwrap())));
            params["inputResponses"] = Value::Object(answers.collect());
            params["requestState"] = answer["result"]["requestState"].clone();
        }
        panic!("there is no end to the questions");
    }
}

async fn check(agent: &mut Agent, case: &str) {
    agent.begin().await;
    let (list, _) = agent.ask(1, "tools/list", json!({})).await;
    assert!(list["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "echo"), "{case}: {list}");

    let arguments = json!({"b": 9_223_372_036_854_775_808_u64, "a": [null, "\u{2028}é"]});
    let (echoed, _) = agent.ask(2, "tools/call", json!({"name": "echo", "arguments": arguments})).await;
    assert_eq!(echoed["result"]["structuredContent"], arguments, "{case}: {echoed}");

    let params = json!({"name": "progress", "arguments": {"steps": 5}, "_meta": {"progressToken": "mine"}});
    let (_, before) = agent.ask(3, "tools/call", params).await;
    let steps: Vec<f64> = before.iter().filter_map(|message| message["params"]["progress"].as_f64()).collect();
    assert_eq!(steps.len(), 5, "{case}: {before:?}");
    assert!(steps.is_sorted());
    assert!(before.iter().all(|message| message["params"]["progressToken"] == "mine"), "{case}");

    for (id, kind) in [(4, "form"), (5, "sampling"), (6, "roots"), (7, "mixed")] {
        let (asked, _) =
            agent.ask(id, "tools/call", json!({"name": "ask", "arguments": {"kind": kind, "rounds": 2}})).await;
        assert!(asked["result"].to_string().contains("the agent's answer"), "{case}, {kind}: {asked}");
    }

    let (resources, _) = agent.ask(8, "resources/list", json!({})).await;
    assert!(resources["result"]["resources"].as_array().is_some_and(|list| !list.is_empty()), "{case}: {resources}");
    let (read, _) = agent.ask(9, "resources/read", json!({"uri": "test://text"})).await;
    assert_eq!(read["result"]["contents"][0]["uri"], "test://text", "{case}: {read}");
    let (missing, _) = agent.ask(10, "resources/read", json!({"uri": "test://nothing"})).await;
    assert!(missing["error"]["code"].is_i64(), "{case}: {missing}");
    let (prompt, _) = agent.ask(11, "prompts/get", json!({"name": "greet", "arguments": {"who": "you"}})).await;
    assert!(prompt["result"]["messages"].is_array(), "{case}: {prompt}");
    let (failed, _) = agent.ask(12, "tools/call", json!({"name": "fail", "arguments": {"message": "no"}})).await;
    assert_eq!(failed["result"]["isError"], true, "{case}: {failed}");
}

async fn run(agent_era: Era, agent_over_http: bool, server_era: Era, server_over_http: bool) {
    let case = format!("{agent_era:?} agent, http {agent_over_http}; {server_era:?} server, http {server_over_http}");
    let scenario = if server_era == Era::Legacy { Scenario::legacy() } else { Scenario::modern() };
    let listening = if server_over_http { Some(scenario.clone().serve_http().await.unwrap()) } else { None };
    let server =
        listening.as_ref().map_or_else(|| stdio_server("one", &scenario), |server| http_server("one", server.url()));
    if !agent_over_http {
        let mut agent = Agent::Stream(agent_era, StreamAgent::alone(vec![server], Naming::None));
        return check(&mut agent, &case).await;
    }
    let options = Options::default().with(|options| {
        options.naming = Naming::None;
        options.wait = Some(DEADLINE);
    });
    let gateway = Gateway::shared(Arc::new(open(vec![server])), options).await.unwrap();
    let face = Arc::new(HttpFace::new(Arc::clone(&gateway), Guard::default()));
    let mut agent = Agent::Http(agent_era, HttpAgent::new(&face, 1));
    check(&mut agent, &case).await;
    gateway.host().shutdown().await;
}

macro_rules! matrix {
    ($($name:ident: $agent:ident $agent_http:literal, $server:ident $server_http:literal;)*) => {$(
        #[tokio::test]
        async fn $name() {
            run(Era::$agent, $agent_http, Era::$server, $server_http).await;
        }
    )*};
}

matrix! {
    legacy_stream_legacy_stdio: Legacy false, Legacy false;
    legacy_stream_legacy_http: Legacy false, Legacy true;
    legacy_stream_modern_stdio: Legacy false, Modern false;
    legacy_stream_modern_http: Legacy false, Modern true;
    modern_stream_legacy_stdio: Modern false, Legacy false;
    modern_stream_legacy_http: Modern false, Legacy true;
    modern_stream_modern_stdio: Modern false, Modern false;
    modern_stream_modern_http: Modern false, Modern true;
    legacy_http_legacy_stdio: Legacy true, Legacy false;
    legacy_http_legacy_http: Legacy true, Legacy true;
    legacy_http_modern_stdio: Legacy true, Modern false;
    legacy_http_modern_http: Legacy true, Modern true;
    modern_http_legacy_stdio: Modern true, Legacy false;
    modern_http_legacy_http: Modern true, Legacy true;
    modern_http_modern_stdio: Modern true, Modern false;
    modern_http_modern_http: Modern true, Modern true;
}
