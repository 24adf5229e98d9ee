//! `helve doctor`: what is wrong, server by server, and what to do about each thing.

use std::collections::BTreeMap;
use std::time::Duration;

use helve::{Host, Plan, ServerReport, Snapshot};
use helve_code::Limits;
use helve_config::{Code, Configuration, Severity, secret_arguments};
use helve_model::name::Spelling;
use helve_model::{PendingReason, QualifiedName, ServerStatus, TransportSpec};
use helve_setup::vault::OpeningAsks;
use helve_setup::{Wanted, compile};
use serde_json::{Value, json};

use super::status::counted;
use crate::code_mode;
use crate::confinement::Confinement;
use crate::context::Context;
use crate::failure::Failure;
use crate::hint_words::HintWords;
use crate::inputs;
use crate::printer::{Line, Style};
use crate::progress::Meter;
use crate::running::{Manner, block_on, late, settled, with_host};
use crate::sign_ins::described;
use crate::suspicion;

/// A server that takes longer to start is worth a word.
const SLOW_START: Duration = Duration::from_secs(5);

/// What to do about a server that does not list its tools.
const LISTING_FIX: &str = "`startup_timeout_seconds` of the server sets how long that may take";

/// Look for what is wrong, and say what to do
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this server
    #[arg(value_name = "SERVER")]
    server: Option<String>,

    /// Also start servers that need a command of yours to run, or the system's keyring to be asked, for a secret
    #[arg(long)]
    secrets: bool,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Good,
    Note,
    Bad,
}

/// One thing that was looked at.
struct Finding {
    weight: Weight,
    what: String,
    fix: Vec<String>,
}

struct Examined {
    server: String,
    findings: Vec<Finding>,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let is_meant = |name: &str| args.server.as_deref().is_none_or(|only| only == name);
    let configuration = inputs::load(context, |server| is_meant(server.as_str()))?;
    let plan = context.setup.plan(&configuration)?;
    if let Some(name) = &args.server
        && !plan.servers.iter().any(|planned| planned.spec.name.as_str() == name)
    {
        context.server(&configuration, name)?;
    }
    let left_open = if args.secrets { BTreeMap::new() } else { left_open(context, &plan) };
    // One that waits for its first use is started only where it is the one that is asked about.
    let to_start = plan.servers.iter().filter(|planned| args.server.is_some() || !planned.spec.lazy);
    let to_start = to_start.map(|planned| planned.spec.name.to_string());
    let to_start: Vec<String> = to_start.filter(|name| is_meant(name) && !left_open.contains_key(name)).collect();

    let mut examined = vec![general(&configuration, &plan)];
    if args.server.is_none() {
        examined.push(programs(context, &configuration)?);
    }
    for server in configuration.servers.iter().filter(|server| is_meant(server.name.as_str())) {
        examined
            .push(Examined { server: server.name.to_string(), findings: configured(context, &configuration, server) });
    }
    let mut too_late = None;
    // Rules that nobody knows may forbid what would be started.
    let is_known = configuration.broken_rules().is_none();
    let look = async |host: &Host| {
        Meter::new(context).during("connecting", settled(context, host)).await;
        let mut reports = host.status();
        reports.retain(|report| is_meant(report.name.as_str()));
        too_late = late(context, &reports);
        for report in &reports {
            let findings = match left_open.get(report.name.as_str()) {
                Some(asked) if matches!(report.status, ServerStatus::Pending(_)) => vec![not_asked(asked)],
                _ => running(host, report, &context.printer.words),
            };
            match examined.iter_mut().find(|examined| examined.server == report.name.as_str()) {
                Some(examined) => examined.findings.extend(findings),
                None => examined.push(Examined { server: report.name.to_string(), findings }),
            }
        }
        Ok(())
    };
    if is_known {
        with_host(context, &configuration, Wanted::Only(&to_start), Manner::reporting(), look)?;
    }
    print(context, &examined)?;
    let bad =
        examined.iter().flat_map(|examined| &examined.findings).filter(|finding| finding.weight == Weight::Bad).count();
    let failure = match too_late {
        Some(failure) if context.printer.is_json() => Some(failure.said()),
        Some(failure) => Some(failure),
        None => (bad > 0).then(|| Failure::other(format!("{} wrong", counted(bad, "thing")))),
    };
    if context.printer.is_json() {
        return failure.map_or(Ok(()), Err);
    }
    // What to do first is the last thing that is read.
    if let Some(failure) = &failure {
        context.printer.failure(failure);
    }
    context.printer.say(&Line::plain(first_step(&examined)));
    failure.map_or(Ok(()), |failure| Err(failure.said()))
}

