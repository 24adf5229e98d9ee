//! Starting and greeting 100 fast stdio servers at once, against doing it with nothing in between.

use anyhow::Result;

use super::milliseconds;
use crate::bench::Bench;
use crate::job::{Kind, Sample, Subject, Work};
use crate::report::{Goal, Line};
use crate::stats::median_ratio;

const OVER_FLOOR: Goal = Goal::AtMost(1.1);
const WARDEN_MILLISECONDS: Goal = Goal::AtMost(3.0);
const CONNECTIONS: usize = 100;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let job = |subject| bench.job(subject, Work::Connect { connections: CONNECTIONS });
    let [floor, rmcp, ours, plain, warden] = bench.rounds([
        job(Subject::new(Kind::Floor)),
        job(Subject::new(Kind::Rmcp)),
        job(bench.candidate()),
        job(Subject::new(Kind::Helve)),
        job(Subject::new(Kind::HelveWarden)),
    ])?;
    let time = |sample: &Sample| sample.total_seconds;
    let added = (warden.median(time) - plain.median(time)) * 1e3 / CONNECTIONS as f64;
    let over_floor = Line::new(
        "connecting to 100 servers / spawn floor",
        median_ratio(&ours.each(time), &floor.each(time)),
        OVER_FLOOR,
        format!(
            "{}, floor {}, rmcp {}",
            milliseconds(ours.median(time)),
            milliseconds(floor.median(time)),
            milliseconds(rmcp.median(time))
        ),
    );
    let seen = format!("{} for all, plain {}", milliseconds(warden.median(time)), milliseconds(plain.median(time)));
    Ok(vec![over_floor, Line::new("what a warden adds to each, ms", added, WARDEN_MILLISECONDS, seen)])
}
