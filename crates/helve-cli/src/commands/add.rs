//! `helve add`: one more server, from the words people use for it everywhere.

use clap::ValueEnum;
use helve_config::edit::{Change, EditError, NewServer, NewTransport, edit_file};
use helve_config::{Dialect, FilePlace, looks_secret};
use helve_model::sandbox::Choice;
use helve_model::{DisabledReason, ErrorCode, HttpFlavour, Layer, ServerName, ServerSpec};
use helve_setup::{file_of, held_word, secret_name};
use serde_json::{Value, json};

use super::secret;
use crate::confinement;
use crate::context::Context;
use crate::failure::Failure;
use crate::place::{self, Scope};
use crate::printer::Line;
use crate::trial::Trial;

/// What was done with a server that was not there before.
pub(super) const ADDED: &str = "added";

/// Add a server: a command to start, or an address to reach
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  helve add files -- npx -y @modelcontextprotocol/server-filesystem .
  helve add github -e GITHUB_TOKEN -- docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server
  helve add docs https://docs.example.com/mcp -H 'Authorization: Bearer ${DOCS_TOKEN}'
  helve add --transport sse --scope user tickets https://tickets.example.com/sse")]
pub(crate) struct Args {
    /// What to call it
    name: String,

    /// Its address, or its command when nothing of it begins with a dash
    #[arg(value_name = "URL|COMMAND")]
    words: Vec<String>,

    /// The command and its arguments
    #[arg(last = true)]
    command: Vec<String>,

    /// How it is reached; found out when left away
    #[arg(short, long, value_enum)]
    transport: Option<Transport>,

    /// A variable for the command; without a value it is handed on from your environment
    #[arg(short, long = "env", value_name = "NAME[=VALUE]")]
    environment: Vec<String>,

    /// A header for every request to the address
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,

    /// A variable for the command, or a header for the address, whose value is asked for and kept sealed
    #[arg(long = "secret", value_name = "NAME")]
    secrets: Vec<String>,

    /// Only these tools, as globs
    #[arg(long = "tool", value_name = "GLOB")]
    tools: Vec<String>,

    /// The sandbox of the command; if left away, the one in your settings is written, if the server starts in it
    #[arg(long, value_name = "PROFILE", value_parser = confinement::choices())]
    sandbox: Option<Choice>,

    /// Change the server if there is one of that name
    #[arg(long)]
    replace: bool,

