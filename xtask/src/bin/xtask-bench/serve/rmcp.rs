//! A server on rmcp behind helve, and behind gateways on rmcp: what goes through, and what the gateway costs the server itself.
//!
//! All of them speak the same era to the server; both eras are measured.

use anyhow::Result;

use super::job::{Sample, Work};
use super::{Columns, ERAS, Serve};
use crate::job::Era;
use crate::measures::microseconds;
use crate::report::{Goal, Line};

const RATE: Goal = Goal::AtLeast(1.25);
const UPSTREAM: Goal = Goal::AtMost(1.05);
const HOP: Goal = Goal::AtMost(1.6);

const SECONDS: f64 = 2.0;

pub(super) fn measure(serve: &Serve) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (era, behind) in ERAS {
        lines.extend(of_era(serve, era, behind)?);
    }
    Ok(lines)
}

fn of_era(serve: &Serve, era: Era, behind: &str) -> Result<Vec<Line>> {
    let columns = serve.rmcp_columns(era, |_| Some(Work::Calls { seconds: SECONDS }))?;
    let alone = |sample: &Sample| sample.alone;
    let rate = |sample: &Sample| sample.one_agent.rate;
    let upstream = |sample: &Sample| sample.one_agent.upstream;
    let processor = |sample: &Sample| sample.one_agent.processor;
    let best = |field: fn(&Sample) -> f64, better: fn(f64, f64) -> f64| peer(&columns, field, better);
    Ok(vec![
        Line::new(
            format!("rmcp server, 32 in flight, calls per second / the better rmcp relay{behind}"),
            columns.helve(rate) / best(rate, f64::max),
            RATE,
            columns.seen(rate, |rate| format!("{:.1} k/s", rate / 1e3)),
        ),
        Line::new(
            format!("rmcp server, 32 in flight, the server's own processor time / behind a relay{behind}"),
            columns.helve(upstream) / best(upstream, f64::min),
            UPSTREAM,
            columns.seen(upstream, microseconds),
        ),
        Line::new(
            format!("rmcp server, one at a time, p50 / direct{behind}"),
            columns.over_direct(alone),
            HOP,
            columns.seen(alone, microseconds),
        ),
        Line::for_information(
            format!("rmcp server, 32 in flight, gateway's processor time / the better relay{behind}"),
            columns.helve(processor) / best(processor, f64::min),
            columns.seen(processor, microseconds),
        ),
    ])
}

/// The best of the relays.
fn peer(columns: &Columns, field: fn(&Sample) -> f64, better: fn(f64, f64) -> f64) -> f64 {
    columns.peers(field).into_iter().map(|(_, value)| value).reduce(better).unwrap_or(f64::NAN)
}
