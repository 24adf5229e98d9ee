//! Owns `cargo xtask portable`: the paths that systems without sandboxes, wardens, process descriptors and known peers take,
//! compiled and tested on this one.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::programs::run;

/// The crates that have such paths and tests which take them.
const CRATES: [&str; 4] = ["helve-wire", "helve", "helve-serve", "helve-cli"];

/// Tests with every capability of the system switched off (HELVE_PORTABLE=1): what is not there is said, and all else works
#[derive(Debug, Args)]
pub(crate) struct Portable {
    /// Only compile the tests
    #[arg(long)]
    check: bool,
    /// Build over what is in target/ instead of beside it, in target/portable: no dependency is built again, but everything of
    /// helve's is, now and when it is next built the usual way
    #[arg(long)]
    over: bool,
    /// Only this crate
    #[arg(long, value_name = "CRATE", value_parser = CRATES)]
    only: Option<String>,
}

impl Portable {
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(root).env("HELVE_PORTABLE", "1");
        if self.check {
            command.args(["check", "--tests"]);
        } else {
            command.args(["test", "--no-fail-fast", "--lib", "--bins", "--test", "all"]);
        }
        if !self.over {
            command.args(["--target-dir", "target/portable"]);
        }
        for name in CRATES.iter().filter(|name| self.only.as_deref().is_none_or(|only| only == **name)) {
            command.args(["--package", name]);
        }
        run(&mut command, "run one test of it: HELVE_PORTABLE=1 cargo test --target-dir target/portable -p CRATE NAME")
    }
}