    /// Whose file it goes to; without it the project's helve.toml if there is one, else your own
    #[arg(short, long, value_enum)]
    scope: Option<Scope>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    /// A command to start
    Stdio,
    /// Streamable HTTP
    #[value(alias = "streamable-http")]
    Http,
    /// HTTP+SSE, the older transport
    Sse,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<(), Failure> {
    let name = place::new_name(&args.name)?;
    let place = place::target(context, args.scope)?;
    let mut server = new_server(&args)?;
    keep_secrets(context, &place, name.as_str(), &args.secrets, &mut server)?;
    let spelt_out = spelt_out_secrets(&server);
    let trial = match args.sandbox {
        Some(named) => Trial::named(named),
        None => Trial::run(context, &place, name.as_str(), &server)?,
    };
    server.sandbox = trial.to_write();
    let server_arguments = match &server.transport {
        NewTransport::Program { arguments, .. } => secret_words(arguments),
        NewTransport::Address { .. } => Vec::new(),
    };
    let replaced = put(context, &place, name.as_str(), server, args.replace)?;
    for secret in spelt_out {
        let file = context.env.shown(&place.path);
        context.printer.warning(format!(
            "the value of {secret} is written into {file}, where everybody who can read the file sees it"
        ));
        context.printer.hint(format!("refer to a variable instead: '${{{}}}'", variable_name(&secret)));
        context.printer.hint(format!("or have it kept sealed: `--secret {secret}` instead of its value"));
    }
    warn_of_arguments(context, &server_arguments);
    let done = if replaced { "changed" } else { ADDED };
    let mut settled = settle(context, &place, name.as_str(), done, trial.choice())?;
    trial.tell(context, name.as_str());
    settled["sandbox"] = json!(trial.to_write().map(Choice::as_str));
    if context.printer.is_json() { context.printer.json(&settled) } else { Ok(()) }
}

/// Writes the server; gives whether there was one.
fn put(
    context: &Context,
    place: &FilePlace,
    name: &str,
    server: NewServer,
    may_replace: bool,
) -> Result<bool, Failure> {
    if may_replace {
        match edit_file(place, None, name, &Change::Update(server.clone())) {
            Err(EditError::NoSuchServer { .. }) => {}
            Err(error) => return Err(place::refused(context, place, name, &error)),
            Ok(_) => return Ok(true),
        }
    }
    match edit_file(place, None, name, &Change::Add(server)) {
        Ok(_) => Ok(false),
        Err(error) => {
            let failure = place::refused(context, place, name, &error);
            Err(match error {
                EditError::Exists(_) => failure.hint("change it with `--replace`, or choose another name"),
                _ => failure,
            })
        }
    }
}

/// Says what became of a server that was just written, and trusts it where it stands in a project, in this sandbox where its
/// entry has none. Gives the same for scripts.
pub(super) fn settle(
    context: &Context,
    place: &FilePlace,
    name: &str,
    done: &str,
    sandbox: Option<Choice>,
) -> Result<Value, Failure> {
    context.setup.trust_own_edit(place, name, sandbox)?;
    let configuration = context.load()?;
    let file = context.env.shown(&place.path);
    let server = configuration.server(name);
    let printer = &context.printer;
    match server {
        Some(server) if file_of(&server.origin) == Some(place.path.as_path()) => {
            printer.say(&Line::plain(format!("{done} server `{name}` at {}", context.shown(&server.origin))));
            if done == ADDED {
                tell_of_defaults(context, &context.setup.defaults_without(&configuration, name));
            }
            context.report(&server.diagnostics);
            match context.setup.held(server) {
                Some(DisabledReason::Itself) => {
                    printer.warning("it is helve itself, which is never started as a server of its own");
                }
                Some(reason) => printer.warning(format!("it does not run yet: {reason}")),
                None => {}
            }
        }
        Some(server) if server.layer != Layer::Explicit => {
            printer.say(&Line::plain(format!("{done} server `{name}` in {file}")));
            printer.warning(format!("{} has a server `{name}` too, and wins", context.shown(&server.origin)));
        }
        // The file is one that only --config reads, or one that --config overrules for this run.
        Some(_) | None => printer.say(&Line::plain(format!("{done} server `{name}` in {file}"))),
    }
    let state = server.map(|server| held_word(context.setup.held(server).as_ref()));
    Ok(json!({ "server": name, "file": place.path.to_string_lossy(), "state": state }))
}

/// The built-in servers go with the first of one's own: nobody should have to find that out.
fn tell_of_defaults(context: &Context, gone: &[ServerName]) {
    let line = match gone {
        [] => return,
        [only] => format!("the built-in server `{only}` runs while there is no other server, and is off from now on"),
        several => {
            let names: Vec<String> = several.iter().map(|name| format!("`{name}`")).collect();
            let names = names.join(" and ");
            format!("the built-in servers {names} run while there is no other server, and are off from now on")
        }
    };
    context.printer.say(&Line::plain(line));
    let Some(example) = gone.last() else { return };
    context.printer.hint(format!(
        "an entry of its own keeps one: `[servers.{example}]` with `builtin = \"{example}\"` in helve.toml"
    ));
}

fn new_server(args: &Args) -> Result<NewServer, Failure> {
    if let Some(word) = args.words.first()
        && let Some((scheme, rest)) = word.split_once("://")
    {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if !is_address(word) && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(Failure::usage(format!("`{scheme}` is not a way to reach a server"))
                .hint("an address begins with http:// or https://"));
        }
        if is_address(word) && host.is_empty() {
            return Err(Failure::usage(format!("the address `{word}` names no host")));
        }
    }
    let address = args.words.first().filter(|word| is_address(word));
    let transport = match (args.transport, address) {
        (Some(Transport::Http | Transport::Sse), Some(_)) | (None, Some(_)) if args.words.len() == 1 => {
            if !args.command.is_empty() {
                return Err(Failure::usage("a server is started or reached, not both")
                    .hint("give it an address, or a command behind `--`"));
            }
            address_of(args, address.map(String::as_str).unwrap_or_default())?
        }
        (Some(Transport::Http | Transport::Sse), _) => {
            return Err(Failure::usage("a server over HTTP needs one address, and nothing else")
                .hint("it begins with http:// or https://"));
        }
        (None, Some(_)) => return Err(Failure::usage("a server has one address, and nothing behind it")),
        (Some(Transport::Stdio) | None, _) => program(args)?,
    };
    if args.sandbox.is_some() && matches!(transport, NewTransport::Address { .. }) {
        return Err(Failure::usage("an address has no sandbox").hint("helve confines the programs that it starts"));
    }
    let mut server = NewServer { transport, ..NewServer::address("") };
    server.tools = (!args.tools.is_empty()).then(|| args.tools.clone());
    Ok(server)
}

