//! Every method in every form, under every kind of policy, over every way in: what reaches a server is what its handshake
//! takes, and one message for each call that the policy allows.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use helve_model::{AccessSpec, Action, CallKind, Listed, Origin, ServerName, ServerSpec};
use helve_policy::SourcedRule;
use helve_serve::face::http::{Guard, HttpFace};
use helve_serve::{Gateway, Naming, Options};
use helve_testkit::hostile::{Probe, Target, judge, probes, server_texts};
use helve_testkit::{Recording, Scenario};
use serde_json::{Value, json};

use crate::gate::{Policed, options, rule};
use crate::http_agent::{HttpAgent, Messages};
use crate::support::{StreamAgent, stdio_server};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Policy {
    DenyAll,
    EchoAllowed,
    OneServerAllowed,
    Readonly,
    DisabledTools,
    AskNobody,
}

const POLICIES: [Policy; 6] = [
    Policy::DenyAll,
    Policy::EchoAllowed,
    Policy::OneServerAllowed,
    Policy::Readonly,
    Policy::DisabledTools,
    Policy::AskNobody,
];

impl Policy {
    fn rules(self) -> Vec<SourcedRule> {
        // Nothing but tools may be used, in any of them.
        let mut rules =
            vec![rule("*", Some(CallKind::Resource), Action::Deny), rule("*", Some(CallKind::Prompt), Action::Deny)];
        match self {
            Self::DenyAll => rules.push(rule("*", None, Action::Deny)),
            Self::EchoAllowed => {
                rules.extend([rule("one/echo", None, Action::Allow), rule("one/danger", None, Action::Deny)]);
            }
            Self::OneServerAllowed => {
                rules.extend([rule("one/echo", None, Action::Allow), rule("two/*", None, Action::Deny)]);
            }
            Self::Readonly | Self::DisabledTools | Self::AskNobody => {}
        }
        rules
    }

    fn access(self) -> AccessSpec {
        let list = |tool: &str| vec![Listed { glob: tool.to_owned(), origin: Origin::Program }];
        match self {
            Self::Readonly => AccessSpec { tools: Some(list("echo")), readonly: Some(true), ..AccessSpec::default() },
            Self::DisabledTools => AccessSpec {
                write_tools: Some(list("*")),
                disabled_tools: list("danger"),
                readonly: Some(false),
                ..AccessSpec::default()
            },
            _ => AccessSpec::default(),
        }
    }

    fn target(self, batches: bool) -> Target {
        let allows = !matches!(self, Self::DenyAll | Self::AskNobody);
        Target {
            allowed: allows.then(|| "one__echo".to_owned()),
            denied: if self == Self::OneServerAllowed { "two__echo" } else { "one__danger" }.to_owned(),
            resource: "test://text".to_owned(),
            prompt: "one__greet".to_owned(),
            batches,
        }
    }

    fn servers(self, scenario: &Scenario, directory: &Path) -> Vec<ServerSpec> {
        let danger = r#"{"name":"danger","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}"#;
        let scenario = scenario.clone().literal_tool(danger);
        ["one", "two"]
            .map(|name| {
                let server = stdio_server(name, &scenario.clone().record_to(directory.join(name)));
                ServerSpec { name: ServerName::new(name).unwrap(), access: self.access(), ..server }
            })
            .into()
    }
}

fn shown_options() -> Options {
    Options { naming: Naming::Server, ..options() }
}

/// What went wrong at both servers.
fn verdict(all: &[Probe], directory: &Path) -> Vec<String> {
    let frames = |name: &str| Recording::load(&directory.join(name)).map(|log| log.messages()).unwrap_or_default();
    let mut wrong = judge(all, &frames("one"));
    // Nothing is allowed at the other one.
    let none: Vec<Probe> = all.iter().map(|probe| Probe { arrives: false, ..probe.clone() }).collect();
    wrong.extend(judge(&none, &frames("two")));
    wrong
}

async fn on_a_stream(policy: Policy, scenario: &Scenario) {
    let directory = tempfile::tempdir().unwrap();
    let source = Policed { servers: policy.servers(scenario, directory.path()), rules: policy.rules() };
    let mut agent = StreamAgent::alone_with(source, shown_options());
    let client = json!({"name": "a", "version": "1"});
    let hello = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": client});
    agent.ask(0, "initialize", hello).await;
    let all = probes(&policy.target(true));
    let mut open: HashSet<Value> = HashSet::new();
    for group in all.chunks(64) {
        for probe in group {
            agent.send_text(&probe.text).await;
            open.extend(probe.id.clone());
        }
        while !open.is_empty() {
            let message = agent.next().await;
            if message.get("method").is_none() {
                open.remove(&message["id"]);
            }
        }
    }
    agent.ask(1, "ping", json!({})).await;
    agent.leave().await;
    assert_eq!(verdict(&all, directory.path()), Vec::<String>::new(), "{policy:?}");
}

