//! Listing 10,000 tools: time against rmcp, memory against the bytes on the wire.

use anyhow::Result;

use super::{megabytes, milliseconds};
use crate::bench::Bench;
use crate::job::{Kind, Sample, Subject, Work};
use crate::report::{Goal, Line};
use crate::stats::median_ratio;

const OVER_RMCP: Goal = Goal::AtMost(0.15);
const MEMORY: Goal = Goal::AtMost(2.0);
const TOOLS: usize = 10_000;
/// Bytes of the whole list: 940 for each tool and a comma.
const WIRE_BYTES: f64 = (TOOLS * 941) as f64;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let job = |subject| bench.job(subject, Work::List { tools: TOOLS, calls: 4 });
    let [floor, rmcp, ours] =
        bench.rounds([job(Subject::new(Kind::Floor)), job(Subject::new(Kind::Rmcp)), job(bench.candidate())])?;
    let time = |sample: &Sample| sample.median_seconds;
    let peak = |sample: &Sample| sample.peak_growth_bytes;
    Ok(vec![
        Line::new(
            "listing 10,000 tools / rmcp",
            median_ratio(&ours.each(time), &rmcp.each(time)),
            OVER_RMCP,
            format!(
                "{}, rmcp {}, reading {}",
                milliseconds(ours.median(time)),
                milliseconds(rmcp.median(time)),
                milliseconds(floor.median(time))
            ),
        ),
        Line::new(
            "listing 10,000 tools, peak memory / wire bytes",
            ours.median(peak) / WIRE_BYTES,
            MEMORY,
            format!("{}, rmcp {}", megabytes(ours.median(peak)), megabytes(rmcp.median(peak))),
        ),
    ])
}
