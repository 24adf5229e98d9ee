//! Owns `cargo xtask bench`: builds the benchmark in release and runs it.

mod gateways;
mod hub;
mod peers;
mod spokes;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde_json::Value;

use crate::programs::{Profile, build, build_measured, interop_directory};

/// Measure in release: the wire against the floors and rmcp, the pure crates against the clock, the host and the program
/// `helve` beside other clients, `helve serve` beside other gateways, code mode beside bare Python
#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Cli(Cli),
    Code(Code),
    Host(Host),
    Hub(hub::Hub),
    Pure(Pure),
    Sandbox(Sandbox),
    Serve(Serve),
    Spokes(spokes::Spokes),
    Wire(Wire),
}

/// The program `helve`: listing ten thousand kept tools, a cold call, servers that are not needed
///
/// Runs beside mcporter, the TypeScript SDK and fastmcp, which are installed under target/interop.
#[derive(Debug, Args)]
struct Cli {
    #[command(flatten)]
    beside: Beside,
}

/// Code mode: a program's start, a call inside of one, many calls, calls at once
///
/// Beside the bare interpreter, a bare pipe and the same calls made by the host; medians over rounds in which the sides take
/// turns. Fails when a goal is missed.
#[derive(Debug, Args)]
struct Code {
    /// End with one line of JSON: {"measures": [{"name", "ratio", "goal", "met"}]}
    #[arg(long)]
    json: bool,
    /// Only this measure: start, call, many, gather
    #[arg(long, value_name = "MEASURE")]
    only: Option<String>,
    /// Rounds to take medians over [default: 21]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
}

/// The host: what it adds to a call, how fast many servers are ready, what it holds
///
/// Runs beside rmcp, the TypeScript SDK and fastmcp; the latter are installed under target/interop. Instructions are
/// counted with valgrind.
#[derive(Debug, Args)]
struct Host {
    /// Only what can be counted (instructions, servers started, schemas compiled): repeats on any machine
    #[arg(long)]
    counts: bool,
    #[command(flatten)]
    beside: Beside,
}

/// `helve serve`: what the hop costs, how much goes through, what it holds, how it starts, what agents leave behind
///
/// Agents over HTTP, the thin echo server behind the gateway; beside the server without a gateway, and beside supergateway,
/// mcp-proxy (npm and Python) and fastmcp, which are installed under target/interop.
#[derive(Debug, Args)]
struct Serve {
    #[command(flatten)]
    beside: Beside,
}

/// How measures beside other clients and gateways are taken and told.
#[derive(Debug, Args)]
struct Beside {
    /// Without others: nothing is installed
    #[arg(long)]
    alone: bool,
    /// Fail when a goal is missed
    #[arg(long)]
    check: bool,
    /// End with one line of JSON: {"measures": [{"name", "ratio", "goal", "met"}]}
    #[arg(long)]
    json: bool,
    /// Only this measure: of the host call, approvals, kept, ready, hold; of the program tools, call, warm, started, hold; of serve
    /// calls, http, large, start, abandoned, rmcp
    #[arg(long, value_name = "MEASURE")]
    only: Option<String>,
    /// Rounds to take medians over [default: 7 of the host, 5 of the others]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
}

/// The pure crates: loading configuration, deciding, validating, validators that are not used, searching tools
///
/// Medians over many short rounds in one process. Fails when a goal is missed.
#[derive(Debug, Args)]
struct Pure {
    /// End with one line of JSON: {"measures": [{"name", "ratio", "goal", "met"}]}
    #[arg(long)]
    json: bool,
    /// Only this measure: load, decide, validate, lazy, search
    #[arg(long, value_name = "MEASURE")]
    only: Option<String>,
    /// Rounds to take medians over [default: 101]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
}

/// Sandboxes: what one adds to a server's start, and its proxy to a connection
///
/// Medians of differences, start by start, with and without. Fails when a goal is missed.
#[derive(Debug, Args)]
struct Sandbox {
    /// End with one line of JSON: {"measures": [{"name", "ratio", "goal", "met"}]}
    #[arg(long)]
    json: bool,
    /// Starts to compare [default: 201]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
}

/// The wire: calls, throughput, large results, listings, HTTP, memory, connecting
///
/// Subjects run interleaved, each in a process of its own, under real-time priority where the machine allows it.
/// Fails when a goal is missed. Instructions are counted with valgrind.
#[derive(Debug, Args)]
struct Wire {
    /// Only what can be counted (instructions, allocations, connections): repeats on any machine, gates in CI
    #[arg(long)]
    counts: bool,
    /// End with one line of JSON: {"measures": [{"name", "ratio", "goal", "met"}]}
    #[arg(long)]
    json: bool,
    /// Only this measure: counts, secrets, http-connections, echo, flood, large, list, http, idle, connect
    #[arg(long, value_name = "MEASURE")]
    only: Option<String>,
    /// Rounds to take medians over [default: 7]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Hold another column to the goals: floor, rmcp
    #[arg(long, value_name = "COLUMN")]
    candidate: Option<String>,
}

