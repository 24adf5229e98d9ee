//! The servers, and one of them.

use std::time::Duration;

use helve_model::text::cut;
use helve_model::{DisabledReason, PendingReason, ServerStatus, TransportSpec};
use helve_page::view::{
    Decision, DefinitionChange, ImportRow, LogLine, Mark, Paging, Pin, Sandbox, Series, Server, ServerHead, ServerRow,
    Servers, SignIn, Status, Tab, Tone, ToolRow, Verdict,
};
use helve_policy::Caller;
use helve_store::Search;

use super::shown::{moment, row};
use super::{Fields, field, overview, rules, settings, trust};
use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::{Hub, definition_tokens};
use crate::verbs::servers::{self, ServerInfo};
use crate::verbs::{add, pins, sign_in};
use helve_model::Definition as _;

/// So many characters of a description are shown in the table of tools.
const DESCRIPTION: usize = 160;

const HOUR: Duration = Duration::from_secs(3600);
const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);

/// So many rows are shown.
const ROWS: usize = 100;

/// So many lines of a log.
const LINES: usize = 500;

pub(super) fn list(hub: &Hub, filter: &str) -> Result<Servers, HubError> {
    let all = servers::list(hub, &Actor::Session);
    let now = hub.now();
    let (servers, tools) = (all.len() as u64, all.iter().map(|info| info.report.tools as u64).sum());
    let tokens = all.iter().map(|info| info.tokens).sum();
    let wanted: Vec<ServerInfo> = all.into_iter().filter(|info| info.report.name.as_str().contains(filter)).collect();
    let said = if wanted.len() > ROWS { format!("{ROWS} of {}", wanted.len()) } else { String::new() };
    let mut rows = Vec::new();
    for info in wanted.iter().take(ROWS) {
        let name = info.report.name.as_str();
        let traffic = hub.store.traffic(Some(name), now.before(HOUR), now)?;
        let calls: Series = overview::points(&traffic, now.minute() - 59, traffic.calls, |minute| minute.calls);
        rows.push(ServerRow {
            name: name.to_owned(),
            status: status(info),
            transport: transport(info),
            era: info.report.protocol_version.clone(),
            sandbox: info.sandbox.as_deref().map(sandbox),
            tools: info.report.tools as u64,
            tokens: info.tokens,
            calls,
            // Where the status says why, nothing is said twice.
            last_error: info.report.last_error.clone().filter(|_| info.reason().is_none()),
            locked: info.locked.clone(),
            origin: info.origin.clone(),
        });
    }
    Ok(Servers {
        filter: filter.to_owned(),
        rows,
        paging: Paging { said, newer: None, older: None },
        servers,
        tools,
        tokens,
        locked: None,
        untrusted: Vec::new(),
        imports: Vec::new(),
    })
}

/// The list with what can be added to it.
pub(super) fn page(hub: &Hub, filter: &str) -> Result<Servers, HubError> {
    Ok(Servers { untrusted: trust::waiting(hub), imports: imports(hub), ..list(hub, filter)? })
}

pub(super) fn one(hub: &Hub, name: &str, tab: &str, query: &Fields) -> Result<Server, HubError> {
    let info = servers::get(hub, &Actor::Session, name)?;
    let tab = match tab {
        "settings" if field(query, "as") == "text" => Tab::Settings(settings::text(hub, name, None, Vec::new())?),
        "settings" => Tab::Settings(settings::form(hub, name)?),
        "log" => log(&info),
        "calls" => calls(hub, name, query)?,
        _ => tools(hub, name, field(query, "q"))?,
    };
    Ok(Server { head: head(hub, &info), tab })
}

/// A tab with something else than what is in the file.
pub(super) fn with_tab(hub: &Hub, name: &str, tab: Tab) -> Result<Server, HubError> {
    Ok(Server { head: head(hub, &servers::get(hub, &Actor::Session, name)?), tab })
}

fn imports(hub: &Hub) -> Vec<ImportRow> {
    let row = |(name, application, file): (String, &'static str, String)| ImportRow {
        typed: format!("{}{name}", add::IMPORT),
        name,
        application: application.to_owned(),
        file,
    };
    add::imports(hub).into_iter().map(row).collect()
}

