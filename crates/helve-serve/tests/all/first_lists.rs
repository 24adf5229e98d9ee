//! An agent's first lists have what servers have, and what comes later is announced (G8).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use helve::{Answerer, CallError, Host, Surroundings};
use helve_model::{ConfigText, ServerSpec, StdioSpec, TransportSpec};
use helve_serve::{HostPurpose, HostSource, Naming, Options};
use helve_testkit::{Scenario, peer_program};
use helve_wire::BoxFuture;
use serde_json::{Value, json};

use crate::support::{StreamAgent, open, stdio_server};

const CHANGED: &str = "notifications/tools/list_changed";

fn options() -> Options {
    Options::default().with(|options| options.naming = Naming::Server)
}

/// Sends `initialize` and `tools/list` in one piece, and gives what comes until both are answered.
async fn begin(agent: &mut StreamAgent) -> Vec<Value> {
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}});
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    agent.send_text(&format!("{initialize}\n{list}")).await;
    let mut came = Vec::new();
    while !came.iter().any(|message: &Value| message["id"] == 1) {
        came.push(agent.next().await);
    }
    came
}

fn tools(came: &[Value]) -> String {
    came.iter().find(|message| message["id"] == 1).unwrap()["result"]["tools"].to_string()
}

async fn until_changed(agent: &mut StreamAgent) {
    while agent.next().await["method"] != CHANGED {}
}

#[tokio::test]
async fn g8_the_first_list_waits_for_servers_nobody_knows() {
    let servers = ["one", "two"].map(|name| stdio_server(name, &Scenario::legacy().start_delay_ms(700)));
    let mut agent = StreamAgent::alone_with(open(servers.to_vec()), options());
    let begun = Instant::now();
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}});
    agent.ask(0, "initialize", params).await;
    assert!(begun.elapsed() < Duration::from_millis(600), "`initialize` waited: {:?}", begun.elapsed());
    let (list, _) = agent.ask(1, "tools/list", json!({})).await;
    let listed = list["result"]["tools"].to_string();
    assert!(listed.contains("one__echo") && listed.contains("two__echo"), "{listed}");
    agent.leave().await;
}

/// What is asked together with `initialize` is answered behind it, and is not answered from nothing.
#[tokio::test]
async fn g8_a_list_asked_for_together_with_initialize_is_whole() {
    for _ in 0..8 {
        let servers = vec![stdio_server("one", &Scenario::legacy())];
        let mut agent = StreamAgent::alone_with(open(servers), options());
        let came = begin(&mut agent).await;
        assert_eq!(came[0]["id"], 0, "the first answer is that of initialize: {came:?}");
        assert!(tools(&came).contains("one__echo"), "{came:?}");
        agent.leave().await;
    }
}

/// One that takes longer than a list waits is announced, and so is everything where nothing is waited for.
#[tokio::test]
async fn g8_what_comes_later_is_announced() {
    for lists_wait in [Duration::ZERO, Duration::from_millis(300)] {
        let late = stdio_server("late", &Scenario::legacy().start_delay_ms(1_500));
        let servers = vec![stdio_server("one", &Scenario::legacy()), late];
        let mut agent =
            StreamAgent::alone_with(open(servers), options().with(|options| options.lists_wait = lists_wait));
        let came = begin(&mut agent).await;
        assert!(!tools(&came).contains("late__echo"), "{lists_wait:?}: {came:?}");
        loop {
            until_changed(&mut agent).await;
            let (list, _) = agent.ask(2, "tools/list", json!({})).await;
            if list["result"]["tools"].to_string().contains("late__echo") {
                break;
            }
        }
        agent.leave().await;
    }
}

/// An agent that asks for no list hears once that it would be another, however many servers come.
#[tokio::test]
async fn g8_an_agent_that_does_not_list_hears_of_changes_once() {
    // Further apart than what is told at once.
    let server = |delay| stdio_server(&format!("after{delay}"), &Scenario::legacy().start_delay_ms(delay));
    let servers = [100, 900, 1_700].map(server);
    let lists_wait = Duration::ZERO;
    let mut agent =
        StreamAgent::alone_with(open(servers.to_vec()), options().with(|options| options.lists_wait = lists_wait));
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}});
    agent.ask(0, "initialize", params).await;
    let mut heard = 0;
    for id in 1.. {
        let (answer, before) = agent.ask(id, "tools/call", json!({"name": "after1700__echo", "arguments": {}})).await;
        heard += before.iter().filter(|message| message["method"] == CHANGED).count();
        if answer["result"].is_object() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(heard, 1);
    // From its next list on it hears of changes again.
    agent.ask(0, "tools/list", json!({})).await;
    agent.send(json!({"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": {"name": "after100__list_changed", "arguments": {"kind": "tools"}}})).await;
    until_changed(&mut agent).await;
    agent.leave().await;
}

