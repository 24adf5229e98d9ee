//! `helve import`: servers of other applications, copied into a file of helve's own. The other file stays as it is.

use clap::builder::PossibleValuesParser;
use helve_config::edit::{Change, EditError, carry, edit_file};
use helve_config::trust::ServerTrust;
use helve_config::{Configuration, ConfiguredServer, Dialect, FilePlace, discover};
use helve_model::{ErrorCode, Layer};
use helve_setup::held_text;
use serde_json::{Value, json};

use super::add::{only_in_own_file, settle};
use super::sealing::{self, Sealing};
use crate::context::Context;
use crate::describe;
use crate::failure::Failure;
use crate::place::{self, Scope};
use crate::printer::{Line, Style, Table};
use crate::prompt;

/// Copy servers of other applications into a file of your own
#[derive(Debug, clap::Args)]
#[command(after_help = "\
helve reads the files of other applications as they are; a copy is for changing it, or for doing without the other.

Examples:
  helve import                 what there is
  helve import github linear   these two
  helve import --all --from cursor
  helve import github --seal   its token goes to the vault, the copy refers to it")]
pub(crate) struct Args {
    /// Which ones; without any they are listed
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,

    /// All of them
    #[arg(long, conflicts_with = "servers")]
    all: bool,

    /// Only those of this application
    #[arg(long = "from", value_name = "APP", value_parser = PossibleValuesParser::new(discover::applications()))]
    #[arg(hide_possible_values = true)]
    applications: Vec<String>,

    /// Keep secrets that are written out in the vault, and refer to them
    #[arg(long)]
    seal: bool,

    /// Whose file they go to; without it the project's helve.toml if there is one, else your own
    #[arg(short, long, value_enum)]
    scope: Option<Scope>,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let configuration = context.load()?;
    let found = importable(&configuration, args);
    let names = if args.all {
        all(context, &configuration, &found)
    } else if args.servers.is_empty() {
        match choose(context, &configuration, &found)? {
            Some(names) => names,
            None => return Ok(()),
        }
    } else {
        args.servers.clone()
    };
    let mut chosen = Vec::new();
    for name in &names {
        chosen.push(choice(context, &configuration, &found, name)?);
    }
    let target = own_target(context, args.scope)?;
    let mut imported = Vec::new();
    let mut refused = Vec::new();
    for server in chosen {
        match import(context, &configuration, server, &target, args.seal) {
            Ok(done) => imported.push(done),
            // One that cannot be copied is not a reason to leave the others.
            Err(failure) => refused.push(failure),
        }
    }
    finish(context, &imported, refused)
}

/// Tells what could not be copied. That is a failure of the whole: the person asked for it.
fn finish(context: &Context, imported: &[Value], mut refused: Vec<Failure>) -> Result<(), Failure> {
    let printer = &context.printer;
    if refused.len() + imported.len() > 1 {
        if printer.is_json() {
            let refused: Vec<_> = refused.iter().map(|failure| failure.to_json(&context.printer.words)).collect();
            printer.json(&json!({ "imported": imported, "refused": refused }))?;
        } else {
            refused.iter().for_each(|failure| printer.failure(failure));
        }
        return refused.pop().map_or(Ok(()), |failure| Err(failure.said()));
    }
    match refused.pop() {
        Some(failure) => Err(failure),
        None if printer.is_json() => printer.json(&json!({ "imported": imported, "refused": [] })),
        None => Ok(()),
    }
}

/// Servers of other applications that can be spoken of at all.
fn importable<'a>(configuration: &'a Configuration, args: &Args) -> Vec<&'a ConfiguredServer> {
    let hidden = configuration.shadowed.iter().map(|shadowed| &shadowed.server);
    let is_wanted = |server: &&ConfiguredServer| {
        let from = server.application;
        server.dialect != Dialect::Helve
            && !server.is_switch()
            && (args.applications.is_empty() || args.applications.iter().any(|application| application == from))
    };
    configuration.servers.iter().chain(hidden).filter(is_wanted).collect()
}

/// How a server can be named so that no other one is meant.
fn selector(server: &ConfiguredServer) -> String {
    format!("{}:{}", server.application, place::name_in_file(server))
}

/// All that can be copied; the rest is named with the reason.
fn all(context: &Context, configuration: &Configuration, found: &[&ConfiguredServer]) -> Vec<String> {
    let mut names = Vec::new();
    for server in found {
        let origin = context.shown(&server.origin);
        let own = configuration.server(server.name.as_str()).filter(|other| other.dialect == Dialect::Helve);
        if let Some(own) = own {
            let own = context.shown(&own.origin);
            context
                .printer
                .say(&Line::plain(format!("`{}` at {origin} is left out: there is one at {own}", server.name)));
        } else if context.setup.is_itself(server) {
            context.printer.say(&Line::plain(format!("`{}` at {origin} is left out: it is helve itself", server.name)));
        } else if server.trust == ServerTrust::Untrusted {
            context.printer.warning(format!("`{}` at {origin} is left out: nobody has trusted it yet", server.name));
        } else {
            names.push(selector(server));
        }
    }
    names
}