/// The servers that are not started, and whom starting them would ask: looking for what is wrong runs nobody's commands.
fn left_open(context: &Context, plan: &Plan) -> BTreeMap<String, Vec<OpeningAsks>> {
    let Some(credentials) = context.credentials() else { return BTreeMap::new() };
    let asks = plan.servers.iter().filter(|planned| planned.held.is_none());
    let asks = asks.map(|planned| (planned.spec.name.to_string(), credentials.starting_asks(&planned.spec)));
    asks.filter(|(_, asks)| !asks.is_empty()).collect()
}

fn not_asked(asked: &[OpeningAsks]) -> Finding {
    let words = asked.iter().map(|asked| match asked {
        OpeningAsks::Program => "run a command of yours",
        OpeningAsks::Keyring => "ask the system's keyring",
    });
    let words: Vec<&str> = words.collect();
    let what = format!("not started: for its secrets that would {}", words.join(" and "));
    // Nothing is wrong with it, so it is never what to do first.
    Finding::note(format!("{what}\n`helve doctor --secrets` starts it too"), Vec::new())
}

/// What to do first, in one line: the first of the worst things, and its own advice.
fn first_step(examined: &[Examined]) -> String {
    let of = |weight: Weight| {
        let findings =
            examined.iter().flat_map(|examined| examined.findings.iter().map(move |finding| (examined, finding)));
        let mut fitting = findings.filter(move |(_, finding)| finding.weight == weight);
        fitting.find(|(_, finding)| weight == Weight::Bad || !finding.fix.is_empty())
    };
    match of(Weight::Bad).or_else(|| of(Weight::Note)) {
        None => "Nothing has to be done.".to_owned(),
        Some((examined, finding)) => {
            // Where a program was looked for explains the advice, and is not the advice.
            let advice = finding.fix.iter().find(|fix| !fix.starts_with("searched ")).or(Some(&finding.what));
            let advice = advice.and_then(|text| text.lines().next());
            format!("To do first: {}: {}", examined.server, advice.unwrap_or_default())
        }
    }
}

fn general(configuration: &Configuration, plan: &Plan) -> Examined {
    let mut findings = Vec::new();
    let diagnostics = configuration.diagnostics.iter().filter(|diagnostic| diagnostic.server.is_none());
    findings.extend(diagnostics.map(diagnosed));
    if configuration.broken_rules().is_some() {
        findings.push(Finding::note("nothing is started until it is known which rules there are", Vec::new()));
    }
    let problems = compile(plan).1;
    findings.extend(problems.iter().map(|problem| Finding {
        weight: Weight::Bad,
        what: problem.to_string(),
        fix: Vec::new(),
    }));
    if findings.is_empty() {
        let files = configuration.files.len();
        findings.push(Finding::good(format!("{} read without a problem", counted(files, "configuration file"))));
    }
    Examined { server: "configuration".to_owned(), findings }
}

/// Whether models' programs can be run here, and in what.
fn programs(context: &Context, configuration: &Configuration) -> Result<Examined, Failure> {
    let engine = block_on(async { Ok(code_mode::engine(context, configuration, None, &Limits::default()).await) })?;
    let finding = match engine {
        Ok(engine) => Finding::good(format!("programs run in {}, confined", engine.description())),
        Err(why) => Finding::note(why.to_string(), Vec::new()),
    };
    Ok(Examined { server: "code mode".to_owned(), findings: vec![finding] })
}

