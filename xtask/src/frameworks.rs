//! Owns `cargo xtask frameworks`: the libraries that people build agents with visit one server twice, directly and through
//! `helve serve`, over both transports, and have to see the same. No model is asked.

mod catalog;
mod judge;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::{Value, json};
use xtask::table;

use self::catalog::{FRAMEWORKS, Framework};
use self::judge::judge;
use crate::interop::behind::{Behind, Upstream};
use crate::interop::process;
use crate::interop::workshop::{NOTES, Workshop};
use crate::listening::Listening;
use crate::programs::{build_unless, interop_directory};

/// Every step has its own time; this is for all of them, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// Have agent frameworks visit a server directly and through `helve serve`, and compare (installs them under target/interop)
#[derive(Debug, Args)]
pub(crate) struct Frameworks {
    /// Only those with these names
    #[arg(long, value_name = "NAME", num_args = 1..)]
    only: Vec<String>,
    /// Install them and stop there
    #[arg(long)]
    install: bool,
    /// The program to go through, instead of the one that is built from this tree
    #[arg(long, value_name = "FILE")]
    helve: Option<PathBuf>,
}

impl Frameworks {
    #[expect(clippy::print_stdout, reason = "the table of visits is what this chore is run for")]
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        let directory = interop_directory(root)?;
        let wanted = self.wanted()?;
        let workshop = Workshop::install(&directory)?;
        let installed: Vec<(&Framework, Vec<PathBuf>)> = wanted
            .into_iter()
            .map(|framework| Ok((framework, framework.install(&directory)?)))
            .collect::<Result<_>>()?;
        if self.install {
            return Ok(());
        }
        let helve = &build_unless(self.helve.as_deref(), root, "helve-cli", "helve")?;
        let (mut rows, mut bad) = (Vec::new(), 0_usize);
        for (framework, command) in &installed {
            for means in [Means::Stdio, Means::Http] {
                let place = directory.join("framework-visits").join(format!("{}-{}", framework.name, means.words()));
                let began = Instant::now();
                let outcome =
                    Behind::prepare(helve, place).and_then(|behind| visit(&behind, &workshop, command, means));
                bad += usize::from(outcome.is_err());
                let words = outcome.unwrap_or_else(|error| format!("FAILED: {error:#}"));
                let words = if framework.remark.is_empty() { words } else { format!("{words} ({})", framework.remark) };
                let name = format!("{} {}", framework.name, framework.version());
                rows.push(vec![name, means.words().to_owned(), began.elapsed().as_secs().to_string(), words]);
            }
        }
        println!("{}", table::render(&["framework", "transport", "s", "directly and through helve"], &["s"], &rows));
        if bad > 0 {
            bail!("{bad} of {} failed", rows.len());
        }
        Ok(())
    }

    fn wanted(&self) -> Result<Vec<&'static Framework>> {
        let is_known = |name: &&String| FRAMEWORKS.iter().any(|framework| framework.name == **name);
        if let Some(unknown) = self.only.iter().find(|name| !is_known(name)) {
            let names: Vec<&str> = FRAMEWORKS.iter().map(|framework| framework.name).collect();
            bail!("no such framework: {unknown} (there are {})", names.join(", "));
        }
        let is_wanted =
            |framework: &&Framework| self.only.is_empty() || self.only.iter().any(|name| name == framework.name);
        Ok(FRAMEWORKS.iter().filter(is_wanted).collect())
    }
}

/// How a framework comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Means {
    /// It starts the server, or helve, itself.
    Stdio,
    Http,
}

impl Means {
    const fn words(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }
}

/// Both visits of one framework; says what they have in common.
fn visit(behind: &Behind<'_>, workshop: &Workshop, command: &[PathBuf], means: Means) -> Result<String> {
    let direct = directly(behind, workshop, command, means).context("directly")?;
    behind.configure(Upstream::Program(workshop))?;
    let mut plan = json!({"notes": behind.notes()});
    let listening = match means {
        Means::Stdio => behind.on_stdio(&mut plan).map(|()| None)?,
        Means::Http => Some(behind.on_http(&mut plan)?),
    };
    let through = behind.run(command, &plan, "through", PATIENCE).context("through helve");
    listening.map_or(Ok(()), Listening::stop)?;
    let judged = judge(&direct, &through?).with_context(|| format!("see {}", behind.directory.display()))?;
    process::gone(&behind.mark)?;
    Ok(judged)
}

fn directly(behind: &Behind<'_>, workshop: &Workshop, command: &[PathBuf], means: Means) -> Result<Value> {
    let notes = behind.directory.join("notes-directly");
    let mut plan = json!({"prefix": "", "notes": notes});
    let mut listening = None;
    match means {
        Means::Stdio => {
            plan["command"] = json!(workshop.python);
            plan["args"] = json!(workshop.arguments("stdio"));
            plan["env"] = behind.environment()?;
            plan["env"][NOTES] = json!(notes);
        }
        Means::Http => {
            let server = process::Listening::start_with(&workshop.over_http(), &behind.mark, &[(NOTES, &notes)])?;
            plan["url"] = json!(format!("http://127.0.0.1:{}/mcp", server.port));
            listening = Some(server);
        }
    }
    let seen = behind.run(command, &plan, "directly", PATIENCE);
    drop(listening);
    seen
}
