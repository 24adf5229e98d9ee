//! Small calls of an agent over HTTP, to the same server through `helve serve` and through a hub: with a token, rules, a
//! record and metrics.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;

use super::{Figure, configuration, percentile, processor, resident};
use crate::attack::client::Client;
use crate::hub_stage::HubHome;
use crate::listening::Listening;

/// Rounds, each of so many calls one after the other, and of so long with many at once.
const ROUNDS: usize = 5;
const CALLS: usize = 2_000;
const LOADED: Duration = Duration::from_secs(2);
const IN_FLIGHT: usize = 32;

/// What one round of one gateway took: a call in µs, and processor µs of the gateway for a call under load.
struct Round {
    call: f64,
    processor: f64,
}

pub(super) fn measure(helve: &Path, server: &Path) -> Result<Vec<Figure>> {
    let home = HubHome::new(helve, &configuration(server, 1, 1))?;
    let hub = home.start(&[])?;
    let token = home.ask(&["token", "make", "bench"])?;
    let mut command = home.command(&["serve", "--http", "127.0.0.1:0"]);
    let serve = Listening::start(&mut command)?;
    let address = serve.url.strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp")).context("an address")?;
    let (mut hubs, mut serves) = (Vec::new(), Vec::new());
    // In turn, so that what the machine does meanwhile happens to both.
    for _ in 0..ROUNDS {
        serves.push(round(address, "", serve.id())?);
        hubs.push(round(&hub.address, &token, hub.id())?);
    }
    let ratio = |of: fn(&Round) -> f64| {
        let mut ratios: Vec<f64> = hubs.iter().zip(&serves).map(|(hub, serve)| of(hub) / of(serve)).collect();
        percentile(&mut ratios, 50)
    };
    let median =
        |rounds: &[Round], of: fn(&Round) -> f64| percentile(&mut rounds.iter().map(of).collect::<Vec<_>>(), 50);
    let seen = |of: fn(&Round) -> f64| format!("hub {:.1} µs, serve {:.1} µs", median(&hubs, of), median(&serves, of));
    let call: fn(&Round) -> f64 = |round| round.call;
    let used: fn(&Round) -> f64 = |round| round.processor;
    Ok(vec![
        Figure::new("call HTTP to stdio, p50 / serve", ratio(call), 1.15, seen(call)),
        Figure::new("processor time a call, 32 in flight / serve", ratio(used), 1.3, seen(used)),
        Figure::new("resident MB after it", resident(hub.id())?, 60.0, ""),
    ])
}

fn round(address: &str, token: &str, process: u32) -> Result<Round> {
    let mut agent = Client::connect(address, token)?;
    agent.initialize()?;
    let call = json!({ "name": "s0__echo", "arguments": { "text": "bench", "path": "/srv" } });
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let started = Instant::now();
        agent.request("tools/call", &call)?;
        times.push(started.elapsed().as_secs_f64() * 1e6);
    }
    let (before, answered) = (processor(process)?, Arc::new(AtomicU64::new(0)));
    let until = Instant::now() + LOADED;
    let threads: Vec<_> = (0..IN_FLIGHT)
        .map(|_| {
            let (mut agent, call, answered) = (agent.again()?, call.clone(), Arc::clone(&answered));
            Ok(std::thread::spawn(move || {
                while Instant::now() < until && agent.request("tools/call", &call).is_ok() {
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            }))
        })
        .collect::<Result<_>>()?;
    for thread in threads {
        drop(thread.join());
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of calls")]
    let calls = answered.load(Ordering::Relaxed).max(1) as f64;
    let used = (processor(process)? - before) * 1e6 / calls;
    Ok(Round { call: percentile(&mut times, 50), processor: used })
}
