//! Owns `cargo xtask soak`: the long runs that are too long for every day.

mod auth;
mod hub;
mod sessions;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};

use crate::programs::{Profile, build};

/// Make the long runs: 10,000 connections, and answers of 4 GiB as a line and as a body
///
/// Fails when a descriptor, process, task or memory is left behind, or when an answer that is too large
/// takes more than its call with it.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Soak {
    #[command(subcommand)]
    what: Option<What>,
    /// Connections to make and close [default: 10000]
    #[arg(long, value_name = "N")]
    cycles: Option<u64>,
    /// Size of the answers that are too large, 0 for none [default: 4 GiB]
    #[arg(long, value_name = "BYTES")]
    bytes: Option<u64>,
    /// The client that runs them: rmcp
    #[arg(long, value_name = "COLUMN")]
    candidate: Option<String>,
}

#[derive(Debug, Subcommand)]
enum What {
    Auth(auth::Auth),
    Host(Host),
    Hub(hub::Hub),
    Programs(Programs),
    Sessions(sessions::Sessions),
}

/// The host instead: servers killed under load, fifty of which most are bad, floods of changes, a useless endpoint, a
/// thousand toggles and reconnections, and two thousand watches
///
/// Times are judged: run it on a machine that has nothing else to do.
#[derive(Debug, Args)]
struct Host {
    /// Only this run: killed, fifty, flood, endpoint, toggles, watches
    #[arg(long, value_name = "RUN")]
    only: Option<String>,
    /// Toggles and reconnections, each [default: 1000]
    #[arg(long, value_name = "N")]
    cycles: Option<u64>,
}

/// Programs instead: two principals with one engine and one spare, a thousand programs each at once
///
/// Fails when one has a value, a print, a variable, a call or a record of another.
#[derive(Debug, Args)]
struct Programs {
    /// Programs of each [default: 1000]
    #[arg(long, value_name = "N")]
    programs: Option<usize>,
}

impl Soak {
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        match &self.what {
            Some(What::Auth(auth)) => auth.run(root),
            Some(What::Host(host)) => host.run(root),
            Some(What::Hub(hub)) => hub.run(root),
            Some(What::Programs(programs)) => programs.run(root),
            Some(What::Sessions(sessions)) => sessions.run(root),
            None => self.run_wire(root),
        }
    }

    fn run_wire(&self, root: &Path) -> Result<()> {
        let built = build(root, "xtask", Profile::Measure, &["xtask-bench", "xtask-echo-server"])?;
        let [bench, server] = built.as_slice() else { bail!("not everything was built") };
        let mut command = Command::new(bench);
        command.arg("soak").arg("--server").arg(server);
        let (cycles, bytes) = (self.cycles.map(|cycles| cycles.to_string()), self.bytes.map(|bytes| bytes.to_string()));
        for (option, value) in [("--cycles", &cycles), ("--bytes", &bytes), ("--candidate", &self.candidate)] {
            if let Some(value) = value {
                command.args([option, value]);
            }
        }
        succeed(&mut command)
    }
}

impl Host {
    fn run(&self, root: &Path) -> Result<()> {
        let bench = build(root, "xtask", Profile::Measure, &["xtask-bench"])?;
        let peer = build(root, "helve-testkit", Profile::Measure, &["helve-testkit-peer"])?;
        let ([bench], [peer]) = (bench.as_slice(), peer.as_slice()) else { bail!("not everything was built") };
        let mut command = Command::new(bench);
        command.arg("soak-host").arg("--peer").arg(peer);
        if let Some(only) = &self.only {
            command.args(["--only", only]);
        }
        if let Some(cycles) = self.cycles {
            command.args(["--cycles", &cycles.to_string()]);
        }
        succeed(&mut command)
    }
}

impl Programs {
    fn run(&self, root: &Path) -> Result<()> {
        let built = build(root, "xtask", Profile::Measure, &["xtask-bench"])?;
        let [bench] = built.as_slice() else { bail!("not everything was built") };
        let mut command = Command::new(bench);
        command.arg("soak-programs");
        if let Some(programs) = self.programs {
            command.args(["--programs", &programs.to_string()]);
        }
        succeed(&mut command)
    }
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().context("cannot start the soak runs")?;
    if !status.success() {
        bail!("the soak runs did not succeed ({status})");
    }
    Ok(())
}
