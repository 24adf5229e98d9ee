//! `helve trust`: what a project's files would run, shown before anybody says yes to it; and every yes so far, to see
//! and to take back.

use std::path::Path;

use helve_config::trust::{Trust, TrustRequest, TrustSubject};
use helve_config::{Configuration, ConfiguredServer, SettingsPatch, read_text};
use helve_model::{Action, ErrorCode, Rule};
use serde_json::{Value, json};

use crate::context::{Context, file_of};
use crate::describe::{self, Detail, Secrets};
use crate::failure::Failure;
use crate::place;
use crate::printer::{Line, Style, Table};
use crate::prompt;
use crate::store::approvals::ApprovalFile;
use crate::store::pins::PinFile;
use crate::store::trust::TrustFile;

/// Show what this project would run, and trust it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Nothing of a project runs before you trusted exactly that: its command, its files, its address, its rules.
Whatever of it changes is asked again.")]
pub(crate) struct Args {
    /// Only these servers
    #[arg(value_name = "SERVER")]
    names: Vec<String>,

    /// Trust it without a question
    #[arg(short, long, conflicts_with_all = ["list", "revoke"])]
    yes: bool,

    /// List everything you ever said yes to: projects, approved calls, pinned tools
    #[arg(long, conflicts_with_all = ["revoke", "names"])]
    list: bool,

    /// Take trust back: of this project, or of the servers and tools that are named
    #[arg(long)]
    revoke: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    if args.list {
        return list(context);
    }
    if args.revoke {
        return revoke(context, &args.names);
    }
    let configuration = context.load()?;
    let requests = requests(context, &configuration, &args.names)?;
    if context.printer.is_json() && !args.yes {
        return context.printer.json(&as_json(context, &configuration, &requests, "asked"));
    }
    if requests.is_empty() {
        if args.names.is_empty() {
            context.printer.say(&Line::plain("Nothing here waits for your trust."));
        }
        return if context.printer.is_json() {
            context.printer.json(&as_json(context, &configuration, &requests, "trusted"))
        } else {
            Ok(())
        };
    }
    if !context.printer.is_json() {
        show(context, &configuration, &requests)?;
    }
    let trusted = if args.yes { requests } else { ask(context, requests)? };
    if trusted.is_empty() {
        return Err(Failure::new(ErrorCode::Denied, "nothing was trusted"));
    }
    context.stores()?.update(|file: &mut TrustFile| trusted.iter().for_each(|request| file.trust(request)))?;
    for request in &trusted {
        context.printer.say(&Line::plain(format!("trusted {}", subject(context, request))));
    }
    if context.printer.is_json() {
        return context.printer.json(&as_json(context, &configuration, &trusted, "trusted"));
    }
    Ok(())
}

/// What waits for trust, or the part of it that was named.
fn requests<'a>(
    context: &Context,
    configuration: &'a Configuration,
    names: &[String],
) -> Result<Vec<&'a TrustRequest>, Failure> {
    if names.is_empty() {
        return Ok(configuration.untrusted.iter().collect());
    }
    let mut requests = Vec::new();
    for name in names {
        let of_name =
            |request: &&TrustRequest| matches!(&request.subject, TrustSubject::Server(server) if server == name);
        let found: Vec<&TrustRequest> = configuration.untrusted.iter().filter(of_name).collect();
        if found.is_empty() {
            let server = context.server(configuration, name)?;
            let why = match server.trust {
                Trust::Own => "is your own, and needs no trust",
                Trust::Trusted => "is trusted already",
                Trust::Untrusted => "cannot run as it is, so there is nothing to trust",
            };
            context.printer.say(&Line::plain(format!("server `{name}` {why}")));
        }
        requests.extend(found);
    }
    Ok(requests)
}

fn ask<'a>(context: &Context, requests: Vec<&'a TrustRequest>) -> Result<Vec<&'a TrustRequest>, Failure> {
    if !context.env.can_ask() {
        return Err(Failure::new(
            ErrorCode::ApprovalRequired,
            "there is no terminal to ask at, so nothing was trusted",
        )
        .hint("trust it with `helve trust --yes`, once you looked at it"));
    }
    if let [_] = &requests[..] {
        return Ok(if prompt::confirm(context, "Trust this?")? { requests } else { Vec::new() });
    }
    let answer = prompt::ask(context, "Trust all of it? [y/N/each]")?.to_ascii_lowercase();
    match answer.as_str() {
        "y" | "yes" => Ok(requests),
        "e" | "each" => {
            let mut trusted = Vec::new();
            for request in requests {
                if prompt::confirm(context, &format!("Trust {}?", subject(context, request)))? {
                    trusted.push(request);
                }
            }
            Ok(trusted)
        }
        _ => Ok(Vec::new()),
    }
}

