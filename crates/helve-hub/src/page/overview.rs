//! The overview: what needs a person, the last hour, the newest calls.

use std::collections::BTreeMap;
use std::time::Duration;

use helve_model::ServerStatus;
use helve_page::view::{BusyTool, ConnectLine, Link, Need, Overview, Series, Tone};
use helve_store::{Ended, Search, Traffic};

use super::segment;
use super::shown::row;
use crate::connect_lines::connect_lines;
use crate::error::HubError;
use crate::hub::Hub;

const HOUR: Duration = Duration::from_secs(3600);
const MINUTES: i64 = 60;
const NEWEST: usize = 20;

pub(super) fn view(hub: &Hub) -> Result<Overview, HubError> {
    let now = hub.now();
    let from = now.before(HOUR);
    let traffic = hub.store.traffic(None, from, now)?;
    let lately = hub.store.search(&Search { from, until: now.after(HOUR), limit: 1_000, ..Search::default() })?;
    let newest = hub.store.search(&Search { until: now.after(HOUR), limit: NEWEST, ..Search::default() })?;
    let mut busy: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for call in &lately.calls {
        if let Some(tool) = &call.call.tool {
            let counted = busy.entry(tool.clone()).or_default();
            counted.0 += 1;
            counted.1 += u64::from(matches!(call.call.ended, Ended::Failed | Ended::ToolError));
        }
    }
    let mut busiest: Vec<BusyTool> = busy
        .into_iter()
        .filter_map(|(name, (calls, errors))| {
            let (server, tool) = name.split_once('/')?;
            Some(BusyTool { server: server.to_owned(), tool: tool.to_owned(), calls, errors })
        })
        .collect();
    busiest.sort_by_key(|tool| std::cmp::Reverse(tool.calls));
    busiest.truncate(5);
    let reports = hub.host().status();
    let on = reports.iter().filter(|report| !matches!(report.status, ServerStatus::Disabled(_)));
    let first = now.minute() - MINUTES + 1;
    let series = |total: u64, of: fn(&helve_store::Minute) -> u64| points(&traffic, first, total, of);
    let connect = connect_lines(&hub.options.address, None).into_iter();
    Ok(Overview {
        needs: needs(hub),
        ready: reports.iter().filter(|report| report.status == ServerStatus::Connected).count() as u64,
        servers: on.count() as u64,
        calls: series(traffic.calls, |minute| minute.calls),
        refused: series(traffic.refused, |minute| minute.refused),
        errors: series(traffic.failed, |minute| minute.failed),
        p95_us: Series { total: traffic.took_at_most(0.95).unwrap_or_default(), points: Vec::new() },
        busiest,
        newest: newest.calls.iter().map(|call| row(call, now)).collect(),
        connect: connect
            .map(|line| ConnectLine {
                application: line.application.to_owned(),
                line: line.line,
                place: line.place.to_owned(),
            })
            .collect(),
    })
}

/// Calls minute by minute, those without any included.
pub(super) fn points(traffic: &Traffic, first: i64, total: u64, of: fn(&helve_store::Minute) -> u64) -> Series {
    let known: BTreeMap<i64, u64> = traffic.minutes.iter().map(|minute| (minute.minute, of(minute))).collect();
    let points = (first..first + MINUTES).map(|minute| known.get(&minute).copied().unwrap_or_default());
    Series { total, points: points.collect() }
}

fn needs(hub: &Hub) -> Vec<Need> {
    let mut needs = Vec::new();
    let waiting = hub.approvals.open();
    if waiting > 0 {
        let what = if waiting == 1 { "a call waits".to_owned() } else { format!("{waiting} calls wait") };
        let link = Link { href: "/approvals".to_owned(), text: "Answer".to_owned() };
        needs.push(Need { tone: Tone::Warn, what: format!("{what} for an answer"), detail: None, link });
    }
    let health = hub.store.health();
    let to_hub = || Link { href: "/hub".to_owned(), text: "Hub".to_owned() };
    if health.lost > 0 {
        let what = format!("{} calls were not recorded", health.lost);
        needs.push(Need { tone: Tone::Bad, what, detail: health.trouble.clone(), link: to_hub() });
    }
    if !health.is_in_place {
        let what = "the store's file was deleted or replaced: nothing that is recorded now is kept".to_owned();
        needs.push(Need { tone: Tone::Bad, what, detail: None, link: to_hub() });
    }
    for report in hub.host().status() {
        let name = report.name.as_str();
        let link = |text: &str| Link { href: format!("/servers/{}", segment(name)), text: format!("{text} {name}") };
        let need = match &report.status {
            ServerStatus::Failed(failure) => Need {
                tone: Tone::Bad,
                what: format!("{name} is down"),
                detail: Some(failure.message.clone()),
                link: link("Look at"),
            },
            ServerStatus::NeedsAuth { .. } => {
                Need { tone: Tone::Warn, what: format!("{name} wants a login"), detail: None, link: link("Sign in to") }
            }
            ServerStatus::Disabled(helve_model::DisabledReason::Untrusted) => Need {
                tone: Tone::Warn,
                what: format!("{name} waits to be trusted"),
                detail: None,
                link: link("Look at"),
            },
            _ => continue,
        };
        needs.push(need);
    }
    needs
}