fn address_of(args: &Args, url: &str) -> Result<NewTransport, Failure> {
    if !args.environment.is_empty() {
        return Err(Failure::usage("an address takes no variables").hint("send headers with --header"));
    }
    let mut headers = Vec::with_capacity(args.headers.len());
    for header in &args.headers {
        let Some((name, value)) = header.split_once(':').filter(|(name, _)| !name.trim().is_empty()) else {
            return Err(Failure::usage(format!("`{header}` is not a header")).hint("write 'Name: value'"));
        };
        // A line break would begin another header, in the request or in the file.
        if name.chars().chain(value.chars()).any(char::is_control) {
            let shown: String = name.chars().filter(|character| !character.is_control()).collect();
            let message = format!("the header `{}` holds a line break or a control character", shown.trim());
            return Err(Failure::usage(message).hint("give its value on one line"));
        }
        headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    let flavour = match args.transport {
        Some(Transport::Sse) => HttpFlavour::Sse,
        Some(Transport::Http | Transport::Stdio) | None => HttpFlavour::Auto,
    };
    Ok(NewTransport::Address { url: url.to_owned(), headers, flavour })
}

fn program(args: &Args) -> Result<NewTransport, Failure> {
    if !args.headers.is_empty() {
        return Err(Failure::usage("a command takes no headers").hint("hand it variables with --env"));
    }
    let mut line = args.words.iter().chain(&args.command).cloned();
    let name = shell_words::quote(&args.name);
    let command = line.next().filter(|command| !command.is_empty()).ok_or_else(|| {
        Failure::usage(format!("how is `{}` reached?", args.name))
            .hint(format!("start it: `helve add {name} -- COMMAND ARGUMENTS…`"))
            .hint(format!("or reach it: `helve add {name} https://…`"))
    })?;
    let mut environment = Vec::with_capacity(args.environment.len());
    for pair in &args.environment {
        let (name, value) = match pair.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => (pair.as_str(), format!("${{{pair}}}")),
        };
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(Failure::usage(format!("`{pair}` is not a variable")).hint("write NAME=value, or NAME alone"));
        }
        environment.push((name.to_owned(), value));
    }
    Ok(NewTransport::Program { command, arguments: line.collect(), environment, working_directory: None })
}

fn is_address(word: &str) -> bool {
    word.starts_with("http://") || word.starts_with("https://")
}

/// Keeps each secret sealed, and has the entry refer to it.
fn keep_secrets(
    context: &Context,
    place: &FilePlace,
    server_name: &str,
    names: &[String],
    server: &mut NewServer,
) -> Result<(), Failure> {
    if names.is_empty() {
        return Ok(());
    }
    if place.dialect != Dialect::Helve {
        return Err(only_in_own_file(context, place).hint("only helve knows what ${secret:NAME} means"));
    }
    let pairs = match &mut server.transport {
        NewTransport::Program { environment, .. } => environment,
        NewTransport::Address { headers, .. } => headers,
    };
    for name in names {
        if name.is_empty() || name.contains(|character: char| character.is_whitespace() || character == '=') {
            return Err(Failure::usage(format!("`{name}` is not the name of a variable or a header"))
                .hint("the value is asked for, never written on the command line"));
        }
        let kept_as = secret_name(server_name, name);
        let value = secret::value_of(context, &format!("value of {name}:"), false)?;
        secret::keep(context, &kept_as, value)?;
        let reference = format!("${{secret:{kept_as}}}");
        let is_bearer = name.eq_ignore_ascii_case("authorization");
        pairs.push((name.clone(), if is_bearer { format!("Bearer {reference}") } else { reference }));
    }
    Ok(())
}

/// The arguments of a program that hold secrets.
fn secret_words(arguments: &[String]) -> Vec<String> {
    let spec = ServerSpec::stdio("new", "program").args(arguments).build();
    helve_config::secret_arguments(&spec)
}

/// What everybody on the machine could read.
pub(super) fn warn_of_arguments(context: &Context, named: &[String]) {
    for name in named {
        let shown = name.trim_start_matches('-');
        let variable = variable_name(shown.trim_start_matches("${").trim_end_matches('}'));
        context.printer.warning(format!(
            "the argument {name} holds a secret, and every user of this machine can see a program's arguments"
        ));
        context
            .printer
            .hint(format!("if the program reads a variable instead, hand it over so: `--secret {variable}`"));
    }
}

/// The names of secrets whose values the person typed out.
fn spelt_out_secrets(server: &NewServer) -> Vec<String> {
    let is_spelt_out = |(name, value): &&(String, String)| looks_secret(name) && !value.contains("${");
    let pairs = match &server.transport {
        NewTransport::Program { environment, .. } => environment,
        NewTransport::Address { headers, .. } => headers,
    };
    pairs.iter().filter(is_spelt_out).map(|(name, _)| name.clone()).collect()
}

/// A variable that could hold what a header holds.
fn variable_name(secret: &str) -> String {
    secret.to_ascii_uppercase().replace('-', "_")
}

/// The failure of an entry that another application's file cannot hold, used by every verb that writes one.
pub(super) fn only_in_own_file(context: &Context, place: &FilePlace) -> Failure {
    let file = context.env.shown(&place.path);
    Failure::new(ErrorCode::Config, format!("{file} is not helve's own file")).hint("leave out --config")
}
