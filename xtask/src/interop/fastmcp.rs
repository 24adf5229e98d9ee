//! Owns the visits to a server on FastMCP, which speaks both eras and asks in a way of its own in each: whatever works for an
//! agent directly works through helve, and no more processes run than have to.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::behind::{Behind, Upstream};
use super::process::{self, Listening};
use super::servers::Era;
use super::workshop::Workshop;

const AGENT: &str = include_str!("../../interop/workshop-agent.py");

/// For all an agent does, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(200);

/// Agents that come at the same time, and how many processes of the server they may cost: one each, and the shared one.
const CROWD: usize = 10;
const CROWD_PROCESSES: usize = CROWD + 1;

/// What works directly in each era.
const LEGACY: &[&str] = &["tools", "version", "echo", "elicit", "sample", "roots", "weather"];
const MODERN: &[&str] = &["tools", "version", "echo", "interview", "weather"];

/// By which transport both ways are: from the agent to helve, and from there to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Means {
    Stdio,
    Http,
}

/// Has agents visit, and tells about each visit.
pub(crate) fn visit(
    workshop: &Workshop,
    helve: &Path,
    directory: &Path,
    mut tell: impl FnMut(&str, &str, Result<String>),
) -> Result<()> {
    let script = directory.join("agents-python/workshop-agent.py");
    fs_err::write(&script, AGENT)?;
    let agent = [workshop.python.clone(), script];
    let prepare = |name: &str| Behind::prepare(helve, directory.join("fastmcp").join(name));
    for era in [Era::Legacy, Era::Modern] {
        for (means, words) in [(Means::Stdio, "stdio"), (Means::Http, "Streamable HTTP")] {
            let place = prepare(&format!("{}-{words}", super::era(era)).replace(' ', "-"));
            let outcome = place.and_then(|behind| compare(&behind, workshop, &agent, era, means));
            tell(&format!("FastMCP and an agent, {}", super::era(era)), words, outcome);
        }
    }
    let outcome = prepare("crowd").and_then(|behind| crowd(&behind, workshop, &agent));
    tell(&format!("FastMCP and {CROWD} agents, legacy"), "Streamable HTTP", outcome);
    Ok(())
}

/// The same agent directly and through helve: what works directly is the same.
fn compare(behind: &Behind<'_>, workshop: &Workshop, agent: &[PathBuf], era: Era, means: Means) -> Result<String> {
    let mut plan = plan(behind, era);
    let server = match means {
        Means::Stdio => {
            plan["command"] = json!(workshop.python);
            plan["args"] = json!(workshop.arguments("stdio"));
            plan["env"] = behind.environment()?;
            None
        }
        Means::Http => Some(Listening::start(&workshop.over_http(), &behind.mark)?),
    };
    let url = server.as_ref().map(|server| format!("http://127.0.0.1:{}/mcp", server.port));
    if let Some(url) = &url {
        plan["url"] = json!(url);
    }
    let direct = behind.run(agent, &plan, "directly", PATIENCE).context("directly")?;

    behind.configure(url.as_deref().map_or(Upstream::Program(workshop), Upstream::Url))?;
    let mut plan = self::plan(behind, era);
    let listening = match means {
        Means::Stdio => behind.on_stdio(&mut plan).map(|()| None)?,
        Means::Http => Some(behind.on_http(&mut plan)?),
    };
    let through = behind.run(agent, &plan, "through", PATIENCE).context("through helve");
    listening.map_or(Ok(()), crate::listening::Listening::stop)?;
    let through = through?;
    drop(server);

    let steps = if era == Era::Legacy { LEGACY } else { MODERN };
    let mut differences = Vec::new();
    for step in steps {
        let (direct, through) = (&direct[*step], &through[*step]);
        let failed = direct["failed"] == true || direct.get("raised").is_some() || direct.is_null();
        ensure!(!failed, "{step} does not even work directly: {direct}");
        if direct != through {
            differences.push(format!("{step} is {direct} directly and {through} through helve"));
        }
    }
    ensure!(differences.is_empty(), "{}", differences.join("; "));
    let processes = behind.processes();
    ensure!(means == Means::Http || processes == 1, "{processes} processes of the server for one agent on stdio");
    process::gone(&behind.mark)?;
    let counted = if means == Means::Stdio { "; 1 process" } else { "" };
    Ok(format!("{}: {} as directly{counted}", direct["version"].as_str().unwrap_or_default(), steps.join(", ")))
}

/// Agents that could be asked but never are: their calls may cost one process each, and the shared one.
fn crowd(behind: &Behind<'_>, workshop: &Workshop, agent: &[PathBuf]) -> Result<String> {
    behind.configure(Upstream::Program(workshop))?;
    let mut plan = plan(behind, Era::Legacy);
    plan["agents"] = json!(CROWD);
    let listening = behind.on_http(&mut plan)?;
    let seen = behind.run(agent, &plan, "crowd", PATIENCE);
    listening.stop()?;
    let seen = seen?;
    let agents = seen.as_array().context("a list of agents")?;
    let is_well = |agent: &Value| agent["tools"].as_u64() > Some(10) && agent["echo"]["text"] == "hello";
    ensure!(agents.len() == CROWD && agents.iter().all(is_well), "{seen}");
    let processes = behind.processes();
    ensure!((1..=CROWD_PROCESSES).contains(&processes), "{processes} processes of the server for {CROWD} agents");
    process::gone(&behind.mark)?;
    Ok(format!("each lists and calls; {processes} processes of the server, {CROWD_PROCESSES} at most"))
}

fn plan(behind: &Behind<'_>, era: Era) -> Value {
    let root = format!("file://{}", behind.directory.display());
    json!({"era": super::era(era), "prefix": "", "root": root, "agents": 1})
}
