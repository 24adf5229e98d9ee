//! `helve trust`: what a project's files would run, shown before anybody says yes to it; and every yes so far, to see
//! and to take back.

use std::path::Path;

use helve_config::trust::{NOT_COVERED, Part, ServerTrust, TrustRequest, TrustSubject};
use helve_config::{Configuration, ConfiguredServer};
use helve_model::sandbox::Choice;
use helve_model::{ErrorCode, Principal};
use helve_setup::store::approvals::ApprovalFile;
use helve_setup::store::pins::PinFile;
use helve_setup::store::trust::{TrustFile, Trusted};
use helve_setup::{is_sandbox_choosable, server_of_request};
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

    /// Run its programs in this sandbox where their entries name none
    ///
    /// It replaces the one that your settings propose. For a server that is trusted already it counts from now on.
    #[arg(long, value_name = "PROFILE", value_parser = confinement::choices(), conflicts_with_all = ["list", "revoke"])]
    sandbox: Option<Choice>,

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
    let requests = requests(context, &configuration, args)?;
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
    let questions = questions(context, &configuration, requests, args.sandbox);
    if !context.printer.is_json() {
        show(context, &questions)?;
    }
    let answered = if args.yes { without_asking(questions)? } else { ask(context, questions)? };
    if answered.is_empty() {
        return Err(Failure::new(ErrorCode::Denied, "nothing was trusted"));
    }
    context.stores()?.update(|file: &mut TrustFile| {
        answered.iter().for_each(|question| file.trust(question.request, question.sandbox.choice()));
    })?;
    for Question { request, sandbox } in &answered {
        let confined = match sandbox.choice() {
            None => String::new(),
            Some(Choice::Off) => ", without a sandbox".to_owned(),
            Some(Choice::In(profile)) => format!(", in the sandbox `{profile}`"),
        };
        context.printer.say(&Line::plain(format!("trusted {}{confined}", subject(context, request))));
    }
    let trusted: Vec<&TrustRequest> = answered.iter().map(|question| question.request).collect();
    if context.printer.is_json() {
        return context.printer.json(&as_json(context, &configuration, &trusted, "trusted"));
    }
    Ok(())
}

/// What waits for trust, or the part of it that was named.
fn requests<'a>(
    context: &Context,
    configuration: &'a Configuration,
    args: &Args,
) -> Result<Vec<&'a TrustRequest>, Failure> {
    let names = &args.names;
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
            if let Some(sandbox) = args.sandbox.filter(|_| server.trust == ServerTrust::Trusted) {
                change_sandbox(context, server, sandbox)?;
                continue;
            }
            let why = match server.trust {
                ServerTrust::Own => "is your own, and needs no trust",
                ServerTrust::Trusted => "is trusted already",
                ServerTrust::Untrusted => "cannot run as it is, so there is nothing to trust",
            };
            context.printer.say(&Line::plain(format!("server `{name}` {why}")));
        }
        requests.extend(found);
    }
    Ok(requests)
}

/// Another sandbox for a server that is trusted as it is.
fn change_sandbox(context: &Context, server: &ConfiguredServer, sandbox: Choice) -> Result<(), Failure> {
    let name = place::name_in_file(server);
    if !is_sandbox_choosable(server) {
        let message = format!("the entry of `{name}` says itself what it may touch, or there is nothing to confine");
        return Err(Failure::new(ErrorCode::Config, message)
            .hint(format!("change `sandbox` at {}", context.shown(&server.origin))));
    }
    let (root, hash) = (context.setup.project(), server.trust_hash.map(|hash| hash.to_string()));
    let is_it = |trusted: &Trusted| {
        Path::new(&trusted.project).starts_with(&root)
            && trusted.server.as_deref() == Some(name)
            && Some(&trusted.hash) == hash.as_ref()
    };
    context.stores()?.update(|file: &mut TrustFile| file.choose_sandbox(is_it, sandbox))?;
    let words = match sandbox {
        Choice::Off => "without a sandbox".to_owned(),
        Choice::In(profile) => format!("in the sandbox `{profile}`"),
    };
    context.printer.say(&Line::plain(format!("server `{name}` runs {words} from its next start on")));
    Ok(())
}

/// One thing that a yes is asked for.
struct Question<'a> {
    request: &'a TrustRequest,
    sandbox: Confining,
}

/// What a yes means for what a program may touch.
enum Confining {
    /// The entry says it, or there is no program.
    Settled,
    /// The person is asked for a yes to this, and may change it.
    Proposed(Choice),
    /// What is proposed cannot be had on this system, for this reason: that takes a yes of its own.
    Impossible(String),
}

impl Confining {
    /// What is kept with the yes.
    const fn choice(&self) -> Option<Choice> {
        match self {
            Self::Settled => None,
            Self::Proposed(choice) => Some(*choice),
            Self::Impossible(_) => Some(Choice::Off),
        }
    }
}

