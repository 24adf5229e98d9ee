//! A gateway with fake servers behind it, and a plain agent in front of it.

use std::sync::Arc;
use std::time::Duration;

use helve::{Answerer, ApproveAll, CallError, Host, HostSettings, Plan};
use helve_model::{
    Action, CallKind, ConfigText, HttpFlavour, HttpSpec, Layer, Origin, Rule, ServerName, ServerSpec, StdioSpec,
    TransportSpec,
};
use helve_policy::{SourcedRule, Trust};
use helve_serve::face::http::{Guard, HttpFace};
use helve_serve::{Gateway, HostPurpose, HostSource, Limits, Naming, Options, Peer, face};
use helve_testkit::{Scenario, peer_program};
use helve_wire::BoxFuture;
use indexmap::IndexMap;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

use crate::http_agent::HttpAgent;

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

/// A server at an address.
pub(crate) fn http_server(name: &str, url: impl Into<String>) -> ServerSpec {
    let http = HttpSpec { url: ConfigText::literal(url), headers: IndexMap::new(), flavour: HttpFlavour::Auto };
    ServerSpec::new(ServerName::new(name).unwrap(), TransportSpec::Http(http), Origin::Program, Layer::User)
}

/// A host with these servers, all of them connected.
pub(crate) async fn host(servers: Vec<ServerSpec>) -> Host {
    let mut builder = Host::builder()
        .settings(HostSettings::default().with(|settings| settings.schema_cache_ttl = None))
        .approver(ApproveAll);
    for server in servers {
        builder = builder.server(server);
    }
    let host = builder.start().await.unwrap();
    assert!(host.settled(DEADLINE).await);
    host
}

pub(crate) fn gateway(host: &Host, naming: Naming) -> Arc<Gateway> {
    Gateway::new(host.clone(), Options::default().with(|options| options.naming = naming))
}

/// Starts hosts with these servers and rules, over and over.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) servers: Vec<ServerSpec>,
    pub(crate) rules: Vec<SourcedRule>,
}

/// Everything may be called.
pub(crate) fn open(servers: Vec<ServerSpec>) -> Source {
    ruled(servers, Vec::new())
}

/// What no rule mentions may be called.
pub(crate) fn ruled(servers: Vec<ServerSpec>, mut rules: Vec<SourcedRule>) -> Source {
    rules.push(rule("*", Action::Allow, None));
    Source { servers, rules }
}

impl Source {
    pub(crate) fn plan(&self) -> Plan {
        Plan::from(self.servers.clone()).with(|plan| plan.rules = Some(self.rules.clone()))
    }
}

impl HostSource for Source {
    fn start(&self, answerer: Arc<dyn Answerer>, purpose: HostPurpose) -> BoxFuture<'_, Result<Host, CallError>> {
        let settings = HostSettings::default().with(|settings| settings.schema_cache_ttl = None);
        let mut plan = self.plan();
        for planned in &mut plan.servers {
            planned.spec.lazy = purpose == HostPurpose::OneAgent;
        }
        Box::pin(Host::builder().settings(settings).plan(plan).answerer(answerer).start())
    }
}

pub(crate) fn rule(tool: &str, action: Action, kind: Option<CallKind>) -> SourcedRule {
    let (origin, layer) = (Origin::Program, Layer::User);
    let rule = Rule { kind, ..Rule::new(tool, action, origin, layer) };
    SourcedRule { rule, trust: Trust::Trusted }
}

/// A gateway for agents over HTTP, all of whose servers are connected.
pub(crate) async fn serve(source: Source, limits: Limits) -> (Arc<Gateway>, Arc<HttpFace>) {
    let options = Options::default().with(|options| {
        options.naming = Naming::Server;
        options.wait = Some(DEADLINE);
        options.limits = limits;
    });
    let gateway = Gateway::shared(Arc::new(source), options).await.unwrap();
    assert!(gateway.host().settled(DEADLINE).await);
    let face = Arc::new(HttpFace::new(Arc::clone(&gateway), Guard::default()));
    (gateway, face)
}

/// An agent over HTTP of this user of the machine.
pub(crate) fn agent_of(face: &Arc<HttpFace>, user: u32) -> HttpAgent {
    let mut agent = HttpAgent::new(face, u64::from(user));
    agent.peer.user = Some(user);
    agent
}

/// The parameters of a call.
pub(crate) fn call(tool: &str, arguments: Value) -> Value {
    json!({"name": tool, "arguments": arguments})
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
        Self::connect_as(gateway, 1)
    }

    /// One of several, told apart by the numbers of their connections.
    pub(crate) fn connect_as(gateway: &Arc<Gateway>, connection: u64) -> Self {
        let (near, far) = tokio::io::duplex(64 << 10);
        let gateway = Arc::clone(gateway);
        let serving = tokio::spawn(async move {
            let (reader, writer) = tokio::io::split(far);
            face::stream::serve(&gateway, Peer { connection, user: None }, reader, writer).await
        });
        Self::on(near, serving)
    }

    /// The only agent, with a host of its own.
    pub(crate) fn alone(servers: Vec<ServerSpec>, naming: Naming) -> Self {
        Self::alone_with(
            open(servers),
            Options::default().with(|options| {
                options.naming = naming;
                options.wait = Some(DEADLINE);
            }),
        )
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
