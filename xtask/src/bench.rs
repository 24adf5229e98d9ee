//! Owns `cargo xtask bench`: builds the benchmark in release and runs it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};

use crate::programs::build;

/// Measure against the floors and against rmcp, in release
#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Wire(Wire),
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
    /// Only this measure: counts, http-connections, echo, flood, large, list, http, idle, connect
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
            What::Wire(wire) => wire.run(root),
        }
    }
}

impl Wire {
    fn run(&self, root: &Path) -> Result<()> {
        let built = build(root, true, &["xtask-bench", "xtask-echo-server"])?;
        let [bench, server] = built.as_slice() else { bail!("not everything was built") };
        let mut command = Command::new(bench);
        command.arg("wire").arg("--server").arg(server);
        if self.counts {
            command.arg("--counts");
        }
        if self.json {
            command.arg("--json");
        }
        let rounds = self.rounds.map(|rounds| rounds.to_string());
        for (option, value) in [("--only", &self.only), ("--rounds", &rounds), ("--candidate", &self.candidate)] {
            if let Some(value) = value {
                command.args([option, value]);
            }
        }
        let status = command.status().context("cannot start the benchmark")?;
        if !status.success() {
            bail!("the benchmark did not succeed ({status})");
        }
        Ok(())
    }
}
