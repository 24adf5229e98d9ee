//! `helve servers`: how every server is doing. Connects to those that are on; nothing untrusted is started.

use std::time::Duration;

use helve::{Host, HostEvent, ServerReport};
use helve_model::{ServerName, ServerStatus};
use serde_json::{Value, json};

use crate::context::Context;
use crate::describe;
use crate::failure::Failure;
use crate::inputs;
use crate::printer::{Line, Style, Table};
use crate::progress::Meter;
use crate::reload::Reloader;
use crate::running::{Manner, Wanted, with_host};

/// Longer than any start-up time-out: servers answer for themselves.
const SETTLING: Duration = Duration::from_secs(3_600);
/// Between two looks at the configuration files, while watching.
const RELOAD_EVERY: Duration = Duration::from_secs(1);

/// Show how the servers are doing
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this one, with its log and what it can do
    #[arg(value_name = "SERVER")]
    server: Option<String>,

    /// Go on showing changes until Ctrl-C; changed configuration files are picked up
    #[arg(short, long)]
    watch: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let is_meant = |name: &ServerName| args.server.as_deref().is_none_or(|server| server == name.as_str());
    let configuration = inputs::load(context, is_meant)?;
    context.report_problems(&configuration);
    let named: Vec<String> = args.server.iter().cloned().collect();
    let wanted = if named.is_empty() { Wanted::All } else { Wanted::Only(&named) };
    let manner = Manner { stays: args.watch, ..Manner::default() };
    with_host(context, &configuration, wanted, manner, async |host| {
        if let Some(name) = &args.server
            && host.server_status(name).is_none()
        {
            return Err(context.server(&configuration, name).err().unwrap_or_else(|| unusable(name)));
        }
        if args.watch {
            return watch(context, host, args.server.as_deref(), configuration.settings.watch.value).await;
        }
        Meter::new(context).during("connecting", host.settled(SETTLING)).await;
        match &args.server {
            Some(name) => one(context, host, name),
            None => all(context, &host.status()),
        }
    })
}

fn all(context: &Context, reports: &[ServerReport]) -> Result<(), Failure> {
    if context.printer.is_json() {
        return context.printer.json(&Value::Array(reports.iter().map(as_json).collect()));
    }
    let mut table = Table::new(["SERVER", "STATE", "VIA", "ERA", "TOOLS", "READY IN", "FROM", "WHY"]);
    for report in reports {
        table.row([
            Line::styled(Style::Name, report.name.as_str()),
            state(&report.status),
            Line::plain(report.transport),
            Line::plain(report.protocol_version.as_deref().unwrap_or("-")),
            Line::plain(tools(report)),
            Line::plain(report.connect_time.map_or_else(|| "-".to_owned(), milliseconds)),
            Line::plain(context.shown(&report.origin)),
            Line::plain(why(report)),
        ]);
    }
    context.printer.table(&table)?;
    if reports.is_empty() {
        context.printer.hint("no server is configured: `helve add NAME -- COMMAND`");
    }
    if let Some(failed) = reports.iter().find(|report| matches!(report.status, ServerStatus::Failed(_))) {
        context
            .printer
            .hint(format!("`helve servers {}` shows what it said; `helve doctor` looks for the cause", failed.name));
    }
    Ok(())
}

fn one(context: &Context, host: &Host, name: &str) -> Result<(), Failure> {
    let Some(report) = host.server_status(name) else { return Err(unusable(name)) };
    if context.printer.is_json() {
        return context.printer.json(&as_json(&report));
    }
    let printer = &context.printer;
    printer.line(
        &Line::styled(Style::Name, report.name.as_str()).then(Style::Plain, "  ").append(state(&report.status)),
    )?;
    let mut facts: Vec<(&str, String)> =
        vec![("from", context.shown(&report.origin)), ("via", report.transport.to_owned())];
    if let (Some(era), Some(version)) = (&report.era, &report.protocol_version) {
        facts.push(("protocol", format!("{version} ({era})")));
    }
    if let Some(info) = &report.server_info {
        let text = |key| info.member_str(key).unwrap_or_default();
        facts.push(("says it is", format!("{} {}", text("name"), text("version")).trim().to_owned()));
    }
    facts.push(("tools", tools(&report)));
    if let Some(time) = report.connect_time {
        facts.push(("ready in", milliseconds(time)));
    }
    if let Some(error) = &report.last_error {
        facts.push(("last error", error.clone()));
    }
    if report.noise > 0 {
        facts.push(("noise", format!("{} lines on its stdout were no messages", report.noise)));
    }
    if let Some(capabilities) = &report.capabilities {
        facts.push(("can", capability_names(capabilities)));
    }
    for (what, text) in facts {
        printer.line(&Line::styled(Style::Dim, format!("{what:<11}")).then(Style::Plain, text))?;
    }
    if let Some(instructions) = &report.instructions {
        printer.line(&Line::styled(Style::Heading, "for the model"))?;
        printer.block(&format!("{}\n", instructions.trim_end()))?;
    }
    if let Some(log) = &report.stderr {
        printer.line(&Line::styled(Style::Heading, "its stderr"))?;
        printer.block(&format!("{}\n", log.trim_end()))?;
    }
    for hint in &report.hints {
        printer.hint(hint);
    }
    match &report.status {
        // The report says it all; the exit status says it to scripts.
        ServerStatus::Failed(failure) => Err(Failure::new(failure.code, "").said()),
        ServerStatus::NeedsAuth { .. } => Err(Failure::new(helve_model::ErrorCode::AuthRequired, "").said()),
        _ => Ok(()),
    }
}

