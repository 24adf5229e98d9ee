//! Ten thousand tools that an earlier run kept: what a host does before anybody calls one.

use anyhow::Result;

use crate::bench::Bench;
use crate::job::{Kind, Sample, Subject, Work};
use crate::peers::Peers;
use crate::report::{Goal, Line};

const NONE: Goal = Goal::Exactly(0.0);
const SERVERS: usize = 50;
const TOOLS: usize = 200;

pub(crate) fn measure(bench: &Bench, _peers: &Peers) -> Result<Vec<Line>> {
    let [kept] = bench.rounds([bench.job(Subject::new(Kind::Host), Work::Kept { servers: SERVERS, tools: TOOLS })])?;
    let time = kept.median(|sample: &Sample| sample.total_seconds) * 1e3;
    let memory = kept.median(|sample: &Sample| sample.resident_bytes) / 1e6;
    Ok(vec![
        Line::new(
            "validators compiled for 10,000 kept tools",
            kept.median(|sample| sample.compiled as f64),
            NONE,
            "a host started from what an earlier one kept, all names listed".to_owned(),
        ),
        Line::new(
            "servers started for 10,000 kept tools",
            kept.median(|sample| sample.started as f64),
            NONE,
            format!("of {SERVERS}"),
        ),
        Line::for_information("host with 10,000 kept tools, ms", time, format!("{memory:.1} MB resident")),
    ])
}
