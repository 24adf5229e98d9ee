//! Owns `cargo xtask bench hub`: what a hub costs beside `helve serve`, and how its page does with a full store and many servers.

mod approvals;
mod calls;
mod page;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use helve_store::{Decided, Ended, Moment, NewCall, Search, Store};
use serde_json::{Value, json};
use xtask::table;

use crate::hub_stage::HubHome;
use crate::programs::{Profile, build, build_unless};

/// Calls that wait for the store are at most so many: none may be lost.
const WAITING: u64 = 20_000;

/// The hub: a call beside `helve serve`, the page with 50 servers, 10,000 tools and 2,000,000 recorded calls under load, calls
/// that wait for a person
///
/// Fails when a goal is missed. Times say little on a machine that does something else.
#[derive(Debug, Args)]
pub(crate) struct Hub {
    /// The program to measure, instead of one that is built for it
    #[arg(long, value_name = "FILE")]
    helve: Option<PathBuf>,
    /// The echo server behind it, instead of one that is built for it
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// The benchmark that counts instructions, instead of one that is built for it
    #[arg(long, value_name = "FILE")]
    counter: Option<PathBuf>,
    /// Calls that are stored before the page is looked at
    #[arg(long, value_name = "N", default_value_t = 2_000_000)]
    calls: u64,
    /// Only this: calls, page, approvals
    #[arg(long, value_name = "MEASURE")]
    only: Option<String>,
    /// End with one line of JSON: {"measures": [{"name", "value", "goal", "met"}]}
    #[arg(long)]
    json: bool,
}

/// One measure and its goal.
pub(super) struct Figure {
    what: String,
    value: f64,
    at_most: f64,
    seen: String,
}

impl Figure {
    pub(super) fn new(what: &str, value: f64, at_most: f64, seen: impl Into<String>) -> Self {
        Self { what: what.to_owned(), value, at_most, seen: seen.into() }
    }
}

impl Hub {
    pub(super) fn run(&self, root: &Path) -> Result<()> {
        let helve = match &self.helve {
            // It is started from elsewhere.
            Some(helve) => helve.canonicalize().with_context(|| format!("there is no {}", helve.display()))?,
            None => build(root, "helve-cli", Profile::Release, &["helve"])?.remove(0),
        };
        let server = build_unless(self.server.as_deref(), root, "xtask", "xtask-echo-server")?;
        let wants = |name: &str| self.only.as_deref().is_none_or(|only| only == name);
        let mut figures = Vec::new();
        if wants("calls") {
            figures.extend(calls::measure(&helve, &server)?);
        }
        if wants("page") {
            figures.extend(page::measure(&helve, &server, self.calls)?);
        }
        if wants("approvals") {
            figures.extend(approvals::measure(root, &helve, &server, self.counter.as_deref())?);
        }
        tell(&figures, self.json)
    }
}

fn tell(figures: &[Figure], as_json: bool) -> Result<()> {
    let rows: Vec<Vec<String>> = figures
        .iter()
        .map(|figure| {
            let met = if figure.value <= figure.at_most { "met" } else { "MISSED" };
            vec![
                figure.what.clone(),
                format!("{:.2}", figure.value),
                format!("<= {}", figure.at_most),
                met.to_owned(),
                figure.seen.clone(),
            ]
        })
        .collect();
    say(&table::render(&["measure", "value", "goal", "", "seen"], &["value"], &rows));
    if as_json {
        let line = |figure: &Figure| {
            json!({
                "name": figure.what, "value": figure.value, "goal": figure.at_most, "met": figure.value <= figure.at_most,
            })
        };
        say(&json!({ "measures": figures.iter().map(line).collect::<Vec<Value>>() }).to_string());
    }
    let missed = figures.iter().filter(|figure| figure.value > figure.at_most).count();
    ensure!(missed == 0, "{missed} goals were missed");
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the table is the data of a benchmark")]
fn say(text: &str) {
    println!("{text}");
}

/// The value of which so many of a hundred are not larger.
fn percentile(values: &mut [f64], hundredths: usize) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let rank = (values.len() * hundredths).div_ceil(100).saturating_sub(1);
    values.get(rank).copied().unwrap_or(f64::NAN)
}