/// What the configuration alone tells about a server.
fn configured(
    context: &Context,
    configuration: &Configuration,
    server: &helve_config::ConfiguredServer,
) -> Vec<Finding> {
    let twice = configuration.diagnostics.iter().filter(|diagnostic| {
        diagnostic.code == Code::DuplicateServer && diagnostic.server.as_ref() == Some(&server.name)
    });
    let mut findings: Vec<Finding> = server.diagnostics.iter().chain(twice).map(diagnosed).collect();
    // What is switched off need not be ready.
    if server.disabled_by.is_some() {
        findings.iter_mut().for_each(|finding| finding.weight = finding.weight.min(Weight::Note));
    }
    for shadowed in configuration.shadowed.iter().filter(|shadowed| shadowed.by == server.origin) {
        findings.push(Finding::note(
            format!("it hides another server at {}", context.shown(&shadowed.server.origin)),
            vec!["give one of them another name to have both".to_owned()],
        ));
    }
    if let Some(spec) = &server.spec
        && let TransportSpec::Stdio(stdio) = &spec.transport
        // What a variable stands for is not shown, and a path is found by it.
        && stdio.command.written() == stdio.command.expose()
        && let Some(found) = context.env.find_program(stdio.command.expose())
    {
        findings.push(Finding::good(format!("the command is {}", context.env.shown(&found))));
    }
    if let Some(spec) = &server.spec {
        findings.extend(sandbox(context, spec));
    }
    for name in server.spec.as_ref().map(secret_arguments).unwrap_or_default() {
        findings.push(Finding::note(
            format!("its argument {name} holds a secret, and every user of this machine can see a program's arguments"),
            vec!["hand it over by a variable, in `env`, if the program reads one".to_owned()],
        ));
    }
    if let Some(spec) = &server.spec
        && let Some(login) = context.credentials().and_then(|credentials| credentials.facts(spec).ok()?)
    {
        findings.push(Finding::good(format!("signed in {}", described(context, &login))));
    }
    let unset: Vec<&str> = server
        .variables
        .iter()
        .map(String::as_str)
        .filter(|variable| context.env.variable_os(variable).is_none())
        .collect();
    if !unset.is_empty() {
        findings.push(Finding::note(format!("not set here: {}", unset.join(", ")), Vec::new()));
    }
    findings
}

/// What its sandbox holds on this machine.
fn sandbox(context: &Context, spec: &helve_model::ServerSpec) -> Vec<Finding> {
    match Confinement::new(context).plan(spec) {
        Ok(None) => Vec::new(),
        Ok(Some(plan)) => {
            let mut findings = vec![Finding::good(format!("sandbox {}", plan.report))];
            findings.extend(
                plan.report.weaknesses().into_iter().map(|weak| Finding::note(format!("sandbox: {weak}"), Vec::new())),
            );
            for opened in &plan.report.protected_opened {
                let what = format!("sandbox: it can use {}, which no profile opens", context.env.shown(opened));
                findings.push(Finding::note(what, Vec::new()));
            }
            findings
        }
        Err(error) => vec![Finding {
            weight: Weight::Bad,
            what: error.chain(),
            fix: context.printer.words.say_all(error.hints()),
        }],
    }
}

/// What its connection tells.
fn running(host: &Host, report: &ServerReport, words: &HintWords) -> Vec<Finding> {
    let mut findings = Vec::new();
    match &report.status {
        ServerStatus::Connected => {
            let time = report.connect_time.unwrap_or_default();
            let what = match &report.protocol_version {
                Some(version) => {
                    format!("connected in {} ms, speaks {version}, {}", time.as_millis(), counted(report.tools, "tool"))
                }
                None => format!("built in, {}", counted(report.tools, "tool")),
            };
            findings.push(if let Some(error) = &report.list_error {
                let what = format!("connected in {} ms, but its tools could not be listed: {error}", time.as_millis());
                Finding { weight: Weight::Bad, what, fix: vec![LISTING_FIX.to_owned()] }
            } else if offers_nothing(report) {
                let fix = "its answer to `initialize` has to say `\"capabilities\": {\"tools\": {}}`".to_owned();
                Finding {
                    weight: Weight::Bad,
                    what: format!("{what}: it does not say that it offers anything"),
                    fix: vec![fix],
                }
            } else if time > SLOW_START {
                Finding::note(what, vec!["set `lazy = true` so that nobody waits for it".to_owned()])
            } else {
                Finding::good(what)
            });
        }
        ServerStatus::Disabled(reason) => findings.push(Finding::note(format!("not started: {reason}"), Vec::new())),
        ServerStatus::Pending(PendingReason::Lazy) => {
            findings.push(Finding::note(format!("not connected: {}", PendingReason::Lazy), Vec::new()));
        }
        ServerStatus::Pending(reason) => findings.push(Finding {
            weight: Weight::Bad,
            what: format!("not connected: {reason}"),
            fix: vec!["give it more time: `--timeout`".to_owned()],
        }),
        ServerStatus::Failed(failure) => {
            findings.push(Finding {
                weight: Weight::Bad,
                what: failure.message.clone(),
                fix: words.say_all(&report.hints),
            });
        }
        ServerStatus::NeedsAuth { .. } => {
            let fix = words.say_all(&report.hints);
            findings.push(Finding { weight: Weight::Bad, what: "it wants credentials".to_owned(), fix });
        }
    }
    if report.noise > 0 {
        findings.push(Finding::note(
            format!("{} lines on its stdout are not messages", report.noise),
            vec!["it should log to stderr".to_owned()],
        ));
    }
    let snapshot = host.snapshot();
    let Some(entry) = snapshot.server(report.name.as_str()) else { return findings };
    for tool in entry.all_tools() {
        let name = tool.name();
        for warning in &tool.view().warnings {
            findings.push(Finding::note(format!("{name}: {warning}"), Vec::new()));
        }
        for problem in tool.schema_notices() {
            findings.push(Finding::note(format!("{name}: {problem}"), Vec::new()));
        }
        if tool.is_unpinned() {
            findings.push(Finding {
                weight: Weight::Bad,
                what: format!("{name}: its definition is not the one that was pinned"),
                fix: vec![format!("`helve pin {name}` shows what changed")],
            });
        }
        for suspicion in suspicion::about(tool.definition()) {
            findings.push(Finding::note(
                format!("{name}: its description {suspicion}"),
                vec![format!("read it: `helve tool {name}`; leave the tool out with `disabled_tools`")],
            ));
        }
    }
    for (spelling, names) in shared_spellings(&snapshot) {
        if names.iter().any(|name| name.server == report.name) {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            findings.push(Finding::note(
                format!(
                    "{} would all be called `{spelling}` by a model; they get a hash at the end",
                    names.join(" and ")
                ),
                Vec::new(),
            ));
        }
    }
    findings
}

