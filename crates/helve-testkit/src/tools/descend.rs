//! Owns the processes a stdio peer leaves behind: behind a wrapper, by double fork, in a session of their own.
//!
//! Every descendant is this same binary and ends by itself after its lifetime, so that a failing test leaks nothing for long.
#![expect(clippy::disallowed_methods, reason = "these processes must escape whoever holds the peer: that is the test")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::basic::answer_json;
use crate::call::Call;

/// The argument that makes the binary a descendant.
pub(crate) const DESCENDANT: &str = "descendant";

/// How a descendant is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Shape {
    /// A child that waits for its own child.
    Wrapper,
    /// A child that starts another and exits: nobody's child, in the peer's process group.
    DoubleFork,
    /// A child in a session (and process group) of its own.
    Setsid,
    /// What the others start: it only stays.
    Sleeper,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Orders {
    shape: Shape,
    ignore_signals: bool,
    inherit_stdout: bool,
    lifetime_ms: u64,
}

/// Starts one descendant of each shape asked for and lists their process ids.
pub(crate) fn spawn(call: &Call, arguments: &Value) {
    if !call.connection.ending.is_process() {
        return call.error(-32602, "spawn_descendants works only over stdio");
    }
    let all = json!(["wrapper", "double_fork", "setsid"]);
    let shapes = arguments.get("shapes").unwrap_or(&all).clone();
    let shapes: Vec<Shape> = match serde_json::from_value(shapes) {
        Ok(shapes) => shapes,
        Err(error) => return call.error(-32602, &format!("bad shapes: {error}")),
    };
    let orders = Orders {
        shape: Shape::Sleeper,
        ignore_signals: arguments["ignore_signals"] == true,
        inherit_stdout: arguments["inherit_stdout"] == true,
        lifetime_ms: arguments["lifetime_ms"].as_u64().unwrap_or(60_000),
    };
    call.clone().spawn(async move |call| {
        let started = tokio::task::spawn_blocking(move || {
            let start_one =
                |shape| start(&Orders { shape, ..orders }).map(|pids| json!({ "shape": shape, "pids": pids }));
            shapes.into_iter().map(start_one).collect::<std::io::Result<Vec<Value>>>()
        });
        match started.await {
            Ok(Ok(started)) => answer_json(&call, &json!({ "descendants": started })),
            Ok(Err(error)) => call.error(-32603, &format!("cannot start a descendant: {error}")),
            Err(error) => call.error(-32603, &format!("cannot start a descendant: {error}")),
        }
    });
}

/// Starts a descendant and returns the ids of the processes that stay, once they are ready.
fn start(orders: &Orders) -> std::io::Result<Vec<u32>> {
    let mut child = Command::new(std::env::current_exe()?)
        .args([DESCENDANT, &serde_json::to_string(orders)?])
        .stdin(Stdio::null())
        .stdout(if orders.inherit_stdout { Stdio::inherit() } else { Stdio::null() })
        .stderr(Stdio::piped())
        .spawn()?;
    // Each process that stays writes one line with its id when it is ready.
    let expected = if orders.shape == Shape::Wrapper { 2 } else { 1 };
    let mut pids = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        for line in BufReader::new(stderr).lines().take(expected) {
            let line = line?;
            pids.push(line.trim().parse().map_err(|_| std::io::Error::other(format!("descendant said: {line}")))?);
        }
    }
    if orders.shape == Shape::DoubleFork {
        child.wait()?;
    }
    Ok(pids)
}

/// The life of a descendant process; `orders` is its JSON argument.
pub(crate) fn live(orders: &str) -> std::io::Result<()> {
    let orders: Orders = serde_json::from_str(orders)?;
    if orders.ignore_signals {
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
    }
    let sleeper = Orders { shape: Shape::Sleeper, ..orders };
    let next_generation = || {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([DESCENDANT, &serde_json::to_string(&sleeper)?]).spawn()
    };
    match orders.shape {
        Shape::Wrapper => {
            report()?;
            next_generation()?.wait()?;
        }
        Shape::DoubleFork => {
            next_generation()?;
        }
        Shape::Setsid => {
            rustix::process::setsid()?;
            report()?;
            std::thread::sleep(Duration::from_millis(orders.lifetime_ms));
        }
        Shape::Sleeper => {
            report()?;
            std::thread::sleep(Duration::from_millis(orders.lifetime_ms));
        }
    }
    Ok(())
}

fn report() -> std::io::Result<()> {
    writeln!(std::io::stderr(), "{}", std::process::id())
}
