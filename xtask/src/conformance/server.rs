//! Owns `cargo xtask conformance server`: the suite plays clients; our fixture answers them, directly and through helve.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use tempfile::TempDir;

use super::suite::Suite;
use super::verdict::Leg;
use super::{Go, REVISIONS, Tally};
use crate::programs::{Profile, build};

const FIXTURE: &str = "helve-testkit-fixture";

/// Scenarios without a meaning where helve bridges one era to the other.
const ACROSS: &str = "server-across-expected-failures.yml";

/// Test the server side: every scenario of 2025-11-25 and 2026-07-28, scored or not
///
/// The server is the fixture of helve-testkit, once speaking both eras and once only the one of the revision: directly, and
/// behind `helve serve --prefix none`. Behind helve it also speaks only the other era. Scenarios in
/// xtask/conformance/server-expected-failures.yml (for the other era: server-across-expected-failures.yml) may fail; an entry
/// that passes is stale and fails the run.
#[derive(Debug, Args)]
pub(super) struct Server {
    /// Run one revision only
    #[arg(long, value_name = "REVISION", value_parser = clap::builder::PossibleValuesParser::new(REVISIONS))]
    revision: Option<String>,
    /// Start the fixture with these eras only
    #[arg(long, value_name = "ERA")]
    era: Option<Era>,
    /// Go this way only
    #[arg(long, value_name = "WAY")]
    way: Option<Way>,
}

/// How the suite gets to the fixture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Way {
    Direct,
    Through,
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
        let fixture = only(build(root, "helve-testkit", Profile::Dev, &[FIXTURE])?)?;
        let helve = only(build(root, "helve-cli", Profile::Dev, &["helve"])?)?;
        let mut tally = Tally::new(root, Leg::Server)?;
        let mut across = Tally::with_baseline(root, Leg::Server, ACROSS)?;
        let mut went = 0;
        for revision in REVISIONS.iter().filter(|known| self.revision.as_deref().is_none_or(|only| only == **known)) {
            let (own, other) = eras(revision);
            let goes = [
                (Way::Direct, Era::Dual),
                (Way::Direct, own),
                (Way::Through, Era::Dual),
                (Way::Through, own),
                (Way::Through, other),
            ];
            let is_wanted = |(way, era): &(Way, Era)| {
                self.era.is_none_or(|only| only == *era) && self.way.is_none_or(|only| only == *way)
            };
            for (way, era) in goes.into_iter().filter(is_wanted) {
                let server = match way {
                    Way::Direct => Running::fixture(&fixture, era)?,
                    Way::Through => Running::helve(&helve, &fixture, era)?,
                };
                let label = match way {
                    Way::Direct => format!("server, {} fixture", era.word()),
                    Way::Through => format!("server, {} fixture behind helve", era.word()),
                };
                let tally = if era == other { &mut across } else { &mut tally };
                tally.go(&suite, &Go { revision, label: &label, aim: ["--url", &server.url] })?;
                went += 1;
            }
        }
        if went == 0 {
            bail!("a fixture of that era cannot answer the clients of that revision");
        }
        let all = self.revision.is_none() && self.era.is_none() && self.way.is_none();
        tally.end(all)?;
        across.end(all)
    }
}

fn only(built: Vec<PathBuf>) -> Result<PathBuf> {
    built.into_iter().next().context("nothing was built")
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

/// The era that a revision belongs to, and the one that it does not.
fn eras(revision: &str) -> (Era, Era) {
    if revision < "2026" { (Era::Legacy, Era::Modern) } else { (Era::Modern, Era::Legacy) }
}

/// A server under test. It ends when this is dropped.
struct Running {
    child: Child,
    url: String,
    /// Where its configuration and all it remembers are.
    _directory: Option<TempDir>,
}

impl Running {
    fn fixture(fixture: &Path, era: Era) -> Result<Self> {
        let mut command = Command::new(fixture);
        command.args(["http", "--era", era.word()]);
        Self::start(command, None)
    }

    /// helve in front of the fixture, knowing nothing of the person who runs this.
    fn helve(helve: &Path, fixture: &Path, era: Era) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let config = directory.path().join("helve.toml");
        let (program, era) = (toml_string(&fixture.display().to_string()), era.word());
        let server = format!("[servers.fixture]\ncommand = {program}\nargs = [\"stdio\", \"--era\", \"{era}\"]\n");
        let rule = "[[rules]]\ntool = \"*\"\naction = \"allow\"\n";
        fs_err::write(&config, format!("{server}\n{rule}"))?;
        let mut command = Command::new(helve);
        command.arg("--no-discover").arg("--config").arg(&config);
        command.args(["serve", "--http", "127.0.0.1:0", "--prefix", "none", "--wait", "10s"]);
        command.env("HOME", directory.path());
        for variable in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            command.env_remove(variable);
        }
        Self::start(command, Some(directory))
    }

    /// Starts a server that says in its first line where it listens.
    fn start(mut command: Command, directory: Option<TempDir>) -> Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {program}"))?;
        let stdout = child.stdout.take().with_context(|| format!("{program} has no stdout"))?;
        let mut running = Self { child, url: String::new(), _directory: directory };
        BufReader::new(stdout).read_line(&mut running.url)?;
        running.url.truncate(running.url.trim_end().len());
        if running.url.is_empty() {
            bail!("{program} ended without saying where it listens");
        }
        Ok(running)
    }
}

fn toml_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has nothing to finish, and if it is gone already there is nothing to do.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
