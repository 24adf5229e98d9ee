//! Owns `cargo xtask seeds`: the five hosts that helve grew from, item by item. What each describes is written out as
//! configuration, commands and shapes (xtask/seeds/*.seed), run against real servers and ours, and told as a table.

mod library;
mod script;
mod stage;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;

use self::script::{Item, Seed, Verdict};
use self::stage::Stage;
use crate::interop::servers;
use crate::programs::{build_unless, interop_directory};

/// The seeds, in their order, and how many items each has.
const SEEDS: &[(&str, usize)] =
    &[("000-claude-loop", 48), ("001-go-cli", 45), ("002-loom", 30), ("003-go-agent", 38), ("004-strawberry", 34)];

/// Run what the five seeds describe against real servers and print the table of their items
#[derive(Debug, Args)]
pub(crate) struct Seeds {
    /// Only the seeds whose name has this in it
    #[arg(long, value_name = "SEED")]
    only: Option<String>,
    /// Print only what does not hold
    #[arg(long)]
    failing: bool,
    /// The program to run, instead of the one that is built from this tree
    #[arg(long, value_name = "FILE")]
    helve: Option<PathBuf>,
    /// The peer to run against, instead of the one that is built from this tree
    #[arg(long, value_name = "FILE")]
    peer: Option<PathBuf>,
}

/// What became of one item.
struct Row<'seed> {
    item: &'seed Item,
    outcome: Result<()>,
}

impl Seeds {
    #[expect(clippy::print_stdout, reason = "the table of items is what this chore is run for")]
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        let directory = interop_directory(root)?;
        let scratch = directory.join("scratch");
        fs_err::create_dir_all(&scratch)?;
        let servers = servers::install(&directory, &scratch)?;
        let helve = &build_unless(self.helve.as_deref(), root, "helve-cli", "helve")?;
        let peer = &build_unless(self.peer.as_deref(), root, "helve-testkit", "helve-testkit-peer")?;
        let mut failed = 0;
        let (mut summary, mut tables) = (String::new(), String::new());
        for (name, count) in SEEDS {
            if self.only.as_deref().is_some_and(|only| !name.contains(only)) {
                continue;
            }
            let path = root.join("xtask/seeds").join(format!("{name}.seed"));
            let seed = Seed::read(&fs_err::read_to_string(&path)?).with_context(|| path.display().to_string())?;
            let rows = run_seed(&seed, |number| {
                Stage::make(root, &directory.join("seeds").join(format!("{name}-{number}")), helve, peer, &servers)
            })?;
            if rows.len() != *count {
                bail!("{name} has {} items, not {count}", rows.len());
            }
            let bad = rows.iter().filter(|row| row.outcome.is_err()).count();
            let holds = |verdict: Verdict| {
                rows.iter().filter(|row| row.outcome.is_ok() && row.item.verdict() == verdict).count()
            };
            summary.push_str(&format!(
                "| {name} | {} | {} | {} | {} | {} | {bad} |\n",
                rows.len(),
                holds(Verdict::Works),
                holds(Verdict::Better),
                holds(Verdict::Partly),
                holds(Verdict::Later)
            ));
            tables.push_str(&format!("\n## {name}\n\n| item | verdict | evidence |\n|---|---|---|\n"));
            for row in rows.iter().filter(|row| !self.failing || row.outcome.is_err()) {
                tables.push_str(&row.line());
            }
            failed += bad;
        }
        println!(
            "| seed | items | WORKS | DIFFERS (better) | PARTLY | LATER | FAILS |\n|---|---|---|---|---|---|---|\n{summary}{tables}"
        );
        if failed > 0 {
            bail!("{failed} wanted items do not hold");
        }
        Ok(())
    }
}

/// Runs the items of a seed, each on the stage it belongs to.
fn run_seed<'seed>(seed: &'seed Seed, make: impl Fn(usize) -> Result<Stage>) -> Result<Vec<Row<'seed>>> {
    let mut rows = Vec::new();
    for (number, scene) in seed.scenes.iter().enumerate() {
        let mut stage = make(number)?;
        let prepared = stage.take(&scene.preparation).with_context(|| format!("the stage of line {}", scene.line));
        let mut broken = prepared.err().map(|error| format!("{error:#}"));
        for item in &scene.items {
            let outcome = match (&broken, item.verdict()) {
                (_, Verdict::Later) => Ok(()),
                (Some(reason), _) => Err(anyhow::anyhow!("{reason}")),
                (None, _) => stage.take(&item.steps),
            };
            rows.push(Row { item, outcome });
        }
        if let Err(left) = stage.end()
            && broken.is_none()
        {
            broken = Some(format!("{left:#}"));
            if let Some(row) = rows.last_mut().filter(|row| row.outcome.is_ok()) {
                row.outcome = Err(anyhow::anyhow!("{}", broken.unwrap_or_default()));
            }
        }
    }
    Ok(rows)
}

impl Row<'_> {
    fn line(&self) -> String {
        let (verdict, evidence) = match &self.outcome {
            Ok(()) => (self.item.verdict().words(), self.item.evidence()),
            Err(error) => ("FAILS", format!("{error:#}")),
        };
        // A table has one line a row, and cells that end at a bar.
        let cell = |text: &str| text.replace('|', "\\|").split_whitespace().collect::<Vec<_>>().join(" ");
        format!("| {} | {verdict} | {} |\n", cell(&self.item.title), cell(&evidence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_written_out_whole() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
        for (name, count) in SEEDS {
            let seed = Seed::read(&fs_err::read_to_string(root.join(format!("{name}.seed"))).unwrap()).unwrap();
            let items: Vec<&Item> = seed.scenes.iter().flat_map(|scene| &scene.items).collect();
            assert_eq!(items.len(), *count, "{name}");
            for item in items {
                let is_said = item.verdict() == Verdict::Later || !item.steps.is_empty();
                assert!(is_said, "{name}: `{}` proves nothing", item.title);
                for check in item.checks() {
                    assert!(library::find(check).is_some(), "{name}: there is no check {check}");
                }
            }
        }
    }
}
