//! The launcher for embedders who want nothing more than a child process: one process group, signalled as a whole.

use std::os::unix::process::CommandExt as _;

use super::command::{ServerCommand, start_error};
use super::process::Tree;
use super::{Launched, Launcher, spawn};
use crate::Result;

/// Starts the server as a child of this process, in a process group of its own.
///
/// It holds what stays in the group. A grandchild that leaves the group survives [`super::close`], and the server
/// survives a `SIGKILL` of this process unless it ends at the end of its input.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainLauncher;

impl Launcher for PlainLauncher {
    fn launch(&self, command: &ServerCommand) -> Result<Launched> {
        let program = command.resolve()?;
        // Never without it: whoever sets it wants it applied.
        #[cfg(sandbox)]
        if command.confinement.is_some() {
            let what = "this launcher does not apply rules: wrap it in a sandboxed launcher";
            return Err(start_error(&program, std::io::Error::other(what)));
        }
        let mut process = match &command.executable {
            #[cfg(target_os = "linux")]
            Some(executable) => {
                let path = executable.path().map_err(|error| start_error(&program, error))?;
                let mut process = spawn::command(&path, command);
                process.arg0(&program);
                process
            }
            _ => spawn::command(&program, command),
        };
        process.args(&command.args).process_group(0);
        spawn::spawn(process, Tree::Group).map_err(|error| start_error(&program, error))
    }
}
