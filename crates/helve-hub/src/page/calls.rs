//! The calls, and one of them.

use helve_page::view::{Bar, Call, CallFilter, Calls, ChainStep, Choice, Decision, Paging, Recorded, TimeSpan};
use helve_store::{Decided, Ended, Moment, Search, Traffic};

use super::rules::without_place;
use super::shown::{row, verdict};
use super::{Fields, field};
use crate::actor::Actor;
use crate::api::search_of;
use crate::error::HubError;
use crate::hub::Hub;
use crate::verbs::calls;

/// So many bars there are.
const BARS: i64 = 60;

/// So many rows an export has.
const EXPORTED: usize = 100_000;

pub(super) fn list(hub: &Hub, query: &Fields) -> Result<Calls, HubError> {
    let now = hub.now();
    let search = search_of(now, query)?;
    let found = calls::search(hub, &Actor::Session, &search)?;
    let traffic = calls::traffic(hub, &Actor::Session, &Search { until: now, ..search.clone() })?;
    let is_live = field(query, "live") == "1";
    let rest: Vec<(&str, &str)> = query
        .iter()
        .filter(|(key, _)| key != "before" && key != "live")
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    let with = |more: &[(&str, &str)]| {
        let mut text = url::form_urlencoded::Serializer::new(String::new());
        text.extend_pairs(rest.iter().chain(more));
        text.finish()
    };
    let older = found.next.map(|next| format!("/calls?{}", with(&[("before", &next.to_string())])));
    let newer = search.before.map(|_| format!("/calls?{}", with(&[])));
    let window = Some(field(query, "window")).filter(|window| !window.is_empty()).unwrap_or("day");
    let said = format!("{} calls", traffic.calls);
    Ok(Calls {
        filter: CallFilter {
            windows: choices(
                &[("hour", "last hour"), ("day", "last day"), ("week", "last week"), ("month", "last month")],
                window,
            ),
            who: field(query, "who").to_owned(),
            agent: field(query, "agent").to_owned(),
            server: field(query, "server").to_owned(),
            tool: field(query, "tool").to_owned(),
            decisions: choices(
                &[("", "any"), ("allow", "allowed"), ("ask", "asked"), ("deny", "denied")],
                field(query, "decision"),
            ),
            ends: choices(
                &[
                    ("", "any"),
                    ("done", "answered"),
                    ("tool_error", "tool error"),
                    ("refused", "refused"),
                    ("failed", "failed"),
                ],
                field(query, "end"),
            ),
        },
        bars: bars(&traffic, search.from, now),
        total: traffic.calls,
        rows: found.calls.iter().map(|call| row(call, now)).collect(),
        paging: Paging { said, newer, older },
        is_live,
        toggle_live: if is_live {
            format!("/calls?{}", with(&[]))
        } else {
            format!("/calls?{}", with(&[("live", "1")]))
        },
        export: format!("/calls/export?{}", with(&[])),
    })
}

fn choices(all: &[(&str, &str)], chosen: &str) -> Vec<Choice> {
    let choice = |(value, label): &(&str, &str)| Choice {
        value: (*value).to_owned(),
        label: (*label).to_owned(),
        help: None,
        is_chosen: *value == chosen,
    };
    all.iter().map(choice).collect()
}

fn bars(traffic: &Traffic, from: Moment, now: Moment) -> Vec<Bar> {
    let (first, last) = (from.minute(), now.minute());
    let width = ((last - first + 1) / BARS).max(1);
    let count = (last - first) / width + 1;
    let mut bars: Vec<Bar> =
        (0..count.clamp(1, 120)).map(|number| Bar { said: clock(first + number * width), ..Bar::default() }).collect();
    for minute in &traffic.minutes {
        let at = usize::try_from((minute.minute - first) / width).unwrap_or_default();
        if let Some(bar) = bars.get_mut(at) {
            bar.refused += minute.refused;
            bar.failed += minute.failed;
            bar.answered += minute.calls.saturating_sub(minute.refused + minute.failed);
        }
    }
    bars
}

fn clock(minute: i64) -> String {
    let stamp = jiff::Timestamp::from_second(minute * 60).unwrap_or_default();
    stamp.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

pub(super) fn one(hub: &Hub, seq: i64) -> Result<Call, HubError> {
    let now = hub.now();
    let found = calls::one(hub, &Actor::Session, seq)?;
    let kept = &found.call;
    let because = kept.rule.as_ref().map(|rule| without_place(hub, rule, None));
    let because = because.unwrap_or_else(|| "it did not come to a decision".to_owned());
    let step =
        |what: &str, said: String, decided: bool| ChainStep { what: what.to_owned(), said, place: None, decided };
    let mut chain = vec![step("who", kept.principal.clone(), false)];
    if kept.decision != Decided::Not {
        chain.push(step(kept.decision.word(), because.clone(), true));
    }
    chain.push(step("end", format!("{} {}", kept.ended.word(), kept.code.clone().unwrap_or_default()), false));
    let again = kept.tool.as_deref().and_then(|tool| tool.split_once('/'));
    Ok(Call {
        row: row(&found, now),
        principal: kept.principal.clone(),
        kind: "tool".to_owned(),
        decision: Decision { verdict: verdict(kept.decision), because, place: None },
        chain,
        times: vec![TimeSpan {
            what: if kept.ended == Ended::Refused { "until it was refused" } else { "until it was answered" }
                .to_owned(),
            us: kept.took,
        }],
        bytes_in: kept.bytes_in,
        digest: None,
        trace: kept.trace.map(|trace| helve_store::hex(&trace)),
        sequence: u64::try_from(found.seq).ok(),
        recorded: recorded(hub, &found),
        again: again
            .map(|(server, tool)| format!("/servers/{}/tools/{}", super::segment(server), super::segment(tool))),
    })
}

/// What was kept of what it sent and got.
fn recorded(hub: &Hub, call: &helve_store::Call) -> Recorded {
    let tree = |text: Option<String>| text.as_deref().map(helve_page::json_tree);
    match calls::body(hub, &Actor::Session, call) {
        Ok(Some(body)) => Recorded {
            arguments: tree(body.arguments),
            result: tree(body.result),
            said: if body.is_cut { "The rest was too long and is not kept." } else { "" }.to_owned(),
        },
        Ok(None) => Recorded {
            said: "Arguments and results are not recorded: the server's entry does not ask for it.".to_owned(),
            ..Recorded::default()
        },
        Err(error) => Recorded { said: error.message().to_owned(), ..Recorded::default() },
    }
}

/// The calls that fit, as lines of JSON.
pub(super) fn export(hub: &Hub, query: &Fields) -> Result<Vec<u8>, HubError> {
    let mut search = Search { limit: 1_000, ..search_of(hub.now(), query)? };
    let mut lines = Vec::new();
    let mut written = 0;
    loop {
        let found = calls::search(hub, &Actor::Session, &search)?;
        for call in &found.calls {
            lines.extend_from_slice(call.to_json().as_str().as_bytes());
            lines.push(b'\n');
        }
        written += found.calls.len();
        match found.next {
            Some(next) if written < EXPORTED => search.before = Some(next),
            _ => return Ok(lines),
        }
    }
}
