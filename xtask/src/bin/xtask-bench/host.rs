//! Owns the measures of the host: what it adds to a call, how it starts, what it holds.

mod approvals;
mod call;
mod hold;
mod kept;
mod ready;

use anyhow::Result;

use crate::bench::Bench;
use crate::peers::Peers;
use crate::report::Line;

/// A measure's name and how to take it.
type Measure = (&'static str, fn(&Bench, &Peers) -> Result<Vec<Line>>);

/// Counts repeat on any machine: they gate.
pub(crate) const COUNTS: &[Measure] =
    &[("call", call::measure), ("approvals", approvals::measure), ("kept", kept::measure)];

/// Timings and memory.
pub(crate) const TIMINGS: &[Measure] = &[("ready", ready::measure), ("hold", hold::measure)];
