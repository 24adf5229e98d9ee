//! The page with many servers, many tools and many recorded calls, while agents call; what a hub holds, and how it starts.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use super::{Figure, configuration, fill, percentile, resident};
use crate::attack::client::Client;
use crate::hub_stage::{HubHome, RunningHub};

const SERVERS: usize = 50;
const TOOLS: usize = 200;
const AGENTS: usize = 1_000;

/// Calls a second while the page is looked at, by so many agents.
const CALLS_A_SECOND: u64 = 500;
const CALLERS: u64 = 5;

/// How often each page is loaded.
const LOADS: usize = 60;

const PAGES: &[&str] = &[
    "/",
    "/servers",
    "/servers/s7",
    "/calls",
    "/calls?server=s7&end=failed",
    "/calls/1000",
    "/tokens",
    "/changes",
    "/hub",
];

pub(super) fn measure(helve: &Path, server: &Path, calls: u64) -> Result<Vec<Figure>> {
    let mut figures = idle(helve, server)?;
    let home = HubHome::new(helve, &configuration(server, SERVERS, TOOLS))?;
    let (bytes, filter) = fill(&home, calls)?;
    figures.push(Figure::new("bytes a recorded call", bytes, 160.0, format!("{calls} calls, both indexes")));
    let filter = filter.as_secs_f64() * 1e3;
    figures.push(Figure::new("filter over 24 h, ms", filter, 50.0, "slowest of 5, by token and end"));
    let started = Instant::now();
    let hub = home.start(&[])?;
    let answered = hub.connect().request("GET", "/readyz", &[], b"")?;
    let start = started.elapsed().as_secs_f64() * 1e3;
    figures.push(Figure::new("start to first answer, ms", start, 60.0, format!("with {calls} calls stored")));
    ensure!(answered.status == 200, "the hub is not ready");
    let cookie = cookie(&hub)?;
    wait_for_servers(&hub, &cookie)?;
    let stops = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..CALLERS).map(|_| caller(&hub, &stops)).collect::<Result<_>>()?;
    let (mut times, mut largest, mut visit) = (Vec::new(), (0, ""), 0);
    let mut browser = hub.connect();
    for round in 0..LOADS {
        for path in PAGES {
            let started = Instant::now();
            let page = browser.request("GET", path, &[("cookie", &cookie)], b"")?;
            times.push(started.elapsed().as_secs_f64() * 1e3);
            ensure!(page.status == 200, "{path} answers {}", page.status);
            if page.body.len() > largest.0 {
                largest = (page.body.len(), path);
            }
            if round == 0 && *path == "/" {
                visit = gzipped(&page.body)?;
                for asset in assets(&page.text()) {
                    visit += gzipped(&browser.request("GET", &asset, &[], b"")?.body)?;
                }
            }
        }
    }
    stops.store(true, Ordering::Relaxed);
    for caller in callers {
        drop(caller.join());
    }
    let count = format!("{} pages while {CALLS_A_SECOND} calls a second run", times.len());
    figures.push(Figure::new("page, p50 ms", percentile(&mut times, 50), 5.0, count));
    figures.push(Figure::new("page, p99 ms", percentile(&mut times, 99), 20.0, ""));
    #[expect(clippy::cast_precision_loss, reason = "kilobytes")]
    let kilobytes = |bytes: usize| bytes as f64 / 1e3;
    figures.push(Figure::new("largest page, KB", kilobytes(largest.0), 60.0, largest.1));
    figures.push(Figure::new("first visit with all assets, gzipped KB", kilobytes(visit), 45.0, ""));
    figures.push(revoked(&home, &hub)?);
    Ok(figures)
}

/// What a hub holds with one server: alone, and with many agents that stay.
fn idle(helve: &Path, server: &Path) -> Result<Vec<Figure>> {
    let home = HubHome::new(helve, &configuration(server, 1, 1))?;
    let hub = home.start(&[])?;
    let mut agent = Client::connect(&hub.address, "")?;
    agent.initialize()?;
    agent.request("tools/call", &json!({ "name": "s0__echo", "arguments": { "text": "a", "path": "/" } }))?;
    let idle = resident(hub.id())?;
    let mut agents = Vec::new();
    for _ in 0..AGENTS {
        let mut agent = Client::connect(&hub.address, "")?;
        agent.initialize()?;
        agents.push(agent);
    }
    let held = resident(hub.id())?;
    drop(agents);
    Ok(vec![
        Figure::new("resident MB, idle", idle, 20.0, "one server, one agent"),
        Figure::new("resident MB, 1,000 agents", held, 60.0, ""),
    ])
}

/// From the word that a token counts no more to the end of its stream and the refusal of its next request.
fn revoked(home: &HubHome, hub: &RunningHub) -> Result<Figure> {
    let admin = home.ask(&["token", "make", "admin", "--admin"])?;
    let token = home.ask(&["token", "make", "revoked"])?;
    let mut agent = Client::connect(&hub.address, &token)?;
    agent.initialize()?;
    let mut stream = agent.again()?;
    stream.listen()?;
    let started = Instant::now();
    let bearer = format!("Bearer {admin}");
    let path = "/api/v1/tokens/revoked";
    let answer = hub.connect().request("DELETE", path, &[("authorization", &bearer)], b"")?;
    ensure!((200..300).contains(&answer.status), "the token was not revoked: {}", answer.text());
    ensure!(stream.event().is_err(), "the stream goes on");
    let refused = agent.again()?.request("ping", &json!({}));
    ensure!(refused.is_err() || refused.is_ok_and(|answer| answer.get("result").is_none()), "the token still counts");
    Ok(Figure::new("revoked token refused, ms", started.elapsed().as_secs_f64() * 1e3, 1_000.0, "its open stream, too"))
}

fn cookie(hub: &RunningHub) -> Result<String> {
    let reply = hub.connect().request("GET", &hub.link, &[], b"")?;
    let cookie = reply.header("set-cookie").and_then(|cookie| cookie.split(';').next()).map(ToOwned::to_owned);
    cookie.ok_or_else(|| anyhow::anyhow!("the link does not sign in: {}", reply.status))
}

fn wait_for_servers(hub: &RunningHub, cookie: &str) -> Result<()> {
    let started = Instant::now();
    loop {
        let page = hub.connect().request("GET", "/", &[("cookie", cookie)], b"")?.text();
        if page.contains(&format!("{SERVERS} of {SERVERS} servers are ready")) {
            return Ok(());
        }
        ensure!(started.elapsed() < Duration::from_secs(120), "the servers do not come");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn caller(hub: &RunningHub, stops: &Arc<AtomicBool>) -> Result<std::thread::JoinHandle<()>> {
    let mut agent = Client::connect(&hub.address, "")?;
    agent.path = "/s/s3/mcp".to_owned();
    agent.initialize()?;
    let stops = Arc::clone(stops);
    let pause = Duration::from_micros(1_000_000 * CALLERS / CALLS_A_SECOND);
    let call = json!({ "name": "echo", "arguments": { "text": "load", "path": "/" } });
    Ok(std::thread::spawn(move || {
        let mut next = Instant::now();
        while !stops.load(Ordering::Relaxed) {
            next += pause;
            if agent.request("tools/call", &call).is_err() {
                return;
            }
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
    }))
}

/// What a page loads besides itself.
fn assets(page: &str) -> Vec<String> {
    let mut found: Vec<String> = page
        .split('"')
        .filter(|part| part.starts_with("/assets/"))
        .map(|part| part.split('#').next().unwrap_or(part).to_owned())
        .collect();
    found.sort();
    found.dedup();
    found
}

fn gzipped(bytes: &[u8]) -> Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len())
}
