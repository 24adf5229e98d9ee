//! Owns `cargo xtask conformance`: the official suite, at a pinned version, against our client in both eras.

pub(crate) mod verdict;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use xtask::table;

use self::verdict::{Record, Verdict};
use crate::install::{Pin, npm};
use crate::programs::{build, interop_directory};

/// The suite and the Node it needs; the suite's `latest` tag knows only the older era.
const SUITE: &[Pin] = &[("@modelcontextprotocol/conformance", "0.2.0-alpha.12"), ("node", "22.23.3")];

/// The revisions whose requirements we hold ourselves to.
const REVISIONS: &[&str] = &["2025-11-25", "2026-07-28"];

/// The program in this package that plays the client.
const CLIENT: &str = "xtask-conformance-client";

/// Run the official conformance suite (installs it under target/interop)
#[derive(Debug, Args)]
pub(crate) struct Conformance {
    #[command(subcommand)]
    leg: Leg,
}

#[derive(Debug, Subcommand)]
enum Leg {
    Client(Client),
}

/// Test the client side: all scored scenarios of 2025-11-25 and 2026-07-28
///
/// Scenarios in xtask/conformance/client-expected-failures.yml may fail; an entry that passes is stale and fails the run.
#[derive(Debug, Args)]
struct Client {
    /// Test this command instead of our client; the suite appends the server's address
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
    /// Run one revision only
    #[arg(long, value_name = "REVISION", value_parser = clap::builder::PossibleValuesParser::new(REVISIONS))]
    revision: Option<String>,
}

impl Conformance {
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        match &self.leg {
            Leg::Client(client) => client.run(root),
        }
    }
}

impl Client {
    #[expect(clippy::print_stdout, reason = "the table of scenarios is what this chore is run for")]
    fn run(&self, root: &Path) -> Result<()> {
        let suite = Suite::install(root)?;
        let command = match &self.command {
            Some(command) => command.clone(),
            None => quoted(build(root, false, &[CLIENT])?.first().context("no client was built")?),
        };
        let baseline = root.join("xtask/conformance/client-expected-failures.yml");
        let expected = verdict::list(&fs_err::read_to_string(&baseline)?, "client");
        let mut never_seen = expected.clone();
        let mut bad = 0;
        for revision in
            REVISIONS.iter().filter(|revision| self.revision.as_deref().is_none_or(|only| only == **revision))
        {
            let (records, suite_agrees) = suite.run_client(&command, revision, &baseline)?;
            let scored = suite.scored(revision)?;
            never_seen.retain(|entry| !scored.contains(entry));
            let verdicts = verdict::judge(&scored, &expected, &records);
            let rows: Vec<Vec<String>> =
                verdicts.iter().map(|(name, verdict)| vec![name.clone(), told(verdict)]).collect();
            println!("\nclient, {revision}\n{}", table::render(&["scenario", "verdict"], &[], &rows));
            for (name, verdict) in &verdicts {
                if let Verdict::Failed(complaints) = verdict {
                    println!("{name}:\n    {}", complaints.join("\n    "));
                }
            }
            let bad_here = verdicts.values().filter(|verdict| !verdict.is_good()).count();
            if bad_here == 0 && !suite_agrees {
                bail!("the suite failed at {revision} although every scenario looks good: see its output above");
            }
            bad += bad_here;
        }
        if self.revision.is_none() && !never_seen.is_empty() {
            bail!("{} names scenarios that no revision scores: {}", baseline.display(), never_seen.join(", "));
        }
        if bad > 0 {
            bail!("{bad} conformance scenarios are not as they should be");
        }
        Ok(())
    }
}

/// The installed suite.
struct Suite {
    directory: PathBuf,
    modules: PathBuf,
}

impl Suite {
    fn install(root: &Path) -> Result<Self> {
        let directory = interop_directory(root)?.join("conformance");
        let modules = npm(&directory, SUITE)?;
        Ok(Self { directory, modules })
    }

    fn package(&self) -> PathBuf {
        self.modules.join("@modelcontextprotocol/conformance")
    }

    /// The client scenarios that count for a revision, from the requirements the suite ships.
    fn scored(&self, revision: &str) -> Result<Vec<String>> {
        let path = self.package().join("requirements").join(format!("{revision}.yaml"));
        let scored = verdict::list(&fs_err::read_to_string(&path)?, "client");
        if scored.is_empty() {
            bail!("{} lists no client scenarios: the suite's format has changed", path.display());
        }
        Ok(scored)
    }

    /// Runs one revision. Also says whether the suite itself was content.
    fn run_client(&self, command: &str, revision: &str, baseline: &Path) -> Result<(BTreeMap<String, Record>, bool)> {
        let results = self.directory.join(format!("results-{revision}"));
        if results.exists() {
            fs_err::remove_dir_all(&results)?;
        }
        fs_err::create_dir_all(&results)?;
        let log = results.join("suite.log");
        let mut node = Command::new(self.modules.join("node/bin/node"));
        node.arg(self.package().join("dist/index.js"))
            .args(["client", "--command", command, "--requirements", revision])
            .arg("--expected-failures")
            .arg(baseline)
            .arg("--output-dir")
            .arg(&results)
            .stdin(Stdio::null());
        let output =
            node.output().context("cannot start the suite's own node\nhint: remove target/interop and try again")?;
        fs_err::write(&log, [output.stdout.as_slice(), output.stderr.as_slice()].concat())?;
        let records = verdict::read(&results)?;
        if records.is_empty() {
            bail!("the suite ran nothing at {revision} ({}): see {}", output.status, log.display());
        }
        Ok((records, output.status.success()))
    }
}

fn told(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Passed { checks } => format!("passed ({checks} checks)"),
        Verdict::FailedAsExpected => "failed, as expected".to_owned(),
        Verdict::NotScored => "failed, not scored".to_owned(),
        Verdict::Stale => "STALE: it passes, take it out of client-expected-failures.yml".to_owned(),
        Verdict::Failed(_) => "FAILED".to_owned(),
    }
}

/// The suite hands its command to a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
