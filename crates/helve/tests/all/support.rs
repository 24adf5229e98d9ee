//! Hosts in front of fake peers.

use std::sync::Arc;
use std::time::Duration;

use helve::{
    CallContext, CallError, CallOutcome, CallRecord, Events, Host, HostBuilder, HostEvent, HostSettings, Planned,
    Surroundings,
};
use helve_model::json::RawJson;
use helve_model::{
    Action, ConfigText, HttpFlavour, HttpSpec, Layer, Origin, Rule, ServerName, ServerSpec, StdioSpec, TransportSpec,
};
use helve_policy::{Caller, SourcedRule, Trust};
use helve_testkit::{Scenario, alive, descendants_of, peer_program};
use rustix::process::{Pid, Signal, kill_process};

/// Long enough for a loaded machine; a test that waits so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server that is a fake peer behind standard streams.
pub(crate) fn stdio(name: &str, scenario: &Scenario) -> ServerSpec {
    program(name, &peer_program().to_string_lossy(), &[&scenario.to_json()])
}

/// The same peer with a mark by which its processes can be told from those of other tests.
pub(crate) fn marked(mut scenario: Scenario, mark: &str) -> Scenario {
    scenario.instructions = Some(format!("marked {mark}."));
    scenario
}

/// The living processes of servers that have this mark.
pub(crate) fn marked_processes(mark: &str) -> Vec<u32> {
    let words = format!("marked {mark}.");
    let has_mark = |process: &u32| {
        // A process may end between the two looks.
        fs_err::read(format!("/proc/{process}/cmdline")).is_ok_and(|line| contains(&line, words.as_bytes()))
    };
    descendants_of(std::process::id()).into_iter().filter(has_mark).filter(|process| alive(*process)).collect()
}

/// False when there was nobody left to kill.
pub(crate) fn kill(process: u32) -> bool {
    kill_process(Pid::from_raw(process.try_into().unwrap()).unwrap(), Signal::KILL).is_ok()
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

/// A server that is some program.
pub(crate) fn program(name: &str, command: &str, arguments: &[&str]) -> ServerSpec {
    let stdio = StdioSpec {
        command: ConfigText::literal(command),
        arguments: arguments.iter().map(|argument| ConfigText::literal(*argument)).collect(),
        environment: [].into_iter().collect(),
        working_directory: None,
    };
    spec(name, TransportSpec::Stdio(stdio))
}

/// A server at an address.
pub(crate) fn http(name: &str, url: impl Into<String>) -> ServerSpec {
    let http =
        HttpSpec { url: ConfigText::literal(url), headers: [].into_iter().collect(), flavour: HttpFlavour::Auto };
    spec(name, TransportSpec::Http(http))
}

pub(crate) fn spec(name: &str, transport: TransportSpec) -> ServerSpec {
    ServerSpec::new(ServerName::new(name).unwrap(), transport, Origin::Program, Layer::CommandLine)
}

/// A rule of the embedding program.
pub(crate) fn rule(tool: &str, action: Action) -> SourcedRule {
    let rule = Rule::new(tool, action, Origin::Program, Layer::CommandLine);
    SourcedRule { rule, trust: Trust::Trusted }
}

/// A host that may call everything, with these servers.
pub(crate) fn builder(servers: impl IntoIterator<Item = ServerSpec>) -> HostBuilder {
    let settings = HostSettings::default().with(|settings| {
        settings.call_timeout = PATIENCE;
        settings.startup_timeout = PATIENCE;
    });
    let environment = std::env::vars_os().filter(|(name, _)| name == "PATH").collect();
    let builder = Host::builder()
        .settings(settings)
        .surroundings(Surroundings::default().with(|surroundings| surroundings.environment = environment))
        .rules(vec![rule("*/*", Action::Allow)]);
    servers.into_iter().fold(builder, |builder, server| builder.server(Planned::from(server)))
}

/// Such a host, with every server connected.
pub(crate) async fn host(servers: impl IntoIterator<Item = ServerSpec>) -> Host {
    let host = builder(servers).start().await.unwrap();
    assert!(host.settled(PATIENCE).await, "{:?}", host.status());
    host
}

pub(crate) fn json(text: &str) -> RawJson {
    RawJson::checked(text).unwrap()
}

pub(crate) async fn call(host: &Host, name: &str, arguments: &str) -> Result<CallOutcome, CallError> {
    host.call(name, json(arguments), CallContext::new(Caller::Agent)).await
}

/// The record of the next call that ends.
pub(crate) async fn recorded(events: &mut Events) -> Arc<CallRecord> {
    loop {
        let event = tokio::time::timeout(PATIENCE, events.next()).await.unwrap().unwrap();
        if let HostEvent::Call(record) = event {
            return record;
        }
    }
}

/// Waits until something is true of a host; it is looked at after every event.
pub(crate) async fn until(host: &Host, what: &str, is_true: impl Fn(&Host) -> bool) {
    let mut events = host.events();
    let waiting = async {
        while !is_true(host) {
            drop(events.next().await);
        }
    };
    let waited = tokio::time::timeout(PATIENCE, waiting).await;
    assert!(waited.is_ok(), "not in time: {what}; {:#?}", host.status());
}

/// Waits until a server's status begins with these words.
pub(crate) async fn until_status(host: &Host, name: &str, words: &str) {
    until(host, &format!("{name} is {words}"), |host| status(host, name).starts_with(words)).await;
}

/// The status of a server, in words.
pub(crate) fn status(host: &Host, name: &str) -> String {
    host.server_status(name).map_or_else(|| "unknown".to_owned(), |report| report.status.to_string())
}

/// An error as a person sees it: code, chain, hints; wherever the fake peer lies, it is called `peer`.
pub(crate) fn shown(error: &CallError) -> String {
    let mut text = format!("{}: {}", error.code(), error.chain());
    for hint in error.hints() {
        text.push_str(&format!("\n  hint: {hint}"));
    }
    text.replace(&*peer_program().to_string_lossy(), "peer")
}
