//! Many changes: lists that change two hundred times in a second, servers switched and reconnected a thousand times.

use std::time::Duration;

use anyhow::{Result, bail};
use helve_model::ErrorCode;
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::{Peer, builder, call, is_connected, until};
use crate::report::{Goal, Line};
use crate::soak::Holdings;

const CHANGES: usize = 200;
/// The host lists again at most once in this time.
const GAP: Duration = Duration::from_secs(1);
/// Allocators keep some of what was freed.
const MEMORY_ALLOWANCE: f64 = 8e6;

pub(super) async fn flood(peer: &Peer) -> Result<Vec<Line>> {
    let directory = tempfile::tempdir()?;
    let recorded = directory.path().join("recorded");
    let server = peer.server("a", &json!({ "record_to": recorded }))?;
    let host = builder(vec![server]).start().await?;
    until(&host, "the server is there", |host| is_connected(host, "a")).await?;
    let one = json!({ "count": 1, "method": "notifications/tools/list_changed", "params": {} });
    let mut ticks = interval(Duration::from_millis(990) / CHANGES as u32);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for _ in 1..CHANGES {
        ticks.tick().await;
        call(&host, "a/notify", &one).await?;
    }
    // The last one is true: there is one more tool now.
    call(&host, "a/list_changed", &json!({ "kind": "tools" })).await?;
    until(&host, "the new tool is there", |host| host.snapshot().tool("a/added").is_ok()).await?;
    // A third listing would be due by the end of this.
    sleep(GAP * 2).await;
    host.shutdown().await;
    let listings = fs_err::read_to_string(&recorded)?.matches(r#"\"tools/list\""#).count().saturating_sub(1);
    let seen = format!("{CHANGES} changes in a second, the last one seen");
    Ok(vec![Line::new("flood: listings", listings as f64, Goal::AtMost(2.0), seen)])
}

pub(super) async fn toggles(peer: &Peer, cycles: usize) -> Result<Vec<Line>> {
    let host = builder(vec![peer.server("a", &json!({}))?]).start().await?;
    until(&host, "the server is there", |host| is_connected(host, "a")).await?;
    for _ in 0..5 {
        host.reconnect_server("a").await?;
    }
    let before = Holdings::now()?;
    for _ in 0..cycles {
        host.reconnect_server("a").await?;
        host.toggle("a", false)?;
        match call(&host, "a/echo", &json!({})).await {
            Err(error) if error.code() == ErrorCode::ServerDisabled => {}
            other => bail!("a server that is off was called: {other:?}"),
        }
        host.toggle("a", true)?;
        call(&host, "a/echo", &json!({})).await?;
    }
    let seen = Holdings::now()?.check(before, MEMORY_ALLOWANCE)?;
    host.shutdown().await;
    Ok(vec![Line::for_information("toggles and reconnections", cycles as f64, seen)])
}
