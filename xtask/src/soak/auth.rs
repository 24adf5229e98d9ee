//! Owns `cargo xtask soak auth`: signing in as many programs at once, programs that are killed, and people who change their
//! minds do it, with the built program against the fake authorization server, which takes a refresh token that comes twice for a
//! theft and ends the login.

mod agent;
mod deaths;
mod people;
mod renewals;
mod rmcp;
mod world;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use clap::Args;
use xtask::table;

use crate::attack::Figure;
use crate::programs::{Profile, build};
use world::World;

/// Logins: renewed by many at once, killed in the middle of it, given up at a terminal
///
/// Prints one line for each figure, and fails when one does not hold. Times are judged: `people` wants a release build on a
/// machine that has nothing else to do; all others are counts.
#[derive(Debug, Args)]
pub(super) struct Auth {
    /// Only this run: calls, processes, rmcp, deaths, people
    #[arg(long, value_name = "RUN")]
    only: Option<String>,
    /// Rounds of renewing
    #[arg(long, value_name = "N", default_value_t = 100)]
    rounds: usize,
    /// Programs to kill in the middle of a renewal
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    kills: usize,
    /// Logins to take the median of
    #[arg(long, value_name = "N", default_value_t = 21)]
    logins: usize,
    /// The program to look at, instead of one that is built for it
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// A run: the options, the root of the tree, the program.
type Run = fn(&Auth, &Path, &Path) -> Result<Vec<Figure>>;

const RUNS: &[(&str, Run)] = &[
    ("calls", |auth, _, helve| renewals::calls(&World::new(helve)?, auth.rounds)),
    ("processes", |auth, _, helve| renewals::processes(&World::new(helve)?, auth.rounds)),
    ("rmcp", |_, root, helve| rmcp::run(root, &World::new(helve)?)),
    ("deaths", |auth, _, helve| deaths::run(&World::new(helve)?, auth.kills)),
    ("people", |auth, _, helve| people::run(helve, auth.logins)),
];

impl Auth {
    #[expect(clippy::print_stdout, reason = "the table of figures is what this chore is run for")]
    pub(super) fn run(&self, root: &Path) -> Result<()> {
        let runs: Vec<&(&str, Run)> =
            RUNS.iter().filter(|(name, _)| self.only.as_deref().is_none_or(|only| only == *name)).collect();
        if runs.is_empty() {
            let names: Vec<&str> = RUNS.iter().map(|(name, _)| *name).collect();
            bail!("there is no such run\nhint: the runs are {}", names.join(", "));
        }
        let helve = match &self.program {
            Some(program) => program.canonicalize()?,
            None => build(root, "helve-cli", Profile::Release, &["helve"])?.remove(0),
        };
        let (mut rows, mut missed) = (Vec::new(), 0);
        for (name, run) in runs {
            let started = Instant::now();
            let figures = run(self, root, &helve).unwrap_or_else(|error| {
                let reached = format!("the run itself failed: {error:#}");
                vec![Figure { what: (*name).to_owned(), wanted: "to run".to_owned(), reached, holds: false }]
            });
            println!("{name}: {:.0} s", started.elapsed().as_secs_f64());
            for figure in figures {
                missed += usize::from(!figure.holds);
                let verdict = if figure.holds { "held" } else { "MISSED" };
                rows.push(vec![(*name).to_owned(), figure.what, figure.wanted, figure.reached, verdict.to_owned()]);
            }
        }
        println!("\n{}", table::render(&["run", "figure", "wanted", "reached", ""], &[], &rows));
        if missed > 0 {
            bail!("{missed} of {} figures do not hold", rows.len());
        }
        Ok(())
    }
}
