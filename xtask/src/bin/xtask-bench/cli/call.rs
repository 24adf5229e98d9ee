//! A cold `helve call`: the processor time of everything it starts, above what the server itself takes.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::{ARGUMENTS, Cli, output, processor, wall};
use crate::processor::of_children;
use crate::report::{Goal, Line};
use crate::stats::median;

const MILLISECONDS: Goal = Goal::AtMost(15.0);
/// The clock of processor time is coarse: many runs are taken together.
const RUNS: usize = 20;

pub(crate) fn measure(cli: &Cli) -> Result<Vec<Line>> {
    let home = cli.home(1, 1)?;
    let said = output(&mut home.helve_call())?;
    ensure!(said.trim() == "hello", "not an echo: {said:?}");

    let (mut server, mut first, mut again, mut walls) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut others: Vec<(&str, Vec<f64>)> = cli.peers.iter().map(|(name, _)| (name, Vec::new())).collect();
    for _ in 0..cli.rounds {
        server.push(server_alone(cli)?);
        again.push(processor(|| Ok(home.helve_call()), RUNS)?);
        walls.push(wall(&mut home.helve_call())?);
        let forgetful = || home.forget().map(|()| home.helve_call());
        first.push(processor(forgetful, RUNS)?);
        for ((_, peer), (_, times)) in cli.peers.iter().zip(&mut others) {
            let call = || Ok(home.at_home(peer.call(&cli.server, &home.configuration(), ARGUMENTS)));
            times.push(processor(call, 1)?);
        }
    }
    let server = median(&mut server);
    let above = |times: &mut [f64]| (median(times) - server) * 1e3;
    let mut seen = format!("the server alone {:.1}, wall {:.1}", server * 1e3, median(&mut walls) * 1e3);
    for (name, times) in &mut others {
        seen.push_str(&format!(", {name} {:.0}", above(times)));
    }
    Ok(vec![
        Line::new("cold helve call, processor ms above the server's", above(&mut first), MILLISECONDS, seen),
        Line::for_information(
            "the same where a list was kept",
            above(&mut again),
            "the list is compared with what the server says".to_owned(),
        ),
    ])
}

/// What the server takes to start, answer what a client asks, and end.
fn server_alone(cli: &Cli) -> Result<f64> {
    const TALK: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello","path":"/srv/project"}}}
"#;
    let before = of_children()?;
    for _ in 0..RUNS {
        let mut server = Command::new(&cli.server)
            .args(["stdio", "--tools", "1"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        server.stdin.take().context("no stdin")?.write_all(TALK)?;
        ensure!(server.wait()?.success(), "the server failed");
    }
    Ok((of_children()? - before) / RUNS as f64)
}
