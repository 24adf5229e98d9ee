//! Fifty servers: twenty good ones, ten that hang, ten that crash, ten that take five seconds.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use helve::Host;
use helve_model::ServerSpec;
use serde_json::{Value, json};

use super::{Peer, builder, call, children, milliseconds, until};
use crate::report::{Goal, Line};

/// How long a server that says nothing may take.
const HANGING: Duration = Duration::from_secs(8);
const SLOW_MS: u64 = 5_000;

pub(super) async fn run(peer: &Peer) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    let begun = Instant::now();
    let host = builder(servers(peer)?).start().await?;
    until(&host, "the good ones are there", |host| count(host, "good", "connected") == 20).await?;
    let ready = milliseconds(begun.elapsed());
    lines.push(Line::new("fifty: the good are ready, ms", ready, Goal::AtMost(1_500.0), String::new()));
    for number in 0..20 {
        call(&host, &format!("good-{number}/echo"), &json!({})).await?;
    }
    until(&host, "the crashing have failed", |host| count(host, "crashing", "failed (") == 10).await?;
    until(&host, "the slow have joined", |host| count(host, "slow", "connected") == 10).await?;
    let joined = milliseconds(begun.elapsed());
    let goal = Goal::AtMost(SLOW_MS as f64 * 1.1 + 20.0);
    lines.push(Line::new("fifty: the slow have joined, ms", joined, goal, String::new()));
    until(&host, "the hanging have failed", |host| count(host, "hanging", "failed (TIMEOUT") == 10).await?;
    lines.push(shut_down(peer, &host, "fifty: shut down when settled, ms").await?);

    // And at the worst moment: some are being started, some hang, some wait to be tried again.
    let host = builder(servers(peer)?).start().await?;
    until(&host, "the good ones are there", |host| count(host, "good", "connected") == 20).await?;
    lines.push(shut_down(peer, &host, "fifty: shut down in the middle, ms").await?);
    Ok(lines)
}

fn servers(peer: &Peer) -> Result<Vec<ServerSpec>> {
    let many = |kind: &str, count: usize, script: &Value| {
        (0..count).map(|number| peer.server(&format!("{kind}-{number}"), script)).collect::<Result<Vec<_>>>()
    };
    let mut servers = many("good", 20, &json!({}))?;
    servers.extend(many("crashing", 10, &json!({ "exit_at_once": 4 }))?);
    servers.extend(many("slow", 10, &json!({ "start_delay_ms": SLOW_MS }))?);
    let hanging = many("hanging", 10, &json!({ "never_answers": true }))?;
    servers.extend(hanging.into_iter().map(|server| server.with(|spec| spec.startup_timeout = Some(HANGING))));
    Ok(servers)
}

fn count(host: &Host, kind: &str, words: &str) -> usize {
    let reports = host.status();
    let of_kind = |report: &&helve::ServerReport| report.name.as_str().starts_with(kind);
    reports.iter().filter(of_kind).filter(|report| report.status.to_string().starts_with(words)).count()
}

async fn shut_down(peer: &Peer, host: &Host, name: &'static str) -> Result<Line> {
    let living = children(&peer.program)?.len();
    let begun = Instant::now();
    host.shutdown().await;
    let took = milliseconds(begun.elapsed());
    let left = children(&peer.program)?;
    if !left.is_empty() {
        bail!("{} processes are left", left.len());
    }
    Ok(Line::new(name, took, Goal::AtMost(3_000.0), format!("{living} processes")))
}
