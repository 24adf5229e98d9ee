//! Owns `cargo xtask attack`: the program attacked from outside, a table of figures, and what counts as held.
//!
//! Each group is one file that plays a hostile agent, server, project or neighbour against the built program, and returns
//! figures. The groups and the rows of promises they belong to are listed in [`GROUPS`].

mod arena;
pub(crate) mod client;
mod directories;
mod gate;
mod itself;
pub(crate) mod neighbours;
mod other_user;
mod owners;
mod paths;
mod shapes;
mod swap;
mod trust;
mod unreadable;

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::programs::{Profile, build, build_unless};
use arena::Arena;
use xtask::table;

/// A group that takes longer than this has found a hang; it is left, and the next one runs.
const LONGEST: Duration = Duration::from_secs(10 * 60);

/// Attack the program as hostile agents, servers, projects and neighbours would
///
/// Prints one line for each figure, and fails when one does not hold.
#[derive(Debug, Args)]
pub(crate) struct Attack {
    /// Fewer tries, with the program as tests build it
    #[arg(long)]
    quick: bool,
    /// Run one group
    #[arg(long, value_name = "GROUP")]
    only: Option<String>,
    /// Attack this program instead of the tree's own, to see which figures another build holds
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The peer to attack with, instead of the one that is built from this tree
    #[arg(long, value_name = "FILE")]
    peer: Option<PathBuf>,
}

/// What was tried, what is wanted, and what came of it.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) what: String,
    pub(crate) wanted: String,
    pub(crate) reached: String,
    pub(crate) holds: bool,
}

impl Figure {
    /// A count that must be zero, of so many tries.
    pub(crate) fn none_of(what: &str, tries: usize, found: usize) -> Self {
        Self {
            what: what.to_owned(),
            wanted: format!("0 of {tries}"),
            reached: format!("{found} of {tries}"),
            holds: found == 0 && tries > 0,
        }
    }

    /// A count that must be complete.
    pub(crate) fn all_of(what: &str, tries: usize, found: usize) -> Self {
        Self {
            what: what.to_owned(),
            wanted: format!("{tries} of {tries}"),
            reached: format!("{found} of {tries}"),
            holds: found == tries && tries > 0,
        }
    }
}

/// One kind of attack.
struct Group {
    name: &'static str,
    /// The promises it tries, by id.
    rows: &'static str,
    run: fn(&Arena) -> Result<Vec<Figure>>,
}

const GROUPS: &[Group] = &[
    Group { name: "gate", rows: "S1, S9, S10, S23", run: gate::run },
    Group { name: "neighbours", rows: "S8, S22", run: neighbours::run },
    Group { name: "other-user", rows: "S2", run: other_user::run },
    Group { name: "paths", rows: "S3, S10", run: paths::run },
    Group { name: "self", rows: "S0", run: itself::run },
    Group { name: "swap", rows: "S6", run: swap::run },
    Group { name: "trust", rows: "S5", run: trust::run },
    Group { name: "owners", rows: "S18–S20", run: owners::run },
    Group { name: "directories", rows: "S4", run: directories::run },
    Group { name: "unreadable", rows: "S7", run: unreadable::run },
];

impl Group {
    fn run_within(&self, arena: &Arc<Arena>, longest: Duration) -> Result<Vec<Figure>> {
        let (done, figures) = mpsc::channel();
        let (run, arena) = (self.run, Arc::clone(arena));
        thread::spawn(move || drop(done.send(run(&arena))));
        figures.recv_timeout(longest).with_context(|| format!("it does not end within {longest:?}"))?
    }
}

impl Attack {
    #[expect(clippy::print_stdout, reason = "the table of figures is what this chore is run for")]
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        let wanted: Vec<&Group> =
            GROUPS.iter().filter(|group| self.only.as_deref().is_none_or(|only| only == group.name)).collect();
        if wanted.is_empty() {
            let names: Vec<&str> = GROUPS.iter().map(|group| group.name).collect();
            bail!("there is no such group\nhint: the groups are {}", names.join(", "));
        }
        let profile = if self.quick { Profile::Dev } else { Profile::Release };
        let helve = match &self.program {
            Some(program) => program.canonicalize().with_context(|| format!("there is no {}", program.display()))?,
            None => build(root, "helve-cli", profile, &["helve"])?.remove(0),
        };
        let peer = build_unless(self.peer.as_deref(), root, "helve-testkit", "helve-testkit-peer")?;
        let arena = Arc::new(Arena { helve, peer, is_quick: self.quick });
        let begun = Instant::now();
        let mut rows = Vec::new();
        let mut missed = 0;
        for group in wanted {
            let started = Instant::now();
            let figures = group.run_within(&arena, LONGEST).unwrap_or_else(|error| {
                let reached = format!("the attack itself failed: {error:#}");
                vec![Figure { what: group.name.to_owned(), wanted: "to run".to_owned(), reached, holds: false }]
            });
            println!("{} ({}): {:.1} s", group.name, group.rows, started.elapsed().as_secs_f64());
            for figure in figures {
                missed += usize::from(!figure.holds);
                let verdict = if figure.holds { "held" } else { "MISSED" };
                // At once: who waits for the rest can see how far it is, and what is wrong already.
                println!("  {verdict}: {}: {} (wanted {})", figure.what, figure.reached, figure.wanted);
                rows.push(vec![group.name.to_owned(), figure.what, figure.wanted, figure.reached, verdict.to_owned()]);
            }
        }
        println!("\nall groups: {:.0} s", begun.elapsed().as_secs_f64());
        println!("\n{}", table::render(&["group", "figure", "wanted", "reached", ""], &[], &rows));
        if missed > 0 {
            bail!("{missed} of {} figures do not hold", rows.len());
        }
        Ok(())
    }
}
