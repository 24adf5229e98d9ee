//! Owns `cargo xtask soak hub`: a hub under load that is killed, runs out of disk, and loses its file. Calls go on, what was
//! recorded stays whole, and what could not be recorded is said.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use clap::Args;
use helve_store::Store;
use serde_json::json;

use crate::attack::client::Client;
use crate::hub_stage::{HubHome, PATIENCE, RunningHub};
use crate::programs::build_unless;

/// Agents that call all the time.
const AGENTS: usize = 4;

/// A hub is killed at some moment of its first so many milliseconds under load.
const KILLED_WITHIN: u64 = 400;

/// So many calls have to be answered after the store can write no more.
const CALLS_AFTER: u64 = 200;

/// A hub that is killed under load at random moments, one whose disk is full, and one whose store is deleted
///
/// Fails when the store is damaged, a recorded call is there twice or was lost, the chain does not hold, a call is refused
/// because of it, or nobody is told.
#[derive(Debug, Args)]
pub(super) struct Hub {
    /// How often it is killed
    #[arg(long, value_name = "N", default_value_t = 200)]
    kills: usize,
    /// Only this run: killed, full, deleted
    #[arg(long, value_name = "RUN")]
    only: Option<String>,
    /// The program to look at, instead of one that is built for it
    #[arg(long, value_name = "FILE")]
    helve: Option<PathBuf>,
    /// The echo server behind it, instead of one that is built for it
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
}

impl Hub {
    pub(super) fn run(&self, root: &Path) -> Result<()> {
        let helve = build_unless(self.helve.as_deref(), root, "helve-cli", "helve")?;
        let server = build_unless(self.server.as_deref(), root, "xtask", "xtask-echo-server")?;
        let home = || {
            let text = format!(
                "[servers.echo]\ncommand = {}\nargs = [\"stdio\"]\n\n[[rules]]\ntool = \"echo/*\"\naction = \"allow\"\n",
                json!(server)
            );
            HubHome::new(&helve, &text)
        };
        let wants = |name: &str| self.only.as_deref().is_none_or(|only| only == name);
        if wants("killed") {
            killed(&home()?, self.kills)?;
        }
        if wants("full") {
            full(&home()?)?;
        }
        if wants("deleted") {
            deleted(&home()?)?;
        }
        Ok(())
    }
}

/// Agents that call until they are stopped.
struct Load {
    stops: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
    failed: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    fn begin(address: &str) -> Self {
        let (stops, answered, failed) = (Arc::default(), Arc::default(), Arc::default());
        let mut load = Self { stops, answered, failed, threads: Vec::new() };
        for _ in 0..AGENTS {
            let address = address.to_owned();
            let (stops, answered, failed) =
                (Arc::clone(&load.stops), Arc::clone(&load.answered), Arc::clone(&load.failed));
            load.threads.push(std::thread::spawn(move || {
                let Ok(mut agent) = Client::connect(&address, "") else { return };
                if agent.initialize().is_err() {
                    return;
                }
                let call = json!({ "name": "echo__echo", "arguments": { "text": "soak", "path": "/" } });
                while !stops.load(Ordering::Relaxed) {
                    match agent.request("tools/call", &call) {
                        Ok(answer) if answer.get("result").is_some() => answered.fetch_add(1, Ordering::Relaxed),
                        Ok(_) => failed.fetch_add(1, Ordering::Relaxed),
                        Err(_) => return,
                    };
                }
            }));
        }
        load
    }

