//! Owns `cargo xtask conformance client`: the suite plays servers, our client visits them.

use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;

use super::suite::Suite;
use super::verdict::Leg;
use super::{Go, REVISIONS, Tally};
use crate::programs::{Profile, build};

/// The program in this package that plays the client.
const CLIENT: &str = "xtask-conformance-client";

/// Test the client side: all scored scenarios of 2025-11-25 and 2026-07-28, and those of extensions and of 2025-03-26
///
/// Scenarios in xtask/conformance/client-expected-failures.yml, if there is one, may fail; an entry that passes is stale and
/// fails the run.
#[derive(Debug, Args)]
pub(super) struct Client {
    /// Test this command instead of our client; the suite appends the server's address
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
    /// Run one revision only
    #[arg(long, value_name = "REVISION", value_parser = clap::builder::PossibleValuesParser::new(REVISIONS))]
    revision: Option<String>,
}

impl Client {
    pub(super) fn run(&self, root: &Path) -> Result<()> {
        let suite = Suite::install(root)?;
        let command = match &self.command {
            Some(command) => command.clone(),
            None => quoted(build(root, "xtask", Profile::Dev, &[CLIENT])?.first().context("no client was built")?),
        };
        let mut tally = Tally::new(root, Leg::Client)?;
        for revision in REVISIONS.iter().filter(|known| self.revision.as_deref().is_none_or(|only| only == **known)) {
            tally.go(&suite, &Go { revision, label: "client", aim: ["--command", &command] })?;
        }
        tally.end(self.revision.is_none())
    }
}

/// The suite hands its command to a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
