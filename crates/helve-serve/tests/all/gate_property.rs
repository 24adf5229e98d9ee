//! Every method in every form, under every kind of policy, through every door, before every kind of server: what reaches a
//! server is what reaches it when the agent says nothing but its handshake, and one message for each call that is allowed.

use std::path::Path;
use std::sync::Arc;

use helve_model::{AccessSpec, Action, CallKind, Listed, Origin, ServerSpec, method};
use helve_policy::SourcedRule;
use helve_serve::face::http::{Guard, HttpFace};
use helve_serve::{Discovery, Gateway, Naming, Options};
use helve_testkit::hostile::{HARMLESS, METHODS, Probe, Target, difference, probes, sample};
use helve_testkit::{HttpServer, RecordedEvent, Recording, Scenario};
use serde_json::{Value, json};

use crate::hostile_agent::{Agent, DOORS, Door};
use crate::support::{DEADLINE, Source, StreamAgent, everything, http_server, rule, stdio_server};

/// One in so many messages is said in each run, and another one in the next; the chore `attack` says all of them everywhere.
const STEP: usize = 6;

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

/// How a server is reached, and its era.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Upstream {
    LegacyProgram,
    ModernProgram,
    LegacyHttp,
    ModernHttp,
}

const UPSTREAMS: [Upstream; 4] =
    [Upstream::LegacyProgram, Upstream::ModernProgram, Upstream::LegacyHttp, Upstream::ModernHttp];

/// One way to be attacked.
#[derive(Debug, Clone, Copy)]
struct Case {
    policy: Policy,
    door: Door,
    upstream: Upstream,
    /// Another agent is there, and is being asked something if it may call anything.
    has_neighbour: bool,
    /// Tools are found by searching, and can be called through another one.
    call_tool: bool,
}

impl Policy {
    fn rules(self) -> Vec<SourcedRule> {
        // Nothing but tools may be used, in any of them.
        let mut rules =
            vec![rule("*", Action::Deny, Some(CallKind::Resource)), rule("*", Action::Deny, Some(CallKind::Prompt))];
        let tools: &[(&str, Action)] = match self {
            Self::DenyAll => &[("*", Action::Deny)],
            Self::EchoAllowed => {
                &[("one/echo", Action::Allow), ("one/ask", Action::Allow), ("one/danger", Action::Deny)]
            }
            Self::OneServerAllowed => &[("one/*", Action::Allow), ("two/*", Action::Deny)],
            Self::Readonly | Self::DisabledTools | Self::AskNobody => &[],
        };
        rules.extend(tools.iter().map(|(tool, action)| rule(tool, *action, None)));
        rules
    }

    fn access(self) -> AccessSpec {
        let list = |tools: &[&str]| {
            let listed = |tool: &&str| Listed { glob: (*tool).to_owned(), origin: Origin::Program };
            tools.iter().map(listed).collect()
        };
        match self {
            Self::Readonly => {
                AccessSpec { tools: Some(list(&["echo", "ask"])), readonly: Some(true), ..AccessSpec::default() }
            }
            Self::DisabledTools => AccessSpec {
                write_tools: Some(list(&["*"])),
                disabled_tools: list(&["danger"]),
                readonly: Some(false),
                ..AccessSpec::default()
            },
            _ => AccessSpec::default(),
        }
    }

    const fn allows(self) -> bool {
        !matches!(self, Self::DenyAll | Self::AskNobody)
    }

    /// Nothing of the other server may be called.
    const fn denied(self) -> &'static str {
        if matches!(self, Self::OneServerAllowed) { "two__echo" } else { "one__danger" }
    }
}

impl Upstream {
    /// A server that writes what it gets to this file, and what has to be kept for it to run.
    async fn start(self, name: &str, record: &Path) -> (ServerSpec, Option<HttpServer>) {
        let danger = r#"{"name":"danger","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}"#;
        let scenario = match self {
            Self::LegacyProgram | Self::LegacyHttp => Scenario::legacy(),
            Self::ModernProgram | Self::ModernHttp => Scenario::modern(),
        };
        let scenario = scenario.literal_tool(danger).record_to(record);
        match self {
            Self::LegacyProgram | Self::ModernProgram => (stdio_server(name, &scenario), None),
            Self::LegacyHttp | Self::ModernHttp => {
                let listening = scenario.serve_http().await.unwrap();
                (http_server(name, listening.url()), Some(listening))
            }
        }
    }
}

/// What the two servers got.
struct Log {
    frames: [Vec<String>; 2],
    headers: Vec<String>,
}

