//! The last step before the server: a process that prepares itself and becomes the server.

use std::convert::Infallible;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal, setsid};

use super::{EXIT_BROKEN, EXIT_CANNOT_RUN, EXIT_NOT_FOUND, Server, complain};

/// Turns this process into the server; returns only when that fails.
pub(super) fn become_server(warden: Pid, server: &Server) -> ExitCode {
    // No controlling terminal: a server that asks for a password there gets an error instead of stopping the host.
    if let Err(error) = setsid() {
        return complain(EXIT_BROKEN, &format!("cannot make a session for the server: {error}"));
    }
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return complain(EXIT_BROKEN, &format!("cannot tie the server to its warden: {error}"));
    }
    // The signal comes for a death after the request only.
    if getppid() != Some(warden) {
        return complain(EXIT_BROKEN, "the warden is gone");
    }
    let error = match run(server) {
        Ok(never) => match never {},
        Err(error) => error,
    };
    let status = if error.kind() == io::ErrorKind::NotFound { EXIT_NOT_FOUND } else { EXIT_CANNOT_RUN };
    complain(status, &format!("cannot start `{}`: {error}", server.program.display()))
}

#[expect(clippy::disallowed_methods, reason = "this is where the warden starts the server")]
fn run(server: &Server) -> io::Result<Infallible> {
    let Some(file) = &server.file else { return Err(Command::new(&server.program).args(&server.args).exec()) };
    let executable = file.open()?;
    Err(Command::new(executable.path()?).arg0(&server.program).args(&server.args).exec())
}