fn questions<'a>(
    context: &Context,
    configuration: &Configuration,
    requests: Vec<&'a TrustRequest>,
    named: Option<Choice>,
) -> Vec<Question<'a>> {
    let proposed = named.unwrap_or(configuration.settings.sandbox.value);
    let mut missing = None;
    let question = |request| {
        let sandbox = match (server_of_request(configuration, request).is_some_and(is_sandbox_choosable), proposed) {
            (false, _) => Confining::Settled,
            (true, Choice::In(_)) if named.is_none() => {
                // Asked once: it takes a process.
                let missing = missing.get_or_insert_with(|| context.setup.why_not_confined()).clone();
                missing.map_or(Confining::Proposed(proposed), Confining::Impossible)
            }
            (true, _) => Confining::Proposed(proposed),
        };
        Question { request, sandbox }
    };
    requests.into_iter().map(question).collect()
}

/// `--yes` is a yes to what is shown, and not to a program that nothing confines although the settings want it confined.
fn without_asking(questions: Vec<Question<'_>>) -> Result<Vec<Question<'_>>, Failure> {
    let missing = questions.iter().find_map(|question| match &question.sandbox {
        Confining::Impossible(why) => Some(why),
        Confining::Settled | Confining::Proposed(_) => None,
    });
    match missing {
        None => Ok(questions),
        Some(why) => Err(Failure::new(ErrorCode::ApprovalRequired, format!("nothing was trusted: {why}"))
            .hint("`helve trust --yes --sandbox off` runs its programs all the same, without a sandbox")),
    }
}

fn ask<'a>(context: &Context, mut questions: Vec<Question<'a>>) -> Result<Vec<Question<'a>>, Failure> {
    if !context.console.can_ask() {
        return Err(Failure::new(
            ErrorCode::ApprovalRequired,
            "there is no terminal to ask at, so nothing was trusted",
        )
        .hint("trust it with `helve trust --yes`, once you looked at it"));
    }
    if let [question] = &mut questions[..] {
        return Ok(if is_yes(context, "Trust this", question)? { questions } else { Vec::new() });
    }
    let answer = prompt::ask(context, "Trust all of it? [y/N/each]")?.to_ascii_lowercase();
    match answer.as_str() {
        "y" | "yes" => {
            let (impossible, mut trusted): (Vec<_>, Vec<_>) =
                questions.into_iter().partition(|question| matches!(question.sandbox, Confining::Impossible(_)));
            for question in impossible {
                if is_yes_to_unconfined(context, question.request)? {
                    trusted.push(question);
                }
            }
            Ok(trusted)
        }
        "e" | "each" => {
            let mut trusted = Vec::new();
            for mut question in questions {
                let text = format!("Trust {}", subject(context, question.request));
                if is_yes(context, &text, &mut question)? {
                    trusted.push(question);
                }
            }
            Ok(trusted)
        }
        _ => Ok(Vec::new()),
    }
}

/// One question; where a sandbox is proposed, another one may be the answer.
fn is_yes(context: &Context, text: &str, question: &mut Question<'_>) -> Result<bool, Failure> {
    match &mut question.sandbox {
        Confining::Settled => prompt::confirm(context, &format!("{text}?")),
        Confining::Impossible(_) => {
            Ok(prompt::confirm(context, &format!("{text}?"))? && is_yes_to_unconfined(context, question.request)?)
        }
        Confining::Proposed(proposed) => {
            let others: Vec<&str> =
                Choice::ALL.into_iter().filter(|choice| choice != proposed).map(Choice::as_str).collect();
            let confined = match proposed {
                Choice::Off => "without a sandbox".to_owned(),
                Choice::In(profile) => format!("in the sandbox `{profile}`"),
            };
            let text = format!("{text}, {confined}? [y/N, or a yes to {}]", others.join(", "));
            let answer = prompt::ask(context, &text)?.to_ascii_lowercase();
            if let Ok(choice) = answer.parse() {
                *proposed = choice;
                return Ok(true);
            }
            Ok(matches!(answer.as_str(), "y" | "yes"))
        }
    }
}

/// The second yes, where a program would run unconfined only because the system cannot do better.
fn is_yes_to_unconfined(context: &Context, request: &TrustRequest) -> Result<bool, Failure> {
    let text = format!("This system cannot confine {}. Run it without a sandbox?", subject(context, request));
    prompt::confirm(context, &text)
}

/// Everything a yes would mean: what the list has that the yes is kept under, and the sandbox that is kept with it.
fn show(context: &Context, questions: &[Question<'_>]) -> Result<(), Failure> {
    for Question { request, sandbox } in questions {
        let heading = Line::styled(Style::Name, subject(context, request));
        context.printer.line(&heading)?;
        let mut details = details(request);
        match sandbox {
            Confining::Settled => {}
            Confining::Proposed(Choice::Off) => {
                details.push(("sandbox", vec!["off: it may do whatever you may".to_owned()]))
            }
            Confining::Proposed(Choice::In(profile)) => {
                details.push(("sandbox", vec![format!("{profile}, unless you choose another")]));
            }
            Confining::Impossible(why) => {
                details.push(("sandbox", vec![format!("none, it may do whatever you may: {why}")]));
            }
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

fn as_json(context: &Context, configuration: &Configuration, requests: &[&TrustRequest], key: &str) -> Value {
    let requests: Vec<Value> = requests
        .iter()
        .map(|request| {
            let server = server_of_request(configuration, request)
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
