//! Owns the visits of other people's clients: each as an agent of `helve serve`, in front of three real servers, over every
//! transport and in every era it speaks.

mod judge;
mod serving;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fs_err::File;
use serde_json::{Value, json};

use self::judge::{Visitor, judge};
use self::serving::{Behind, Serving};
use super::process::{self, MARK};
use super::servers::{Era, Server};
use super::workshop::FASTMCP;
use crate::install::{Pin, npm, python};
use crate::listening::Listening;

/// The official clients of both lines of releases.
const NODE_AGENTS: &[Pin] =
    &[("@modelcontextprotocol/sdk", "1.32.2"), ("@modelcontextprotocol/client", "2.4.0"), ("zod", "4.6.7")];

/// It has to lie beside the packages it imports.
const NODE_SCRIPT: &str = include_str!("../../interop/agent.mjs");

const PYTHON_SCRIPT: &str = include_str!("../../interop/agent.py");

/// Every step of an agent has its own time; this is for all of them, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(400);

const BOTH: &[Era] = &[Era::Legacy, Era::Modern];

/// What agents call tools by.
const TOOLS: &str = "{server}__{tool}";

/// The same of a hub's servers.
const TOOLS_OF_HUB: &str = "hub__{server}__{tool}";

/// Everything that is needed for the visits.
#[derive(Debug)]
pub(crate) struct Agents {
    agents: Vec<Agent>,
    directory: PathBuf,
}

/// A client, and how it is told what to do.
#[derive(Debug)]
struct Agent {
    name: &'static str,
    command: Vec<PathBuf>,
    /// What it wants to know besides where to go.
    plan: Value,
    eras: &'static [Era],
    /// Whether it still speaks HTTP+SSE.
    has_sse: bool,
    /// What it cannot do, or needs help with.
    remark: &'static str,
}

impl Agents {
    /// Installs the clients that come from registries.
    pub(crate) fn install(directory: &Path) -> Result<Self> {
        let node = directory.join("agents-node");
        npm(&node, NODE_AGENTS)?;
        let node_script = node.join("agent.mjs");
        fs_err::write(&node_script, NODE_SCRIPT)?;
        let bin = python(&directory.join("agents-python"), FASTMCP)?;
        let python_script = directory.join("agents-python/agent.py");
        fs_err::write(&python_script, PYTHON_SCRIPT)?;

        let node = |name, line: u8, eras, remark| {
            let command = vec![PathBuf::from("node"), node_script.clone()];
            Agent { name, command, plan: json!({"sdk": line}), eras, has_sse: true, remark }
        };
        let python = |name, client: &str, remark| {
            let command = vec![bin.join("python"), python_script.clone()];
            Agent { name, command, plan: json!({"client": client}), eras: BOTH, has_sse: true, remark }
        };
        let agents = vec![
            node("typescript-1", 1, &[Era::Legacy], "knows no other era"),
            node("typescript-2", 2, BOTH, ""),
            python("python-mcp", "mcp", ""),
            python("fastmcp", "fastmcp", "subscribes through the SDK's session below it"),
        ];
        Ok(Self { agents, directory: directory.join("agents") })
    }

    /// The client on rmcp comes too.
    pub(crate) fn with_rmcp(mut self, program: &Path) -> Self {
        let command = vec![program.to_owned()];
        let remark = "has no HTTP+SSE";
        self.agents.push(Agent { name: "rmcp", command, plan: json!({}), eras: BOTH, has_sse: false, remark });
        self
    }

    /// Has every agent visit (or those of one name), and tells about each visit; in the end all come at once.
    pub(crate) fn visit(
        &self,
        helve: &Path,
        servers: &[Server],
        only: Option<&str>,
        mark: &str,
        mut tell: impl FnMut(&str, &str, Result<String>),
    ) -> Result<()> {
        let prepare = |name: String| Serving::prepare(helve, &self.directory.join(name), servers, mark, Behind::Itself);
        let chosen = self.chosen(only)?;
        for agent in &chosen {
            for (era, means) in agent.visits() {
                let subject = format!("agent {}, {}", agent.name, super::era(era));
                let place = format!("{} {} {}", agent.name, super::era(era), means.words()).replace(' ', "-");
                let outcome = prepare(place).and_then(|serving| visit(&serving, agent, era, means, TOOLS));
                tell(&subject, means.words(), outcome);
            }
        }
        if only.is_none() {
            let outcome = prepare("all-at-once".to_owned()).and_then(|serving| visit_at_once(&serving, &chosen));
            tell("all agents at once, legacy", Means::Http.words(), outcome);
        }
        Ok(())
    }

    /// The same through a spoke, through a hub, to the same servers; over the streams that an agent starts itself, and over
    /// HTTP.
    pub(crate) fn visit_spokes(
        &self,
        helve: &Path,
        servers: &[Server],
        only: Option<&str>,
        mark: &str,
        mut tell: impl FnMut(&str, &str, Result<String>),
    ) -> Result<()> {
        for agent in self.chosen(only)? {
            for (era, means) in agent.visits().filter(|(_, means)| *means != Means::Sse) {
                let subject = format!("agent {}, {}, spoke, hub", agent.name, super::era(era));
                let place = format!("spoke {} {} {}", agent.name, super::era(era), means.words()).replace(' ', "-");
                let prepared = Serving::prepare(helve, &self.directory.join(place), servers, mark, Behind::Hub);
                let outcome = prepared.and_then(|serving| visit(&serving, agent, era, means, TOOLS_OF_HUB));
                tell(&subject, means.words(), outcome);
            }
        }
        Ok(())
    }

