//! `helve` alone: what was found, where, and what to try next. From the configuration only; nothing is started.

use std::collections::BTreeSet;

use helve::{Plan, Planned};
use helve_config::trust::ServerTrust;
use helve_config::{Code, Configuration, ConfiguredServer, Diagnostic, Dialect};
use helve_model::{DisabledReason, Layer, TransportSpec};
use helve_setup::store::approvals::ApprovalFile;
use helve_setup::store::connections::Connections;
use helve_setup::{compile, held_text, held_word};
use serde_json::{Value, json};

use crate::applications::{self, Application};
use crate::context::Context;
use crate::describe;
use crate::failure::Failure;
use crate::printer::{Line, Style, Table, Verbosity};

pub(crate) fn run(context: &Context) -> Result<(), Failure> {
    let configuration = context.load()?;
    let plan = context.setup.plan(&configuration)?;
    // What is not trusted stands in the table, with the way to trust it below.
    let is_news = |diagnostic: &&Diagnostic| diagnostic.code != Code::Untrusted;
    context.report(configuration.diagnostics.iter().filter(is_news));
    for problem in compile(&plan).1 {
        context.printer.warning(problem.to_string());
    }
    if context.printer.is_json() {
        return context.printer.json(&as_json(context, &configuration, &plan));
    }
    context.printer.table(&table(context, &configuration, &plan))?;
    say_where(context, &configuration, &plan);
    if is_first_start(context) {
        say_first(context, &configuration);
    } else {
        say_next(context, &configuration);
    }
    Ok(())
}

fn table(context: &Context, configuration: &Configuration, plan: &Plan) -> Table {
    let mut table = Table::new(["SERVER", "STATE", "VIA", "FROM"]);
    let state = |held: Option<&DisabledReason>| {
        let style = match held {
            None => Style::Good,
            Some(DisabledReason::Configured | DisabledReason::Itself) => Style::Dim,
            Some(_) => Style::Warning,
        };
        Line::styled(style, held_text(held))
    };
    for server in &configuration.servers {
        table.row([
            Line::styled(Style::Name, server.name.as_str()),
            state(context.setup.held(server).as_ref()),
            Line::plain(server.spec.as_ref().map_or("-", |spec| describe::transport(&spec.transport))),
            Line::plain(context.shown(&server.origin)),
        ]);
    }
    for planned in defaults(configuration, plan) {
        table.row([
            Line::styled(Style::Name, planned.spec.name.as_str()),
            state(planned.held.as_ref()),
            Line::plain(describe::transport(&planned.spec.transport)),
            Line::plain(context.shown(&planned.spec.origin)),
        ]);
    }
    table
}

/// The servers that come with helve, where they serve.
fn defaults<'a>(configuration: &'a Configuration, plan: &'a Plan) -> impl Iterator<Item = &'a Planned> {
    let is_configured = |planned: &&Planned| configuration.server(planned.spec.name.as_str()).is_some();
    plan.servers.iter().filter(move |planned| !is_configured(planned))
}

fn say_where(context: &Context, configuration: &Configuration, plan: &Plan) {
    let printer = &context.printer;
    let (servers, files) = (configuration.servers.len(), configuration.files.len());
    if let Some(broken) = configuration.broken_rules() {
        let file = context.shown(&broken.origin);
        printer.say(&Line::plain(format!("Nothing is started until {file} is repaired: rules may stand in it.")));
    } else if servers == 0 && plan.servers.is_empty() {
        printer.say(&Line::plain("The files you named configure no server."));
    } else if servers == 0 {
        printer.say(&Line::plain("No server is configured; these come with helve."));
    } else if defaults(configuration, plan).next().is_some() {
        printer.say(&Line::plain("No server is configured but helve itself; the others come with helve."));
    } else {
        printer.say(&Line::plain(format!("{} in {}", counted(servers, "server"), counted(files, "file"))));
    }
    if printer.verbosity >= Verbosity::Verbose {
        for file in &configuration.files {
            let place = &file.place;
            let text = format!("  {} ({}, {})", context.env.shown(&place.path), place.application, place.layer);
            printer.say(&Line::styled(Style::Dim, text));
        }
        for shadowed in &configuration.shadowed {
            let text = format!(
                "  {} at {} is hidden by {}",
                shadowed.server.name,
                context.shown(&shadowed.server.origin),
                context.shown(&shadowed.by)
            );
            printer.say(&Line::styled(Style::Dim, text));
        }
    }
}

