//! One small call after the other over Streamable HTTP, and how many connections that takes.

use anyhow::Result;

use super::microseconds;
use crate::bench::Bench;
use crate::job::{Era, Kind, Sample, Subject, Work};
use crate::report::{Goal, Line};
use crate::stats::median_ratio;

const OVER_FLOOR: Goal = Goal::AtMost(1.3);
const CONNECTIONS: Goal = Goal::Exactly(1.0);
const CALLS: usize = 5_000;
const COUNTED_CALLS: usize = 1_000;
const NO_HTTP: &str = "this candidate is not measured over HTTP";

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    const NAME: &str = "HTTP echo, p50 / bare hyper to the same server";
    if bench.candidate != Kind::Floor && !speaks_http(bench.candidate) {
        return Ok(vec![Line::unmeasured(NAME, OVER_FLOOR, NO_HTTP)]);
    }
    let job = |subject| bench.job(subject, Work::Http { calls: CALLS });
    let [floor, ours, modern] = bench.rounds([
        job(Subject::new(Kind::Floor)),
        job(bench.candidate()),
        job(bench.candidate().in_era(Era::Modern)),
    ])?;
    let time = |sample: &Sample| sample.median_seconds;
    Ok(vec![
        Line::new(
            NAME,
            median_ratio(&ours.each(time), &floor.each(time)),
            OVER_FLOOR,
            format!("{}, hyper {}", microseconds(ours.median(time)), microseconds(floor.median(time))),
        ),
        Line::for_information(
            "HTTP echo, p50, modern / legacy",
            median_ratio(&modern.each(time), &ours.each(time)),
            microseconds(modern.median(time)),
        ),
    ])
}

pub(crate) fn measure_connections(bench: &Bench) -> Result<Vec<Line>> {
    const NAME: &str = "HTTP connections for 1,000 calls";
    if !speaks_http(bench.candidate) {
        return Ok(vec![Line::unmeasured(NAME, CONNECTIONS, NO_HTTP)]);
    }
    let once = Bench { server: bench.server.clone(), rounds: 1, ..*bench };
    let [ours] = once.rounds([once.job(once.candidate(), Work::Http { calls: COUNTED_CALLS })])?;
    let connections = ours.median(|sample| sample.connections as f64);
    Ok(vec![Line::new(NAME, connections, CONNECTIONS, String::new())])
}

/// Whether the thin echo server, which counts, is the other end.
fn speaks_http(candidate: Kind) -> bool {
    match candidate {
        Kind::Floor | Kind::Rmcp | Kind::Host | Kind::HostManyRules | Kind::Gateway | Kind::GatewayApprovals => false,
        Kind::Helve
        | Kind::HelveTyped
        | Kind::HelveSecrets
        | Kind::HelveWarden
        | Kind::HelveFixedToken
        | Kind::HelveSignedIn => true,
    }
}
