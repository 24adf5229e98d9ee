//! The last step before the server: a process that prepares itself and becomes the server.

use std::convert::Infallible;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal, setsid};

use super::super::confinement;
use super::super::executable::Handover;
use super::{EXIT_BROKEN, EXIT_CANNOT_RUN, EXIT_NOT_FOUND, Server, complain};

/// Turns this process into the server; returns only when that fails.
///
/// Without a warden the session is the launcher's business.
pub(super) fn become_server(warden: Option<Pid>, server: &Server) -> ExitCode {
    if let Some(warden) = warden
        && let Err(why) = tie_to(warden)
    {
        return complain(EXIT_BROKEN, &why);
    }
    let error = match run(server) {
        Ok(never) => match never {},
        Err(Failed::Sandbox(why)) => return complain(EXIT_BROKEN, &format!("cannot confine the server: {why}")),
        Err(Failed::Start(error)) => error,
    };
    let status = if error.kind() == io::ErrorKind::NotFound { EXIT_NOT_FOUND } else { EXIT_CANNOT_RUN };
    complain(status, &format!("cannot start `{}`: {error}", server.program.display()))
}

fn tie_to(warden: Pid) -> Result<(), String> {
    // No controlling terminal: a server that asks for a password there gets an error instead of stopping the host.
    setsid().map_err(|error| format!("cannot make a session for the server: {error}"))?;
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("cannot tie the server to its warden: {error}"))?;
    // The signal comes for a death after the request only.
    if getppid() == Some(warden) { Ok(()) } else { Err("the warden is gone".to_owned()) }
}

enum Failed {
    /// It runs confined or not at all.
    Sandbox(String),
    Start(io::Error),
}

#[expect(clippy::disallowed_methods, reason = "this is where the warden starts the server")]
fn run(server: &Server) -> Result<Infallible, Failed> {
    // Opened before the sandbox, from which the host's files cannot be seen.
    let executable = server.handed.file.as_ref().map(Handover::open).transpose().map_err(Failed::Start)?;
    let mut command = match &executable {
        Some(executable) => {
            let mut command = Command::new(executable.path().map_err(Failed::Start)?);
            command.arg0(&server.program);
            command
        }
        None => Command::new(&server.program),
    };
    if let Some(rules) = &server.handed.rules {
        let rules = confinement::receive(rules).map_err(|error| Failed::Sandbox(error.to_string()))?;
        let copies = server.handed.sealed.iter().map(|(copy, path)| confinement::receive_copy(path, copy));
        let copies: Vec<_> = copies.collect::<io::Result<_>>().map_err(|error| Failed::Sandbox(error.to_string()))?;
        helve_sandbox::confine(&rules, &copies).map_err(|error| Failed::Sandbox(error.to_string()))?;
    }
    Err(Failed::Start(command.args(&server.args).exec()))
}
