//! Large results: time against reading the bytes, time and memory against rmcp, and growth with size.

use anyhow::Result;

use super::{megabytes, milliseconds};
use crate::bench::Bench;
use crate::job::{Kind, Sample, Shape, Subject, Work};
use crate::report::{Goal, Line};
use crate::stats::median_ratio;

const STRUCTURED_OVER_FLOOR: Goal = Goal::AtMost(1.3);
const TEXT_OVER_RMCP: Goal = Goal::AtMost(0.35);
const TEXT_MEMORY: Goal = Goal::AtMost(2.5);
/// Four times the bytes in at most five times the time is linear.
const GROWTH: Goal = Goal::AtMost(5.0);
const GROWTH_NAME: &str = "20 MB text result / 5 MB";
const MEGABYTE: usize = 1_000_000;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let ours = bench.candidate();
    let (floor, rmcp) = (Subject::new(Kind::Floor), Subject::new(Kind::Rmcp));
    let time = |sample: &Sample| sample.median_seconds;

    let structured = |subject| bench.job(subject, Work::Large { shape: Shape::Structured, bytes: MEGABYTE, calls: 20 });
    let [json_floor, json_rmcp, json_ours] = bench.rounds([structured(floor), structured(rmcp), structured(ours)])?;

    let text = |subject, megabytes: usize| {
        let bytes = megabytes * MEGABYTE;
        bench.job(subject, Work::Large { shape: Shape::Text, bytes, calls: 6 })
    };
    let [text_rmcp, text_ours] = bench.rounds([text(rmcp, 10), text(ours, 10)])?;
    let growth = if bench.candidate == Kind::Rmcp {
        Line::unmeasured(GROWTH_NAME, GROWTH, "rmcp never answers a line of more than 16 MiB")
    } else {
        let [small, big] = bench.rounds([text(ours, 5), text(ours, 20)])?;
        let seen = format!("{}, {}", milliseconds(big.median(time)), milliseconds(small.median(time)));
        Line::new(GROWTH_NAME, median_ratio(&big.each(time), &small.each(time)), GROWTH, seen)
    };
    let memory = text_ours.median(|sample| sample.peak_growth_bytes);

    Ok(vec![
        Line::new(
            "1 MB structured result / reading it",
            median_ratio(&json_ours.each(time), &json_floor.each(time)),
            STRUCTURED_OVER_FLOOR,
            format!(
                "{}, reading {}, rmcp {}",
                milliseconds(json_ours.median(time)),
                milliseconds(json_floor.median(time)),
                milliseconds(json_rmcp.median(time))
            ),
        ),
        Line::new(
            "10 MB text result / rmcp",
            median_ratio(&text_ours.each(time), &text_rmcp.each(time)),
            TEXT_OVER_RMCP,
            format!("{}, rmcp {}", milliseconds(text_ours.median(time)), milliseconds(text_rmcp.median(time))),
        ),
        Line::new(
            "10 MB text result, peak memory / its size",
            memory / text_ours.median(|sample| sample.answer_bytes),
            TEXT_MEMORY,
            format!("{}, rmcp {}", megabytes(memory), megabytes(text_rmcp.median(|sample| sample.peak_growth_bytes))),
        ),
        growth,
    ])
}