/// Everything a yes would mean.
fn show(context: &Context, configuration: &Configuration, requests: &[&TrustRequest]) -> Result<(), Failure> {
    for request in requests {
        let heading = Line::styled(Style::Name, subject(context, request));
        context.printer.line(&heading)?;
        let details = match server_of(configuration, request) {
            Some(server) => server_details(context, server),
            None => rule_details(context, configuration, request),
        };
        describe::print(context, &details, "  ")?;
        context.printer.line(&Line::default())?;
    }
    Ok(())
}

fn server_details(context: &Context, server: &ConfiguredServer) -> Vec<Detail> {
    let mut details =
        server.spec.as_ref().map(|spec| describe::details(context, spec, Secrets::AsWritten)).unwrap_or_default();
    if !server.variables.is_empty() {
        details.push(("reads yours", vec![server.variables.join(", ")]));
    }
    if !server.rules.is_empty() {
        details.push(("rules", server.rules.iter().map(rule_text).collect()));
    }
    details
}

fn rule_details(context: &Context, configuration: &Configuration, request: &TrustRequest) -> Vec<Detail> {
    let rules = withheld_rules(configuration, request).map(rule_text).collect();
    let settings = settings_of(context, configuration, request).map(|patch| setting_texts(&patch)).unwrap_or_default();
    vec![("rules", rules), ("settings", settings)]
}

fn withheld_rules<'a>(
    configuration: &'a Configuration,
    request: &'a TrustRequest,
) -> impl Iterator<Item = &'a Rule> + 'a {
    // Rules beside a server belong to that server's own question.
    let is_of_server = |rule: &Rule| configuration.servers.iter().any(|server| server.rules.contains(rule));
    let rules = configuration.withheld_rules.iter().filter(move |rule| !is_of_server(rule));
    rules.filter(|rule| file_of(&rule.origin) == Some(request.file.as_path()))
}

/// The settings of a file nobody trusts are not part of the configuration; the file has them.
fn settings_of(context: &Context, configuration: &Configuration, request: &TrustRequest) -> Option<SettingsPatch> {
    let place = place::file_at(configuration, &request.file)?;
    let text = fs_err::read_to_string(&place.path).ok()?;
    Some(read_text(&place, &text, &context.environment).settings)
}

