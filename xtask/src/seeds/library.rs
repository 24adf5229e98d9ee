//! Owns the checks of seeds that embed a host in a program: which there are, and what they share.

mod broker;
mod client;
mod registry;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use helve::{CallContext, Host, HostBuilder, HostSettings, Planned, Surroundings};
use helve_model::json::RawJson;
use helve_model::{
    Action, ConfigText, HttpFlavour, HttpSpec, Layer, Origin, Rule, ServerName, ServerSpec, StdioSpec, TransportSpec,
};
use helve_policy::{Caller, SourcedRule, Trust};

use super::stage::Stage;
use crate::interop::process::MARK;

/// A check; the error says what does not hold.
pub(super) type Check = fn(&Stage) -> Result<()>;

/// Time for an interpreter on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const CHECKS: &[(&str, Check)] = &[
    ("documentation", documentation),
    ("example_claude_loop", |_| example("claude-loop.json")),
    ("example_loom", |_| example("loom.toml")),
    ("tests_are_many", tests_are_many),
    ("registry", registry::both_kinds),
    ("sub_agents_inherit", registry::sub_agents),
    ("manager", registry::manager),
    ("broker", broker::calls),
    ("transport_error", |stage| broker::code(stage, "TRANSPORT_ERROR")),
    ("tool_not_found", |stage| broker::code(stage, "TOOL_NOT_FOUND")),
    ("invalid_params", |stage| broker::code(stage, "INVALID_PARAMS")),
    ("tool_error", |stage| broker::code(stage, "TOOL_ERROR")),
    ("timeout", |stage| broker::code(stage, "TIMEOUT")),
    ("broker_configuration", broker::configuration),
    ("server_lifecycle", broker::lifecycle),
    ("ends_with_its_host", broker::ends_with_its_host),
    ("list_changed", broker::list_changed),
    ("states", client::states),
    ("capabilities", client::capabilities),
    ("content", client::content),
    ("stdio", client::stdio),
    ("toggle", client::toggle),
    ("set_servers", client::set_servers),
    ("routing", client::routing),
    ("cancellation", client::cancellation),
    ("resumed", client::resumed),
    ("blocking", client::blocking),
];

/// The check of this name.
pub(super) fn find(name: &str) -> Option<Check> {
    CHECKS.iter().find(|(known, _)| *known == name).map(|(_, check)| *check)
}

/// Waits for a check that needs a runtime.
fn wait<T>(check: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(check)
}

/// A host that may call everything.
fn builder() -> HostBuilder {
    let allow = Rule::new("*/*", Action::Allow, Origin::Program, Layer::CommandLine);
    let settings = HostSettings::default().with(|settings| {
        settings.call_timeout = PATIENCE;
        settings.startup_timeout = PATIENCE;
    });
    Host::builder()
        .settings(settings)
        .surroundings(
            Surroundings::default().with(|surroundings| surroundings.environment = std::env::vars_os().collect()),
        )
        .rules(vec![SourcedRule { rule: allow, trust: Trust::Trusted }])
}

/// A host with these servers, all of them connected or failed.
async fn host(servers: impl IntoIterator<Item = ServerSpec>) -> Result<Host> {
    let host = servers.into_iter().fold(builder(), |builder, server| builder.server(Planned::from(server)));
    let host = host.start().await?;
    ensure!(host.settled(PATIENCE).await, "the servers do not settle");
    Ok(host)
}

/// The server of ours, with these switches.
fn fake(stage: &Stage, name: &str, switches: &[&str]) -> Result<ServerSpec> {
    let arguments = std::iter::once(stage.name("fake")).chain(switches.iter().copied());
    program(stage, name, "python3", arguments)
}

/// The real file server, below the project.
fn filesystem(stage: &Stage) -> Result<ServerSpec> {
    let project = stage.project().display().to_string();
    program(stage, "filesystem", "node", [stage.name("filesystem"), &project])
}

fn program<'word>(
    stage: &Stage,
    name: &str,
    command: &str,
    arguments: impl IntoIterator<Item = &'word str>,
) -> Result<ServerSpec> {
    marked(stage.mark(), name, command, arguments)
}

/// A program that is found again by a mark of its own, beside whatever else the scene runs.
fn marked<'word>(
    mark: &str,
    name: &str,
    command: &str,
    arguments: impl IntoIterator<Item = &'word str>,
) -> Result<ServerSpec> {
    let stdio = StdioSpec {
        command: ConfigText::literal(command),
        arguments: arguments.into_iter().map(ConfigText::literal).collect(),
        environment: [(MARK.to_owned(), ConfigText::literal(mark))].into_iter().collect(),
        working_directory: None,
    };
    spec(name, TransportSpec::Stdio(stdio))
}

/// A server at an address.
fn http(name: &str, url: &str) -> Result<ServerSpec> {
    let url = ConfigText::literal(url.to_owned());
    spec(name, TransportSpec::Http(HttpSpec { url, headers: [].into_iter().collect(), flavour: HttpFlavour::Auto }))
}

fn spec(name: &str, transport: TransportSpec) -> Result<ServerSpec> {
    Ok(ServerSpec::new(ServerName::new(name)?, transport, Origin::Program, Layer::CommandLine))
}

fn json(text: &str) -> Result<RawJson> {
    Ok(RawJson::checked(text)?)
}

fn context() -> CallContext {
    CallContext::new(Caller::Agent)
}

async fn said(host: &Host, name: &str, arguments: &str) -> Result<String> {
    Ok(host.call(name, json(arguments)?, context()).await?.to_text())
}

/// Waits until a file has something in it.
fn content_of(path: &Path) -> Result<String> {
    let end = std::time::Instant::now() + PATIENCE;
    loop {
        let text = fs_err::read_to_string(path).unwrap_or_default();
        if !text.is_empty() {
            return Ok(text);
        }
        ensure!(std::time::Instant::now() < end, "{} stays empty", path.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Pages for every subject that the seed's guide has.
fn documentation(_stage: &Stage) -> Result<()> {
    let docs = root()?.join("docs");
    for page in ["setup.md", "configuration.md", "writing-a-server.md", "security.md", "troubleshooting.md"] {
        let lines = fs_err::read_to_string(docs.join(page))?.lines().count();
        ensure!(lines > 50, "docs/{page} has {lines} lines");
    }
    Ok(())
}

fn example(name: &str) -> Result<()> {
    let text = fs_err::read_to_string(root()?.join("examples/config").join(name))?;
    ensure!(text.contains("servers"), "examples/config/{name} has no servers");
    Ok(())
}

fn tests_are_many(_stage: &Stage) -> Result<()> {
    let mut count = 0;
    let mut places = vec![root()?.join("crates")];
    while let Some(place) = places.pop() {
        for entry in fs_err::read_dir(place)? {
            let path = entry?.path();
            if path.is_dir() {
                places.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs_err::read_to_string(&path)?;
                count += text.lines().filter(|line| line.contains("#[test]") || line.contains("#[tokio::test")).count();
            }
        }
    }
    ensure!(count > 80, "there are {count} tests");
    Ok(())
}

fn root() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the package has a parent")
}