impl Bench {
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        match &self.what {
            What::Cli(cli) => cli.run(root),
            What::Code(code) => code.run(root),
            What::Host(host) => host.run(root),
            What::Hub(hub) => hub.run(root),
            What::Pure(pure) => pure.run(root),
            What::Sandbox(sandbox) => sandbox.run(root),
            What::Serve(serve) => serve.run(root),
            What::Spokes(spokes) => spokes.run(root),
            What::Wire(wire) => wire.run(root),
        }
    }
}

impl Cli {
    fn run(&self, root: &Path) -> Result<()> {
        let built = build(root, "xtask", Profile::Measure, &["xtask-bench", "xtask-echo-server"])?;
        let [bench, server] = built.as_slice() else { bail!("not everything was built") };
        let built = build(root, "helve-cli", Profile::Release, &["helve"])?;
        let [helve] = built.as_slice() else { bail!("not everything was built") };
        let mut command = Command::new(bench);
        command.arg("cli").arg("--server").arg(server).arg("--helve").arg(helve);
        self.beside.run(command, root, peers::install)
    }
}

impl Code {
    fn run(&self, root: &Path) -> Result<()> {
        let built = build(root, "xtask", Profile::Measure, &["xtask-bench"])?;
        let [bench] = built.as_slice() else { bail!("not everything was built") };
        let mut command = Command::new(bench);
        command.args(["code", "--check"]);
        hand_on(&mut command, self.json, self.only.as_deref(), self.rounds);
        finish(&mut command)
    }
}

impl Host {
    fn run(&self, root: &Path) -> Result<()> {
        let built = build(root, "xtask", Profile::Measure, &["xtask-bench", "xtask-echo-server"])?;
        let [bench, server] = built.as_slice() else { bail!("not everything was built") };
        let mut command = Command::new(bench);
        command.arg("host").arg("--server").arg(server);
        if self.counts {
            command.arg("--counts");
        }
        self.beside.run(command, root, peers::install)
    }
}

impl Serve {
    fn run(&self, root: &Path) -> Result<()> {
        let built = build(root, "xtask", Profile::Measure, &["xtask-bench", "xtask-echo-server", "xtask-relay"])?;
        let [bench, server, relay] = built.as_slice() else { bail!("not everything was built") };
        let built = build_measured(root, "helve-testkit", "rmcp", &["helve-testkit-rmcp"])?;
        let [rmcp_server] = built.as_slice() else { bail!("not everything was built") };
        let built = build(root, "helve-cli", Profile::Release, &["helve"])?;
        let [helve] = built.as_slice() else { bail!("not everything was built") };
        let mut command = Command::new(bench);
        command.arg("serve").arg("--server").arg(server).arg("--rmcp-server").arg(rmcp_server);
        command.arg("--relay").arg(relay).arg("--helve").arg(helve);
        self.beside.run(command, root, gateways::install)
    }
}

impl Beside {
    fn run(&self, mut command: Command, root: &Path, install: fn(&Path) -> Result<Value>) -> Result<()> {
        if !self.alone {
            command.arg("--peers").arg(install(&interop_directory(root)?)?.to_string());
        }
        if self.check {
            command.arg("--check");
        }
        hand_on(&mut command, self.json, self.only.as_deref(), self.rounds);
        finish(&mut command)
    }
}

impl Pure {
    fn run(&self, root: &Path) -> Result<()> {
        let built = build(root, "xtask", Profile::Measure, &["xtask-bench"])?;
        let [bench] = built.as_slice() else { bail!("not everything was built") };
        let mut command = Command::new(bench);
        command.arg("pure");
        hand_on(&mut command, self.json, self.only.as_deref(), self.rounds);
        finish(&mut command)
    }
}

impl Sandbox {
    fn run(&self, root: &Path) -> Result<()> {
        let built = build(root, "xtask", Profile::Measure, &["xtask-bench"])?;
        let [bench] = built.as_slice() else { bail!("not everything was built") };
        let mut command = Command::new(bench);
        command.args(["sandbox", "--check"]);
        hand_on(&mut command, self.json, None, self.rounds);
        finish(&mut command)
    }
}

impl Wire {
    fn run(&self, root: &Path) -> Result<()> {
        let built = build(root, "xtask", Profile::Measure, &["xtask-bench", "xtask-echo-server"])?;
        let [bench, server] = built.as_slice() else { bail!("not everything was built") };
        let mut command = Command::new(bench);
        command.arg("wire").arg("--server").arg(server);
        if self.counts {
            command.arg("--counts");
        }
        if let Some(candidate) = &self.candidate {
            command.args(["--candidate", candidate]);
        }
        hand_on(&mut command, self.json, self.only.as_deref(), self.rounds);
        finish(&mut command)
    }
}

/// Options that every benchmark takes as they were given.
fn hand_on(benchmark: &mut Command, json: bool, only: Option<&str>, rounds: Option<usize>) {
    if json {
        benchmark.arg("--json");
    }
    if let Some(only) = only {
        benchmark.args(["--only", only]);
    }
    if let Some(rounds) = rounds {
        benchmark.args(["--rounds", &rounds.to_string()]);
    }
}

fn finish(benchmark: &mut Command) -> Result<()> {
    let status = benchmark.status().context("cannot start the benchmark")?;
    if !status.success() {
        bail!("the benchmark did not succeed ({status})");
    }
    Ok(())
}
