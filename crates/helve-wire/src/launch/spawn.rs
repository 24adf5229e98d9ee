//! The one place where a process is created: how its pipes and its environment are set up, for either launcher.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};

use tokio::net::unix::pipe;

use super::Launched;
use super::command::ServerCommand;
use super::process::{ServerProcess, Tree};

/// A command with the directory and exactly the environment of `command`, to which its arguments are to be added.
///
/// Only what `posix_spawn` can do is asked for, so that the cost of a start does not grow with the host's memory.
#[expect(clippy::disallowed_methods, reason = "this is where the launchers start processes")]
pub(super) fn command(program: &Path, command: &ServerCommand) -> Command {
    let mut process = Command::new(program);
    process.env_clear().envs(command.environment.iter());
    if let Some(directory) = &command.working_directory {
        process.current_dir(directory);
    }
    process
}

/// Starts it with three pipes.
pub(super) fn spawn(mut command: Command, tree: Tree) -> io::Result<Launched> {
    // Registering a pipe panics without a runtime; a process started before that would be lost.
    tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    // From here on an early return drops the process, which ends it.
    let process = ServerProcess::new(child, tree);
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(io::Error::other("the process has no pipes"));
    };
    Ok(Launched {
        stdin: pipe::Sender::from_owned_fd(OwnedFd::from(stdin))?,
        stdout: pipe::Receiver::from_owned_fd(OwnedFd::from(stdout))?,
        stderr: pipe::Receiver::from_owned_fd(OwnedFd::from(stderr))?,
        process,
    })
}