    /// Waits until so many more calls were answered.
    fn answers(&self, count: u64) -> Result<()> {
        let (started, before) = (Instant::now(), self.answered.load(Ordering::Relaxed));
        while self.answered.load(Ordering::Relaxed) < before + count {
            ensure!(started.elapsed() < PATIENCE, "calls are not answered any more");
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    fn end(mut self) -> (u64, u64) {
        self.stops.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
        (self.answered.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed))
    }
}

/// Numbers that nobody can guess, and that can be had again from the first one.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

fn killed(home: &HubHome, kills: usize) -> Result<()> {
    let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_nanos();
    let seed = u64::try_from(seed & u128::from(u64::MAX))? | 1;
    tell(&format!("killed {kills} times, seed {seed}"));
    let mut random = Random(seed);
    let (mut known, mut answered) = (0, 0);
    for number in 1..=kills {
        let hub = home.start(&[])?;
        let load = Load::begin(&hub.address);
        std::thread::sleep(Duration::from_millis(random.below(KILLED_WITHIN)));
        hub.kill()?;
        answered += load.end().0;
        let calls = whole(home).with_context(|| format!("after kill {number} of seed {seed}"))?;
        ensure!(calls >= known, "{known} calls were recorded, and now there are {calls}");
        known = calls;
    }
    once_each(home)?;
    tell(&format!("{answered} calls answered, {known} recorded; the store is whole and its chain holds each time"));
    ensure!(known > 0, "nothing was ever recorded");
    Ok(())
}

/// The store as it was left: whole, and its chain holds. Gives the calls in it.
fn whole(home: &HubHome) -> Result<u64> {
    let store = Store::open(&home.store(), |_| {})?;
    let problems = store.check()?;
    ensure!(problems.is_empty(), "the store is damaged: {}", problems.join("; "));
    let report = store.verify()?;
    ensure!(report.broken.is_none(), "the chain does not hold: {:?}", report.broken);
    Ok(report.calls)
}

/// No call is there twice.
fn once_each(home: &HubHome) -> Result<()> {
    let store = Store::open(&home.store(), |_| {})?;
    let mut lines = Vec::new();
    store.export(&mut lines)?;
    let text = String::from_utf8(lines)?;
    let mut ids = std::collections::HashSet::new();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line)?;
        if let Some(id) = line["id"].as_str() {
            ensure!(ids.insert(id.to_owned()), "the call {id} was recorded twice");
        }
    }
    Ok(())
}

/// A disk that takes no more than so much of a file, as the kernel says it to a process.
fn full(home: &HubHome) -> Result<()> {
    let hub = home.start_limited(2_048, &[])?;
    let load = Load::begin(&hub.address);
    let said = until_said(&hub, &load)?;
    load.answers(CALLS_AFTER)?;
    let status = home.ask_json(&["status"])?;
    let lost = status["not_recorded"].as_u64().unwrap_or_default();
    ensure!(lost > 0, "lost calls are not counted: {status}");
    let (answered, failed) = load.end();
    ensure!(failed == 0, "{failed} calls were refused because of it");
    tell(&format!("disk full: {answered} calls answered, {lost} not recorded, and it says {said:?}"));
    hub.kill()?;
    whole(home).map(drop)
}

/// The store's file vanishes under a running hub.
fn deleted(home: &HubHome) -> Result<()> {
    let hub = home.start(&[])?;
    let load = Load::begin(&hub.address);
    load.answers(CALLS_AFTER)?;
    for entry in fs_err::read_dir(home.store())? {
        let path = entry?.path();
        if path.extension().is_some_and(|kind| kind == "db") {
            fs_err::remove_file(path)?;
        }
    }
    let said = until_said(&hub, &load)?;
    load.answers(CALLS_AFTER)?;
    let (answered, failed) = load.end();
    ensure!(failed == 0, "{failed} calls were refused because of it");
    tell(&format!("store deleted: {answered} calls answered, and it says {said:?}"));
    hub.kill()
}

/// Waits until the hub says that something is wrong with its store.
fn until_said(hub: &RunningHub, load: &Load) -> Result<String> {
    let started = Instant::now();
    loop {
        load.answers(10)?;
        let ready = hub.connect().request("GET", "/readyz", &[], b"")?;
        if ready.status == 503 {
            return Ok(ready.text().trim().to_owned());
        }
        ensure!(started.elapsed() < PATIENCE, "the hub says that it is fine: {}", ready.text());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[expect(clippy::print_stdout, reason = "what came of the runs is data for whoever makes them")]
fn tell(line: &str) {
    println!("{line}");
}
