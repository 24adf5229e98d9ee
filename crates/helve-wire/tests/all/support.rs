//! Connecting to the fake peer in each of its forms, and asking for permits the way everybody does.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use helve_model::json::RawJson;
use helve_model::{CallKind, HttpFlavour, Outcome, Principal, QualifiedName, ServerName, ToolName};
use helve_policy::{Decision, Permit, Request, RuleSet};
use helve_testkit::{HttpServer, Scenario, peer_program};
use helve_wire::launch::{Launched, Launcher, PlainLauncher, ServerCommand, child_environment};
#[cfg(warden)]
use helve_wire::launch::{WardenLauncher, WardenProgram};
use helve_wire::{
    BoxFuture, CallOptions, ClientCapabilities, ConnectOptions, HttpTarget, Notification, PeerHandler, PeerQuestion,
    ProtocolChoice, QuestionKind, Result, RpcError, Session, Times, connect_http, connect_stdio, connect_stream,
};

/// Long enough for a loaded machine; a test that waits so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn server() -> ServerName {
    ServerName::new("peer").unwrap()
}

/// A permit, as everybody gets one: from a decision.
pub(crate) fn permit(kind: CallKind, subject: &str, arguments: &str) -> Permit {
    let request = Request {
        principal: Principal::LOCAL,
        name: QualifiedName::new(server(), ToolName::new(subject)),
        kind,
        arguments: RawJson::checked(arguments).unwrap(),
    };
    match RuleSet::allow_all().decide(request) {
        Decision::Allow(permit) => permit,
        Decision::Ask(_) | Decision::Deny(_) => panic!("not allowed"),
    }
}

pub(crate) fn tool(name: &str, arguments: &str) -> Permit {
    permit(CallKind::Tool, name, arguments)
}

pub(crate) fn times() -> Times {
    Times::exactly(PATIENCE)
}

pub(crate) fn within(time: Duration) -> CallOptions {
    CallOptions::default().with(|options| options.times = Times::exactly(time))
}

pub(crate) async fn call(session: &Session, name: &str, arguments: &str) -> Result<Outcome> {
    session.call_tool(&tool(name, arguments), within(PATIENCE)).await
}

pub(crate) fn text(outcome: &Outcome) -> String {
    outcome.open().unwrap().to_text()
}

/// A handler that answers like a helpful person and keeps what it hears.
#[derive(Default)]
pub(crate) struct Listener {
    pub(crate) heard: Mutex<Vec<Notification>>,
    pub(crate) asked: Mutex<Vec<PeerQuestion>>,
}

impl Listener {
    pub(crate) fn methods(&self) -> Vec<String> {
        self.heard.lock().unwrap().iter().map(|notification| notification.method.clone()).collect()
    }
}

impl PeerHandler for Listener {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities {
            elicitation_form: true,
            elicitation_url: true,
            sampling: true,
            roots: true,
            ..ClientCapabilities::default()
        }
    }

    fn notification(&self, notification: Notification) {
        self.heard.lock().unwrap().push(notification);
    }

    fn question(&self, question: PeerQuestion) -> BoxFuture<'_, Result<RawJson, RpcError>> {
        let answer = match question.kind {
            QuestionKind::Elicitation => r#"{"action":"accept","content":{"name":"Ada"}}"#,
            QuestionKind::Sampling => {
                r#"{"role":"assistant","content":{"type":"text","text":"sampled"},"model":"none","stopReason":"endTurn"}"#
            }
            QuestionKind::Roots => r#"{"roots":[{"uri":"file:///somewhere"}]}"#,
            QuestionKind::Task(_) => panic!("this one makes no tasks"),
        };
        self.asked.lock().unwrap().push(question);
        Box::pin(async move { Ok(RawJson::from_static(answer)) })
    }
}

pub(crate) fn options() -> ConnectOptions {
    ConnectOptions::new(server()).with(|options| options.startup = PATIENCE)
}

pub(crate) fn listening(listener: &Arc<Listener>) -> ConnectOptions {
    options().with(|options| options.handler = Arc::clone(listener) as Arc<dyn PeerHandler>)
}

pub(crate) fn pinned(version: &str) -> ConnectOptions {
    options().with(|options| options.protocol = ProtocolChoice::Pinned(version.to_owned()))
}

pub(crate) async fn in_process(scenario: &Scenario, options: ConnectOptions) -> Result<Session> {
    connect_stream(scenario.clone().in_process().stream, options).await
}

pub(crate) fn command(scenario: &Scenario) -> ServerCommand {
    ServerCommand {
        program: peer_program().into(),
        args: vec![scenario.to_json().into()],
        working_directory: None,
        environment: child_environment([], []),
        ..ServerCommand::default()
    }
}

pub(crate) async fn stdio(scenario: &Scenario, options: ConnectOptions) -> Result<Session> {
    connect_stdio(&PlainLauncher, &command(scenario), options).await
}

pub(crate) async fn http(server: &HttpServer, options: ConnectOptions) -> Result<Session> {
    connect_http(&HttpTarget::new(&server.url()).unwrap(), HttpFlavour::Auto, options).await
}

#[cfg(warden)]
pub(crate) fn warden() -> impl Launcher {
    WardenLauncher::new(WardenProgram { path: env!("CARGO_BIN_EXE_helve-warden").into(), leading: Vec::new() })
}

/// A program of few words.
pub(crate) fn shell(script: &str) -> ServerCommand {
    ServerCommand {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        working_directory: None,
        environment: [("PATH", "/usr/bin:/bin")].into_iter().collect(),
        ..ServerCommand::default()
    }
}

/// Starts what it is told to, and remembers the numbers of the processes.
#[derive(Debug)]
pub(crate) struct Noting<'a> {
    launcher: &'a dyn Launcher,
    started: Mutex<Vec<u32>>,
}

impl<'a> Noting<'a> {
    pub(crate) fn new(launcher: &'a dyn Launcher) -> Self {
        Self { launcher, started: Mutex::default() }
    }

    pub(crate) fn started(&self) -> Vec<u32> {
        self.started.lock().unwrap().clone()
    }
}

impl Launcher for Noting<'_> {
    fn launch(&self, command: &ServerCommand) -> Result<Launched> {
        let launched = self.launcher.launch(command)?;
        self.started.lock().unwrap().push(launched.process.id());
        Ok(launched)
    }
}

/// Code, message, hints and chain of an error, as a person would be shown it.
pub(crate) fn shown(error: &helve_wire::Error) -> String {
    let mut text = format!("{}: {error}", error.code());
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(&format!("\n  because: {cause}"));
        source = cause.source();
    }
    for hint in error.hints() {
        text.push_str(&format!("\n  hint: {hint}"));
    }
    if error.may_have_run() {
        text.push_str("\n  may have run");
    }
    text.replace(&peer_program().display().to_string(), "peer")
}

/// What was the same each time: for a snapshot of what happens in a loop.
pub(crate) fn the_same(mut texts: Vec<String>) -> String {
    texts.dedup();
    assert_eq!(texts.len(), 1, "{texts:#?}");
    texts.remove(0)
}

/// Waits until something has become true, without sleeping for it: the runtime goes on in between.
pub(crate) async fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !is_true() {
        assert!(tokio::time::Instant::now() < deadline, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
