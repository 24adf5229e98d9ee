//! The program `helve`. This file alone reads the environment, the home directory, the current directory and the
//! terminal; everything else is handed an [`env::Env`].

mod approve;
mod builtins;
mod catalog;
mod commands;
mod complete;
mod confinement;
mod content;
mod context;
mod describe;
mod door_keeper;
mod env;
mod failure;
mod hint_words;
mod inputs;
mod itself;
mod keep;
mod listening;
mod log;
mod lossless;
mod offered;
mod options;
mod own_rules;
mod peer;
mod place;
mod plan;
mod printer;
mod problems;
mod program;
mod progress;
mod prompt;
mod questions;
mod redact;
mod reload;
mod roots;
mod running;
mod sampler;
mod saved;
mod secrets;
mod sign_ins;
mod spelling;
mod start_guard;
mod stdio;
mod store;
mod suspicion;
mod token;
mod tty;
mod vault;
mod watching;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use env::{Env, Surroundings};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    // Before anything else: a warden has no threads, no settings and no words.
    if arguments.get(1).is_some_and(|verb| verb == running::WARDEN_VERB) {
        return helve_wire::launch::warden::run(&[running::WARDEN_VERB], arguments.into_iter().skip(2));
    }
    let env = match surroundings() {
        Ok(surroundings) => Env::new(surroundings),
        Err(error) => return failure::without_surroundings(&error),
    };
    ExitCode::from(commands::run(env, arguments))
}

#[expect(clippy::disallowed_methods, reason = "a program has to read its surroundings somewhere: here, once")]
fn surroundings() -> io::Result<Surroundings> {
    Ok(Surroundings {
        variables: std::env::vars_os().collect(),
        home: std::env::home_dir().filter(|home| home.is_absolute()),
        working_directory: std::env::current_dir()?,
        executable: std::env::current_exe().ok(),
        temporary_directory: std::env::temp_dir(),
        clock: std::time::SystemTime::now,
        stdin_is_terminal: io::stdin().is_terminal(),
        has_terminal: io::stderr().is_terminal() && tty::is_there(),
        stdout_is_terminal: io::stdout().is_terminal(),
        stderr_is_terminal: io::stderr().is_terminal(),
        columns: rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col)),
    })
}
