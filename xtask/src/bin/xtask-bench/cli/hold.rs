//! The program with a hundred connected servers and nothing to do: its memory, code included.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use anyhow::{Context as _, Result, bail};

use super::{Cli, Home};
use crate::memory;
use crate::report::{Goal, Line};
use crate::stats::median;

const MEGABYTES: Goal = Goal::AtMost(18.0);
const SERVERS: usize = 100;

pub(crate) fn measure(cli: &Cli) -> Result<Vec<Line>> {
    let (many, one) = (cli.home(SERVERS, 1)?, cli.home(1, 1)?);
    let (mut with_all, mut with_one) = (Vec::new(), Vec::new());
    for _ in 0..cli.rounds {
        with_all.push(watched(&many, SERVERS)? / 1e6);
        with_one.push(watched(&one, 1)? / 1e6);
    }
    let seen = format!("with one server {:.1}", median(&mut with_one));
    Ok(vec![Line::new("helve with 100 idle servers, MB", median(&mut with_all), MEGABYTES, seen)])
}

/// The resident bytes of `helve servers --watch` as soon as it has said of every server that it is connected.
fn watched(home: &Home, servers: usize) -> Result<f64> {
    let mut command = home.helve(&["servers", "--watch"]);
    let mut child = Running(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?);
    let stdout = child.0.stdout.take().context("no stdout")?;
    let mut connected = 0;
    for line in BufReader::new(stdout).lines() {
        if line?.ends_with("connected") {
            connected += 1;
        }
        if connected == servers {
            return memory::resident_of(child.0.id());
        }
    }
    bail!("{connected} of {servers} servers were connected when helve ended")
}

/// Killed when dropped; its servers end with it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
