//! A server is killed with a hundred calls on their way.

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use helve::{CallContext, Host};
use helve_model::ErrorCode;
use helve_model::json::RawJson;
use helve_policy::Caller;
use serde_json::json;
use tokio::sync::mpsc;

use super::{Peer, builder, call, children, is_connected, milliseconds, until};
use crate::report::{Goal, Line};
use crate::stats::median;

const IN_FLIGHT: usize = 100;
const ROUNDS: usize = 10;
/// The first wait of the back-off with its jitter.
const BACK_OFF_MS: f64 = 625.0;
/// What a start takes, on top of the wait.
const START_MS: f64 = 150.0;

pub(super) async fn run(peer: &Peer) -> Result<Vec<Line>> {
    let (mut told, mut back) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        // A host of its own: waits grow when a server breaks again and again.
        let host = builder(vec![peer.server("a", &json!({}))?]).start().await?;
        until(&host, "the server is there", |host| is_connected(host, "a")).await?;
        let (round_told, round_back) = round(peer, &host).await?;
        told.push(round_told);
        back.push(round_back);
        host.shutdown().await;
    }
    let seen = format!("median {:.1} of {ROUNDS} rounds, {IN_FLIGHT} calls each", median(&mut told));
    let worst = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
    let again = format!("median {:.1}", median(&mut back));
    Ok(vec![
        Line::new("killed: last error after, ms, worst", worst(&told), Goal::AtMost(100.0), seen),
        Line::new("killed: next answer after, ms, worst", worst(&back), Goal::AtMost(BACK_OFF_MS + START_MS), again),
    ])
}

async fn round(peer: &Peer, host: &Host) -> Result<(f64, f64)> {
    let (begun, mut has_begun) = mpsc::unbounded_channel();
    let mut calls: FuturesUnordered<_> = (0..IN_FLIGHT)
        .map(|_| {
            let (host, begun) = (host.clone(), begun.clone());
            let mut context = CallContext::new(Caller::Script);
            // Whoever waits for it may have gone.
            context.on_progress = Some(Arc::new(move |_| begun.send(()).unwrap_or_default()));
            let endless = RawJson::assembled(json!({ "steps": 2, "delay_ms": 600_000 }).to_string());
            tokio::spawn(async move { host.call("a/progress", endless, context).await })
        })
        .collect();
    for _ in 0..IN_FLIGHT {
        has_begun.recv().await.context("no call has begun")?;
    }
    let processes = children(&peer.program)?;
    let [process] = processes.as_slice() else { bail!("one server, and {} processes", processes.len()) };
    let killing = Instant::now();
    if !Command::new("kill").args(["-9", process]).status()?.success() {
        bail!("the server could not be killed");
    }
    while let Some(ended) = calls.next().await {
        match ended? {
            Err(error) if error.code() == ErrorCode::TransportError => {}
            other => bail!("a call ended otherwise: {other:?}"),
        }
    }
    let told = milliseconds(killing.elapsed());
    call(host, "a/echo", &json!({})).await?;
    Ok((told, milliseconds(killing.elapsed())))
}
