//! A host with a hundred connected servers and nothing to do: the memory of its whole process.

use anyhow::Result;

use crate::bench::Bench;
use crate::job::{Kind, Sample, Subject, Work};
use crate::peers::Peers;
use crate::report::{Goal, Line};

const MEGABYTES: Goal = Goal::AtMost(18.0);
const SERVERS: usize = 100;

pub(crate) fn measure(bench: &Bench, peers: &Peers) -> Result<Vec<Line>> {
    let job = |kind, servers| bench.job(Subject::new(kind), Work::Hold { servers });
    let [rmcp, one, all] = bench.rounds([job(Kind::Rmcp, SERVERS), job(Kind::Host, 1), job(Kind::Host, SERVERS)])?;
    let memory = |sample: &Sample| sample.resident_bytes / 1e6;
    let mut seen = format!("with one server {:.1}, rmcp {:.1}", one.median(memory), rmcp.median(memory));
    for (name, bytes) in peers.each(1, |peer| peer.hold(&bench.server, SERVERS))? {
        seen.push_str(&format!(", {name} {:.1}", bytes / 1e6));
    }
    Ok(vec![Line::new("host with 100 idle servers, MB", all.median(memory), MEGABYTES, seen)])
}
