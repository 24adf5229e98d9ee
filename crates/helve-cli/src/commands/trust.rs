//! `helve trust`: what a project's files would run, shown before anybody says yes to it; and every yes so far, to see
//! and to take back.

use std::path::Path;

use helve_config::trust::{NOT_COVERED, Part, Trust, TrustRequest, TrustSubject};
use helve_config::{Configuration, ConfiguredServer};
use helve_model::{ErrorCode, Principal};
use helve_setup::file_of;
use helve_setup::store::approvals::ApprovalFile;
use helve_setup::store::pins::PinFile;
use helve_setup::store::trust::TrustFile;
use serde_json::{Value, json};

use crate::confinement;
use crate::context::Context;
use crate::describe::{self, Detail, Secrets};
use crate::failure::Failure;
use crate::place;
use crate::printer::{Line, Style, Table};
use crate::prompt;

/// Show what this project would run, and trust it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Nothing of a project runs before you trusted exactly that: everything that decides what runs, with which
rights, and where values go. Whatever of it changes is asked again.")]
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
    if !context.console.can_ask() {
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

/// Everything a yes would mean, as the list has it that the yes is kept under.
fn show(context: &Context, configuration: &Configuration, requests: &[&TrustRequest]) -> Result<(), Failure> {
    for request in requests {
        let heading = Line::styled(Style::Name, subject(context, request));
        context.printer.line(&heading)?;
        let mut details = details(request);
        // The person's own choice for projects: not in the list, and they have to know it.
        let spec = server_of(configuration, request).and_then(|server| server.spec.as_ref());
        if let Some(sandbox) = spec.and_then(|spec| spec.sandbox.as_ref()).filter(|sandbox| sandbox.is_default) {
            details.push(("sandbox", confinement::written(context, sandbox)));
        }
        describe::print(context, &details, "  ")?;
        context.printer.line(&Line::default())?;
    }
    Ok(())
}

/// The list, each label once; the heading has the server's name.
fn details(request: &TrustRequest) -> Vec<Detail> {
    let mut details: Vec<Detail> = Vec::new();
    for part in request.parts.iter().filter(|part| part.label != "server") {
        match details.iter_mut().find(|(label, _)| *label == part.label) {
            Some((_, lines)) => lines.push(part.to_line()),
            None => details.push((part.label, vec![part.to_line()])),
        }
    }
    if request.parts.iter().any(|part| part.label == "command") {
        details.push(("not covered", vec![NOT_COVERED.to_owned()]));
    }
    details
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
            let is_rule = |part: &&Part| request.subject == TrustSubject::Rules && part.label == "rules";
            let rules: Vec<String> = request.parts.iter().filter(is_rule).map(Part::to_line).collect();
            let covers: Vec<Value> =
                request.parts.iter().map(|part| json!({ "what": part.label, "is": part.to_line() })).collect();
            json!({
                "project": request.project.to_string_lossy(),
                "file": request.file.to_string_lossy(),
                "server": server,
                "rules": rules,
                "covers": covers,
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
        let whose = match approval.principal == Principal::LOCAL {
            true => "everywhere".to_owned(),
            false => format!("calls of {}", approval.principal),
        };
        table.row([Line::plain("call"), Line::plain(format!("{}{pattern}", approval.tool)), Line::plain(whose)]);
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
    let root = context.setup.project();
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