/// Its login, for a server that has one.
fn login(hub: &Hub, info: &ServerInfo) -> Option<SignIn> {
    let name = info.report.name.as_str();
    let facts = sign_in::facts(hub, &Actor::Session, name).ok()??;
    let wants = matches!(info.report.status, ServerStatus::NeedsAuth { .. });
    match facts {
        Some(facts) if !wants => {
            let mut said = Vec::new();
            said.extend(facts.account.as_ref().map(|account| format!("as {account}")));
            said.extend(facts.issuer.as_ref().map(|issuer| format!("at {issuer}")));
            said.push(if facts.renewable { "renewed by itself".to_owned() } else { "until it ends".to_owned() });
            Some(SignIn { is_signed_in: true, said: said.join(", "), provider: None, page: None })
        }
        _ if wants => {
            let said = "The server wants to know who you are.".to_owned();
            Some(SignIn { is_signed_in: false, said, provider: None, page: None })
        }
        _ => None,
    }
}

/// The command line or the address, as it is written.
fn target(hub: &Hub, name: &str) -> String {
    let snapshot = hub.host().snapshot();
    let Some(entry) = snapshot.server(name) else { return String::new() };
    match &entry.spec().transport {
        TransportSpec::Stdio(stdio) => stdio.written().collect::<Vec<_>>().join(" "),
        TransportSpec::Http(http) => http.url.written().to_owned(),
        TransportSpec::Builtin(_) => "comes with helve".to_owned(),
    }
}

pub(super) fn head(hub: &Hub, info: &ServerInfo) -> ServerHead {
    let report = &info.report;
    let version = report.server_info.as_ref().map(|said| {
        let part = |key: &str| said.member_str(key).unwrap_or_default();
        format!("{} {}", part("name"), part("version")).trim().to_owned()
    });
    ServerHead {
        name: report.name.to_string(),
        title: report.server_info.as_ref().and_then(|said| said.member_str("title")),
        status: status(info),
        history: Vec::new(),
        transport: transport(info),
        target: target(hub, report.name.as_str()),
        era: report.protocol_version.clone(),
        version,
        sandbox: info.sandbox.as_deref().map(sandbox),
        origin: info.origin.clone(),
        locked: info.locked.clone(),
        is_on: !matches!(report.status, ServerStatus::Disabled(_)),
        sign_in: login(hub, info),
        changed_tools: hub
            .host()
            .snapshot()
            .server(report.name.as_str())
            .map_or(0, |entry| entry.all_tools().filter(|tool| tool.is_unpinned()).count() as u64),
    }
}

fn tools(hub: &Hub, name: &str, filter: &str) -> Result<Tab, HubError> {
    let now = hub.now();
    let recent = hub.store.search(&Search {
        from: now.before(MONTH),
        until: now.after(HOUR),
        server: Some(name.to_owned()),
        limit: 1_000,
        ..Search::default()
    })?;
    let snapshot = hub.host().snapshot();
    let entries = snapshot.server(name).map(|entry| entry.all_tools().cloned().collect::<Vec<_>>()).unwrap_or_default();
    let pinned = pins::pinned(hub, name)?;
    let fits = |tool: &&std::sync::Arc<helve::ToolEntry>| tool.name().tool.as_str().contains(filter);
    let all = entries.iter().filter(fits).count();
    let rows = entries.iter().filter(fits).take(ROWS).map(|tool| {
        let full = tool.name().to_string();
        let of_tool = || recent.calls.iter().filter(|call| call.call.tool.as_deref() == Some(full.as_str()));
        let foreseen = tool.policy().foresee(Caller::Agent);
        let decision = match &foreseen {
            Some((action, ground)) => rules::decided(hub, *action, &ground.decider),
            None => Decision { verdict: Verdict::Ask, because: "it depends on the arguments".to_owned(), place: None },
        };
        let view = tool.view();
        ToolRow {
            name: tool.name().tool.to_string(),
            title: view.title.clone(),
            // The tool's own page has all of it.
            description: view.description.as_deref().map(|text| cut(text, DESCRIPTION).into_owned()),
            risk: tool.policy().risk().to_string(),
            decision,
            pin: match (tool.is_unpinned(), pinned.contains(&full)) {
                (true, _) => Pin::Changed,
                (false, true) => Pin::Pinned,
                (false, false) => Pin::Open,
            },
            calls: of_tool().count() as u64,
            errors: of_tool().filter(|call| call.call.code.is_some()).count() as u64,
            tokens: definition_tokens(tool.definition().raw()),
            has_view: false,
        }
    });
    let said = if all > ROWS { format!("{ROWS} of {all}") } else { String::new() };
    Ok(Tab::Tools {
        filter: filter.to_owned(),
        rows: rows.collect(),
        paging: Paging { said, newer: None, older: None },
        changes: pins::changed(hub, &Actor::Session, name)?.iter().map(|changed| change(changed, now)).collect(),
        instructions: snapshot.server(name).and_then(|entry| entry.instructions().map(ToOwned::to_owned)),
    })
}

