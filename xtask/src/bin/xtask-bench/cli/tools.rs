//! `helve tools` with 50 servers and 10,000 tools that an earlier run kept, against a program that does nothing; for information
//! beside `mcporter list`, which keeps no lists and asks them all.

use std::process::Command;

use anyhow::{Result, ensure};

use super::{Cli, output, wall};
use crate::report::{Goal, Line};
use crate::stats::median;

const SERVERS: usize = 50;
const TOOLS: usize = 200;
const NONE: Goal = Goal::Exactly(0.0);
/// Of a round ours takes many, because ours are short.
const TURNS: usize = 7;

pub(crate) fn measure(cli: &Cli) -> Result<Vec<Line>> {
    let home = cli.home(SERVERS, TOOLS)?;
    output(&mut home.helve(&["tools"]))?;
    let started = home.started()?;
    ensure!(started == SERVERS, "{started} of {SERVERS} servers were started");

    let mut nothing = Vec::new();
    let mut ours = Vec::new();
    let mut others: Vec<(&str, Vec<f64>)> = Vec::new();
    for _ in 0..cli.rounds {
        for _ in 0..TURNS {
            nothing.push(wall(&mut home.at_home(Command::new("/bin/true")))?);
            ours.push(wall(&mut home.helve(&["tools"]))?);
        }
    }
    let lines = output(&mut home.helve(&["tools"]))?.lines().count();
    ensure!(lines == SERVERS * TOOLS + 1, "{lines} lines are not {} tools and a heading", SERVERS * TOOLS);
    let started_from_cache = home.started()? - started;
    for (name, peer) in cli.peers.iter() {
        let Some(_) = peer.list(&home.configuration()) else { continue };
        let mut times = Vec::new();
        for _ in 0..cli.rounds.min(3) {
            times.extend(peer.list(&home.configuration()).map(|list| wall(&mut home.at_home(list))).transpose()?);
        }
        others.push((name, times));
    }
    let (nothing, ours) = (median(&mut nothing) * 1e3, median(&mut ours) * 1e3);
    let allowed = 5.0 * nothing + 10.0;
    let mut lines = vec![
        Line::new(
            "helve tools, 10,000 kept tools / (5 x /bin/true + 10 ms)",
            ours / allowed,
            Goal::AtMost(1.0),
            format!("{ours:.1} ms, /bin/true {nothing:.2} ms, so {allowed:.1} ms allowed"),
        ),
        Line::new(
            "servers started by helve tools, 10,000 kept tools",
            started_from_cache as f64,
            NONE,
            format!("of {SERVERS}"),
        ),
    ];
    for (name, mut times) in others {
        let theirs = median(&mut times) * 1e3;
        let seen = format!("{ours:.1} ms, {name} {theirs:.0} ms");
        lines.push(Line::for_information(
            "helve tools, kept lists / mcporter list, every server asked",
            ours / theirs,
            seen,
        ));
    }
    Ok(lines)
}