/// True when a server declares none of what it could offer: nobody asks it for anything then.
fn offers_nothing(report: &ServerReport) -> bool {
    let declares = |capability: &&str| report.capabilities.as_ref().is_some_and(|all| all.member(capability).is_some());
    report.protocol_version.is_some()
        && !["tools", "resources", "prompts", "completions", "extensions"].iter().any(declares)
}

/// Spellings that several tools would have, if the catalog let them.
fn shared_spellings(snapshot: &Snapshot) -> Vec<(String, Vec<QualifiedName>)> {
    let mut by_spelling: BTreeMap<String, Vec<QualifiedName>> = BTreeMap::new();
    for tool in snapshot.tools() {
        by_spelling.entry(Spelling::Provider.render(tool.name())).or_default().push(tool.name().clone());
    }
    by_spelling.into_iter().filter(|(_, names)| names.len() > 1).collect()
}

fn diagnosed(diagnostic: &helve_config::Diagnostic) -> Finding {
    let weight = match diagnostic.severity {
        Severity::Error => Weight::Bad,
        Severity::Warning | Severity::Note => Weight::Note,
    };
    let place = match &diagnostic.origin {
        helve_model::Origin::File { .. } => format!("{}: ", diagnostic.origin),
        _ => String::new(),
    };
    Finding { weight, what: format!("{place}{}", diagnostic.message), fix: diagnostic.hints.clone() }
}

impl Finding {
    fn good(what: impl Into<String>) -> Self {
        Self { weight: Weight::Good, what: what.into(), fix: Vec::new() }
    }

    fn note(what: impl Into<String>, fix: Vec<String>) -> Self {
        Self { weight: Weight::Note, what: what.into(), fix }
    }
}

fn print(context: &Context, examined: &[Examined]) -> Result<(), Failure> {
    let printer = &context.printer;
    if printer.is_json() {
        let all: Vec<Value> = examined
            .iter()
            .map(|examined| {
                let findings: Vec<Value> = examined
                    .findings
                    .iter()
                    .map(|finding| json!({"weight": finding.weight.word(), "what": finding.what, "fix": finding.fix}))
                    .collect();
                json!({"server": examined.server, "findings": findings})
            })
            .collect();
        return printer.json(&all);
    }
    for examined in examined {
        printer.line(&Line::styled(Style::Name, examined.server.as_str()))?;
        for finding in &examined.findings {
            let (mark, style) = match finding.weight {
                Weight::Good => ("ok  ", Style::Good),
                Weight::Note => ("note", Style::Warning),
                Weight::Bad => ("bad ", Style::Bad),
            };
            let mut lines = finding.what.lines();
            let first = lines.next().unwrap_or_default();
            printer.line(&Line::styled(style, format!("  {mark} ")).then(Style::Plain, first))?;
            for line in lines {
                printer.line(&Line::plain(format!("       {line}")))?;
            }
            for line in finding.fix.iter().flat_map(|fix| fix.lines()) {
                printer.line(&Line::styled(Style::Hint, format!("       {line}")))?;
            }
        }
    }
    Ok(())
}

impl Weight {
    const fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Note => "note",
            Self::Bad => "bad",
        }
    }
}
