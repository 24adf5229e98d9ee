//! A `helve call` where `helve keep` has the server running: time, processor time of both processes, and the memory of the
//! one in the background.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{Cli, Home, output, processor, wall};
use crate::report::{Goal, Line};
use crate::stats::median;
use crate::{memory, processor as clock};

const PROCESSOR: Goal = Goal::AtMost(5.0);
const WALL: Goal = Goal::AtMost(10.0);
const MEGABYTES: Goal = Goal::AtMost(18.0);
/// The clock of processor time is coarse: many runs are taken together.
const RUNS: usize = 40;

pub(crate) fn measure(cli: &Cli) -> Result<Vec<Line>> {
    let home = cli.home(1, 1)?;
    let kept = Kept::start(&home)?;
    let said = output(&mut home.helve_call())?;
    ensure!(said.trim() == "hello", "not an echo: {said:?}");
    let started = home.started()?;
    let (mut processors, mut behind, mut walls) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..cli.rounds {
        let before = clock::of(kept.process)?;
        processors.push(processor(|| Ok(home.helve_call()), RUNS)? * 1e3);
        behind.push((clock::of(kept.process)? - before) * 1e3 / RUNS as f64);
        for _ in 0..RUNS {
            walls.push(wall(&mut home.helve_call())? * 1e3);
        }
    }
    ensure!(home.started()? == started, "the server was started again");
    let (own, background) = (median(&mut processors), median(&mut behind));
    let resident = memory::resident_of(kept.process)? / 1e6;
    Ok(vec![
        Line::new(
            "warm helve call, processor ms",
            own + background,
            PROCESSOR,
            format!("{own:.1} of the command, {background:.1} of the process in the background"),
        ),
        Line::new("warm helve call, wall ms", median(&mut walls), WALL, String::new()),
        Line::new("helve keep with one server, MB", resident, MEGABYTES, String::new()),
    ])
}

/// The process in the background; told to end when dropped.
struct Kept<'a> {
    home: &'a Home,
    process: u32,
}

impl<'a> Kept<'a> {
    fn start(home: &'a Home) -> Result<Self> {
        let told: Value = serde_json::from_str(&output(&mut home.helve(&["keep", "start", "--json"]))?)?;
        let process = told["process"].as_u64().context("helve does not say which process")?;
        Ok(Self { home, process: u32::try_from(process)? })
    }
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        drop(output(&mut self.home.helve(&["keep", "stop"])));
    }
}