/// A server that never comes costs the first list its time once, and the others nothing.
#[tokio::test]
async fn g8_a_server_that_does_not_come_is_waited_for_once() {
    let mute = stdio_server("mute", &Scenario::legacy().never_answers());
    let servers = vec![stdio_server("one", &Scenario::legacy()), mute];
    let lists_wait = Duration::from_millis(800);
    let mut agent = StreamAgent::alone_with(open(servers), options().with(|options| options.lists_wait = lists_wait));
    let begun = Instant::now();
    assert!(tools(&begin(&mut agent).await).contains("one__echo"));
    assert!(begun.elapsed() >= lists_wait);
    let again = Instant::now();
    for id in 2..6 {
        agent.ask(id, "tools/list", json!({})).await;
    }
    assert!(again.elapsed() < lists_wait, "{:?}", again.elapsed());
    agent.leave().await;
}

/// Hosts that remember, with one server whose command never changes.
struct Remembering {
    directory: PathBuf,
}

impl Remembering {
    /// What the same command does from now on.
    fn changes_to(directory: &Path, scenario: &Scenario) {
        fs_err::write(directory.join("scenario"), scenario.to_json()).unwrap();
    }
}

impl HostSource for Remembering {
    #[expect(clippy::disallowed_methods, reason = "the shell is looked for where the tests find programs")]
    fn start(&self, answerer: Arc<dyn Answerer>, _purpose: HostPurpose) -> BoxFuture<'_, Result<Host, CallError>> {
        let file = self.directory.join("scenario").to_string_lossy().into_owned();
        let peer = peer_program().to_string_lossy().into_owned();
        let words = ["-c", r#"exec "$0" "$(cat "$1")""#, &peer, &file];
        let mut server: ServerSpec = stdio_server("one", &Scenario::legacy());
        server.transport = TransportSpec::Stdio(StdioSpec {
            command: ConfigText::literal("sh"),
            arguments: words.iter().map(|word| ConfigText::literal(*word)).collect(),
            environment: indexmap::IndexMap::new(),
            working_directory: None,
        });
        let environment = std::env::vars_os().filter(|(name, _)| name == "PATH").collect();
        let cache_directory = Some(self.directory.join("lists"));
        let surroundings = Surroundings::default().with(|surroundings| {
            surroundings.environment = environment;
            surroundings.cache_directory = cache_directory;
        });
        Box::pin(Host::builder().surroundings(surroundings).server(server).answerer(answerer).start())
    }
}

/// A kept list is given at once, however soon it is asked for and however long the server takes.
#[tokio::test]
async fn g8_a_kept_list_is_read_before_the_first_is_given() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    Remembering::changes_to(path, &Scenario::legacy());
    let mut agent = StreamAgent::alone_with(Remembering { directory: path.to_owned() }, options());
    assert!(tools(&begin(&mut agent).await).contains("one__echo"));
    agent.leave().await;

    // The list is another one by now, which nobody can know before the server is there.
    Remembering::changes_to(path, &Scenario::legacy().start_delay_ms(2_000).generated_tools(1, 900));
    for _ in 0..4 {
        let mut agent = StreamAgent::alone_with(Remembering { directory: path.to_owned() }, options());
        let begun = Instant::now();
        let listed = tools(&begin(&mut agent).await);
        assert!(listed.contains("one__echo") && !listed.contains("gen_0"), "{listed}");
        assert!(begun.elapsed() < Duration::from_millis(1_800), "{:?}", begun.elapsed());
        agent.leave().await;
    }
    let mut agent = StreamAgent::alone_with(Remembering { directory: path.to_owned() }, options());
    begin(&mut agent).await;
    until_changed(&mut agent).await;
    let (list, _) = agent.ask(2, "tools/list", json!({})).await;
    assert!(list["result"]["tools"].to_string().contains("gen_0"), "{list}");
    agent.leave().await;
}
