//! A gateway with fake servers behind it, and a plain agent in front of it.

use std::sync::Arc;
use std::time::Duration;

use helve::{ApproveAll, Host, HostSettings};
use helve_model::{ConfigText, Layer, Origin, ServerName, ServerSpec, StdioSpec, TransportSpec};
use helve_serve::{Gateway, Naming, Options, Peer, face};
use helve_testkit::{Scenario, peer_program};
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
