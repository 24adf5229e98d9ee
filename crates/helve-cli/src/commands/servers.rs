//! `helve servers`: how every server is doing. Connects to those that are on; nothing untrusted is started.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use helve::{Host, HostEvent, ServerReport};
use helve_config::Configuration;
use helve_model::{ErrorCode, SandboxSpec, ServerName, ServerSpec, ServerStatus};
use helve_setup::{Lifetime, Logins, Reloader, Wanted, compile};
use serde_json::{Value, json};

use crate::confinement::Confinement;
use crate::context::Context;
use crate::describe;
use crate::failure::Failure;
use crate::hint_words::HintWords;
use crate::inputs;
use crate::printer::{Line, Style, Table};
use crate::progress::Meter;
use crate::reload;
use crate::running::{Manner, late, settled, with_host};
use crate::sign_ins::{as_json as login_json, described, issuer};

/// How long a connected server may take to answer a ping; one that does not has no latency to show.
const PING_TIME: Duration = Duration::from_secs(2);
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
    match &args.server {
        Some(_) => context.report_problems_of(&configuration, is_meant),
        None => context.report_problems(&configuration),
    }
    for problem in compile(&context.setup.plan(&configuration)?).1 {
        context.printer.warning(problem.to_string());
    }
    let named: Vec<String> = args.server.iter().cloned().collect();
    let wanted = if named.is_empty() { Wanted::All } else { Wanted::Only(&named) };
    let lifetime = if args.watch { Lifetime::Long } else { Lifetime::Short };
    let manner = Manner { lifetime, ..Manner::reporting() };
    with_host(context, &configuration, wanted, manner, async |host| {
        if let Some(name) = &args.server
            && host.server_status(name).is_none()
        {
            return Err(context.server(&configuration, name).err().unwrap_or_else(|| unusable(name)));
        }
        if args.watch {
            return watch(context, host, args.server.as_deref(), configuration.settings.watch.value).await;
        }
        let meter = Meter::new(context);
        let is_settled = meter.during("connecting", settled(context, host)).await;
        if is_settled {
            meter.during("asking", ping(host, &is_meant)).await;
        }
        let sandboxes = Sandboxes::new(context, &configuration);
        let logins = Logins::of(&context.setup, &configuration);
        let about = About { sandboxes: &sandboxes, logins: &logins };
        match &args.server {
            Some(name) => one(context, host, name, about),
            None => all(context, &host.status(), about),
        }
    })
}

/// What is known of servers besides what their host says.
#[derive(Clone, Copy)]
struct About<'a> {
    sandboxes: &'a Sandboxes<'a>,
    logins: &'a Logins,
}

/// The specs of servers that run in a sandbox, and what that holds.
struct Sandboxes<'a> {
    confinement: Confinement,
    specs: HashMap<&'a str, &'a ServerSpec>,
}

impl<'a> Sandboxes<'a> {
    fn new(context: &Context, configuration: &'a Configuration) -> Self {
        let specs = configuration.servers.iter().filter_map(|server| server.spec.as_ref());
        let confined = specs.filter(|spec| spec.sandbox.as_ref().is_some_and(SandboxSpec::is_on));
        let specs = confined.map(|spec| (spec.name.as_str(), spec)).collect();
        Self { confinement: Confinement::new(context), specs }
    }

    fn of(&self, report: &ServerReport) -> Option<&'a ServerSpec> {
        self.specs.get(report.name.as_str()).copied()
    }

    fn word(&self, report: &ServerReport) -> String {
        self.of(report).and_then(|spec| self.confinement.word(spec)).unwrap_or_else(|| "-".to_owned())
    }
}

/// Finds out how long those that are connected take to answer.
async fn ping(host: &Host, is_meant: impl Fn(&ServerName) -> bool) {
    let reports = host.status();
    let connected = reports.iter().filter(|report| report.status == ServerStatus::Connected && is_meant(&report.name));
    // Those that are not reached over a wire have no latency.
    let remote = connected.filter(|report| report.protocol_version.is_some());
    join_all(remote.map(|report| host.ping(report.name.as_str(), PING_TIME))).await;
}

