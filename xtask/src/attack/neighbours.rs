//! Owns the attack of a neighbour: two tokens at one `helve serve --http`, one hostile and one quiet, and what the hostile one
//! costs the quiet one.
//!
//! What is held while nothing happens is compared with a second program that nobody attacks, call by call, so that a busy
//! machine slows both. Floods are measured while they last. A quick run attacks the program as tests build it: it judges that
//! every request of the quiet one is answered, and tells the times without judging them.

mod hostile;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use helve_testkit::Scenario;
use serde_json::{Value, json};

use super::Figure;
use super::arena::{Arena, Place};
use super::client::Client;
use crate::listening::Listening;
use hostile::Held;

/// The two who come.
const QUIET: &str = "the-quiet-one-0123456789abcdef";
const HOSTILE: &str = "the-hostile-one-0123456789abcdef";

/// What a neighbour may make of the time that a request takes alone.
const FACTOR: u32 = 3;
/// Below this a difference is the machine's.
const NOISE: Duration = Duration::from_millis(1);
/// What a request may take during a flood.
const DURING_A_FLOOD: Duration = Duration::from_millis(50);

/// Calls of the quiet one whose slowest but one in a hundred is taken, and how often.
const BATCH: usize = 100;
const BATCHES: usize = 5;
const FLOODS: usize = 3;
const FLOOD_TIME: Duration = Duration::from_secs(1);
/// Fewer messages than this are not a flood.
const LEAST_FLOOD: u64 = 300;

const RULES: &str = r#"
[[rules]]
tool = "own/fail"
action = "ask"

[[rules]]
tool = "*"
action = "allow"
"#;

pub(crate) fn run(arena: &Arena) -> Result<Vec<Figure>> {
    let sessions = arena.tries(2_000, 10_000);
    Ok(vec![
        held(arena, "100 hanging calls", hostile::hanging),
        held(arena, "300 parked questions", hostile::parked),
        held(arena, &format!("{sessions} sessions"), |target| hostile::sessions(target, sessions)),
        held(arena, "unread answers on 200 connections", hostile::unread),
        flooded(arena, "messages", hostile::messages),
        flooded(arena, "notifications", hostile::notifications),
        flooded(arena, "connections", hostile::connections),
    ])
}

/// A program that both come to.
struct Target {
    _place: Place,
    listening: Listening,
}

impl Target {
    fn start(arena: &Arena) -> Result<Self> {
        let place = arena.place()?;
        let server = place.server("own", Scenario::modern(), "own.log");
        place.write("home/.config/helve/helve.toml", &format!("{server}\n{RULES}"))?;
        place.write("home/quiet", QUIET)?;
        let token_file = place.root().join("home/quiet");
        // A token that others can read is refused.
        fs_err::set_permissions(&token_file, Permissions::from_mode(0o600))?;
        let token_file = token_file.to_str().context("a path that is text")?;
        let arguments = ["serve", "--http", "0", "--prefix", "server", "--wait", "30s", "--token-file", token_file];
        let mut command: Command = place.command(&arguments);
        let listening = Listening::start(command.env("HELVE_SERVE_TOKEN", HOSTILE))?;
        Ok(Self { _place: place, listening })
    }

    /// Where it listens.
    fn address(&self) -> Result<&str> {
        let address = self.listening.url.strip_prefix("http://").and_then(|url| url.split_once('/'));
        Ok(address.context("an address")?.0)
    }

    fn come(&self, token: &str) -> Result<Client> {
        Client::connect(self.address()?, token)
    }

    /// The quiet one, with a session in which it has called once.
    fn quiet(&self) -> Result<Client> {
        let mut quiet = self.come(QUIET)?;
        quiet.initialize()?;
        call(&mut quiet)?;
        Ok(quiet)
    }
}

/// One call of the quiet one, and how long it took.
fn call(quiet: &mut Client) -> Result<Duration> {
    let started = Instant::now();
    let answer = quiet.request("tools/call", &json!({"name": "own__echo", "arguments": {"x": 1}}))?;
    let took = started.elapsed();
    ensure!(answer["result"]["structuredContent"] == json!({"x": 1}), "the quiet one was refused: {answer}");
    Ok(took)
}

/// Calls for as long as that is wanted, and what all but one in a hundred of them stay within.
fn batch(quiet: &mut Client, while_true: impl Fn(usize) -> bool) -> Result<Duration> {
    let mut times = Vec::new();
    while while_true(times.len()) {
        times.push(call(quiet)?);
    }
    slow(times)
}

