//! Owns the attack by a project's directory: whatever it holds, every verb answers soon and with little memory, and agents
//! of a running gateway do not notice.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use helve_testkit::Scenario;
use serde_json::json;

use super::Figure;
use super::arena::{Arena, PATIENCE, Place};
use super::shapes::SHAPES;

/// What people run in a directory that they have just been given.
const VERBS: &[&[&str]] = &[
    &["tools"],
    &["servers", "--json"],
    &["doctor"],
    &["trust"],
    &[],
    &["servers"],
    &["tools", "--json"],
    &["trust", "--json"],
    &["explain", "a/b"],
    &["call", "a/b", "--yes"],
    &["get", "a"],
    &["enable", "a"],
    &["resources"],
    &["prompts"],
    &["import", "--all"],
    &["--no-mcp", "status"],
];

/// How long a verb of the released program may take, and how much memory it may hold.
const RELEASED: (Duration, u64) = (Duration::from_secs(1), 64);

/// The program as tests build it is many times slower; it must end, that is all.
const TESTED: (Duration, u64) = (Duration::from_secs(20), 256);

/// A gateway looks at its files every two seconds; after so long it has seen a change and read it.
const NOTICED: Duration = Duration::from_secs(4);

pub(crate) fn run(arena: &Arena) -> Result<Vec<Figure>> {
    let (time, memory) = if arena.is_quick { TESTED } else { RELEASED };
    let mut slowest = Worst::default();
    let mut largest = Worst::default();
    for (index, (name, shape)) in SHAPES.iter().enumerate() {
        let place = arena.place()?;
        shape(&place.root().join("project"))?;
        // Every day one verb for each, and not the same for all.
        for verb in VERBS.iter().cycle().skip(index).take(arena.tries(1, VERBS.len())) {
            let what = format!("{name}: helve {}", verb.join(" "));
            let (took, held) = once(&place, verb)?;
            slowest.see(took.as_millis(), &what);
            largest.see(u128::from(held), &what);
        }
    }
    let (waited, held) = serving(arena)?;
    largest.see(u128::from(held), "serve");
    Ok(vec![
        Figure {
            what: format!("{} directories, slowest verb ({})", SHAPES.len(), slowest.what),
            wanted: format!("≤ {} ms", time.as_millis()),
            reached: format!("{} ms", slowest.value),
            holds: slowest.value <= time.as_millis() && SHAPES.len() >= 40,
        },
        Figure {
            what: format!("largest ({})", largest.what),
            wanted: format!("≤ {memory} MB"),
            reached: format!("{} MB", largest.value / 1024),
            holds: largest.value / 1024 <= u128::from(memory),
        },
        Figure {
            what: format!("a running `serve`, slowest answer ({})", waited.what),
            wanted: format!("≤ {} ms", time.as_millis()),
            reached: format!("{} ms", waited.value),
            holds: waited.value <= time.as_millis(),
        },
    ])
}

/// The largest value so far, and what it was of.
#[derive(Debug, Default)]
struct Worst {
    value: u128,
    what: String,
}

impl Worst {
    fn see(&mut self, value: u128, what: &str) {
        if value > self.value {
            *self = Self { value, what: what.to_owned() };
        }
    }
}

/// Runs one verb: how long it took, and the most memory it held, in kilobytes.
fn once(place: &Place, verb: &[&str]) -> Result<(Duration, u64)> {
    let mut command = place.command(verb);
    let deepest = super::shapes::deepest(&place.root().join("project"));
    command.current_dir(deepest);
    let started = Instant::now();
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = Killed(child.context("cannot start helve")?);
    let mut held = 0;
    while child.0.try_wait()?.is_none() {
        held = held.max(peak(child.0.id()));
        if started.elapsed() > PATIENCE {
            return Ok((started.elapsed(), held));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok((started.elapsed(), held))
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The most memory that a process ever held, in kilobytes.
fn peak(process: u32) -> u64 {
    let status = fs_err::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// So many directories appear under one gateway, one after the other.
const UNDER_ONE: usize = 5;

/// Gateways under which directory after directory appears: the slowest answer, and the most memory.
fn serving(arena: &Arena) -> Result<(Worst, u64)> {
    let mut slowest = Worst::default();
    let mut held = 0;
    let step = SHAPES.len() / arena.tries(2, SHAPES.len());
    let shapes: Vec<_> = SHAPES.iter().step_by(step.max(1)).collect();
    for shapes in shapes.chunks(UNDER_ONE) {
        let place = arena.place()?;
        let server = place.server("own", Scenario::default(), "own.log");
        place.write("home/.config/helve/helve.toml", &server)?;
        let mut agent = place.serve(&["--wait", "30s"])?;
        agent.initialize(&json!({}))?;
        for (name, shape) in shapes {
            shape(&place.root().join("project"))?;
            let planted = Instant::now();
            while planted.elapsed() < NOTICED {
                let asked = Instant::now();
                agent.request("ping", &json!({}))?;
                slowest.see(asked.elapsed().as_millis(), name);
                std::thread::sleep(Duration::from_millis(5));
            }
            clear(&place.root().join("project"))?;
        }
        held = held.max(peak(agent.process()));
        agent.finish()?;
    }
    Ok((slowest, held))
}

fn clear(project: &Path) -> Result<()> {
    for entry in fs_err::read_dir(project)? {
        let entry = entry?;
        if entry.file_name() == ".git" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs_err::remove_dir_all(entry.path())?
        } else {
            fs_err::remove_file(entry.path())?
        }
    }
    Ok(())
}