/// S1, S9, S10, S23: nothing that nobody decided reaches a server, and what is allowed does.
#[tokio::test]
async fn s10_whatever_is_said_on_a_stream() {
    for (number, policy) in POLICIES.into_iter().enumerate() {
        let scenario = if number % 2 == 0 { Scenario::legacy() } else { Scenario::modern() };
        on_a_stream(policy, &scenario).await;
    }
}

/// The same over HTTP, by two agents, of which each has legacy servers of its own.
#[tokio::test]
async fn s10_whatever_is_said_over_http() {
    for (policy, scenario) in [
        (Policy::EchoAllowed, Scenario::modern()),
        (Policy::DisabledTools, Scenario::legacy()),
        (Policy::AskNobody, Scenario::modern()),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let source = Policed { servers: policy.servers(&scenario, directory.path()), rules: policy.rules() };
        let gateway = Gateway::shared(Arc::new(source), shown_options()).await.unwrap();
        let face = Arc::new(HttpFace::new(Arc::clone(&gateway), Guard::default()));
        let mut agents = [HttpAgent::new(&face, 1), HttpAgent::new(&face, 2)];
        for agent in &mut agents {
            agent.initialize_as("2025-03-26", json!({})).await;
        }
        // A session is of the older era, whatever a request in it says of itself.
        let all = probes(&policy.target(true));
        for probe in &all {
            let agent = &agents[probe.number % 2];
            let response = agent.post_text(&probe.text, &[]).await;
            if let (Some(id), 200) = (&probe.id, response.status().as_u16()) {
                let mut messages = Messages::new(response);
                while let Some(message) = messages.next().await {
                    if message["id"] == *id {
                        break;
                    }
                }
            }
        }
        gateway.host().shutdown().await;
        assert_eq!(verdict(&all, directory.path()), Vec::<String>::new(), "{policy:?}");
    }
}

/// A header that says something else than the body decides nothing.
#[tokio::test]
async fn s10_headers_that_disagree() {
    let directory = tempfile::tempdir().unwrap();
    let policy = Policy::EchoAllowed;
    let servers = policy.servers(&Scenario::modern(), directory.path());
    let gateway = Gateway::shared(Arc::new(Policed { servers, rules: policy.rules() }), shown_options()).await.unwrap();
    let face = Arc::new(HttpFace::new(Arc::clone(&gateway), Guard::default()));
    let agent = HttpAgent::new(&face, 1);
    let mut number = 0;
    for method in ["tools/call", "resources/read", "prompts/get", "vendor/do"] {
        for (said, named) in
            [("tools/list", "one__echo"), ("tools/call", "one__echo"), ("ping", "one__danger"), ("", "")]
        {
            let params = json!({"name": "one__danger", "uri": "test://text", "arguments": {"probe": number},
                "_meta": crate::support::modern_meta(json!({}))});
            let message = json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params});
            let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", said), ("mcp-name", named)];
            agent.post(&message, &headers).await;
            number += 1;
        }
    }
    gateway.host().shutdown().await;
    assert_eq!(verdict(&[], directory.path()), Vec::<String>::new());
}

/// From a server an agent gets its answers and the protocol's change notices, whatever else the server says.
#[tokio::test]
async fn s25_whatever_a_server_says() {
    const NOTICES: [&str; 3] = [
        "notifications/tools/list_changed",
        "notifications/resources/list_changed",
        "notifications/prompts/list_changed",
    ];
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let source =
            Policed { servers: vec![stdio_server("one", &scenario)], rules: vec![rule("*", None, Action::Allow)] };
        let mut agent = StreamAgent::alone_with(source, shown_options());
        agent.initialize(json!({})).await;
        for (id, text) in (1..).zip(server_texts()) {
            let params = json!({"name": "one__raw", "arguments": {"text": text}});
            let (answer, before) = agent.ask(id, "tools/call", params).await;
            assert!(answer.get("result").is_some(), "{text}: {answer}");
            for message in before {
                let method = message["method"].as_str().unwrap_or_default();
                let is_notice = NOTICES.contains(&method) && message.get("id").is_none();
                assert!(is_notice && !message.to_string().contains("probe"), "{text}: {message}");
            }
        }
        let (_, after) = agent.ask(0, "ping", json!({})).await;
        assert!(after.iter().all(|message| !message.to_string().contains("probe")), "{after:?}");
        agent.leave().await;
    }
}
