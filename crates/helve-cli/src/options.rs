//! The command line as a whole: the options every verb has, and how a wrong one is refused.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::error::ErrorKind;
use clap::{ArgAction, Args, Parser, ValueEnum, ValueHint};
use helve_config::Dialect;
use helve_model::text;
use helve_setup::{Choices, Environment};

use crate::commands::Verb;
use crate::console::Console;
use crate::failure::Failure;
use crate::printer::{Color, Printer, write_talk};

const ABOUT: &str = "The handle between an agent and its tools: MCP servers from a shell";

const EXIT_STATUS: &str = "\
Exit status: 0 done, 1 other, 2 usage or configuration, 3 cannot start or connect, 4 time-out,
5 tool error or not found, 6 needs credentials, 7 denied, untrusted or needs an answer, 130 interrupted

Environment: HELVE_LOG=helve_wire=debug shows log lines by target; NO_COLOR switches colours off";

#[derive(Debug, Parser)]
#[command(name = "helve", version, about = ABOUT, after_help = EXIT_STATUS, max_term_width = 100)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) options: GlobalOptions,
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
}

/// A verb without the others: what stands behind its name.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Alone<A: Args> {
    #[command(flatten)]
    options: GlobalOptions,
    #[command(flatten)]
    args: A,
}

/// Options that every verb has.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Options for every command")]
pub(crate) struct GlobalOptions {
    /// Print data as JSON; an error is then a JSON object on stdout too
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Say more; twice for log lines
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Say nothing but errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,

    /// Read this configuration file too; it wins over all others
    #[arg(long = "config", global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,

    /// The form of the files named with --config, where their names do not say it
    #[arg(long, global = true, value_name = "APP", value_parser = dialects(), hide_possible_values = true)]
    pub(crate) dialect: Option<Dialect>,

    /// Read nothing but the files named with --config
    #[arg(long, global = true, visible_alias = "only-config")]
    pub(crate) no_discover: bool,

    /// How long anything may take: 5s, 500ms, 2m
    #[arg(long, global = true, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,

    /// Colours; auto is on a terminal
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: ColorChoice,

    /// Work as if started in this directory
    #[arg(long = "cwd", global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) working_directory: Option<PathBuf>,

    /// Do without MCP servers altogether
    #[arg(long, global = true)]
    pub(crate) no_mcp: bool,
}

impl GlobalOptions {
    /// What of them is about files and servers.
    pub(crate) fn choices(&self) -> Choices {
        Choices {
            files: self.files.clone(),
            dialect: self.dialect,
            only_files: self.no_discover,
            timeout: self.timeout,
            no_mcp: self.no_mcp,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

/// Reads a command line that begins with a verb of these arguments; `None` when it is not all right.
pub(crate) fn alone<A: Args>(arguments: &[OsString], verb: fn(A) -> Verb) -> Option<Cli> {
    let Alone { options, args } = Alone::try_parse_from(arguments.iter().skip(2)).ok()?;
    Some(Cli { options, verb: Some(verb(args)) })
}

/// Says what is wrong with the command line, or what was asked about it; gives the exit status.
pub(crate) fn refuse(environment: &Environment, console: Console, arguments: &[OsString], error: &clap::Error) -> u8 {
    let options = GlobalOptions { json: asks_for_json(arguments), ..GlobalOptions::default() };
    let printer = Printer::new(environment, console, &options);
    let rendered = |color: Color| match color {
        Color::On => error.render().ansi().to_string(),
        Color::Off => text::visible(&error.render().to_string()).into_owned(),
    };
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return match printer.rendered(&rendered(printer.stdout_color())) {
            Ok(()) => 0,
            Err(failure) => failure.exit_status(),
        };
    }
    let failure = as_failure(error);
    if options.json {
        printer.failure(&failure);
    } else {
        write_talk(&rendered(printer.stderr_color()));
    }
    failure.exit_status()
}

/// clap's words as one of ours: the message in one line, its tips as hints.
fn as_failure(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let mut lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let message = lines.next().unwrap_or_default();
    let mut failure = Failure::usage(message.strip_prefix("error: ").unwrap_or(message));
    for line in lines.filter(|line| !line.is_empty()) {
        failure = failure.hint(line.strip_prefix("tip: ").unwrap_or(line));
    }
    failure
}

/// The person's wish for JSON counts also where the rest of the line makes no sense.
fn asks_for_json(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json")
}

fn dialects() -> impl clap::builder::TypedValueParser<Value = Dialect> {
    let names = Dialect::ALL.iter().map(|dialect| dialect.name());
    PossibleValuesParser::new(names).try_map(|name| Dialect::named(&name).ok_or("there is no such form"))
}

/// A time: a number with `ms`, `s`, `m` or `h` behind it; without one it counts seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = text.get(digits.len()..).unwrap_or_default();
    let seconds_each = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        _ => return Err(format!("`{unit}` is not a unit of time: write ms, s, m or h")),
    };
    let number: f64 = digits.parse().map_err(|_| "write a number and a unit, like 5s".to_owned())?;
    let duration = Duration::try_from_secs_f64(number * seconds_each).map_err(|error| error.to_string())?;
    if duration.is_zero() { Err("it must be above 0".to_owned()) } else { Ok(duration) }
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
