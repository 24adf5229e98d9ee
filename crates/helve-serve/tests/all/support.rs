//! A gateway with fake servers behind it, and a plain agent in front of it.

use std::sync::Arc;
use std::time::Duration;

use helve::{Answerer, ApproveAll, CallError, Host, HostSettings};
use helve_model::{Action, ConfigText, Layer, Origin, Rule, ServerName, ServerSpec, StdioSpec, TransportSpec};
use helve_policy::{SourcedRule, Trust};
use helve_serve::{Gateway, HostSource, Naming, Options, Peer, Purpose, face};
use helve_testkit::{Scenario, peer_program};
use helve_wire::BoxFuture;
use indexmap::IndexMap;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

/// How long anything may take before a test gives up.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// A server that is a program.
pub(crate) fn stdio_server(name: &str, scenario: &Scenario) -> ServerSpec {
    let transport = TransportSpec::Stdio(StdioSpec {
        command: ConfigText::literal(peer_program().to_string_lossy()),
        arguments: vec![ConfigText::literal(scenario.to_json())],
        environment: IndexMap::new(),
        working_directory: None,
    });
    ServerSpec::new(ServerName::new(name).unwrap(), transport, Origin::Program, Layer::User)
}

/// A host with these servers, all of them connected.
pub(crate) async fn host(servers: Vec<ServerSpec>) -> Host {
    let mut builder = Host::builder()
        .settings(HostSettings { schema_cache_ttl: None, ..HostSettings::default() })
        .approver(ApproveAll);
    for server in servers {
        builder = builder.server(server);
    }
    let host = builder.start().await.unwrap();
    assert!(host.settled(DEADLINE).await);
    host
}

pub(crate) fn gateway(host: &Host, naming: Naming) -> Arc<Gateway> {
    Gateway::new(host.clone(), Options { naming, ..Options::default() })
}

/// Starts hosts with the same servers, over and over.
pub(crate) struct Servers(pub(crate) Vec<ServerSpec>);

impl HostSource for Servers {
    fn start(&self, answerer: Arc<dyn Answerer>, purpose: Purpose) -> BoxFuture<'_, Result<Host, CallError>> {
        let settings = HostSettings { schema_cache_ttl: None, ..HostSettings::default() };
        let mut builder = Host::builder().settings(settings).rules(vec![allow_everything()]).answerer(answerer);
        for mut server in self.0.clone() {
            server.lazy = purpose == Purpose::OneAgent;
            builder = builder.server(server);
        }
        Box::pin(builder.start())
    }
}

fn allow_everything() -> SourcedRule {
    let rule = Rule {
        tool: "*".to_owned(),
        pattern: None,
        risk: None,
        kind: None,
        action: Action::Allow,
        origin: Origin::Program,
        layer: Layer::User,
    };
    SourcedRule { rule, trust: Trust::Trusted }
}

/// What every agent of these tests answers.
pub(crate) fn answer_to(method: &str) -> Value {
    match method {
        "elicitation/create" => json!({"action": "accept", "content": {"name": "the agent's answer"}}),
        "sampling/createMessage" => {
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "the agent's answer"}})
        }
        "roots/list" => json!({"roots": [{"uri": "file:///the agent's answer"}]}),
        other => panic!("nobody may ask {other}"),
    }
}

/// Everything an agent can do.
pub(crate) fn everything() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
}

/// An agent on a byte stream.
pub(crate) struct StreamAgent {
    writer: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl StreamAgent {
    pub(crate) fn connect(gateway: &Arc<Gateway>) -> Self {
        let (near, far) = tokio::io::duplex(64 << 10);
        let gateway = Arc::clone(gateway);
        let serving = tokio::spawn(async move {
            let (reader, writer) = tokio::io::split(far);
            face::stream::serve(&gateway, Peer { connection: 1, user: None }, reader, writer).await
        });
        Self::on(near, serving)
    }

    /// The only agent, with a host of its own.
    pub(crate) fn alone(servers: Vec<ServerSpec>, naming: Naming) -> Self {
        Self::alone_with(Servers(servers), Options { naming, wait: Some(DEADLINE), ..Options::default() })
    }

    pub(crate) fn alone_with(source: impl HostSource + 'static, options: Options) -> Self {
        let (near, far) = tokio::io::duplex(64 << 10);
        let serving = tokio::spawn(async move {
            let (reader, writer) = tokio::io::split(far);
            face::stream::serve_alone(&source, options, reader, writer).await
        });
        Self::on(near, serving)
    }

    fn on(near: DuplexStream, serving: JoinHandle<std::io::Result<()>>) -> Self {
        let (reader, writer) = tokio::io::split(near);
        Self { writer, lines: BufReader::new(reader).lines(), serving }
    }

    /// Goes away; returns when the face has noticed.
    pub(crate) async fn leave(self) {
        drop((self.writer, self.lines));
        tokio::time::timeout(DEADLINE, self.serving).await.expect("the face goes on").unwrap().ok();
    }

    pub(crate) async fn send_text(&mut self, text: &str) {
        self.writer.write_all(format!("{text}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.send_text(&message.to_string()).await;
    }

    pub(crate) async fn next_text(&mut self) -> String {
        let line = tokio::time::timeout(DEADLINE, self.lines.next_line()).await.expect("nothing came");
        line.unwrap().expect("the stream has ended")
    }

    pub(crate) async fn next(&mut self) -> Value {
        serde_json::from_str(&self.next_text().await).unwrap()
    }

    /// Asks and waits for the answer; what comes before it is given too.
    pub(crate) async fn ask(&mut self, id: u64, method: &str, params: Value) -> (Value, Vec<Value>) {
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        let mut before = Vec::new();
        loop {
            let message = self.next().await;
            if message["id"] == id && message.get("method").is_none() {
                return (message, before);
            }
            if let (Some(question), Some(method)) = (message.get("id"), message["method"].as_str()) {
                self.send(json!({"jsonrpc": "2.0", "id": question, "result": answer_to(method)})).await;
            }
            before.push(message);
        }
    }

    /// Says `initialize`, in the legacy way.
    pub(crate) async fn initialize(&mut self, capabilities: Value) -> Value {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "a", "version": "1"}
        });
        let (answer, _) = self.ask(0, "initialize", params).await;
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        answer
    }
}

/// What a modern request carries.
pub(crate) fn modern_meta(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "a", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}