/// True when a person looks at helve for the first time: at a terminal, and nothing has been remembered yet. That they looked is
/// remembered.
fn is_first_start(context: &Context) -> bool {
    let is_new = context.env.directories().state.as_ref().is_some_and(|directory| !directory.exists());
    let is_first = is_new && context.console.stdout_is_terminal && context.console.can_ask();
    // Where it cannot be remembered they are told once more.
    is_first && context.stores().is_ok_and(|stores| stores.update(|_: &mut Connections| ()).is_ok())
}

/// What was found, what is missing, and the three commands that probably come next.
fn say_first(context: &Context, configuration: &Configuration) {
    let printer = &context.printer;
    let is_others = |server: &&ConfiguredServer| server.dialect != Dialect::Helve && !context.setup.is_itself(server);
    let (used, untrusted): (Vec<&ConfiguredServer>, Vec<&ConfiguredServer>) =
        configuration.servers.iter().filter(is_others).partition(|server| server.trust != ServerTrust::Untrusted);
    if !used.is_empty() {
        let names: BTreeSet<&str> = used.iter().map(|server| title(server)).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let word = if used.len() == 1 { "it" } else { "them" };
        let count = counted(used.len(), "server");
        printer.say(&Line::plain(format!("{count} of {}: helve uses {word} as configured there.", names.join(", "))));
    }
    if !untrusted.is_empty() {
        let names: Vec<String> = untrusted.iter().map(|server| format!("`{}`", server.name)).collect();
        printer.say(&Line::plain(format!("Not trusted, and not started: {} of this project", names.join(", "))));
    }
    let missing: Vec<String> = configuration.servers.iter().filter_map(|server| missing(context, server)).collect();
    if !missing.is_empty() {
        printer.say(&Line::plain(format!("Missing: {}", missing.join(", "))));
    }
    printer.say(&Line::plain("Next:"));
    let commands: Vec<(String, &str)> = first_commands(context, configuration).into_iter().take(3).collect();
    let width = commands.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    for (command, meaning) in commands {
        let command = format!("  {command:width$}");
        printer.say(&Line::styled(Style::Name, command).then(Style::Dim, format!("  {meaning}")));
    }
}

/// What people call the application that a server is configured in.
fn title(server: &ConfiguredServer) -> &'static str {
    match Application::named(server.application) {
        Some(application) => application.title,
        None if server.dialect == Dialect::McpJson => ".mcp.json",
        None => server.dialect.title(),
    }
}

/// What a server lacks to be started: a variable, or its program.
fn missing(context: &Context, server: &ConfiguredServer) -> Option<String> {
    if let Some(DisabledReason::UnsetVariable(variable)) = context.setup.held(server) {
        return Some(format!("the variable {variable} (for `{}`)", server.name));
    }
    let spec = server.spec.as_ref().filter(|_| server.disabled_by.is_none())?;
    let TransportSpec::Stdio(stdio) = &spec.transport else { return None };
    // A PATH of its own, or a directory of its own, may find what this one does not; what a variable stands for is not shown.
    let is_plain = stdio.command.written() == stdio.command.expose() && !stdio.environment.contains_key("PATH");
    let command = stdio.command.expose();
    let is_found = context.env.find_program(command).is_some();
    let is_relative = command.contains('/') && !command.starts_with('/');
    (is_plain && !is_found && !is_relative).then(|| format!("the program `{command}` (for `{}`)", server.name))
}

