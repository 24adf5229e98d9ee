//! `helve __complete`: what could come next on a command line, for the scripts of `helve completions`.
//!
//! Commands, options and their values come from the definition of the command line. An argument whose value is called
//! `SERVER` gets the configured servers, one called `TOOL` gets their tools, one called `HUB` the hubs that were joined, and
//! one called `PROMPT` the beginnings of their names: nobody keeps lists of prompts. What stands in arguments and URIs is another module's.

mod arguments;

use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex, PoisonError};

use clap::CommandFactory as _;
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use helve_model::text;

use crate::catalog;
use crate::commands::Shell;
use crate::context::Context;
use crate::failure::Failure;
use crate::options::Cli;

/// Say what could come next on a command line
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    shell: Shell,

    /// The line up to the cursor, as bash has it
    #[arg(long, allow_hyphen_values = true)]
    line: Option<String>,

    /// What bash takes for the last word
    #[arg(long, allow_hyphen_values = true, default_value = "")]
    current: String,

    /// The words up to the cursor; the last is the one to complete
    #[arg(last = true)]
    words: Vec<OsString>,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let words = match &args.line {
        Some(line) => split(line).into_iter().map(OsString::from).collect(),
        None => args.words.clone(),
    };
    let Some(last) = words.len().checked_sub(1) else { return Ok(()) };
    // What bash keeps of the last word is not repeated in the answers.
    let whole = words.last().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let kept = match args.shell {
        Shell::Bash => whole.strip_suffix(args.current.as_str()).unwrap_or_default().len(),
        Shell::Zsh | Shell::Fish => 0,
    };

    let asked = Asked::default();
    let mut command = with_names(context, Cli::command(), &asked);
    let directory = Some(context.env.working_directory());
    let mut candidates = clap_complete::engine::complete(&mut command, words.clone(), last, directory)
        .map_err(|error| Failure::file(&error))?;
    if let Some((kind, typed)) = asked.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let line = words.get(..last).unwrap_or_default();
        candidates.extend(
            arguments::candidates(context, line, kind, &typed)
                .into_iter()
                .map(|(value, help)| CompletionCandidate::new(value).help((!help.is_empty()).then(|| help.into()))),
        );
    }
    let is_option = |candidate: &CompletionCandidate| candidate.get_value().as_encoded_bytes().starts_with(b"-");
    // Options are offered to who began one, or where nothing else could come.
    let has_words = !whole.starts_with('-') && candidates.iter().any(|candidate| !is_option(candidate));
    let mut text = String::new();
    for candidate in &candidates {
        if candidate.is_hide_set() || (has_words && is_option(candidate)) {
            continue;
        }
        if let Some(shown) = show(args.shell, candidate, kept) {
            text.push_str(&shown);
            text.push('\n');
        }
    }
    context.printer.block(&text)
}

/// One candidate as the shell wants it; `None` for one that could do more than be typed.
fn show(shell: Shell, candidate: &CompletionCandidate, kept: usize) -> Option<String> {
    let value = candidate.get_value().to_str()?.get(kept..)?;
    if value.chars().any(text::is_invisible) {
        return None;
    }
    let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
    let help = text::one_line(help.lines().next().unwrap_or_default()).into_owned();
    Some(match shell {
        // bash puts the word on the line as it is.
        Shell::Bash if value.chars().all(is_plain_in_bash) => value.to_owned(),
        Shell::Bash => shell_words::quote(value).into_owned(),
        Shell::Zsh => {
            let value = value.replace('\\', "\\\\").replace(':', "\\:");
            // A colon with nothing behind it is shown as a description that is missing.
            if help.is_empty() { value } else { format!("{value}:{help}") }
        }
        Shell::Fish if help.is_empty() => value.to_owned(),
        Shell::Fish => format!("{value}\t{help}"),
    })
}

/// True for what bash takes as it is in an argument: also `=`, behind which the script puts no space.
fn is_plain_in_bash(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_-./:=@%+,".contains(character)
}

/// The argument that the command line found to be the one to complete, and what is typed of it. It is looked up afterwards: only then is
/// there somebody who may ask a server.
#[derive(Debug, Clone, Default)]
struct Asked(Arc<Mutex<Option<(arguments::Kind, String)>>>);

impl Asked {
    fn completer(&self, kind: arguments::Kind) -> ArgValueCompleter {
        let asked = Arc::clone(&self.0);
        ArgValueCompleter::new(move |typed: &OsStr| {
            if let Some(typed) = typed.to_str() {
                *asked.lock().unwrap_or_else(PoisonError::into_inner) = Some((kind, typed.to_owned()));
            }
            Vec::new()
        })
    }
}

/// The command line with the names that only the configuration knows.
fn with_names(context: &Context, command: clap::Command, asked: &Asked) -> clap::Command {
    let servers = servers(context);
    let tools = tools(context, &servers);
    let hubs = hubs(context);
    let prompts: Vec<String> = servers.iter().map(|server| format!("{server}/")).collect();
    command.mut_subcommands(|verb| {
        verb.mut_args(|argument| {
            let names = match argument.get_value_names().and_then(<[_]>::first).map(|name| name.as_str()) {
                Some("SERVER") => servers.clone(),
                Some("TOOL") => tools.clone(),
                Some("PROMPT") => prompts.clone(),
                Some("HUB") => hubs.clone(),
                Some("KEY=VALUE" | "URI|KEY=VALUE") => return argument.add(asked.completer(arguments::Kind::Word)),
                Some("URI") => return argument.add(asked.completer(arguments::Kind::Uri)),
                _ => return argument,
            };
            argument.add(ArgValueCandidates::new(move || names.iter().map(CompletionCandidate::new).collect()))
        })
    })
}

fn servers(context: &Context) -> Vec<String> {
    let Ok(configuration) = context.load() else { return Vec::new() };
    configuration.servers.iter().map(|server| server.name.to_string()).collect()
}

fn hubs(context: &Context) -> Vec<String> {
    let Ok(configuration) = context.load() else { return Vec::new() };
    configuration.hubs.iter().map(|hub| hub.place.to_string()).collect()
}

/// The tools whose names are known without starting anything, and the beginnings of the others.
fn tools(context: &Context, servers: &[String]) -> Vec<String> {
    let Ok(configuration) = context.load() else { return Vec::new() };
    let mut names = catalog::known_names(context, &configuration);
    let unknown = servers.iter().map(|server| format!("{server}/"));
    let unknown: Vec<String> = unknown.filter(|start| !names.iter().any(|name| name.starts_with(start))).collect();
    names.extend(unknown);
    names
}

/// The words of a line; a quotation mark that is still open closes at its end, and a blank there begins a word.
fn split(line: &str) -> Vec<String> {
    if let Ok(mut words) = shell_words::split(line) {
        if line.ends_with(char::is_whitespace) {
            words.push(String::new());
        }
        return words;
    }
    let closed = [format!("{line}'"), format!("{line}\"")];
    closed.iter().find_map(|line| shell_words::split(line).ok()).unwrap_or_default()
}
