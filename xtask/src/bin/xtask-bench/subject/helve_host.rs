//! A whole host as an agent's author uses it: names resolved, arguments checked, rules asked, the call recorded.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use helve::{CallContext, Events, Host, HostBuilder, HostSettings, Planned, Snapshot, Surroundings};
use helve_model::json::RawJson;
use helve_model::{ConfigText, Layer, Origin, Outcome, ServerName, ServerSpec, StdioSpec, TransportSpec};
use helve_policy::Caller;
use tokio::time::timeout;

use super::helve_stdio::{check_echo, version};
use super::{Server, SharedClient, StdioClient, TEXT};
use crate::job::{Era, Sample, Shape};
use crate::memory;
use crate::rules::{rules, server_name};

/// Longer than any server here takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Milliseconds that the servers' lists may be kept: longer than any measure takes.
const KEPT_FOR: usize = 3_600_000;

/// The tool whose calls are measured; its schema has five properties, two of them required.
const ECHO: &str = "echo";

/// A host of one server, under so many rules.
#[derive(Debug)]
pub(crate) struct OneHost<const RULES: usize> {
    host: Host,
    /// Somebody listens, so that every call is recorded.
    _events: Events,
    echo: String,
    arguments: RawJson,
}

impl<const RULES: usize> StdioClient for OneHost<RULES> {
    type Answer = Outcome;

