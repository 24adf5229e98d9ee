//! 100 stdio connections that do nothing: what does each hold on the client's side?

use anyhow::Result;

use crate::bench::Bench;
use crate::job::{Kind, Sample, Subject, Work};
use crate::report::{Goal, Line};

const KILOBYTES: Goal = Goal::AtMost(20.0);
const CONNECTIONS: usize = 100;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let job = |subject| bench.job(subject, Work::Idle { connections: CONNECTIONS });
    let [rmcp, ours] = bench.rounds([job(Subject::new(Kind::Rmcp)), job(bench.candidate())])?;
    let each = |sample: &Sample| sample.held_growth_bytes / CONNECTIONS as f64 / 1e3;
    let seen = format!("rmcp {:.1} KB", rmcp.median(each));
    Ok(vec![Line::new("idle stdio connection, KB", ours.median(each), KILOBYTES, seen)])
}
