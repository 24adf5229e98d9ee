//! Many servers that are slow to start: all are ready when the slowest is.

use anyhow::Result;

use crate::bench::Bench;
use crate::job::{Kind, Sample, Subject, Work};
use crate::peers::Peers;
use crate::report::{Goal, Line};

const MILLISECONDS: Goal = Goal::AtMost(350.0);
const SERVERS: usize = 10;
const DELAY: usize = 300;

pub(crate) fn measure(bench: &Bench, peers: &Peers) -> Result<Vec<Line>> {
    let job = |kind, servers| bench.job(Subject::new(kind), Work::Ready { servers, delay: DELAY });
    let [rmcp, one, all] = bench.rounds([job(Kind::Rmcp, SERVERS), job(Kind::Host, 1), job(Kind::Host, SERVERS)])?;
    let time = |sample: &Sample| sample.total_seconds * 1e3;
    let mut seen = format!("one alone {:.1}, rmcp (not listing) {:.1}", one.median(time), rmcp.median(time));
    let delay = DELAY.to_string();
    for (name, seconds) in peers.each(bench.rounds, |peer| peer.ready(&bench.server, SERVERS, &["--delay", &delay]))? {
        seen.push_str(&format!(", {name} {:.1}", seconds * 1e3));
    }
    Ok(vec![Line::new("10 servers of 300 ms ready, ms", all.median(time), MILLISECONDS, seen)])
}
