//! Small calls of an agent over HTTP to a server over HTTP. Of the peers, one can do that.

use anyhow::Result;

use super::Serve;
use super::gateway::Manner;
use super::job::{Sample, Work};
use crate::job::Era;
use crate::measures::microseconds;
use crate::report::{Goal, Line};

const HOP: Goal = Goal::AtMost(3.0);
const SECONDS: f64 = 1.5;

pub(super) fn measure(serve: &Serve) -> Result<Vec<Line>> {
    let columns = serve.columns(Era::Modern, |manner| match manner {
        Manner::Direct | Manner::Helve | Manner::Fastmcp => Some(Work::Http { seconds: SECONDS }),
        _ => None,
    })?;
    let alone = |sample: &Sample| sample.alone;
    Ok(vec![Line::new(
        "HTTP to HTTP, one at a time, p50 / direct",
        columns.over_direct(alone),
        HOP,
        columns.seen(alone, microseconds),
    )])
}
