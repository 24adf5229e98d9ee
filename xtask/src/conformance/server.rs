//! Owns `cargo xtask conformance server`: the suite plays clients, our fixture answers them.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use super::suite::Suite;
use super::verdict::Leg;
use super::{Go, REVISIONS, Tally};
use crate::programs::build;

const FIXTURE: &str = "helve-testkit-fixture";

/// Test the server side: every scenario of 2025-11-25 and 2026-07-28, scored or not
///
/// The server is the fixture of helve-testkit, once speaking both eras and once only the one of the revision.
/// Scenarios in xtask/conformance/server-expected-failures.yml may fail; an entry that passes is stale and fails the run.
#[derive(Debug, Args)]
pub(super) struct Server {
    /// Run one revision only
    #[arg(long, value_name = "REVISION", value_parser = clap::builder::PossibleValuesParser::new(REVISIONS))]
    revision: Option<String>,
    /// Start the fixture with these eras only
    #[arg(long, value_name = "ERA")]
    era: Option<Era>,
}

/// Which eras the fixture speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Era {
    Dual,
    Legacy,
    Modern,
}

impl Server {
    pub(super) fn run(&self, root: &Path) -> Result<()> {
        let suite = Suite::install(root)?;
        let built = build(root, "helve-testkit", false, &[FIXTURE])?;
        let fixture = built.first().context("no fixture was built")?;
        let mut tally = Tally::new(root, Leg::Server)?;
        let mut went = 0;
        for revision in REVISIONS.iter().filter(|known| self.revision.as_deref().is_none_or(|only| only == **known)) {
            let eras = [Era::Dual, own_era(revision)];
            for era in eras.into_iter().filter(|known| self.era.is_none_or(|only| only == *known)) {
                let server = Running::start(fixture, era)?;
                let label = format!("server, {} fixture", era.word());
                tally.go(&suite, &Go { revision, label: &label, aim: ["--url", &server.url] })?;
                went += 1;
            }
        }
        if went == 0 {
            bail!("a fixture of that era cannot answer the clients of that revision");
        }
        tally.end(self.revision.is_none() && self.era.is_none())
    }
}

impl Era {
    /// As the fixture takes it.
    fn word(self) -> &'static str {
        match self {
            Self::Dual => "dual",
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

/// The era that a revision belongs to.
fn own_era(revision: &str) -> Era {
    if revision < "2026" { Era::Legacy } else { Era::Modern }
}

/// A server under test. It ends when this is dropped.
struct Running {
    child: Child,
    url: String,
}

impl Running {
    fn start(fixture: &Path, era: Era) -> Result<Self> {
        let mut command = Command::new(fixture);
        command.args(["http", "--era", era.word()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {}", fixture.display()))?;
        let stdout = child.stdout.take().context("the fixture has no stdout")?;
        let mut running = Self { child, url: String::new() };
        BufReader::new(stdout).read_line(&mut running.url)?;
        running.url.truncate(running.url.trim_end().len());
        if running.url.is_empty() {
            bail!("the fixture ended without saying where it listens");
        }
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It leaves when its stdin ends; killing it is for one that does not listen.
        drop(self.child.stdin.take());
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
