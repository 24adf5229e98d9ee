//! What works with a server directly works through helve, whichever era that takes, for as few processes as it takes (G1).

use helve_serve::{Limits, Naming};
use helve_testkit::Scenario;
use serde_json::{Value, json};

use crate::http_agent::HttpAgent;
use crate::sharing::{processes, until};
use crate::support::{StreamAgent, call, everything, modern_meta, open, serve, stdio_server};

/// How `initialize` stands in a record, which is JSON in JSON.
const INITIALIZE: &str = r#"initialize\""#;

const KINDS: [&str; 3] = ["form", "sampling", "roots"];

struct Recorded {
    directory: tempfile::TempDir,
}

impl Recorded {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> std::path::PathBuf {
        self.directory.path().join("record")
    }

    fn scenario(&self, scenario: Scenario) -> Scenario {
        scenario.record_to(self.path())
    }

    fn processes(&self) -> usize {
        processes(&self.path())
    }

    fn methods(&self) -> String {
        fs_err::read_to_string(self.path()).unwrap()
    }
}

fn is_answered(answer: &Value) -> bool {
    answer["result"].to_string().contains("the agent's answer")
}

#[tokio::test]
async fn g1_on_a_stream_a_server_of_both_eras_asks_a_legacy_agent() {
    let recorded = Recorded::new();
    let one = stdio_server("one", &recorded.scenario(Scenario::asks_in_legacy_only()));
    let mut agent = StreamAgent::alone(vec![one], Naming::None);
    agent.initialize(everything()).await;
    for (id, kind) in KINDS.iter().enumerate() {
        let params = json!({"name": "ask", "arguments": {"kind": kind}});
        let (asked, _) = agent.ask(id as u64 + 1, "tools/call", params).await;
        assert!(is_answered(&asked), "{kind}: {asked}");
    }
    assert_eq!(recorded.processes(), 1);
    assert!(!recorded.methods().contains("server/discover"), "it was greeted twice");
    agent.leave().await;
}

/// One that cannot be asked, or is asked by results, gets the newest era there is.
#[tokio::test]
async fn g1_on_a_stream_others_get_the_newest_era() {
    for is_modern in [false, true] {
        let recorded = Recorded::new();
        let one = stdio_server("one", &recorded.scenario(Scenario::asks_in_legacy_only()));
        let mut agent = StreamAgent::alone(vec![one], Naming::None);
        let mut echo = json!({"name": "echo", "arguments": {"x": 1}});
        if is_modern {
            echo["_meta"] = modern_meta(everything());
        } else {
            agent.initialize(json!({})).await;
        }
        let (echoed, _) = agent.ask(1, "tools/call", echo).await;
        assert_eq!(echoed["result"]["structuredContent"], json!({"x": 1}), "{echoed}");
        assert!(!recorded.methods().contains(INITIALIZE), "{is_modern}");
        assert_eq!(recorded.processes(), 1);
        agent.leave().await;
    }
}

/// The shared one lists; each agent that can be asked has its own from its first call on.
#[tokio::test]
async fn g1_over_http_ten_agents_cost_eleven_processes() {
    let recorded = Recorded::new();
    let one = stdio_server("one", &recorded.scenario(Scenario::asks_in_legacy_only()));
    let (gateway, face) = serve(open(vec![one]), Limits::default()).await;
    let mut agents = Vec::new();
    for connection in 0..10 {
        let mut agent = HttpAgent::new(&face, connection);
        agent.initialize(everything()).await;
        let (list, _) = agent.ask(1, "tools/list", json!({})).await;
        assert!(list["result"].to_string().contains("one__ask"), "{list}");
        agents.push(agent);
    }
    let completed =
        json!({"ref": {"type": "ref/prompt", "name": "one__greet"}, "argument": {"name": "who", "value": ""}});
    agents[0].ask(2, "completion/complete", completed).await;
    assert_eq!(recorded.processes(), 1, "lists and completions are the shared one's");
    for agent in &agents {
        for id in 3..5 {
            let (echoed, _) = agent.ask(id, "tools/call", call("one__echo", json!({"x": id}))).await;
            assert_eq!(echoed["result"]["structuredContent"], json!({"x": id}), "{echoed}");
        }
    }
    assert_eq!(recorded.processes(), 11);
    for (id, kind) in KINDS.iter().enumerate() {
        let (asked, _) = agents[3].ask(id as u64 + 5, "tools/call", call("one__ask", json!({"kind": kind}))).await;
        assert!(is_answered(&asked), "{kind}: {asked}");
    }
    let (list, _) = agents[3].ask(9, "tools/list", json!({})).await;
    assert!(list["result"].to_string().contains("one__ask"), "{list}");
    // The others share.
    let mut plain = HttpAgent::new(&face, 20);
    plain.initialize(json!({})).await;
    plain.ask(1, "tools/call", call("one__echo", json!({"x": 1}))).await;
    let modern = HttpAgent::new(&face, 21);
    modern.modern(1, "tools/call", call("one__echo", json!({"x": 1})), &everything()).await;
    assert_eq!(recorded.processes(), 11);
    gateway.host().shutdown().await;
}

/// Most servers do not say which eras they have: the first agent finds out, and nobody pays for it again.
#[tokio::test]
async fn g1_a_server_of_the_newest_era_alone_stays_shared() {
    let recorded = Recorded::new();
    let one = stdio_server("one", &recorded.scenario(Scenario::modern()));
    let (gateway, face) = serve(open(vec![one]), Limits::default()).await;
    for connection in 0..4 {
        let mut agent = HttpAgent::new(&face, connection);
        agent.initialize(everything()).await;
        let (asked, _) = agent.ask(1, "tools/call", call("one__ask", json!({"kind": "form"}))).await;
        assert!(is_answered(&asked), "it asks by its results: {asked}");
    }
    until("one process", || recorded.processes() == 1).await;
    assert_eq!(recorded.methods().matches(INITIALIZE).count(), 1);
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn g1_what_an_entry_says_decides() {
    let pinned = |server: &mut helve_model::ServerSpec| server.protocol_version = Some("2026-07-28".to_owned());
    let shared = |server: &mut helve_model::ServerSpec| server.shared = Some(true);
    let changes: [fn(&mut helve_model::ServerSpec); 2] = [pinned, shared];
    for (change, is_told) in changes.into_iter().zip([false, true]) {
        let recorded = Recorded::new();
        let mut one = stdio_server("one", &recorded.scenario(Scenario::asks_in_legacy_only()));
        change(&mut one);
        let (gateway, face) = serve(open(vec![one]), Limits::default()).await;
        let mut agent = HttpAgent::new(&face, 1);
        agent.initialize(everything()).await;
        let (asked, before) = agent.ask(1, "tools/call", call("one__ask", json!({"kind": "form"}))).await;
        assert!(asked.to_string().contains("unavailable on 2026-07-28"), "{asked}");
        let said: Vec<&Value> = before.iter().map(|message| &message["params"]["data"]).collect();
        let expected = json!("all agents share the server `one`: it cannot ask this one anything");
        assert_eq!(said.contains(&&expected), is_told, "{before:?}");
        assert_eq!(recorded.processes(), 1);
        gateway.host().shutdown().await;
    }
}