    async fn connect(server: &Server, era: Era) -> Result<Self> {
        let spec = spec(server, 0)?.with(|spec| spec.protocol_version = Some(version(era).to_owned()));
        let host = builder().rules(rules(RULES, ECHO)).server(Planned::from(spec)).start().await?;
        all_connected(&host, 1).await?;
        let arguments = format!(r#"{{"text":"{TEXT}","path":"/srv/project/src/main.rs"}}"#);
        Ok(Self {
            _events: host.events(),
            host,
            echo: format!("{}/{ECHO}", server_name(0)),
            arguments: RawJson::checked(arguments).context("our own arguments are not valid JSON")?,
        })
    }

    async fn echo(&mut self) -> Result<()> {
        self.echo_once().await
    }

    async fn large(&mut self, shape: Shape) -> Result<Outcome> {
        bail!("the echo server lists no tool with a large result ({shape:?}), and a host calls nothing else")
    }

    async fn list(&mut self) -> Result<Outcome> {
        bail!("a host lists by itself")
    }

    async fn oversized(&mut self, _bytes: u64) -> Result<String> {
        bail!("the echo server does not list `endless`, and a host calls nothing else")
    }

    async fn close(self) -> Result<()> {
        self.host.shutdown().await;
        Ok(())
    }
}

impl<const RULES: usize> SharedClient for OneHost<RULES> {
    async fn echo_shared(client: Arc<Self>) -> Result<()> {
        client.echo_once().await
    }
}

impl<const RULES: usize> OneHost<RULES> {
    async fn echo_once(&self) -> Result<()> {
        let outcome = self.host.call(&self.echo, self.arguments.clone(), CallContext::new(Caller::Agent)).await?;
        check_echo(&outcome.outcome)
    }
}

/// How long one host takes to have all of these servers connected and listed.
pub(crate) async fn ready(server: &Server, servers: usize) -> Result<Sample> {
    let specs = specs(server, servers)?;
    let start = Instant::now();
    let host = with_servers(builder(), specs).start().await?;
    all_connected(&host, servers).await?;
    let total_seconds = start.elapsed().as_secs_f64();
    host.shutdown().await;
    Ok(Sample { total_seconds, calls: servers, ..Sample::default() })
}

/// What this whole process holds when a host has so many servers and nothing to do.
pub(crate) async fn hold(server: &Server, servers: usize) -> Result<Sample> {
    let host = with_servers(builder(), specs(server, servers)?).start().await?;
    all_connected(&host, servers).await?;
    let resident_bytes = memory::resident()?;
    host.shutdown().await;
    Ok(Sample { resident_bytes, calls: servers, ..Sample::default() })
}

/// What a host does that knows all its servers from an earlier run, and has nothing to call.
pub(crate) async fn kept(server: &Server, servers: usize, tools: usize) -> Result<Sample> {
    let directory = tempfile::tempdir()?;
    let log = directory.path().join("started");
    let mut server = server.clone();
    server.arguments.extend(["--started".to_owned(), log.display().to_string()]);
    let server = server.preparing("--ttl", KEPT_FOR);
    // The last option has no use but to make each a server of its own.
    let own = |index| spec(&server.clone().preparing("--structured", index), index);
    let specs = (0..servers).map(own).collect::<Result<Vec<ServerSpec>>>()?;
    let remembering = || {
        let kept =
            surroundings().with(|surroundings| surroundings.cache_directory = Some(directory.path().join("cache")));
        builder().surroundings(kept)
    };

    let host = with_servers(remembering(), specs.clone()).start().await?;
    all_connected(&host, servers).await?;
    host.shutdown().await;
    let before = starts(&log)?;
    ensure!(before == servers, "{before} of {servers} servers were started");

    let lazy = specs.into_iter().map(|spec| spec.with(|spec| spec.lazy = true)).collect();
    let start = Instant::now();
    let host = with_servers(remembering(), lazy).start().await?;
    let (snapshot, listed) =
        timeout(PATIENCE, all_listed(&host, servers * tools)).await.context("not all were kept")?;
    let total_seconds = start.elapsed().as_secs_f64();
    let compiled = snapshot.tools().filter(|tool| tool.is_schema_read()).count();
    let resident_bytes = memory::resident()?;
    host.shutdown().await;
    Ok(Sample {
        total_seconds,
        calls: listed,
        compiled,
        started: starts(&log)? - before,
        resident_bytes,
        ..Sample::default()
    })
}

pub(super) fn builder() -> HostBuilder {
    let settings = HostSettings::default().with(|settings| {
        settings.call_timeout = PATIENCE;
        settings.startup_timeout = PATIENCE;
    });
    Host::builder().settings(settings).surroundings(surroundings()).rules(rules(1, ECHO))
}

fn surroundings() -> Surroundings {
    Surroundings::default().with(|surroundings| surroundings.environment = std::env::vars_os().collect())
}

fn with_servers(builder: HostBuilder, specs: Vec<ServerSpec>) -> HostBuilder {
    specs.into_iter().fold(builder, |builder, spec| builder.server(Planned::from(spec)))
}

fn specs(server: &Server, count: usize) -> Result<Vec<ServerSpec>> {
    (0..count).map(|index| spec(server, index)).collect()
}

pub(super) fn spec(server: &Server, index: usize) -> Result<ServerSpec> {
    let stdio = StdioSpec {
        command: ConfigText::literal(server.program.display().to_string()),
        arguments: server.arguments.iter().map(ConfigText::literal).collect(),
        environment: [].into_iter().collect(),
        working_directory: None,
    };
    let name = ServerName::new(server_name(index))?;
    Ok(ServerSpec::new(name, TransportSpec::Stdio(stdio), Origin::Program, Layer::CommandLine))
}

async fn all_connected(host: &Host, servers: usize) -> Result<()> {
    ensure!(host.settled(PATIENCE).await, "not all servers came: {:?}", host.status());
    let listed = host.snapshot().servers().filter(|server| server.tools().count() > 0).count();
    ensure!(listed == servers, "{listed} of {servers} servers have tools: {:?}", host.status());
    Ok(())
}

/// Kept lists are read in the background.
async fn all_listed(host: &Host, tools: usize) -> (Arc<Snapshot>, usize) {
    let mut events = host.events();
    loop {
        let snapshot = host.snapshot();
        let listed = snapshot.tools().count();
        if listed >= tools || events.next().await.is_none() {
            return (snapshot, listed);
        }
    }
}

fn starts(log: &Path) -> Result<usize> {
    Ok(fs_err::read_to_string(log)?.lines().count())
}
