//! One small stdio call after the other: how long does one take?

use anyhow::Result;

use super::microseconds;
use crate::bench::Bench;
use crate::job::{Kind, Runtime, Sample, Subject, Work};
use crate::report::{Goal, Line};
use crate::stats::median_ratio;

const OVER_FLOOR: Goal = Goal::AtMost(1.3);
const OVER_RMCP: Goal = Goal::AtMost(0.75);
const CALLS: usize = 10_000;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let job = |subject| bench.job(subject, Work::Echo { calls: CALLS });
    let [floor, rmcp, rmcp_one_thread, ours, opened, ours_many_threads] = bench.rounds([
        job(Subject::new(Kind::Floor)),
        // Its default surroundings, as `#[tokio::main]` makes them.
        job(Subject::new(Kind::Rmcp).on(Runtime::MultiThread)),
        job(Subject::new(Kind::Rmcp)),
        job(bench.candidate()),
        job(opened_by(bench)),
        job(bench.candidate().on(Runtime::MultiThread)),
    ])?;
    let time = |sample: &Sample| sample.median_seconds;
    let against = |other: &crate::bench::Rounds| median_ratio(&ours.each(time), &other.each(time));
    let ours_seen = microseconds(ours.median(time));
    let seen =
        |name: &str, other: &crate::bench::Rounds| format!("{ours_seen}, {name} {}", microseconds(other.median(time)));
    Ok(vec![
        Line::new("stdio echo, p50 / tokio pipe", against(&floor), OVER_FLOOR, seen("pipe", &floor)),
        Line::new(
            "stdio echo, one thread, answer opened, p50 / rmcp the same way",
            median_ratio(&opened.each(time), &rmcp_one_thread.each(time)),
            OVER_RMCP,
            format!("{}, rmcp {}", microseconds(opened.median(time)), microseconds(rmcp_one_thread.median(time))),
        ),
        Line::for_information(
            "stdio echo, answer left raw, p50 / rmcp on many threads",
            against(&rmcp),
            seen("rmcp", &rmcp),
        ),
        Line::for_information(
            "stdio echo on many threads, p50 / rmcp",
            median_ratio(&ours_many_threads.each(time), &rmcp.each(time)),
            microseconds(ours_many_threads.median(time)),
        ),
    ])
}

/// The candidate with its answers opened, where that is a choice: rmcp always opens them, and the floor never does.
pub(super) fn opened_by(bench: &Bench) -> Subject {
    match bench.candidate {
        Kind::Helve | Kind::HelveWarden => Subject::new(Kind::HelveTyped),
        _ => bench.candidate(),
    }
}