/// Tells changes as they come, until Ctrl-C.
async fn watch(context: &Context, host: &Host, only: Option<&str>, reloads: bool) -> Result<(), Failure> {
    let mut events = host.events();
    let is_meant = |server: &str| only.is_none_or(|only| only == server);
    for report in host.status().iter().filter(|report| is_meant(report.name.as_str())) {
        tell(context, report.name.as_str(), &report.status.to_string())?;
    }
    let mut reloader = Reloader::new(context)?;
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(HostEvent::Status { server, status }) if is_meant(server.as_str()) => {
                    tell(context, server.as_str(), &status.to_string())?;
                }
                Some(HostEvent::Warning { server, message }) if is_meant(server.as_str()) => {
                    context.printer.warning(format!("{server}: {message}"));
                }
                Some(_) => {}
                None => return Ok(()),
            },
            () = tokio::time::sleep(RELOAD_EVERY), if reloads => {
                reloader.look(context, async |plan| host.set_servers(plan).await).await;
            }
        }
    }
}

fn tell(context: &Context, server: &str, status: &str) -> Result<(), Failure> {
    if context.printer.is_json() {
        return context.printer.json(&json!({"server": server, "status": status}));
    }
    context.printer.line(&Line::styled(Style::Name, server).then(Style::Plain, format!("  {status}")))
}

fn state(status: &ServerStatus) -> Line {
    let style = match status {
        ServerStatus::Connected => Style::Good,
        ServerStatus::Disabled(_) => Style::Dim,
        ServerStatus::Pending(_) => Style::Plain,
        ServerStatus::Failed(_) => Style::Bad,
        ServerStatus::NeedsAuth { .. } => Style::Warning,
    };
    Line::styled(style, status.word())
}

fn why(report: &ServerReport) -> String {
    match &report.status {
        ServerStatus::Connected => String::new(),
        ServerStatus::Disabled(reason) => reason.to_string(),
        ServerStatus::Pending(reason) => reason.to_string(),
        ServerStatus::Failed(failure) => failure.message.clone(),
        ServerStatus::NeedsAuth { challenge } => challenge.clone().unwrap_or_else(|| "credentials".to_owned()),
    }
}

fn tools(report: &ServerReport) -> String {
    match report.hidden_tools {
        0 => report.tools.to_string(),
        hidden => format!("{} (+{hidden} hidden)", report.tools),
    }
}

fn capability_names(capabilities: &helve_model::json::RawJson) -> String {
    let object: serde_json::Map<String, Value> = capabilities.parse().unwrap_or_default();
    object.keys().cloned().collect::<Vec<_>>().join(", ")
}

fn milliseconds(time: Duration) -> String {
    format!("{} ms", time.as_millis())
}

fn unusable(name: &str) -> Failure {
    Failure::new(helve_model::ErrorCode::Config, format!("the entry of the server `{name}` cannot be understood"))
        .hint("`helve doctor` says what is wrong with it")
}

fn as_json(report: &ServerReport) -> Value {
    json!({
        "name": report.name.as_str(),
        "state": report.status.word(),
        "reason": why(report),
        "transport": report.transport,
        "era": report.era,
        "protocolVersion": report.protocol_version,
        "tools": report.tools,
        "hiddenTools": report.hidden_tools,
        "connectMs": report.connect_time.map(|time| time.as_secs_f64() * 1_000.0),
        "latencyMs": report.latency.map(|time| time.as_secs_f64() * 1_000.0),
        "restarts": report.restarts,
        "lastError": report.last_error,
        "hints": report.hints,
        "origin": describe::origin(&report.origin),
        "layer": report.layer.to_string(),
        "capabilities": report.capabilities,
        "serverInfo": report.server_info,
        "instructions": report.instructions,
        "stderr": report.stderr,
    })
}
