//! Owns the run of rmcp's own login beside helve's, for information: how often it asks for a token that a hundred calls need.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use helve_testkit::authority::visit;

use super::world::World;
use crate::attack::Figure;
use crate::programs::{as_typed, run as run_shown};

/// A life that is over at once for whoever renews ahead of time, and one that is long enough for everybody.
const SHORT: u64 = 1;
const LONG: u64 = 3_600;

/// Builds the peer, which is a workspace of its own, and runs it.
pub(super) fn run(root: &Path, world: &World) -> Result<Vec<Figure>> {
    let (package, target) = (root.join("xtask/peers/rmcp-login"), root.join("target/rmcp-login"));
    let mut build = as_typed(env!("CARGO"));
    build.args(["build", "--quiet", "--target-dir"]).arg(&target).current_dir(package);
    run_shown(&mut build, "rmcp's login is built from the registry: is it within reach?")?;
    world.authority.set(|switches| switches.lifetime = Some(SHORT));
    let mut peer = Command::new(target.join("debug/rmcp-login"));
    let mut peer = peer.arg(world.authority.url()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = peer.stdin.take().context("no stdin")?;
    let mut lines = BufReader::new(peer.stdout.take().context("no stdout")?).lines();
    let mut line = move || anyhow::Ok(lines.next().context("rmcp's client ended")??);
    let visit = world.runtime.block_on(visit(&line()?))?;
    writeln!(input, "{}", visit.url)?;
    ensure!(line()? == "signed in", "rmcp's client did not sign in");
    world.authority.set(|switches| switches.lifetime = Some(LONG));
    let before = world.authority.count("/token");
    writeln!(input)?;
    let answered: usize = line()?.parse()?;
    peer.wait()?;
    let (requests, reuses) = (world.authority.count("/token") - before, world.authority.reuses());
    Ok(vec![Figure {
        what: "rmcp beside it: 100 calls at once in one process".to_owned(),
        wanted: "for information".to_owned(),
        reached: format!("{requests} requests for a token, {reuses} with a used one, {answered} of 100 answered"),
        holds: true,
    }])
}
