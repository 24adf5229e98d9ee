//! Owns the long runs of the host: what it promises in numbers when its servers are at their worst.

mod changes;
mod endpoint;
mod fifty;
mod killed;
mod watches;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use helve::{CallContext, CallError, CallOutcome, Host, HostBuilder, HostSettings, Surroundings};
use helve_model::json::RawJson;
use helve_model::{Action, ConfigText, Layer, Origin, Rule, ServerName, ServerSpec, StdioSpec, TransportSpec};
use helve_policy::{Caller, SourcedRule, Trust};
use serde_json::Value;

use crate::report::Line;

/// Nothing here takes longer unless something is wrong.
const PATIENCE: Duration = Duration::from_secs(60);

/// Makes the runs; a broken promise is a line that misses its goal.
pub(crate) fn run(peer: PathBuf, only: Option<&str>, cycles: usize) -> Result<Vec<Line>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let peer = Peer { program: peer };
    let wanted = |name: &str| only.is_none_or(|only| only == name);
    let mut lines = Vec::new();
    runtime.block_on(async {
        if wanted("killed") {
            lines.extend(killed::run(&peer).await.context("killed")?);
        }
        if wanted("fifty") {
            lines.extend(fifty::run(&peer).await.context("fifty")?);
        }
        if wanted("flood") {
            lines.extend(changes::flood(&peer).await.context("flood")?);
        }
        if wanted("endpoint") {
            lines.extend(endpoint::run().await.context("endpoint")?);
        }
        if wanted("toggles") {
            lines.extend(changes::toggles(&peer, cycles).await.context("toggles")?);
        }
        if wanted("watches") {
            lines.extend(watches::run(&peer).await.context("watches")?);
        }
        Ok(lines)
    })
}

/// The scriptable fake peer, as a program.
struct Peer {
    program: PathBuf,
}

impl Peer {
    /// A server that follows this script; see `helve_testkit::Scenario`.
    fn server(&self, name: &str, script: &Value) -> Result<ServerSpec> {
        let stdio = StdioSpec {
            command: ConfigText::literal(self.program.to_string_lossy()),
            arguments: vec![ConfigText::literal(script.to_string())],
            environment: [].into_iter().collect(),
            working_directory: None,
        };
        spec(name, TransportSpec::Stdio(stdio))
    }
}

fn spec(name: &str, transport: TransportSpec) -> Result<ServerSpec> {
    let name = ServerName::new(name).ok().context("a server needs a name")?;
    Ok(ServerSpec::new(name, transport, Origin::Program, Layer::CommandLine))
}

/// A host that may call everything.
fn builder(servers: Vec<ServerSpec>) -> HostBuilder {
    let rule = Rule::new("*/*", Action::Allow, Origin::Program, Layer::CommandLine);
    let environment = std::env::vars_os().filter(|(name, _)| name == "PATH").collect();
    let settings = HostSettings::default().with(|settings| settings.in_flight_per_server = 128);
    let builder = Host::builder()
        .settings(settings)
        .surroundings(Surroundings::default().with(|surroundings| surroundings.environment = environment))
        .rules(vec![SourcedRule { rule, trust: Trust::Trusted }]);
    servers.into_iter().fold(builder, HostBuilder::server)
}

async fn call(host: &Host, name: &str, arguments: &Value) -> Result<CallOutcome, CallError> {
    host.call(name, RawJson::assembled(arguments.to_string()), CallContext::new(Caller::Script)).await
}

/// Waits until something is true of a host; it is looked at after every event. Says how long that took.
async fn until(host: &Host, what: &str, is_true: impl Fn(&Host) -> bool) -> Result<Duration> {
    let begun = Instant::now();
    let mut events = host.events();
    while !is_true(host) {
        if tokio::time::timeout(PATIENCE, events.next()).await.is_err() {
            bail!("{what}: not in time");
        }
    }
    Ok(begun.elapsed())
}

fn is_connected(host: &Host, name: &str) -> bool {
    host.server_status(name).is_some_and(|report| report.status.word() == "connected")
}

/// The processes that this one has started, by the program they run.
fn children(program: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for thread in fs_err::read_dir("/proc/self/task")? {
        // A thread may end between the listing and the reading.
        let listed = fs_err::read_to_string(thread?.path().join("children")).unwrap_or_default();
        let runs_it = |process: &&str| {
            let words = fs_err::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            words.starts_with(program.as_os_str().as_encoded_bytes())
        };
        found.extend(listed.split_whitespace().filter(runs_it).map(ToOwned::to_owned));
    }
    Ok(found)
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10.0
}
