//! Agents that come, call, and are never heard of again: what each leaves behind, and for how long.

use anyhow::Result;

use super::Serve;
use super::gateway::Manner;
use super::job::{Sample, Work};
use crate::job::Era;
use crate::report::{Goal, Line};

const KILOBYTES: Goal = Goal::AtMost(30.0);
const NONE: Goal = Goal::Exactly(0.0);
const AGENTS: usize = 500;
/// Some start a server for each, and keep it.
const AGENTS_OF_PEERS: usize = 20;
const IDLE_SECONDS: u64 = 2;

pub(super) fn measure(serve: &Serve) -> Result<Vec<Line>> {
    let columns = serve.columns(Era::Modern, |manner| match manner {
        Manner::Direct => None,
        Manner::Helve => Some(Work::Abandoned { agents: AGENTS }),
        _ => Some(Work::Abandoned { agents: AGENTS_OF_PEERS }),
    })?;
    let left_behind = |sample: &Sample| sample.abandoned;
    let mut lines = vec![Line::new(
        "abandoned session, KB",
        columns.helve(left_behind) / 1e3,
        KILOBYTES,
        columns.seen(left_behind, |bytes| format!("{:.1} KB", bytes / 1e3)),
    )];
    // Most servers of today are of this kind: every session has a process of its own until it is left alone for a while.
    let columns = serve.columns(Era::Legacy, |manner| match manner {
        Manner::Direct => None,
        _ => Some(Work::Abandoned { agents: AGENTS_OF_PEERS }),
    })?;
    lines.push(Line::for_information(
        "abandoned session, KB, legacy upstream, the gateway alone",
        columns.helve(left_behind) / 1e3,
        columns.seen(left_behind, |bytes| format!("{:.1} KB", bytes / 1e3)),
    ));
    let expired = Work::Expired { agents: AGENTS, seconds: IDLE_SECONDS };
    let columns = serve.columns(Era::Modern, |manner| (manner == Manner::Helve).then(|| expired.clone()))?;
    lines.push(Line::new(
        "abandoned sessions that outlive their time",
        columns.helve(|sample| sample.left),
        NONE,
        format!("of {AGENTS}, {IDLE_SECONDS} s each"),
    ));
    Ok(lines)
}
