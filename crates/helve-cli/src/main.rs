//! The program `helve`. This file alone reads the environment, the home directory, the current directory and the
//! terminal; everything else is handed an [`Environment`] and a [`Console`].

mod applications;
mod approve;
mod catalog;
mod certificates;
mod code_mode;
mod commands;
mod complete;
mod confinement;
mod console;
mod content;
mod context;
mod describe;
mod door_keeper;
mod failure;
mod hint_words;
mod inputs;
mod line_editor;
mod listening;
mod log;
mod lossless;
mod offer_requests;
mod options;
mod own_rules;
mod peer;
mod place;
mod printer;
mod problems;
mod program;
mod progress;
mod prompt;
mod questions;
mod redact;
mod reload;
mod resident;
mod result_directories;
mod running;
mod sampler;
mod sign_ins;
mod spelling;
mod stdio;
mod suspicion;
mod token;
mod trial;
mod tty;
mod watching;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::time::Duration;

use console::Console;
use helve_setup::{Choices, Environment, OwnProgram};

/// The verb that makes this program a warden.
const WARDEN_VERB: &str = "__warden";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    // Before anything else: a warden has no threads, no settings and no words.
    #[cfg(warden)]
    if arguments.get(1).is_some_and(|verb| verb == WARDEN_VERB) {
        return helve_wire::launch::warden::run(&[WARDEN_VERB], arguments.into_iter().skip(2));
    }
    match environment() {
        Ok(environment) => ExitCode::from(commands::run(environment, console(), arguments)),
        Err(error) => failure::without_surroundings(&error),
    }
}

#[expect(clippy::disallowed_methods, reason = "a program has to read its surroundings somewhere: here, once")]
fn environment() -> io::Result<Environment> {
    let mut environment = Environment::new(std::env::current_dir()?)
        .with_variables(std::env::vars_os())
        .with_temporary_directory(std::env::temp_dir())
        .with_clock(std::time::SystemTime::now)
        .with_certificates(certificates::of_system)
        .with_device(rustix::system::uname().nodename().to_string_lossy());
    if let Some(home) = std::env::home_dir().filter(|home| home.is_absolute()) {
        environment = environment.with_home(home);
    }
    if let Ok(path) = std::env::current_exe() {
        environment = environment.with_program(OwnProgram {
            path,
            warden: vec![WARDEN_VERB.into()],
            may_serve: commands::may_serve,
            serves: commands::serves,
            keeps: keep_arguments,
        });
    }
    Ok(environment)
}

fn console() -> Console {
    Console {
        stdin_is_terminal: io::stdin().is_terminal(),
        has_terminal: io::stderr().is_terminal() && tty::is_there(),
        stdout_is_terminal: io::stdout().is_terminal(),
        stderr_is_terminal: io::stderr().is_terminal(),
        columns: rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col)),
    }
}

/// The words that make this program keep servers, as `helve keep run` with the same options.
fn keep_arguments(choices: &Choices, idle: Duration) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    for file in &choices.files {
        arguments.extend(["--config".into(), file.into()]);
    }
    if let Some(dialect) = &choices.dialect {
        arguments.extend(["--dialect".into(), dialect.name().into()]);
    }
    if choices.only_files {
        arguments.push("--no-discover".into());
    }
    arguments.extend(["keep".into(), "run".into(), "--idle".into(), format!("{}ms", idle.as_millis()).into()]);
    arguments
}