/// What a person who begins probably wants, the likeliest first.
fn first_commands(context: &Context, configuration: &Configuration) -> Vec<(String, &'static str)> {
    let mut commands = Vec::new();
    if !configuration.untrusted.is_empty() {
        commands.push(("helve trust".to_owned(), "look at what this project would run, and trust it"));
    }
    if configuration.servers.iter().all(|server| context.setup.is_itself(server)) {
        commands.push(("helve add NAME -- COMMAND".to_owned(), "add a server; the built-in ones serve until then"));
    }
    commands.push(("helve tools".to_owned(), "every tool of every server"));
    let is_connected = |application: &Application| {
        let is_own =
            |server: &&ConfiguredServer| server.application == application.name && context.setup.is_itself(server);
        configuration.servers.iter().any(|server| is_own(&server))
    };
    let is_there = |application: &&Application| {
        let file = application.file(context, Layer::User);
        file.is_some_and(|place| place.path.exists()) && !is_connected(application)
    };
    if let Some(application) = applications::ALL.iter().find(is_there) {
        commands.push((format!("helve connect {}", application.name), "give that application all of them"));
    }
    commands.push(("helve doctor".to_owned(), "what is wrong, and what to do about it"));
    commands
}

fn say_next(context: &Context, configuration: &Configuration) {
    let printer = &context.printer;
    if context.options.no_mcp {
        printer.hint("every server is off because of --no-mcp");
    }
    if !configuration.untrusted.is_empty() {
        printer.hint("look at what this project would run, and trust it: `helve trust`");
    } else if configuration.broken_rules().is_some() {
        printer.hint("`helve doctor` says what is wrong");
    } else if configuration.servers.iter().all(|server| context.setup.is_itself(server)) {
        printer.hint("add a server: `helve add NAME -- COMMAND`, or `helve add NAME URL`");
        printer.hint("or start with a commented file: `helve init`");
    } else if configuration.servers.iter().all(|server| server.dialect != Dialect::Helve) {
        printer.hint("these come from other applications' files; keep one of your own with `helve import`");
    }
}

fn as_json(context: &Context, configuration: &Configuration, plan: &Plan) -> Value {
    let defaults = defaults(configuration, plan).map(|planned| {
        json!({
            "name": planned.spec.name.as_str(),
            "state": held_word(planned.held.as_ref()),
            "application": "helve",
            "layer": planned.spec.layer.to_string(),
            "origin": Value::Null,
            "transport": describe::transport_json(&planned.spec.transport, describe::Secrets::Hidden),
        })
    });
    let configured = configuration.servers.iter().map(|server| describe::as_json(context, server));
    let servers: Vec<Value> = configured.chain(defaults).collect();
    let files: Vec<Value> = configuration
        .files
        .iter()
        .map(|file| {
            json!({
                "path": file.place.path.to_string_lossy(),
                "application": file.place.application,
                "dialect": file.place.dialect.name(),
                "layer": file.place.layer.to_string(),
                "servers": file.servers,
            })
        })
        .collect();
    let diagnostics: Vec<Value> = configuration.diagnostics.iter().map(diagnostic_json).collect();
    let directories = context.env.directories();
    let approvals =
        context.stores().and_then(|stores| stores.read::<ApprovalFile>()).map_or(0, |file| file.approvals().count());
    json!({
        "servers": servers,
        "files": files,
        "rules": configuration.rules.len(),
        "approvals": approvals,
        "untrusted": configuration.untrusted.len(),
        "diagnostics": diagnostics,
        "directories": {
            "config": directories.config,
            "state": directories.state,
            "cache": directories.cache,
            "runtime": directories.runtime,
        },
    })
}

fn diagnostic_json(diagnostic: &Diagnostic) -> Value {
    json!({
        "severity": diagnostic.severity.to_string(),
        "message": diagnostic.message,
        "server": diagnostic.server.as_ref().map(|server| server.as_str()),
        "origin": describe::origin(&diagnostic.origin),
        "hints": diagnostic.hints,
    })
}

/// `1 server`, `2 servers`.
pub(crate) fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
