//! The verbs: one file each, with its arguments, its help and its whole story.

mod add;
mod add_json;
mod allow;
mod approvals;
mod ask;
mod bridge;
mod builtin;
mod call;
mod completions;
mod connect;
mod deny;
mod disable;
mod disconnect;
mod doctor;
mod enable;
mod expand;
mod explain;
mod get;
mod hub;
mod hubs;
mod import;
mod init;
mod join;
mod keep;
mod leave;
mod login;
mod logout;
mod logs;
mod man;
mod pin;
mod poll;
pub(crate) mod prompt;
mod prompts;
mod read;
mod remove;
mod resources;
mod rules;
mod run;
mod sandbox;
mod schema;
mod sealing;
pub(crate) mod search;
mod secret;
mod serve;
mod servers;
mod status;
mod tool;
mod tools;
mod trust;
mod watch;

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{Parser as _, Subcommand};
use helve_setup::Environment;

pub(crate) use completions::Shell;

use crate::complete;
use crate::console::Console;
use crate::context::Context;
use crate::failure::Failure;
use crate::log;
use crate::options::{self, Cli};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Call(call::Args),
    Run(run::Args),
    #[command(visible_alias = "list", alias = "ls")]
    Tools(tools::Args),
    Tool(tool::Args),
    Search(search::Args),
    Resources(resources::Args),
    Read(read::Args),
    Prompts(prompts::Args),
    Prompt(prompt::Args),
    Watch(watch::Args),
    Poll(poll::Args),
    Logs(logs::Args),
    #[command(visible_aliases = ["status", "mcp"])]
    Servers(servers::Args),
    Serve(serve::Args),
    Hub(hub::Args),
    Approvals(approvals::Args),
    Hubs(hubs::Args),
    Join(join::Args),
    Leave(leave::Args),
    Keep(keep::Args),
    Builtin(builtin::Args),
    Expand(expand::Args),
    Bridge(bridge::Args),
    Explain(explain::Args),
    Rules(rules::Args),
    Allow(allow::Args),
    Ask(ask::Args),
    Deny(deny::Args),
    Doctor(doctor::Args),
    Pin(pin::Args),
    Sandbox(sandbox::Args),
    Init(init::Args),
    Add(add::Args),
    AddJson(add_json::Args),
    #[command(visible_alias = "rm")]
    Remove(remove::Args),
    Enable(enable::Args),
    Disable(disable::Args),
    Get(get::Args),
    Import(import::Args),
    Connect(connect::Args),
    Disconnect(disconnect::Args),
    Trust(trust::Args),
    Login(login::Args),
    Logout(logout::Args),
    Secret(secret::Args),
    Completions(completions::Args),
    Man(man::Args),
    Schema(schema::Args),
    #[command(name = "__complete", hide = true)]
    Complete(complete::Args),
}

/// The verb that stands for `--help` behind what follows it.
const HELP: &str = "help";

/// Does what the command line asks; gives the exit status.
pub(crate) fn run(environment: Environment, console: Console, arguments: Vec<OsString>) -> u8 {
    let cli = match parse(&arguments) {
        Ok(cli) => cli,
        Err(error) => return options::refuse(&environment, console, &arguments, &error),
    };
    let environment = match &cli.options.working_directory {
        Some(directory) => environment.standing_in(directory),
        None => environment,
    };
    let context = Context::new(environment, console, cli.options);
    match dispatch(&context, cli.verb) {
        Ok(()) => 0,
        Err(failure) => {
            let failure = failure.unanswered(context.asked.hints(), context.printer.is_json());
            if !failure.is_silent() && !context.has_told(&failure) {
                context.printer.failure(&failure);
            }
            failure.exit_status()
        }
    }
}

/// Reads the command line. Describing thirty verbs takes longer than most of them, so those that scripts and agents start
/// all the time are tried by themselves; what they cannot read is for the whole to explain.
fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    // `helve help call`, as many programs have it.
    if arguments.get(1).is_some_and(|verb| verb == HELP) {
        let verb = arguments.iter().enumerate().filter(|(index, _)| *index != 1).map(|(_, word)| word.clone());
        return Cli::try_parse_from(verb.chain(["--help".into()]));
    }
    let alone = match arguments.get(1).and_then(|verb| verb.to_str()) {
        Some("call") => options::alone(arguments, Verb::Call),
        Some("tools") => options::alone(arguments, Verb::Tools),
        Some("serve") => options::alone(arguments, Verb::Serve),
        _ => None,
    };
    let whole = || Cli::try_parse_from(arguments).map_err(|error| with_better_tip(error, arguments));
    alone.map_or_else(whole, Ok)
}

