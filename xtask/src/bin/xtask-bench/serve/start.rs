//! From a gateway's start to the first answer of the server behind it, above what that server takes by itself.

use anyhow::Result;

use super::Serve;
use super::job::{Sample, Work};
use crate::measures::milliseconds;
use crate::report::{Goal, Line};

const ABOVE: Goal = Goal::AtMost(20.0);

pub(super) fn measure(serve: &Serve) -> Result<Vec<Line>> {
    let columns = serve.columns(|_| Some(Work::Start))?;
    let start = |sample: &Sample| sample.start;
    Ok(vec![Line::new(
        "start to first answer, ms above the server's own",
        (columns.helve(start) - columns.direct(start)) * 1e3,
        ABOVE,
        columns.seen(start, milliseconds),
    )])
}