fn setting_texts(patch: &SettingsPatch) -> Vec<String> {
    [
        patch.call_timeout.as_ref().map(|setting| format!("a call may take {:?}", setting.value)),
        patch.startup_timeout.as_ref().map(|setting| format!("a server may take {:?} to start", setting.value)),
        patch.max_retries.as_ref().map(|setting| format!("{} retries", setting.value)),
        patch.cache_tool_schemas.as_ref().map(|setting| format!("tool lists are kept: {}", setting.value)),
        patch.schema_cache_ttl.as_ref().map(|setting| format!("tool lists count for {:?}", setting.value)),
        patch.keep.as_ref().map(|setting| format!("servers are kept running: {}", setting.value)),
        patch.keep_idle.as_ref().map(|setting| format!("servers are kept for {:?}", setting.value)),
        patch.readonly.as_ref().map(|setting| format!("servers are read-only: {}", setting.value)),
        patch.roots.as_ref().map(|setting| {
            let roots: Vec<String> = setting.value.iter().map(|root| root.display().to_string()).collect();
            format!("servers are told to work in {}", roots.join(", "))
        }),
        patch.sampling_calls.as_ref().map(|setting| format!("a server may use the model {} times", setting.value)),
        patch.sampling_tokens.as_ref().map(|setting| format!("a server may use {} tokens", setting.value)),
        patch
            .sampling_concurrent
            .as_ref()
            .map(|setting| format!("a server may ask the model {} things at once", setting.value)),
        patch.sampling_timeout.as_ref().map(|setting| format!("the model may take {:?}", setting.value)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn rule_text(rule: &Rule) -> String {
    let pattern = rule.pattern.as_ref().map(|pattern| format!(" with {pattern}")).unwrap_or_default();
    let risk = rule.risk.map(|risk| format!(" of {risk} risk")).unwrap_or_default();
    let what = match rule.action {
        Action::Allow => "may be called without asking",
        Action::Ask => "is asked about",
        Action::Deny => "is refused",
    };
    format!("{}{pattern}{risk} {what}", rule.tool)
}

fn subject(context: &Context, request: &TrustRequest) -> String {
    let file = context.env.shown(&request.file);
    match &request.subject {
        TrustSubject::Server(name) => format!("server `{name}` of {file}"),
        TrustSubject::Rules => format!("rules and settings of {file}"),
    }
}

fn server_of<'a>(configuration: &'a Configuration, request: &TrustRequest) -> Option<&'a ConfiguredServer> {
    let TrustSubject::Server(name) = &request.subject else { return None };
    let hidden = configuration.shadowed.iter().map(|shadowed| &shadowed.server);
    configuration
        .servers
        .iter()
        .chain(hidden)
        .find(|server| place::name_in_file(server) == name && file_of(&server.origin) == Some(request.file.as_path()))
}

fn as_json(context: &Context, configuration: &Configuration, requests: &[&TrustRequest], key: &str) -> Value {
    let requests: Vec<Value> = requests
        .iter()
        .map(|request| {
            let server = server_of(configuration, request)
                .map(|server| describe::as_json_with(context, server, Secrets::AsWritten));
            let rules: Vec<String> = match request.subject {
                TrustSubject::Server(_) => Vec::new(),
                TrustSubject::Rules => withheld_rules(configuration, request).map(rule_text).collect(),
            };
            json!({
                "project": request.project.to_string_lossy(),
                "file": request.file.to_string_lossy(),
                "server": server,
                "rules": rules,
                "hash": request.hash.to_string(),
            })
        })
        .collect();
    json!({ key: requests })
}

fn list(context: &Context) -> Result<(), Failure> {
    let stores = context.stores()?;
    let (trust, approvals, pins): (TrustFile, ApprovalFile, PinFile) = (stores.read()?, stores.read()?, stores.read()?);
    if context.printer.is_json() {
        let (trusted, approvals, pins) = (&trust.trusted, approvals.stored(), pins.as_json());
        return context.printer.json(&json!({ "trusted": trusted, "approvals": approvals, "pins": pins }));
    }
    let mut table = Table::new(["YES TO", "WHAT", "WHERE"]);
    for trusted in &trust.trusted {
        let (kind, what) = trusted.server.as_ref().map_or(("rules", "all of them"), |server| ("server", server));
        table.row([Line::plain(kind), Line::plain(what), Line::plain(context.env.shown(Path::new(&trusted.file)))]);
    }
    for approval in approvals.approvals() {
        let pattern = approval.pattern.as_ref().map(|pattern| format!(" with {pattern}")).unwrap_or_default();
        table.row([Line::plain("call"), Line::plain(format!("{}{pattern}", approval.tool)), Line::plain("everywhere")]);
    }
    for (pin, tool) in pins.pins().iter().filter_map(|pin| Some((pin, pin.tool()?))) {
        let place =
            pin.project.as_deref().map_or_else(|| "everywhere".to_owned(), |path| context.env.shown(Path::new(path)));
        table.row([Line::plain("tool"), Line::plain(tool.to_string()), Line::plain(place)]);
    }
    if table.is_empty() {
        context.printer.say(&Line::plain("You have not said yes to anything yet."));
    }
    context.printer.table(&table)
}

fn revoke(context: &Context, names: &[String]) -> Result<(), Failure> {
    let stores = context.stores()?;
    let root = context.project();
    let is_named = |name: &str| names.iter().any(|wanted| wanted == name);
    let trusted = stores.update(|file: &mut TrustFile| {
        file.revoke(|trusted| {
            Path::new(&trusted.project).starts_with(&root)
                && (names.is_empty() || trusted.server.as_deref().is_some_and(is_named))
        })
    })?;
    let approved = stores.update(|file: &mut ApprovalFile| {
        file.revoke(|approval| is_named(&approval.tool.to_string()) || is_named(approval.tool.server.as_str()))
    })?;
    let pinned = stores.update(|file: &mut PinFile| {
        file.forget(|pin| pin.tool().is_some_and(|tool| is_named(&tool.to_string()) || is_named(tool.server.as_str())))
    })?;
    let taken = trusted.len() + approved.len() + pinned.len();
    if context.printer.is_json() {
        return context.printer.json(&json!({ "revoked": taken }));
    }
    for gone in &trusted {
        let what =
            gone.server.as_ref().map_or_else(|| "rules and settings".to_owned(), |server| format!("server `{server}`"));
        let file = context.env.shown(Path::new(&gone.file));
        context.printer.say(&Line::plain(format!("no longer trusted: {what} of {file}")));
    }
    for gone in approved {
        context.printer.say(&Line::plain(format!("no longer approved: {}", gone.tool)));
    }
    for gone in pinned.iter().filter_map(|pin| pin.tool()) {
        context.printer.say(&Line::plain(format!("no longer pinned: {gone}")));
    }
    if taken == 0 {
        context.printer.say(&Line::plain("There was nothing to take back."));
    }
    Ok(())
}