/// A server's command has dashes of its own: where `helve add` stumbles over them, what is missing is `--` in front of it.
fn with_better_tip(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    if error.kind() != clap::error::ErrorKind::UnknownArgument {
        return error;
    }
    let line = (2..arguments.len()).find_map(|at| {
        let mut line = arguments.to_vec();
        line.insert(at, "--".into());
        matches!(Cli::try_parse_from(&line).ok()?.verb, Some(Verb::Add(_))).then_some(line)
    });
    if let Some(line) = line {
        let words = line.iter().skip(1).map(|word| word.to_string_lossy());
        let tip = format!("the command of the server stands behind `--`: helve {}", shell_words::join(words));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// True when helve with these arguments is a server, or keeps some.
pub(crate) fn serves(arguments: &[String]) -> bool {
    let words: Vec<OsString> =
        std::iter::once("helve").chain(arguments.iter().map(String::as_str)).map(Into::into).collect();
    match parse(&words) {
        Ok(Cli { verb: Some(Verb::Serve(_)), .. }) => true,
        Ok(Cli { verb: Some(Verb::Hub(args)), .. }) => args.runs(),
        Ok(Cli { verb: Some(Verb::Keep(args)), .. }) => args.is_run(),
        Ok(_) => false,
        // It may be a shell that knows the rest.
        Err(_) => arguments.iter().any(|word| may_serve(word)),
    }
}

/// True when a word, or a text of words, may name a verb that serves.
pub(crate) fn may_serve(text: &str) -> bool {
    text.contains("serve") || text.contains("keep") || text.contains("hub") || text.contains('$')
}

fn dispatch(context: &Context, verb: Option<Verb>) -> Result<(), Failure> {
    if !context.env.working_directory().is_dir() {
        let directory = context.env.working_directory().display();
        return Err(Failure::usage(format!("there is no directory {directory}")));
    }
    log::start(&context.env, &context.printer)?;
    match verb {
        None => status::run(context),
        Some(Verb::Call(args)) => call::run(context, args),
        Some(Verb::Run(args)) => run::run(context, &args),
        Some(Verb::Tools(args)) => tools::run(context, &args),
        Some(Verb::Tool(args)) => tool::run(context, &args),
        Some(Verb::Search(args)) => search::run(context, &args),
        Some(Verb::Resources(args)) => resources::run(context, &args),
        Some(Verb::Read(args)) => read::run(context, &args),
        Some(Verb::Prompts(args)) => prompts::run(context, &args),
        Some(Verb::Prompt(args)) => prompt::run(context, &args),
        Some(Verb::Watch(args)) => watch::run(context, &args),
        Some(Verb::Poll(args)) => poll::run(context, &args),
        Some(Verb::Logs(args)) => logs::run(context, &args),
        Some(Verb::Servers(args)) => servers::run(context, &args),
        Some(Verb::Serve(args)) => serve::run(context, args),
        Some(Verb::Hub(args)) => hub::run(context, args),
        Some(Verb::Approvals(args)) => approvals::run(context, args),
        Some(Verb::Hubs(args)) => hubs::run(context, &args),
        Some(Verb::Join(args)) => join::run(context, &args),
        Some(Verb::Leave(args)) => leave::run(context, &args),
        Some(Verb::Keep(args)) => keep::run(context, &args),
        Some(Verb::Builtin(args)) => builtin::run(context, &args),
        Some(Verb::Expand(args)) => expand::run(context, &args),
        Some(Verb::Bridge(args)) => bridge::run(context, &args),
        Some(Verb::Explain(args)) => explain::run(context, &args),
        Some(Verb::Rules(args)) => rules::run(context, &args),
        Some(Verb::Allow(args)) => allow::run(context, &args),
        Some(Verb::Ask(args)) => ask::run(context, &args),
        Some(Verb::Deny(args)) => deny::run(context, &args),
        Some(Verb::Doctor(args)) => doctor::run(context, &args),
        Some(Verb::Pin(args)) => pin::run(context, &args),
        Some(Verb::Sandbox(args)) => sandbox::run(context, &args),
        Some(Verb::Init(args)) => init::run(context, &args),
        Some(Verb::Add(args)) => add::run(context, args),
        Some(Verb::AddJson(args)) => add_json::run(context, &args),
        Some(Verb::Remove(args)) => remove::run(context, &args),
        Some(Verb::Enable(args)) => enable::run(context, &args),
        Some(Verb::Disable(args)) => disable::run(context, &args),
        Some(Verb::Get(args)) => get::run(context, &args),
        Some(Verb::Import(args)) => import::run(context, &args),
        Some(Verb::Connect(args)) => connect::run(context, args),
        Some(Verb::Disconnect(args)) => disconnect::run(context, args),
        Some(Verb::Trust(args)) => trust::run(context, &args),
        Some(Verb::Login(args)) => login::run(context, &args),
        Some(Verb::Logout(args)) => logout::run(context, &args),
        Some(Verb::Secret(args)) => secret::run(context, &args),
        Some(Verb::Completions(args)) => completions::run(context, &args),
        Some(Verb::Man(args)) => man::run(context, &args),
        Some(Verb::Schema(args)) => schema::run(context, &args),
        Some(Verb::Complete(args)) => complete::run(context, &args),
    }
}

#[cfg(test)]
#[path = "commands_tests.rs"]
mod tests;
