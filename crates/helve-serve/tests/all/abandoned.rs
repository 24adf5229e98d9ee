//! What a session costs that nobody comes back to: nothing but its id. What is somebody's work stays (G3).
//!
//! A session that was abandoned is the clock of these tests: when its server is gone, those of the others would be too.

use std::sync::Arc;
use std::time::Duration;

use helve_model::{PrivateIdle, ServerSpec};
use helve_serve::face::http::HttpFace;
use helve_serve::{Gateway, Limits};
use helve_testkit::Scenario;
use serde_json::{Value, json};

use crate::http_agent::{HttpAgent, Messages};
use crate::sharing::{delete, processes, until};
use crate::support::{call, everything, open, serve, stdio_server};

/// How long servers run without their sessions.
const IDLE: Duration = Duration::from_millis(400);

struct World {
    directory: tempfile::TempDir,
    gateway: Arc<Gateway>,
    face: Arc<HttpFace>,
}

impl World {
    async fn new(change: impl FnOnce(&mut ServerSpec, &mut Limits)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let scenario = Scenario::legacy().record_to(directory.path().join("record"));
        let mut server = stdio_server("one", &scenario);
        let mut limits = Limits { private_idle: PrivateIdle::After(IDLE), ..Limits::default() };
        change(&mut server, &mut limits);
        let (gateway, face) = serve(open(vec![server]), limits).await;
        Self { directory, gateway, face }
    }

    /// Processes of servers that are one session's alone: there is a shared one besides, for lists.
    fn private(&self) -> usize {
        processes(&self.directory.path().join("record")).saturating_sub(1)
    }

    /// A session that has called something.
    async fn session(&self, connection: u64) -> HttpAgent {
        let mut agent = HttpAgent::new(&self.face, connection);
        agent.initialize(everything()).await;
        let (echoed, _) = agent.ask(1, "tools/call", call("one__echo", json!({"x": 1}))).await;
        assert_eq!(echoed["result"]["structuredContent"], json!({"x": 1}), "{echoed}");
        agent
    }

    /// One more comes, calls something and is never heard of again: returns when its server is gone, and those of all
    /// others that were abandoned before it.
    async fn after_an_abandoned_one(&self, expected: usize) {
        self.session(99).await;
        until("the abandoned one's server is gone", || self.private() <= expected).await;
        assert_eq!(self.private(), expected);
    }
}

fn warnings(messages: &[Value]) -> Vec<String> {
    let logged = messages.iter().filter(|message| message["method"] == "notifications/message");
    logged.map(|message| format!("{}: {}", message["params"]["level"], message["params"]["data"])).collect()
}

#[tokio::test]
async fn g3_an_abandoned_sessions_server_ends_and_comes_back() {
    let world = World::new(|_, _| {}).await;
    let agent = world.session(1).await;
    agent.ask(2, "logging/setLevel", json!({"level": "warning"})).await;
    assert_eq!(world.private(), 1);
    until("its server is gone", || world.private() == 0).await;
    assert_eq!(world.face.sessions(), 1, "the session itself lives");

    let (recorded, before) = agent.ask(3, "tools/call", call("one__recorded", json!({}))).await;
    let recorded = recorded["result"].to_string();
    assert!(recorded.contains("logging/setLevel") && recorded.contains("sampling"), "{recorded}");
    insta::assert_snapshot!(warnings(&before).join("\n"), @r#""warning": "the server `one` was ended while nobody used this session, and was started again: what it kept for this session is gone""#);
    assert!(before.iter().all(|message| message["method"] != "notifications/tools/list_changed"), "{before:?}");
    // It is told once.
    let (_, before) = agent.ask(4, "tools/call", call("one__echo", json!({}))).await;
    assert_eq!(warnings(&before), Vec::<String>::new());
    assert_eq!(world.private(), 1);
    world.gateway.host().shutdown().await;
}

#[tokio::test]
async fn g3_a_connected_session_keeps_its_server_however_idle() {
    let world = World::new(|_, _| {}).await;
    let connected = world.face.connected(helve_serve::Peer { connection: 1, user: None });
    let _by_its_connection = world.session(1).await;
    let by_its_stream = world.session(2).await;
    let stream = Messages::new(by_its_stream.get(&[]).await);
    world.after_an_abandoned_one(2).await;
    world.after_an_abandoned_one(2).await;
    drop((connected, stream));
    until("both are gone", || world.private() == 0).await;
    world.gateway.host().shutdown().await;
}

/// A call, a question that waits for an answer, a task that is not finished, an answer that was not read.
#[tokio::test]
async fn g3_what_is_under_way_keeps_its_server() {
    let world = World::new(|_, limits| limits.resume_time = Duration::from_secs(60)).await;
    let message =
        |id: u64, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    let calling = world.session(1).await;
    let open = calling.post(&message(2, call("one__sleep", json!({"ms": 60_000}))), &[]).await;
    let asked = world.session(2).await;
    let mut question = Messages::new(asked.post(&message(2, call("one__ask", json!({"kind": "form"}))), &[]).await);
    assert_eq!(question.next().await.unwrap()["method"], "elicitation/create");
    let with_task = world.session(3).await;
    let mut task = call("one__task", json!({"polls": 1_000, "poll_ms": 60_000}));
    task["task"] = json!({"ttl": 600_000});
    let (made, _) = with_task.ask(2, "tools/call", task).await;
    let name = made["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("no task: {made}")).to_owned();
    // The stream of this one breaks before its answer, which nobody reads then.
    let owed = world.session(4).await;
    drop(owed.post(&message(2, call("one__sleep", json!({"ms": 1_200}))), &[]).await);
    world.after_an_abandoned_one(4).await;

    // Over, they are abandoned like any other.
    drop((open, question));
    calling
        .post(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}), &[])
        .await;
    asked.post(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}), &[]).await;
    let (cancelled, _) = with_task.ask(3, "tasks/cancel", json!({"taskId": name})).await;
    assert!(cancelled["result"].is_object(), "{cancelled}");
    until("only the unread answer holds one", || world.private() == 1).await;
    delete(&owed).await;
    until("nothing is left", || world.private() == 0).await;
    world.gateway.host().shutdown().await;
}