fn all(context: &Context, reports: &[ServerReport], about: About<'_>) -> Result<(), Failure> {
    if context.printer.is_json() {
        let words = &context.printer.words;
        let objects = reports.iter().map(|report| as_json(report, words, about));
        context.printer.json(&Value::Array(objects.collect()))?;
        return late(context, reports).map_or(Ok(()), |failure| Err(failure.said()));
    }
    context.printer.table(&table(context, reports, about))?;
    if reports.is_empty() {
        context.printer.hint("no server is configured: `helve add NAME -- COMMAND`");
    }
    if let Some(failed) = reports.iter().find(|report| matches!(report.status, ServerStatus::Failed(_))) {
        context
            .printer
            .hint(format!("`helve servers {}` shows what it said; `helve doctor` looks for the cause", word(failed)));
    }
    late(context, reports).map_or(Ok(()), Err)
}

/// The servers, one a line. What none of them has to say takes no room.
fn table(context: &Context, reports: &[ServerReport], about: About<'_>) -> Table {
    let About { sandboxes, logins } = about;
    let any = |has: fn(&ServerReport) -> bool| reports.iter().any(has);
    let columns: Vec<(&'static str, Cell<'_>)> = [
        (true, "SERVER", cell(|report| Line::styled(Style::Name, report.name.as_str()))),
        (true, "STATE", cell(|report| state(&report.status))),
        (true, "VIA", cell(|report| Line::plain(report.transport))),
        (true, "ERA", cell(|report| Line::plain(report.protocol_version.as_deref().unwrap_or("-")))),
        (true, "TOOLS", cell(|report| Line::plain(tools(report)))),
        (true, "READY IN", cell(|report| Line::plain(time(report.connect_time)))),
        (any(|report| report.latency.is_some()), "PING", cell(|report| Line::plain(time(report.latency)))),
        (
            reports.iter().any(|report| logins.get(&report.name).is_some()),
            "SIGNED IN",
            cell(|report| Line::plain(logins.get(&report.name).map_or_else(|| "-".to_owned(), issuer))),
        ),
        (any(|report| report.restarts > 0), "RESTARTS", cell(|report| Line::plain(report.restarts.to_string()))),
        (!sandboxes.specs.is_empty(), "SANDBOX", cell(|report| Line::plain(sandboxes.word(report)))),
        (true, "FROM", cell(|report| Line::plain(context.shown(&report.origin)))),
        (any(|report| !why(report).is_empty()), "WHY", cell(|report| Line::plain(why(report)))),
        (
            any(|report| earlier_error(report).is_some()),
            "LAST ERROR",
            cell(|report| Line::plain(earlier_error(report).unwrap_or_default())),
        ),
    ]
    .into_iter()
    .filter_map(|(is_shown, heading, cell)| is_shown.then_some((heading, cell)))
    .collect();
    let mut table = Table::new(columns.iter().map(|(heading, _)| *heading).collect::<Vec<_>>());
    for report in reports {
        table.row(columns.iter().map(|(_, cell)| cell(report)).collect::<Vec<_>>());
    }
    table
}

/// What a column says about a server.
type Cell<'a> = Box<dyn Fn(&ServerReport) -> Line + 'a>;

fn cell<'a>(cell: impl Fn(&ServerReport) -> Line + 'a) -> Cell<'a> {
    Box::new(cell)
}

/// What went wrong before, of a server whose state does not tell already.
fn earlier_error(report: &ServerReport) -> Option<&str> {
    let error = report.last_error.as_deref()?;
    let is_told = matches!(report.status, ServerStatus::Failed(_)) || report.list_error.is_some();
    (!is_told).then_some(error)
}

/// A server's name as a shell needs it.
fn word(report: &ServerReport) -> String {
    shell_words::quote(report.name.as_str()).into_owned()
}