fn change(changed: &pins::Changed, now: helve_store::Moment) -> DefinitionChange {
    let said = match changed.said.as_slice() {
        [] => "its definition changed".to_owned(),
        said => said.join("; "),
    };
    DefinitionChange {
        tool: changed.tool.clone(),
        seen: moment(changed.seen, now),
        said,
        diff: helve_page::line_diff(&pretty(&changed.before), &pretty(&changed.now)),
        definition: changed.hash.clone(),
        is_held: changed.is_held,
    }
}

/// JSON with a line for every value, so that lines can be compared.
fn pretty(text: &str) -> String {
    let value: Result<serde_json::Value, _> = serde_json::from_str(text);
    value.and_then(|value| serde_json::to_string_pretty(&value)).unwrap_or_else(|_| text.to_owned())
}

/// The newest lines of a log, and how many are not shown.
pub(super) fn log_lines(info: &ServerInfo) -> (Vec<LogLine>, u64) {
    match log(info) {
        Tab::Log { lines, dropped } => (lines, dropped),
        _ => (Vec::new(), 0),
    }
}

fn log(info: &ServerInfo) -> Tab {
    let text = info.report.stderr.clone().unwrap_or_default();
    let all = text.lines().count();
    let line = |text: &str| LogLine { at: String::new(), source: "stderr".to_owned(), text: text.to_owned() };
    let dropped = all.saturating_sub(LINES);
    Tab::Log { lines: text.lines().skip(dropped).map(line).collect(), dropped: dropped as u64 }
}

fn calls(hub: &Hub, name: &str, query: &Fields) -> Result<Tab, HubError> {
    let now = hub.now();
    let found = hub.store.search(&Search {
        from: now.before(MONTH),
        until: now.after(HOUR),
        before: field(query, "before").parse().ok(),
        server: Some(name.to_owned()),
        limit: ROWS,
        ..Search::default()
    })?;
    let older = found.next.map(|next| format!("/servers/{}/calls?before={next}", super::segment(name)));
    Ok(Tab::Calls {
        rows: found.calls.iter().map(|call| row(call, now)).collect(),
        paging: Paging { said: String::new(), newer: None, older },
    })
}

pub(super) fn status(info: &ServerInfo) -> Status {
    let (mark, word) = match &info.report.status {
        ServerStatus::Connected => (Mark::Ready, "ready"),
        ServerStatus::Pending(PendingReason::Lazy) => (Mark::Idle, "starts at first use"),
        ServerStatus::Pending(PendingReason::Connecting) => (Mark::Waiting, "starting"),
        ServerStatus::Pending(PendingReason::Reconnecting) => (Mark::Waiting, "trying again"),
        ServerStatus::Failed(_) => (Mark::Failed, "down"),
        ServerStatus::NeedsAuth { .. } => (Mark::NeedsPerson, "wants a login"),
        ServerStatus::Disabled(DisabledReason::Untrusted) => (Mark::NeedsPerson, "not trusted"),
        ServerStatus::Disabled(_) => (Mark::Off, "off"),
    };
    let reason = match &info.report.status {
        // What the server said is for programs.
        ServerStatus::NeedsAuth { .. } => Some("nobody is signed in to it".to_owned()),
        _ => info.reason(),
    };
    Status { mark, word: word.to_owned(), reason, next: None }
}

fn transport(info: &ServerInfo) -> String {
    match info.report.transport {
        "stdio" => "program",
        "builtin" | "native" => "built in",
        "sse" => "HTTP+SSE",
        _ => "HTTP",
    }
    .to_owned()
}

fn sandbox(word: &str) -> Sandbox {
    let is_off = word == "off";
    Sandbox {
        word: if is_off { "not confined".to_owned() } else { word.to_owned() },
        tone: if is_off { Tone::Plain } else { Tone::Good },
        details: Vec::new(),
    }
}
