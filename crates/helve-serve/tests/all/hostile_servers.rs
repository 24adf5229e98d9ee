//! Whatever a server says in the course of a call, an agent gets its answer, what it asked for, and the protocol's change
//! notices; and another agent gets nothing of it.

use std::sync::Arc;

use helve_model::ServerSpec;
use helve_serve::face::http::{Guard, HttpFace};
use helve_serve::{Gateway, Naming, Options};
use helve_testkit::Scenario;
use helve_testkit::hostile::servers::{MARK, Reader, objection, texts};
use serde_json::json;

use crate::hostile_agent::{DOORS, Door};
use crate::support::{DEADLINE, open, stdio_server};

/// One in so many texts is said in each run, and another one in the next.
const STEP: usize = 8;

/// The servers: each agent has its own; all share one that keeps nothing; all share one that may keep anything.
fn servers() -> [ServerSpec; 3] {
    let shared = stdio_server("one", &Scenario::legacy()).with(|spec| spec.shared = Some(true));
    [stdio_server("one", &Scenario::legacy()), stdio_server("one", &Scenario::modern()), shared]
}

async fn check(door: Door, server: ServerSpec, can_be_asked: bool, first: usize) {
    let case = format!("{door:?}, shared {:?}, {can_be_asked}", server.shared);
    let options = Options::default().with(|options| {
        options.naming = Naming::Server;
        options.wait = Some(DEADLINE);
    });
    let gateway = Gateway::shared(Arc::new(open(vec![server])), options).await.unwrap();
    assert!(gateway.host().settled(DEADLINE).await);
    let face = Arc::new(HttpFace::new(Arc::clone(&gateway), Guard::default()));
    let mut neighbour = door.enter(&gateway, &face, 2).await;
    door.greet(&mut neighbour, json!({"elicitation": {"form": {}}, "sampling": {}, "roots": {}})).await;
    // It has used the server, and its last call has ended.
    neighbour.ask(door, "tools/call", json!({"name": "one__echo", "arguments": {}})).await;
    let mut agent = door.enter(&gateway, &face, 1).await;
    let capabilities = if can_be_asked { json!({"elicitation": {"form": {}}}) } else { json!({}) };
    door.greet(&mut agent, capabilities).await;
    for (number, text) in texts().into_iter().enumerate().filter(|(number, _)| number % STEP == first % STEP) {
        let progress = (number % 2 == 0).then(|| json!("mine"));
        let reader =
            Reader { answers: if can_be_asked { &["elicitation/create"] } else { &[] }, progress: progress.clone() };
        let mut params = json!({"name": "one__raw", "arguments": {"text": text}});
        if let Some(token) = progress {
            params["_meta"] = json!({"progressToken": token});
        }
        let (answer, before) = agent.ask(door, "tools/call", params).await;
        assert!(answer.get("result").is_some() || answer.get("error").is_some(), "{case}: {text}: {answer}");
        let objections: Vec<String> = before.iter().filter_map(|message| objection(message, &reader)).collect();
        assert_eq!(objections, Vec::<String>::new(), "{case}: {text}");
    }
    // What is still on its way has come by the second answer.
    let reader = Reader { answers: &[], progress: None };
    for (heard_by, hears_it) in [(&mut agent, true), (&mut neighbour, false)] {
        for _ in 0..2 {
            let (answer, before) = heard_by.ask(door, "tools/list", json!({})).await;
            assert!(answer.get("result").is_some(), "{case}: {answer}");
            for message in before {
                assert_eq!(objection(&message, &reader), None, "{case}");
                assert!(hears_it || !message.to_string().contains(MARK), "{case}: said to another: {message}");
            }
        }
    }
    gateway.host().shutdown().await;
}

/// S20, S23, S25: through every door, from servers of every kind.
#[tokio::test]
async fn s25_whatever_a_server_says() {
    for (number, door) in DOORS.into_iter().enumerate() {
        for (kind, server) in servers().into_iter().enumerate() {
            let turn = number * 3 + kind;
            check(door, server, turn % 2 == 0, turn).await;
        }
    }
}