fn one(context: &Context, host: &Host, name: &str, about: About<'_>) -> Result<(), Failure> {
    let About { sandboxes, logins } = about;
    let Some(report) = host.server_status(name) else { return Err(unusable(name)) };
    if context.printer.is_json() {
        context.printer.json(&as_json(&report, &context.printer.words, about))?;
        return verdict(context, &report).map_err(Failure::said);
    }
    let printer = &context.printer;
    printer.line(
        &Line::styled(Style::Name, report.name.as_str()).then(Style::Plain, "  ").append(state(&report.status)),
    )?;
    let mut facts: Vec<(&str, String)> =
        vec![("from", context.shown(&report.origin)), ("via", report.transport.to_owned())];
    if let Some(line) = sandboxes.of(&report).and_then(|spec| sandboxes.confinement.line(spec)) {
        facts.push(("sandbox", line));
    }
    if let (Some(era), Some(version)) = (&report.era, &report.protocol_version) {
        facts.push(("protocol", format!("{version} ({era})")));
    }
    if let Some(info) = &report.server_info {
        let text = |key| info.member_str(key).unwrap_or_default();
        facts.push(("says it is", format!("{} {}", text("name"), text("version")).trim().to_owned()));
    }
    if !why(&report).is_empty() && !matches!(report.status, ServerStatus::Failed(_)) {
        facts.push(("why", why(&report)));
    }
    if let Some(login) = logins.get(&report.name) {
        facts.push(("signed in", described(context, login)));
    }
    facts.push(("tools", tools(&report)));
    if let Some(time) = report.connect_time {
        facts.push(("ready in", milliseconds(time)));
    }
    if let Some(time) = report.latency {
        facts.push(("ping", milliseconds(time)));
    }
    if report.restarts > 0 {
        facts.push(("restarts", report.restarts.to_string()));
    }
    if let Some(error) = &report.last_error {
        facts.push(("last error", error.clone()));
    }
    if report.noise > 0 {
        facts.push(("noise", format!("{} lines on its stdout were not messages", report.noise)));
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
    verdict(context, &report)
}

/// What a call would end with. The report says it all; the exit status says it to scripts.
fn verdict(context: &Context, report: &ServerReport) -> Result<(), Failure> {
    if let Some(failure) = late(context, std::slice::from_ref(report)) {
        return Err(failure);
    }
    let code = match &report.status {
        ServerStatus::Failed(failure) if failure.code == ErrorCode::Timeout => ErrorCode::Timeout,
        ServerStatus::Failed(_) => ErrorCode::ServerUnavailable,
        ServerStatus::NeedsAuth { .. } => ErrorCode::AuthRequired,
        ServerStatus::Connected if report.list_error.is_some() => ErrorCode::ServerUnavailable,
        _ => return Ok(()),
    };
    Err(Failure::new(code, "").said())
}

/// Tells changes as they come, until Ctrl-C.
async fn watch(context: &Context, host: &Host, only: Option<&str>, reloads: bool) -> Result<(), Failure> {
    let mut events = host.changes();
    let is_meant = |server: &str| only.is_none_or(|only| only == server);
    for report in host.status().iter().filter(|report| is_meant(report.name.as_str())) {
        tell(context, report.name.as_str(), &report.status.to_string())?;
    }
    let mut reloader = Reloader::new(Arc::clone(&context.setup));
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
                drop(reload::look(context, &mut reloader, async |plan| host.set_servers(plan).await).await);
            }
        }
    }
}

fn tell(context: &Context, server: &str, status: &str) -> Result<(), Failure> {
    if context.printer.is_json() {
        return context.printer.json_line(&json!({"server": server, "status": status}));
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
        ServerStatus::Connected => match &report.list_error {
            Some(error) => format!("its tools could not be listed: {error}"),
            None => String::new(),
        },
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

fn time(time: Option<Duration>) -> String {
    time.map_or_else(|| "-".to_owned(), milliseconds)
}

fn milliseconds(time: Duration) -> String {
    // A server on this machine answers in less than one.
    let milliseconds = time.as_secs_f64() * 1_000.0;
    if milliseconds < 10.0 { format!("{milliseconds:.1} ms") } else { format!("{milliseconds:.0} ms") }
}

fn unusable(name: &str) -> Failure {
    Failure::new(ErrorCode::Config, format!("the entry of the server `{name}` cannot be understood"))
        .hint("`helve doctor` says what is wrong with it")
}

fn as_json(report: &ServerReport, words: &HintWords, about: About<'_>) -> Value {
    let About { sandboxes, logins } = about;
    let mut object = json!({
        "login": logins.get(&report.name).map(login_json),
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
        "hints": words.say_all(&report.hints),
        "origin": describe::origin(&report.origin),
        "layer": report.layer.to_string(),
        "capabilities": report.capabilities,
        "serverInfo": report.server_info,
        "instructions": report.instructions,
        "stderr": report.stderr,
    });
    if let (Some(spec), Value::Object(object)) = (sandboxes.of(report), &mut object) {
        object.insert("sandbox".to_owned(), sandboxes.confinement.json(spec));
    }
    object
}
