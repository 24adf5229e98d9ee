//! A result of ten megabytes through the hop: how fast, and what the gateway holds meanwhile.

use anyhow::Result;

use super::Serve;
use super::job::{Sample, Work};
use crate::job::Era;
use crate::measures::{megabytes, milliseconds};
use crate::report::{Goal, Line};

const FASTER: Goal = Goal::AtLeast(3.0);
const MEMORY: Goal = Goal::AtMost(2.5);
const BYTES: usize = 10_000_000;

pub(super) fn measure(serve: &Serve) -> Result<Vec<Line>> {
    const NAME: &str = "result of 10 MB, best peer / helve";
    let columns = serve.columns(Era::Modern, |manner| {
        let calls = if manner.is_peer() { 3 } else { 9 };
        Some(Work::Large { bytes: BYTES, calls })
    })?;
    let time = |sample: &Sample| sample.large;
    let growth = |sample: &Sample| sample.growth;
    let seen = columns.seen(time, milliseconds);
    let best = columns.peers(time).into_iter().min_by(|(_, one), (_, other)| one.total_cmp(other));
    let faster = match best {
        Some((_, best)) => Line::new(NAME, best / columns.helve(time), FASTER, seen),
        None => Line::unmeasured(NAME, FASTER, &format!("no peer to compare with; {seen}")),
    };
    let held = columns.helve(growth) / BYTES as f64;
    let over_direct = format!("direct {}", milliseconds(columns.direct(time)));
    Ok(vec![
        faster,
        Line::new("result of 10 MB, gateway's memory / size", held, MEMORY, columns.seen(growth, megabytes)),
        Line::for_information("result of 10 MB, helve / direct", columns.over_direct(time), over_direct),
    ])
}
