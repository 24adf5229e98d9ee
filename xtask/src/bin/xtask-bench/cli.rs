//! Owns the measures of the program `helve`: whole processes, from the shell's view, in a home of their own.

mod call;
mod hold;
mod started;
mod tools;
mod warm;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::peers::Peers;
use crate::processor::of_children;
use crate::report::Line;
use crate::rules::server_name;

/// A measure's name and how to take it.
type Measure = (&'static str, fn(&Cli) -> Result<Vec<Line>>);

pub(crate) const MEASURES: &[Measure] = &[
    ("tools", tools::measure),
    ("call", call::measure),
    ("warm", warm::measure),
    ("started", started::measure),
    ("hold", hold::measure),
];

/// Milliseconds that the servers' lists may be kept: longer than any measure takes.
const KEPT_FOR: usize = 3_600_000;

/// What every call says; both are required by the tool's schema.
const ARGUMENTS: &[(&str, &str)] = &[("text", "hello"), ("path", "/srv/project")];

/// The surroundings of all measures.
#[derive(Debug)]
pub(crate) struct Cli {
    pub(crate) helve: PathBuf,
    pub(crate) server: PathBuf,
    pub(crate) peers: Peers,
    pub(crate) rounds: usize,
}

/// A machine with nothing on it but configured servers.
#[derive(Debug)]
struct Home {
    directory: TempDir,
    helve: PathBuf,
}

impl Cli {
    /// A home with so many servers of so many tools.
    fn home(&self, servers: usize, tools: usize) -> Result<Home> {
        let directory = tempfile::tempdir()?;
        let home = Home { directory, helve: self.helve.clone() };
        let entry = |index: usize| {
            let (tools, ttl) = (tools.to_string(), KEPT_FOR.to_string());
            // The last option has no use but to make each a server of its own.
            let own = index.to_string();
            json!({
                "command": self.server,
                "args": ["stdio", "--tools", tools, "--ttl", ttl, "--started", home.log(), "--structured", own],
            })
        };
        let entries: Map<String, Value> = (0..servers).map(|index| (server_name(index), entry(index))).collect();
        fs_err::write(home.configuration(), json!({ "mcpServers": entries }).to_string())?;
        Ok(home)
    }
}

impl Home {
    fn configuration(&self) -> PathBuf {
        self.directory.path().join("mcp.json")
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("started")
    }

    fn helve(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.helve);
        command.arg("--no-discover").arg("--config").arg(self.configuration()).args(arguments);
        self.at_home(command)
    }

    /// A cold call, as a person types it.
    fn helve_call(&self) -> Command {
        let mut command = self.helve(&["call", "--yes", "server0/echo"]);
        command.args(ARGUMENTS.iter().map(|(key, value)| format!("{key}={value}")));
        command
    }

    /// Forgets what earlier runs kept.
    fn forget(&self) -> Result<()> {
        let cache = self.directory.path().join(".cache");
        if cache.exists() { Ok(fs_err::remove_dir_all(cache)?) } else { Ok(()) }
    }

    fn at_home(&self, mut command: Command) -> Command {
        let home = self.directory.path();
        command.env_clear().env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.current_dir(home).stdin(Stdio::null());
        command
    }

    /// How many servers have been started here in all.
    fn started(&self) -> Result<usize> {
        let log = self.log();
        if !log.exists() {
            return Ok(0);
        }
        Ok(fs_err::read_to_string(log)?.lines().count())
    }
}

/// Runs a command that has to succeed; gives what it wrote to stdout.
fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        let told = [&*output.stdout, &*output.stderr].concat();
        bail!("{command:?} failed ({}): {}", output.status, String::from_utf8_lossy(&told));
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The seconds from a command's start to its end.
fn wall(command: &mut Command) -> Result<f64> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    let seconds = start.elapsed().as_secs_f64();
    ensure!(status.success(), "{command:?} failed ({status})");
    Ok(seconds)
}

/// The processor seconds of a command and everything it waited for, the mean of so many runs in a row.
fn processor(command: impl Fn() -> Result<Command>, runs: usize) -> Result<f64> {
    let before = of_children()?;
    for _ in 0..runs {
        wall(&mut command()?)?;
    }
    Ok((of_children()? - before) / runs as f64)
}
