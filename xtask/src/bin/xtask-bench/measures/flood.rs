//! 64 small stdio calls in flight: how many go through in a second?

use anyhow::Result;

use super::echo::opened_by;
use crate::bench::{Bench, Rounds};
use crate::job::{Kind, Runtime, Sample, Subject, Work};
use crate::report::{Goal, Line};
use crate::stats::median_ratio;

const OVER_RMCP: Goal = Goal::AtLeast(4.0);
const CALLS: usize = 64_000;
const IN_FLIGHT: usize = 64;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    const NAME: &str = "64 in flight, one thread, answers opened, calls per second / rmcp the same way";
    if bench.candidate == Kind::Floor {
        return Ok(vec![Line::unmeasured(NAME, OVER_RMCP, "one call at a time")]);
    }
    let job = |subject| bench.job(subject, Work::Flood { calls: CALLS, in_flight: IN_FLIGHT });
    let [rmcp, rmcp_one_thread, ours, opened] = bench.rounds([
        job(Subject::new(Kind::Rmcp).on(Runtime::MultiThread)),
        job(Subject::new(Kind::Rmcp)),
        job(bench.candidate()),
        job(opened_by(bench)),
    ])?;
    let rate = |sample: &Sample| sample.calls as f64 / sample.total_seconds;
    let thousands = |rounds: &Rounds| format!("{:.0} k/s", rounds.median(rate) / 1e3);
    Ok(vec![
        Line::new(
            NAME,
            median_ratio(&opened.each(rate), &rmcp_one_thread.each(rate)),
            OVER_RMCP,
            format!("{}, rmcp {}", thousands(&opened), thousands(&rmcp_one_thread)),
        ),
        Line::for_information(
            "64 in flight, answers left raw, calls per second / rmcp on many threads",
            median_ratio(&ours.each(rate), &rmcp.each(rate)),
            format!("{}, rmcp {}", thousands(&ours), thousands(&rmcp)),
        ),
    ])
}