/// Fills a hub's store with calls of the last day, as many agents would. Gives the bytes of one, and how long a filter takes
/// over all of them.
fn fill(home: &HubHome, count: u64) -> Result<(f64, Duration)> {
    let store = Store::open(&home.store(), |_| {})?;
    let begin = SystemTime::now() - Duration::from_secs(23 * 3600);
    let step = Duration::from_secs(23 * 3600).as_micros() as u64 / count.max(1);
    for number in 0..count {
        while number % 1_000 == 0 && store.health().waiting > WAITING {
            std::thread::sleep(Duration::from_millis(1));
        }
        let server = number % 50;
        store.record(Box::new(NewCall {
            at: Moment::from(begin + Duration::from_micros(number * step)),
            host: "c1-00000000000000aa".to_owned(),
            number,
            principal: format!("token:agent-{}", number % 40),
            agent: Some(format!("claude-code 2.{}", number % 7)),
            door: 5,
            server: Some(format!("s{server}")),
            tool: Some(format!("s{server}/tool_{}", number % 200)),
            decision: Decided::Allow,
            rule: Some("rule `s*/*` (allow, user layer) at helve.toml:3:1".to_owned()),
            ended: if number % 97 == 0 { Ended::Failed } else { Ended::Done },
            took: 400 + number % 9_000,
            attempts: 1,
            bytes_in: 120 + number % 500,
            bytes_out: 900 + number % 40_000,
            ..NewCall::default()
        }));
    }
    // Whatever the writer does is done after what waits.
    store.tokens_used(Vec::new())?;
    let health = store.health();
    ensure!(health.lost == 0, "{} calls found no room", health.lost);
    let sizes = store.sizes()?;
    #[expect(clippy::cast_precision_loss, reason = "bytes of a file")]
    let bytes = sizes.bytes as f64 / count as f64;
    let day = Search {
        from: Moment::from(begin),
        until: Moment::from(SystemTime::now()),
        principal: Some("token:agent-3".to_owned()),
        ended: Some(Ended::Failed),
        limit: 100,
        ..Search::default()
    };
    let mut slowest = Duration::ZERO;
    for _ in 0..5 {
        let started = Instant::now();
        let found = store.search(&day)?;
        slowest = slowest.max(started.elapsed());
        if found.calls.is_empty() && found.next.is_none() {
            bail!("the filter finds nothing");
        }
    }
    Ok((bytes, slowest))
}

/// A configuration with so many servers of so many tools each.
fn configuration(server: &Path, servers: usize, tools: usize) -> String {
    let entry = |number: usize| {
        let arguments = json!(["stdio", "--tools", tools.to_string()]);
        format!("[servers.s{number}]\ncommand = {}\nargs = {arguments}\n\n", json!(server))
    };
    let servers: String = (0..servers).map(entry).collect();
    format!("{servers}[[rules]]\ntool = \"*/*\"\naction = \"allow\"\n")
}

/// A number of the kernel about a process: `VmRSS` in MB, or processor time in seconds.
fn resident(process: u32) -> Result<f64> {
    let text = fs_err::read_to_string(format!("/proc/{process}/smaps_rollup"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:")).unwrap_or_default();
    Ok(line.split_whitespace().next().unwrap_or_default().parse::<f64>()? / 1e3)
}

/// Memory of a process that no file stands behind, in KB.
fn anonymous(process: u32) -> Result<f64> {
    let text = fs_err::read_to_string(format!("/proc/{process}/smaps_rollup"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Anonymous:")).unwrap_or_default();
    Ok(line.split_whitespace().next().unwrap_or_default().parse()?)
}

fn processor(process: u32) -> Result<f64> {
    let stat = fs_err::read_to_string(format!("/proc/{process}/stat"))?;
    let fields: Vec<&str> =
        stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
    Ok((ticks(11) + ticks(12)) / 100.0)
}