impl Case {
    /// Runs it with what `says` makes of the target. Everything else is the same each time.
    async fn run(self, says: impl Fn(&Target) -> Vec<Probe>) -> (Vec<Probe>, Log) {
        let Self { policy, door, upstream, .. } = self;
        let directory = tempfile::tempdir().unwrap();
        let record = |name: &str| directory.path().join(name);
        let (mut servers, mut listening) = (Vec::new(), Vec::new());
        for name in ["one", "two"] {
            let (server, kept) = upstream.start(name, &record(name)).await;
            servers.push(server.with(|spec| spec.access = policy.access()));
            listening.extend(kept);
        }
        let discovery = if self.call_tool { Discovery::Search } else { Discovery::All };
        let options = Options::default().with(|options| {
            options.naming = Naming::Server;
            options.wait = Some(DEADLINE);
            options.discovery = discovery;
        });
        let source = Source { servers, rules: policy.rules() };
        let mut target = Target {
            allowed: policy.allows().then(|| "one__echo".to_owned()),
            denied: policy.denied().to_owned(),
            resource: "test://text".to_owned(),
            prompt: "one__greet".to_owned(),
            speech: door.speech(),
            call_tool: self.call_tool,
            pending: None,
        };
        let said;
        if door.is_stream() && !self.has_neighbour {
            let mut agent = Agent::on_a_stream(StreamAgent::alone_with(source, options));
            said = attack(door, &mut agent, &target, says(&target)).await;
            agent.leave().await;
        } else {
            let gateway = Gateway::shared(Arc::new(source), options).await.unwrap();
            assert!(gateway.host().settled(DEADLINE).await);
            let face = Arc::new(HttpFace::new(Arc::clone(&gateway), Guard::default()));
            let mut neighbour = door.enter(&gateway, &face, 2).await;
            let mut question = None;
            if self.has_neighbour {
                door.greet(&mut neighbour, everything()).await;
                if policy.allows() {
                    let asked = neighbour.is_asked(door, "one__ask").await;
                    target.pending = Some(asked.pending.clone());
                    question = Some(asked);
                }
            }
            let mut agent = door.enter(&gateway, &face, 1).await;
            said = attack(door, &mut agent, &target, says(&target)).await;
            if let Some(question) = question {
                let answer = neighbour.answers(door, question).await;
                assert!(answer.to_string().contains("the agent's answer"), "{self:?}: {answer}");
            }
            gateway.host().shutdown().await;
        }
        let recordings = ["one", "two"].map(|name| Recording::load(&record(name)).unwrap_or_default());
        let headers = recordings.iter().flat_map(|recording| &recording.entries).filter_map(|entry| match entry {
            RecordedEvent::Http { headers, .. } => Some(format!("{headers:?}")),
            _ => None,
        });
        (said, Log { headers: headers.collect(), frames: recordings.each_ref().map(Recording::frames) })
    }

    /// Nothing that nobody decided reaches a server, and what is allowed does.
    async fn check(self, first: usize) {
        let (_, quiet) = self.run(|_| Vec::new()).await;
        let (said, attacked) = self.run(|target| sample(probes(target), first, STEP)).await;
        let allowed = said.iter().filter(|probe| probe.arrives.is_some()).count();
        assert_eq!(allowed > 0, self.policy.allows(), "{self:?}");
        let none: Vec<Probe> = said.iter().map(|probe| Probe { arrives: None, ..probe.clone() }).collect();
        // Nothing of the hostile agent's is allowed at the other server.
        let mut wrong = difference(&said, &quiet.frames[0], &attacked.frames[0]);
        wrong.extend(difference(&none, &quiet.frames[1], &attacked.frames[1]));
        wrong.extend(attacked.headers.into_iter().filter(|headers| headers.contains("said-by-the-agent")));
        assert_eq!(wrong, Vec::<String>::new(), "{self:?}");
    }
}

/// What an agent says in every run, with this in the middle of it.
async fn attack(door: Door, agent: &mut Agent, target: &Target, probes: Vec<Probe>) -> Vec<Probe> {
    door.greet(agent, json!({})).await;
    ask_plainly(door, agent, target).await;
    agent.say(door, &probes).await;
    // By now all that was told before has been dealt with.
    ask_plainly(door, agent, target).await;
    probes
}

/// Asks for what needs no decision, and makes one call where one is allowed: it has servers of its own then, if it has any.
async fn ask_plainly(door: Door, agent: &mut Agent, target: &Target) {
    for (method, params) in HARMLESS {
        let params: Value = serde_json::from_str(params).unwrap();
        // On one stream both eras can be spoken.
        if door == Door::ModernStream {
            agent.ask(Door::LegacyStream, method, params.clone()).await;
        }
        agent.ask(door, method, params).await;
    }
    if let Some(allowed) = &target.allowed {
        let (answer, _) = agent.ask(door, "tools/call", json!({"name": allowed, "arguments": {"plain": 1}})).await;
        assert_eq!(answer["result"]["structuredContent"], json!({"plain": 1}), "{answer}");
    }
}

/// Every policy through one door, before servers and beside neighbours by turns.
async fn through(door: Door) {
    let place = DOORS.iter().position(|other| *other == door).unwrap_or_default();
    for (number, policy) in POLICIES.into_iter().enumerate() {
        let turn = number + place;
        let case = Case {
            policy,
            door,
            upstream: UPSTREAMS[turn % UPSTREAMS.len()],
            // An agent of this kind is the only one at its program.
            has_neighbour: (turn / 2) % 2 == 1 && door != Door::ModernStream,
            call_tool: turn % 3 == 0,
        };
        case.check(place * POLICIES.len() + number).await;
    }
}

/// S1, S9, S10, S23: on a stream, by requests of one era.
#[tokio::test]
async fn s10_whatever_is_said_on_a_stream() {
    through(Door::LegacyStream).await;
}

/// And of the other.
#[tokio::test]
async fn s10_whatever_is_said_on_a_modern_stream() {
    through(Door::ModernStream).await;
}

/// In a session over HTTP.
#[tokio::test]
async fn s10_whatever_is_said_over_http() {
    through(Door::LegacyHttp).await;
}

/// Without one, where headers say again what the body says, or something else.
#[tokio::test]
async fn s10_whatever_is_said_over_http_without_a_session() {
    through(Door::ModernHttp).await;
}

/// Over the oldest transport.
#[tokio::test]
async fn s10_whatever_is_said_over_http_and_sse() {
    through(Door::Sse).await;
}

/// The generator knows every method that helve knows.
#[test]
fn s10_every_method_is_tried() {
    let requests = method::REQUESTS.iter().map(|method| method.name);
    let told = method::CLIENT_NOTIFICATIONS.iter().chain(&method::SERVER_NOTIFICATIONS).map(|method| method.name);
    for name in requests.chain(told).chain(method::QUESTIONS) {
        assert!(METHODS.contains(&name), "{name} is not tried");
    }
}
