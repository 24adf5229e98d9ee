//! Small calls of agents over HTTP to a server over stdio: what the hop costs, how much goes through, what it holds.

use anyhow::Result;

use super::job::{Load, Sample, Work};
use super::{ERAS, Serve};
use crate::job::Era;
use crate::measures::{megabytes, microseconds, milliseconds};
use crate::report::{Goal, Line};

const HOP: Goal = Goal::AtMost(2.0);
const RATE: Goal = Goal::AtLeast(0.55);
const PROCESSOR: Goal = Goal::AtMost(40.0);
const P99: Goal = Goal::AtMost(2.5);
const IDLE: Goal = Goal::AtMost(16.0);
const LOADED: Goal = Goal::AtMost(28.0);

/// So long each: enough calls even of the slowest for a 99th of a hundred.
const SECONDS: f64 = 1.5;

pub(super) fn measure(serve: &Serve) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (era, behind) in ERAS {
        lines.extend(of_era(serve, era, behind)?);
    }
    Ok(lines)
}

fn of_era(serve: &Serve, era: Era, behind: &str) -> Result<Vec<Line>> {
    let columns = serve.columns(era, |_| Some(Work::Calls { seconds: SECONDS }))?;
    let alone = |sample: &Sample| sample.alone;
    let mut lines = vec![Line::new(
        format!("HTTP to stdio, one at a time, p50 / direct{behind}"),
        columns.over_direct(alone),
        HOP,
        columns.seen(alone, microseconds),
    )];
    let one: fn(&Sample) -> Load = |sample| sample.one_agent;
    let many: fn(&Sample) -> Load = |sample| sample.many_agents;
    let loads = [
        (
            one,
            "32 in flight of one agent, calls per second / direct",
            "32 in flight of one agent, p99 / direct",
            "32 in flight of one agent, gateway's processor µs per call",
        ),
        (
            many,
            "32 agents, calls per second / direct",
            "32 agents, p99 / direct",
            "32 agents, gateway's processor µs per call",
        ),
    ];
    for (load, rate_name, p99_name, processor_name) in loads {
        let rate = |sample: &Sample| load(sample).rate;
        let p99 = |sample: &Sample| load(sample).p99;
        let processor = |sample: &Sample| load(sample).processor;
        lines.extend([
            Line::new(format!("{rate_name}{behind}"), columns.over_direct(rate), RATE, columns.seen(rate, per_second)),
            Line::new(format!("{p99_name}{behind}"), columns.over_direct(p99), P99, columns.seen(p99, milliseconds)),
            Line::new(
                format!("{processor_name}{behind}"),
                columns.helve(processor) * 1e6,
                PROCESSOR,
                columns.seen(processor, microseconds),
            ),
        ]);
    }
    let idle = |sample: &Sample| sample.idle;
    let loaded = |sample: &Sample| sample.loaded;
    lines.extend([
        Line::new(
            format!("resident MB, one server, idle{behind}"),
            columns.helve(idle) / 1e6,
            IDLE,
            columns.seen(idle, megabytes),
        ),
        Line::new(
            format!("resident MB, one server, after the load{behind}"),
            columns.helve(loaded) / 1e6,
            LOADED,
            columns.seen(loaded, megabytes),
        ),
    ]);
    Ok(lines)
}

fn per_second(rate: f64) -> String {
    format!("{:.1} k/s", rate / 1e3)
}
