//! Servers that nobody needs for a verb are not started.

use anyhow::Result;

use super::{Cli, output};
use crate::report::{Goal, Line};

const SERVERS: usize = 20;
const NONE: Goal = Goal::Exactly(0.0);

pub(crate) fn measure(cli: &Cli) -> Result<Vec<Line>> {
    let home = cli.home(SERVERS, 10)?;
    let mut seen = Vec::new();
    let mut unneeded = 0;
    let mut run = |verb: &str, mut command: std::process::Command, needed: usize| -> Result<()> {
        let before = home.started()?;
        output(&mut command)?;
        let started = home.started()? - before;
        unneeded += started.abs_diff(needed);
        seen.push(format!("{verb} {started}"));
        Ok(())
    };
    run("helve", home.helve(&[]), 0)?;
    run("get", home.helve(&["get", "server3"]), 0)?;
    run("call", home.helve_call(), 1)?;
    run("tools of one", home.helve(&["tools", "server1"]), 1)?;
    run("tools", home.helve(&["tools"]), SERVERS - 2)?;
    run("tools again", home.helve(&["tools"]), 0)?;
    run("tool", home.helve(&["tool", "server5/tool_00003"]), 0)?;
    run("explain", home.helve(&["explain", "server5/tool_00003"]), 0)?;
    run("call", home.helve_call(), 1)?;
    Ok(vec![Line::new(
        "servers started that the verb did not need",
        unneeded as f64,
        NONE,
        format!("of {SERVERS}: {}", seen.join(", ")),
    )])
}
