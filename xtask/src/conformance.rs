//! Owns `cargo xtask conformance`: the official suite, at a pinned version, against our client and our server.

mod client;
mod server;
mod suite;
pub(crate) mod verdict;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use xtask::table;

use self::suite::Suite;
use self::verdict::{Demands, Leg, Verdict};

/// The revisions whose requirements we hold ourselves to.
const REVISIONS: &[&str] = &["2025-11-25", "2026-07-28"];

/// Run the official conformance suite (installs it under target/interop)
#[derive(Debug, Args)]
pub(crate) struct Conformance {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {
    Client(client::Client),
    Server(server::Server),
}

impl Conformance {
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        match &self.part {
            Part::Client(client) => client.run(root),
            Part::Server(server) => server.run(root),
        }
    }
}

/// One go of the suite at one revision.
struct Go<'a> {
    revision: &'a str,
    /// What tells it from other goes at the same revision; its table is headed by it.
    label: &'a str,
    /// What the suite is pointed at: `--command …` or `--url …`.
    aim: [&'a str; 2],
}

/// What all goes of one command come to.
struct Tally {
    leg: Leg,
    baseline: PathBuf,
    expected: Vec<String>,
    /// Entries of the baseline that no go has met yet.
    never_seen: Vec<String>,
    bad: usize,
}

impl Tally {
    /// Begins with the file of expected failures of this leg.
    fn new(root: &Path, leg: Leg) -> Result<Self> {
        Self::with_baseline(root, leg, &format!("{leg}-expected-failures.yml"))
    }

    /// Begins with a file of expected failures of its own.
    fn with_baseline(root: &Path, leg: Leg, file: &str) -> Result<Self> {
        let baseline = root.join("xtask/conformance").join(file);
        // Without a file nothing may fail.
        let expected = match baseline.exists() {
            true => verdict::list(&fs_err::read_to_string(&baseline)?, leg.key()),
            false => Vec::new(),
        };
        Ok(Self { leg, baseline, never_seen: expected.clone(), expected, bad: 0 })
    }

    /// Runs the suite once, shows the table of it and counts what is not as it should be.
    #[expect(clippy::print_stdout, reason = "the table of scenarios is what this chore is run for")]
    fn go(&mut self, suite: &Suite, go: &Go<'_>) -> Result<()> {
        let (records, suite_agrees) = suite.run(self.leg, go, &self.baseline)?;
        let scored = suite.scored(self.leg, go.revision)?;
        self.never_seen.retain(|entry| !scored.contains(entry) && !records.contains_key(entry));
        let demands = Demands { leg: self.leg, scored: &scored, expected: &self.expected };
        let verdicts = verdict::judge(&demands, &records);
        let rows: Vec<Vec<String>> =
            verdicts.iter().map(|(name, verdict)| vec![name.clone(), told(verdict, self.leg)]).collect();
        println!("\n{}, {}\n{}", go.label, go.revision, table::render(&["scenario", "verdict"], &[], &rows));
        for (name, verdict) in &verdicts {
            if let Verdict::Failed(complaints) = verdict {
                println!("{name}:\n    {}", complaints.join("\n    "));
            }
        }
        let bad = verdicts.values().filter(|verdict| !verdict.is_good()).count();
        if bad == 0 && !suite_agrees {
            bail!("the suite failed at {} although every scenario looks good: see its output", go.revision);
        }
        self.bad += bad;
        Ok(())
    }

    /// The end of the run; `all` says that every go was made.
    fn end(self, all: bool) -> Result<()> {
        if all && !self.never_seen.is_empty() {
            bail!("{} names scenarios that never run: {}", self.baseline.display(), self.never_seen.join(", "));
        }
        if self.bad > 0 {
            bail!("{} conformance scenarios are not as they should be", self.bad);
        }
        Ok(())
    }
}

fn told(verdict: &Verdict, leg: Leg) -> String {
    match verdict {
        Verdict::Passed { checks } => format!("passed ({checks} checks)"),
        Verdict::FailedAsExpected => "failed, as expected".to_owned(),
        Verdict::NotScored => "failed, not scored".to_owned(),
        Verdict::Skipped => "skipped by the suite, not scored".to_owned(),
        Verdict::Stale => format!("STALE: it passes, take it out of {leg}-expected-failures.yml"),
        Verdict::Failed(_) => "FAILED".to_owned(),
    }
}