/// What all but one in a hundred of these times stay within.
fn slow(mut times: Vec<Duration>) -> Result<Duration> {
    times.sort_unstable();
    let at = (times.len() * 99 / 100).min(times.len().saturating_sub(1));
    times.get(at).copied().context("no calls")
}

fn median(mut times: Vec<Duration>) -> Result<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied().context("no times")
}

/// What is wanted of a figure: a quick run only wants answers.
fn judged(arena: &Arena, time: String) -> String {
    if arena.is_quick { "all answered".to_owned() } else { time }
}

/// The quiet one beside what a hostile one holds, and the same alone.
fn held(arena: &Arena, what: &str, attack: impl FnOnce(&Target) -> Result<Held>) -> Figure {
    let figure = Figure {
        what: format!("quiet principal beside {what}: p99"),
        wanted: judged(arena, format!("≤ {FACTOR} × alone")),
        reached: String::new(),
        holds: false,
    };
    match beside(arena, attack) {
        Ok((beside, alone)) => Figure {
            reached: format!("{beside:.1?}, alone {alone:.1?}"),
            holds: arena.is_quick || beside <= alone.max(NOISE) * FACTOR,
            ..figure
        },
        Err(error) => Figure { reached: format!("{error:#}"), ..figure },
    }
}

fn beside(arena: &Arena, attack: impl FnOnce(&Target) -> Result<Held>) -> Result<(Duration, Duration)> {
    let (target, calm) = (Target::start(arena)?, Target::start(arena)?);
    let mut alone = calm.quiet()?;
    // One that was there before, and one that comes after.
    let mut early = target.quiet()?;
    let held = attack(&target)?;
    let mut late = target.quiet()?;
    let (mut beside_times, mut alone_times) = (Vec::new(), Vec::new());
    for number in 0..BATCHES {
        let quiet = if number % 2 == 0 { &mut early } else { &mut late };
        // By turns, call by call: what the machine does meanwhile slows both.
        let (mut beside_batch, mut alone_batch) = (Vec::new(), Vec::new());
        for _ in 0..BATCH {
            alone_batch.push(call(&mut alone)?);
            beside_batch.push(call(quiet)?);
        }
        alone_times.push(slow(alone_batch)?);
        beside_times.push(slow(beside_batch)?);
    }
    drop(held);
    Ok((median(beside_times)?, median(alone_times)?))
}

/// The quiet one while a hostile one does all it can.
fn flooded(arena: &Arena, what: &str, flood: fn(&str, &hostile::Stop) -> u64) -> Figure {
    let figure = Figure {
        what: format!("quiet principal during a flood of {what}: p99, refused"),
        wanted: judged(arena, format!("≤ {DURING_A_FLOOD:?}, 0")),
        reached: String::new(),
        holds: false,
    };
    match during(arena, flood) {
        Ok((time, alone, sent)) => Figure {
            reached: format!("{time:.1?}, alone {alone:.1?}, 0; {sent} were sent"),
            holds: (arena.is_quick || time <= DURING_A_FLOOD) && sent >= LEAST_FLOOD,
            ..figure
        },
        Err(error) => Figure { reached: format!("{error:#}"), ..figure },
    }
}

fn during(arena: &Arena, flood: fn(&str, &hostile::Stop) -> u64) -> Result<(Duration, Duration, u64)> {
    let target = Target::start(arena)?;
    let mut quiet = target.quiet()?;
    let address = target.address()?;
    let (mut times, mut alone, mut sent) = (Vec::new(), Vec::new(), 0);
    for _ in 0..FLOODS {
        alone.push(batch(&mut quiet, |calls| calls < BATCH)?);
        let stop = hostile::Stop::default();
        let (time, count) = std::thread::scope(|scope| {
            let flooding: Vec<_> = (0..hostile::THREADS).map(|_| scope.spawn(|| flood(address, &stop))).collect();
            let started = Instant::now();
            let time = batch(&mut quiet, |calls| calls < BATCH || started.elapsed() < FLOOD_TIME);
            stop.stop();
            let counts = flooding.into_iter().map(|thread| thread.join().unwrap_or_default());
            (time, counts.sum::<u64>())
        });
        times.push(time?);
        sent += count;
    }
    Ok((median(times)?, median(alone)?, sent))
}

/// What a modern request carries.
fn modern(params: &Value, capabilities: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "attack", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    params
}