    fn chosen(&self, only: Option<&str>) -> Result<Vec<&Agent>> {
        let is_wanted = |agent: &&Agent| only.is_none_or(|only| only == agent.name);
        let chosen: Vec<&Agent> = self.agents.iter().filter(is_wanted).collect();
        ensure!(!chosen.is_empty(), "no such agent: {}", only.unwrap_or_default());
        Ok(chosen)
    }
}

/// How an agent comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Means {
    /// It starts `helve serve` itself.
    Stdio,
    Http,
    Sse,
}

impl Means {
    const fn words(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "Streamable HTTP",
            Self::Sse => "HTTP+SSE",
        }
    }
}

impl Agent {
    /// In every era and by every means that goes with it.
    fn visits(&self) -> impl Iterator<Item = (Era, Means)> {
        let with = |era| [Means::Stdio, Means::Http, Means::Sse].map(|means| (era, means));
        let goes = |(era, means): &(Era, Means)| *means != Means::Sse || (self.has_sse && *era == Era::Legacy);
        self.eras.iter().copied().flat_map(with).filter(goes)
    }

    /// What it is told for a visit, but for where to go.
    fn plan(&self, serving: &Serving, era: Era, tools: &str) -> Value {
        let mut plan = self.plan.clone();
        plan["name"] = json!(self.name);
        plan["era"] = json!(super::era(era));
        plan["tools"] = json!(tools);
        plan["scratch"] = json!(serving.scratch);
        plan
    }
}

fn visit(serving: &Serving, agent: &Agent, era: Era, means: Means, tools: &str) -> Result<String> {
    let mut plan = agent.plan(serving, era, tools);
    let listening = match means {
        Means::Stdio => {
            plan["command"] = json!(serving.helve);
            plan["args"] = json!(serving.arguments());
            plan["env"] = serving.environment()?;
            None
        }
        Means::Http | Means::Sse => Some(serving.listen()?),
    };
    if let Some(listening) = &listening {
        let is_old = means == Means::Sse;
        plan["sse"] = json!(is_old);
        plan["url"] = json!(if is_old { listening.sse_url() } else { listening.url.clone() });
    }
    let seen = run(serving, agent, &plan);
    listening.map_or(Ok(()), Listening::stop)?;
    serving.stop_hub()?;
    let place = tools.strip_suffix(TOOLS).unwrap_or_default();
    let words = judge(Visitor { name: agent.name, place }, &seen?, &serving.wire()?, era)
        .with_context(|| format!("see {}", serving.directory.display()))?;
    process::gone(&serving.mark)?;
    Ok(if agent.remark.is_empty() { words } else { format!("{words} ({})", agent.remark) })
}

/// Each as a session of its own: what servers ask has to reach the right one.
fn visit_at_once(serving: &Serving, agents: &[&Agent]) -> Result<String> {
    let listening = serving.listen()?;
    let url = &listening.url;
    let seen: Vec<Result<Value>> = std::thread::scope(|scope| {
        let visit = |agent: &'_ Agent| {
            let mut plan = agent.plan(serving, Era::Legacy, TOOLS);
            plan["url"] = json!(url);
            run(serving, agent, &plan)
        };
        let visits: Vec<_> = agents.iter().map(|agent| scope.spawn(move || visit(agent))).collect();
        let ended = visits.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended.map(|seen| seen.unwrap_or_else(|_| bail!("the visit panicked"))).collect()
    });
    listening.stop()?;
    let wire = serving.wire()?;
    for (agent, seen) in agents.iter().zip(seen) {
        judge(Visitor { name: agent.name, place: "" }, &seen?, &wire, Era::Legacy)
            .with_context(|| format!("{}: see {}", agent.name, serving.directory.display()))?;
    }
    process::gone(&serving.mark)?;
    Ok(format!("{} agents, each was asked what was meant for it", agents.len()))
}

/// Runs an agent with its plan; gives what it saw. What it says besides goes to a file.
fn run(serving: &Serving, agent: &Agent, plan: &Value) -> Result<Value> {
    let log = serving.directory.join(format!("{}.log", agent.name));
    let (program, arguments) = agent.command.split_first().context("no program")?;
    let mut child = Command::new(program)
        .args(arguments)
        .arg(plan.to_string())
        .env(MARK, &serving.mark)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(&log)?.into_parts().0)
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let line = process::lines_of(child.stdout.take().context("no stdout")?).recv_timeout(PATIENCE);
    if line.is_err() {
        // It may be gone already.
        drop(child.kill());
    }
    let status = child.wait()?;
    let Ok(line) = line else {
        bail!("it said nothing ({status}): see {}", log.display());
    };
    serde_json::from_str(&line).with_context(|| format!("it said {line}"))
}
