//! A thousand subscriptions and a thousand polls at twenty servers of both eras, for a minute in which nothing changes;
//! then everything changes.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::Result;
use helve::{DEFAULT_INTERVAL, WatchChange, Watcher};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::{PATIENCE, Peer, builder, call, is_connected, until};
use crate::memory::resident;
use crate::processor;
use crate::report::{Goal, Line};

const SERVERS: usize = 20;
/// Of each kind, at each server.
const WATCHES: usize = 50;
const QUIET: Duration = Duration::from_secs(60);
/// Until allocators have what they need, and every poll has been made.
const SETTLING: Duration = Duration::from_secs(10);

pub(super) async fn run(peer: &Peer) -> Result<Vec<Line>> {
    let names: Vec<String> = (0..SERVERS).map(|number| format!("s{number}")).collect();
    let era = |number: usize| if number.is_multiple_of(2) { "legacy" } else { "modern" };
    let servers = names.iter().enumerate().map(|(number, name)| peer.server(name, &json!({ "era": era(number) })));
    let host = builder(servers.collect::<Result<_>>()?).start().await?;
    until(&host, "all servers are there", |host| names.iter().all(|name| is_connected(host, name))).await?;

    let watcher = host.watcher();
    let mut wanted = HashSet::new();
    for name in &names {
        for number in 0..WATCHES {
            wanted.insert(watcher.subscribe(name, &format!("test://item/{number}"), "").await?);
            wanted.insert(watcher.poll_resource(name, "test://watched", DEFAULT_INTERVAL, "").await?.0);
        }
    }
    sleep(SETTLING).await;
    let (memory, cpu, polls) = (resident()?, processor::own()?, polls(&watcher));
    sleep(QUIET).await;
    let grown = (resident()? - memory) / 1e6;
    let busy = 100.0 * (processor::own()? - cpu) / QUIET.as_secs_f64();
    let polled = self::polls(&watcher) - polls;
    let false_alarms = std::iter::from_fn(|| watcher.try_next()).count();

    let begun = Instant::now();
    for name in &names {
        for number in 0..WATCHES {
            call(&host, &format!("{name}/touch"), &json!({ "uri": format!("test://item/{number}") })).await?;
        }
    }
    let mut missed = wanted;
    while !missed.is_empty() {
        let Ok(event) = timeout(PATIENCE, watcher.next()).await else { break };
        if matches!(event.change, WatchChange::Updated(_) | WatchChange::Content(_)) {
            missed.remove(&event.id);
        }
    }
    let seen = format!("{} watches, all heard of within {:.1} s", 2 * SERVERS * WATCHES, begun.elapsed().as_secs_f64());
    host.shutdown().await;
    Ok(vec![
        Line::new(
            "watches: CPU when nothing changes, %",
            busy,
            Goal::AtMost(5.0),
            format!("{polled} polls in a minute"),
        ),
        Line::new("watches: memory grown, MB", grown, Goal::AtMost(2.0), format!("from {:.1} MB", memory / 1e6)),
        Line::new("watches: events without a change", false_alarms as f64, Goal::AtMost(0.0), String::new()),
        Line::new("watches: changes missed", missed.len() as f64, Goal::AtMost(0.0), seen),
    ])
}

fn polls(watcher: &Watcher) -> u64 {
    watcher.reports().iter().map(|report| report.polls).sum()
}