/// Lists what there is; at a terminal also asks what to take.
fn choose(
    context: &Context,
    configuration: &Configuration,
    found: &[&ConfiguredServer],
) -> Result<Option<Vec<String>>, Failure> {
    let printer = &context.printer;
    if printer.is_json() {
        let servers: Vec<Value> = found.iter().map(|server| describe::as_json(context, server)).collect();
        printer.json(&json!({ "servers": servers }))?;
        return Ok(None);
    }
    if found.is_empty() {
        printer.say(&Line::plain("No other application's file has servers here."));
        return Ok(None);
    }
    let mut table = Table::new(["SERVER", "APP", "STATE", "FROM"]);
    for server in found {
        let is_hidden = configuration.server(server.name.as_str()).is_none_or(|other| other.origin != server.origin);
        let name = if is_hidden { selector(server) } else { server.name.to_string() };
        let state = held_text(context.setup.held(server).as_ref());
        table.row([
            Line::styled(Style::Name, name),
            Line::plain(server.application),
            Line::plain(state),
            Line::plain(context.shown(&server.origin)),
        ]);
    }
    printer.table(&table)?;
    if !context.console.can_ask() {
        printer.hint("copy some: `helve import NAME…`, or all: `helve import --all`");
        return Ok(None);
    }
    let answer = prompt::ask(context, "Which ones? (names, `all`, or nothing)")?;
    if answer.eq_ignore_ascii_case("all") {
        return Ok(Some(all(context, configuration, found)));
    }
    Ok(Some(answer.split([' ', ',']).filter(|name| !name.is_empty()).map(str::to_owned).collect()))
}

fn choice<'a>(
    context: &Context,
    configuration: &'a Configuration,
    found: &[&'a ConfiguredServer],
    name: &str,
) -> Result<&'a ConfiguredServer, Failure> {
    if let Some(server) = found.iter().find(|server| server.name.as_str() == name || selector(server) == name) {
        return Ok(server);
    }
    let server = context.server(configuration, name)?;
    let origin = context.shown(&server.origin);
    let message = if server.dialect == Dialect::Helve {
        format!("`{name}` is in a file of helve's own already, at {origin}")
    } else {
        format!("`{name}` is configured at {origin}, in a file of {}", server.application)
    };
    Err(Failure::usage(message).at_server(name))
}

fn own_target(context: &Context, scope: Option<Scope>) -> Result<FilePlace, Failure> {
    // --config may name the file to import from; what is written is always helve's own.
    let target = match (scope, place::named_file(context)) {
        (Some(scope), _) => place::own_file(context, scope)?,
        (None, Ok(Some(file))) if file.dialect != Dialect::Helve => place::own_file(context, Scope::User)?,
        (None, _) => place::target(context, None)?,
    };
    if target.dialect == Dialect::Helve { Ok(target) } else { Err(only_in_own_file(context, &target)) }
}

fn import(
    context: &Context,
    configuration: &Configuration,
    server: &ConfiguredServer,
    target: &FilePlace,
    seals: bool,
) -> Result<Value, Failure> {
    let name = server.name.as_str();
    let (origin, file) = (context.shown(&server.origin), context.env.shown(&target.path));
    if server.trust == ServerTrust::Untrusted {
        let message = format!("`{name}` comes from this project, at {origin}, and nobody has trusted it yet");
        return Err(Failure::new(ErrorCode::Untrusted, message)
            .at_server(name)
            .hint(format!("look at what it would run, then trust it: `helve trust {name}`")));
    }
    let from = place::file_of_server(configuration, server)
        .ok_or_else(|| Failure::new(ErrorCode::Config, format!("`{name}` is not configured in a file")))?;
    let text = fs_err::read_to_string(&from.path).map_err(|error| Failure::file(&error))?;
    let mut carried = carry(&from, &text, place::name_in_file(server), context.environment()).map_err(|error| {
        Failure::new(ErrorCode::Config, format!("`{name}` at {origin} cannot be copied: {error}")).at_server(name)
    })?;
    if server.disabled_by.is_some() {
        carried.switch_off();
    }
    let sealing = if seals { Sealing::Wanted } else { Sealing::Asked };
    sealing::offer(context, name, &mut carried, sealing, &file)?;
    if carried.holds_secrets && target.layer == Layer::Project && target.path.ends_with(discover::PROJECT_FILE) {
        let message = format!("`{name}` at {origin} has a secret written out, and {file} is for everybody");
        return Err(Failure::new(ErrorCode::Config, message)
            .at_server(name)
            .hint("keep it in the vault, and refer to it: `--seal`")
            .hint("put the secret into a variable and refer to it: ${NAME}")
            .hint("or copy it to a file of your own: `--scope user` or `--scope local`"));
    }
    for what in &carried.left_behind {
        context.printer.warning(format!("`{name}`: not taken over: {what}"));
    }
    let holds_secrets = carried.holds_secrets;
    edit_file(target, None, name, &Change::Carry(Box::new(carried))).map_err(|error| {
        let failure = place::refused(context, target, name, &error);
        match error {
            EditError::Exists(_) => {
                failure.hint(format!("to copy it anew, remove that one first: `helve remove {name}`"))
            }
            _ => failure,
        }
    })?;
    if holds_secrets {
        sealing::warn(context, name, &file, true);
    }
    settle(context, target, name, "imported", None)
}