/// A subscription holds its server while somebody reads what it tells; after that it is told again when somebody does.
#[tokio::test]
async fn g3_a_subscription_is_told_again() {
    let world = World::new(|_, _| {}).await;
    let agent = world.session(1).await;
    let stream = Messages::new(agent.get(&[]).await);
    assert_eq!(agent.ask(2, "resources/subscribe", json!({"uri": "test://watched"})).await.0["result"], json!({}));
    world.after_an_abandoned_one(1).await;
    drop(stream);
    until("nobody reads", || world.private() == 0).await;
    let mut stream = Messages::new(agent.get(&[]).await);
    until("it is started for whoever reads again", || world.private() == 1).await;
    agent.ask(3, "tools/call", call("one__touch", json!({}))).await;
    while stream.next().await.unwrap()["method"] != "notifications/resources/updated" {}
    world.gateway.host().shutdown().await;
}

#[tokio::test]
async fn g3_what_an_entry_says_counts_for_its_server() {
    let never = World::new(|server, _| server.private_idle = Some(PrivateIdle::Never)).await;
    let sooner = World::new(|server, limits| {
        server.private_idle = Some(PrivateIdle::After(IDLE));
        limits.private_idle = PrivateIdle::Never;
    })
    .await;
    let _kept = never.session(1).await;
    let _ended = sooner.session(1).await;
    until("the one that was told to is gone", || sooner.private() == 0).await;
    assert_eq!(never.private(), 1);
    never.gateway.host().shutdown().await;
    sooner.gateway.host().shutdown().await;
}

#[tokio::test]
async fn g3_a_session_that_is_ended_has_no_server() {
    let world = World::new(|_, limits| limits.private_idle = PrivateIdle::Never).await;
    let agent = world.session(1).await;
    assert_eq!(world.private(), 1);
    delete(&agent).await;
    until("its server is gone", || world.private() == 0).await;
    world.gateway.host().shutdown().await;
}

/// At the limit an abandoned session makes room, never one that is connected.
#[tokio::test]
async fn g3_a_connected_session_makes_no_room() {
    let limits = |_: &mut ServerSpec, limits: &mut Limits| {
        (limits.private_idle, limits.own_hosts_per_principal) = (PrivateIdle::Never, 2);
    };
    let world = World::new(limits).await;
    let held = |connection| {
        let mut agent = HttpAgent::new(&world.face, connection);
        agent.peer.user = Some(7);
        agent
    };
    let begin = async |mut agent: HttpAgent| {
        agent.initialize(json!({})).await;
        let (echoed, _) = agent.ask(1, "tools/call", call("one__echo", json!({"x": 1}))).await;
        (agent, echoed)
    };
    let connected = world.face.connected(helve_serve::Peer { connection: 1, user: Some(7) });
    let (_stays, echoed) = begin(held(1)).await;
    assert!(echoed["result"].is_object(), "{echoed}");
    let (abandoned, _) = begin(held(2)).await;
    let other = world.face.connected(helve_serve::Peer { connection: 3, user: Some(7) });
    let (_takes_its_place, echoed) = begin(held(3)).await;
    assert!(echoed["result"].is_object(), "{echoed}");
    until("one made room", || world.private() == 2).await;
    let (refused, _) = abandoned.ask(2, "tools/call", call("one__echo", json!({"x": 1}))).await;
    assert!(refused.to_string().contains("have servers of their own already"), "{refused}");
    drop((connected, other));
    world.gateway.host().shutdown().await;
}
