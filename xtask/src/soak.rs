//! Owns `cargo xtask soak`: the long runs that are too long for every day.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::programs::build;

/// Make the long runs: 10,000 connections, and answers of 4 GiB as a line and as a body
///
/// Fails when a descriptor, process, task or memory is left behind, or when an answer that is too large
/// takes more than its call with it.
#[derive(Debug, Args)]
pub(crate) struct Soak {
    /// Connections to make and close [default: 10000]
    #[arg(long, value_name = "N")]
    cycles: Option<u64>,
    /// Size of the answers that are too large, 0 for none [default: 4 GiB]
    #[arg(long, value_name = "BYTES")]
    bytes: Option<u64>,
    /// Who is to run them: rmcp
    #[arg(long, value_name = "COLUMN")]
    candidate: Option<String>,
}

impl Soak {
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        let built = build(root, "xtask", true, &["xtask-bench", "xtask-echo-server"])?;
        let [bench, server] = built.as_slice() else { bail!("not everything was built") };
        let mut command = Command::new(bench);
        command.arg("soak").arg("--server").arg(server);
        let (cycles, bytes) = (self.cycles.map(|cycles| cycles.to_string()), self.bytes.map(|bytes| bytes.to_string()));
        for (option, value) in [("--cycles", &cycles), ("--bytes", &bytes), ("--candidate", &self.candidate)] {
            if let Some(value) = value {
                command.args([option, value]);
            }
        }
        let status = command.status().context("cannot start the soak runs")?;
        if !status.success() {
            bail!("the soak runs did not succeed ({status})");
        }
        Ok(())
    }
}
