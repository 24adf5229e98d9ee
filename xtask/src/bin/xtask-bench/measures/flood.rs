//! 64 small stdio calls in flight: how many go through in a second?

use anyhow::Result;

use crate::bench::Bench;
use crate::job::{Kind, Runtime, Sample, Subject, Work};
use crate::report::{Goal, Line};
use crate::stats::median_ratio;

const OVER_RMCP: Goal = Goal::AtLeast(4.0);
const CALLS: usize = 64_000;
const IN_FLIGHT: usize = 64;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    if bench.candidate == Kind::Floor {
        return Ok(vec![Line::unmeasured("64 in flight, calls per second / rmcp", OVER_RMCP, "one call at a time")]);
    }
    let job = |subject| bench.job(subject, Work::Flood { calls: CALLS, in_flight: IN_FLIGHT });
    let [rmcp, rmcp_one_thread, ours, typed] = bench.rounds([
        job(Subject::new(Kind::Rmcp).on(Runtime::MultiThread)),
        job(Subject::new(Kind::Rmcp)),
        job(bench.candidate()),
        job(Subject::new(Kind::HelveTyped)),
    ])?;
    let rate = |sample: &Sample| sample.calls as f64 / sample.total_seconds;
    let line = |rounds: &crate::bench::Rounds| {
        (
            median_ratio(&ours.each(rate), &rounds.each(rate)),
            format!("{:.0} k/s, rmcp {:.0} k/s", ours.median(rate) / 1e3, rounds.median(rate) / 1e3),
        )
    };
    let (ratio, seen) = line(&rmcp);
    let (ratio_one, seen_one) = line(&rmcp_one_thread);
    Ok(vec![
        Line::new("64 in flight, calls per second / rmcp", ratio, OVER_RMCP, seen),
        Line::for_information("64 in flight, calls per second / rmcp on one thread", ratio_one, seen_one),
        Line::for_information(
            "64 in flight, answers opened, calls per second / rmcp",
            median_ratio(&typed.each(rate), &rmcp.each(rate)),
            format!("{:.0} k/s", typed.median(rate) / 1e3),
        ),
    ])
}
