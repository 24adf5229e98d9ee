//! From a gateway's start to the first answer of the server behind it, above what that server takes by itself.

use anyhow::Result;

use super::job::{Sample, Work};
use super::{ERAS, Serve};
use crate::measures::milliseconds;
use crate::report::{Goal, Line};

const ABOVE: Goal = Goal::AtMost(20.0);

pub(super) fn measure(serve: &Serve) -> Result<Vec<Line>> {
    let start = |sample: &Sample| sample.start;
    let mut lines = Vec::new();
    for (era, behind) in ERAS {
        let columns = serve.columns(era, |_| Some(Work::Start))?;
        lines.push(Line::new(
            format!("start to first answer, ms above the server's own{behind}"),
            (columns.helve(start) - columns.direct(start)) * 1e3,
            ABOVE,
            columns.seen(start, milliseconds),
        ));
    }
    Ok(lines)
}
