//! Starting and greeting 100 fast stdio servers at once, against doing it with nothing in between.

use anyhow::Result;

use super::milliseconds;
use crate::bench::Bench;
use crate::job::{Kind, Sample, Subject, Work};
use crate::report::{Goal, Line};
use crate::stats::median_ratio;

const OVER_FLOOR: Goal = Goal::AtMost(1.1);
const CONNECTIONS: usize = 100;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let job = |subject| bench.job(subject, Work::Connect { connections: CONNECTIONS });
    let [floor, rmcp, ours] =
        bench.rounds([job(Subject::new(Kind::Floor)), job(Subject::new(Kind::Rmcp)), job(bench.candidate())])?;
    let time = |sample: &Sample| sample.total_seconds;
    Ok(vec![Line::new(
        "connecting to 100 servers / spawn floor",
        median_ratio(&ours.each(time), &floor.each(time)),
        OVER_FLOOR,
        format!(
            "{}, floor {}, rmcp {}",
            milliseconds(ours.median(time)),
            milliseconds(floor.median(time)),
            milliseconds(rmcp.median(time))
        ),
    )])
}
