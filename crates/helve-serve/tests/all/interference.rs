//! Two principals and three servers against each other: whatever one does, the other sees what it would see alone.

use std::sync::Arc;

use futures_util::FutureExt as _;
use helve::{Answerer, CallError, Host, HostSettings, Plan};
use helve_model::{Action, QualifiedName, ServerName, ServerSpec, ToolName};
use helve_serve::face::http::{Guard, HttpFace};
use helve_serve::{Gateway, HostPurpose, HostSource, Limits, Naming, Options};
use helve_testkit::interference::{ASKED_ABOUT, Case, Door, World, differences};
use helve_testkit::{HttpServer, Scenario};
use helve_wire::BoxFuture;
use serde_json::{Value, json};
use std::time::Duration;

use crate::http_agent::{HttpAgent, Messages};
use crate::support::{DEADLINE, http_server, rule, stdio_server};

/// Interleavings that are tried every day; the chore `attack` tries many more against the program.
const CASES: u64 = 12;

/// Tasks that are remembered, so few that they run out.
const TASKS: usize = 6;

struct Servers(Vec<ServerSpec>);

impl HostSource for Servers {
    fn start(&self, answerer: Arc<dyn Answerer>, _: HostPurpose) -> BoxFuture<'_, Result<Host, CallError>> {
        let rules = vec![rule(&format!("one/{ASKED_ABOUT}"), Action::Ask, None), rule("*", Action::Allow, None)];
        let kept = |server: &str, tool: &str| QualifiedName::new(name(server), ToolName::new(tool));
        let settings = HostSettings::default().with(|settings| {
            settings.schema_cache_ttl = None;
            settings.result_cache_ttl = Some(Duration::from_secs(3_600));
            settings.cacheable = vec![kept("one", "ask"), kept("three", "ask"), kept("two", "echo")];
        });
        let plan = Plan::from(self.0.clone()).with(|plan| plan.rules = Some(rules));
        Box::pin(Host::builder().settings(settings).plan(plan).answerer(answerer).start())
    }
}

fn name(server: &str) -> ServerName {
    ServerName::new(server).unwrap()
}

/// A gateway with servers of its own.
struct Serving {
    gateway: Arc<Gateway>,
    face: Arc<HttpFace>,
    three: HttpServer,
    sessions: [Option<HttpAgent>; 2],
    last: u64,
}

impl Serving {
    async fn begin() -> Self {
        let three = Scenario::modern().serve_http().await.unwrap();
        let mut over_http = http_server("three", three.url());
        over_http.access.trust_annotations = true;
        let two = stdio_server("two", &Scenario::legacy()).with(|spec| spec.shared = Some(true));
        let servers = vec![stdio_server("one", &Scenario::modern()), two, over_http];
        let limits = Limits { tasks: TASKS, ..Limits::default() };
        let options = Options::default().with(|options| {
            options.naming = Naming::Server;
            options.wait = Some(DEADLINE);
            options.limits = limits;
        });
        let gateway = Gateway::shared(Arc::new(Servers(servers)), options).await.unwrap();
        assert!(gateway.host().settled(DEADLINE).await);
        let face = Arc::new(HttpFace::new(Arc::clone(&gateway), Guard::default()));
        Self { gateway, face, three, sessions: [None, None], last: 0 }
    }

    fn agent(&self, principal: usize) -> HttpAgent {
        let mut agent = HttpAgent::new(&self.face, principal as u64);
        agent.peer.user = Some(2_000 + principal as u32);
        agent
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}

fn all((answer, mut before): (Value, Vec<Value>)) -> Vec<Value> {
    before.push(answer);
    // Ids are counted anew in every world.
    before.iter_mut().for_each(|message| drop(message["id"].take()));
    before
}

impl Door for Serving {
    type Held = Messages;

    async fn modern(&mut self, principal: usize, method: &str, params: Value) -> Vec<Value> {
        let (id, agent) = (self.next(), self.agent(principal));
        let capabilities = params["_meta"]["io.modelcontextprotocol/clientCapabilities"].clone();
        all(agent.modern(id, method, params, &capabilities).await)
    }

    async fn legacy(&mut self, principal: usize, method: &str, params: Value) -> Vec<Value> {
        let id = self.next();
        if self.sessions[principal].is_none() {
            let mut agent = self.agent(principal);
            agent.initialize(json!({})).await;
            self.sessions[principal] = Some(agent);
        }
        all(self.sessions[principal].as_ref().unwrap().ask(id, method, params).await)
    }

    async fn hold(&mut self, principal: usize, method: &str, params: Value) -> Messages {
        let (id, agent) = (self.next(), self.agent(principal));
        let capabilities = params["_meta"]["io.modelcontextprotocol/clientCapabilities"].clone();
        Messages::new(agent.modern_response(id, method, params, &capabilities).await)
    }

    async fn heard(&mut self, held: &mut Messages) -> Vec<Value> {
        let mut heard = Vec::new();
        while let Some(Some(message)) = held.next().now_or_never() {
            heard.push(message);
        }
        heard
    }

    fn calls(&self) -> Option<usize> {
        Some(self.three.recorder().count("tools/call"))
    }
}

#[tokio::test]
async fn nothing_of_one_principal_is_seen_answered_counted_or_evicted_by_another() {
    let world = async || World::new(Serving::begin().await);
    let (mut both, mut alone) = (world().await, [world().await, world().await]);
    for seed in 0..CASES {
        let case = Case::of(seed);
        let differing = differences(&case, &mut both, &mut alone).await;
        assert!(differing.is_empty(), "case {seed}:\n{}\n{case:#?}", differing.join("\n"));
    }
    for world in [&both, &alone[0], &alone[1]] {
        world.door().gateway.host().shutdown().await;
    }
}
