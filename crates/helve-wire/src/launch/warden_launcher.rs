//! The host's side of the warden: which program it is and how it is called.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;

use super::command::{ServerCommand, check_program, start_error};
use super::confinement::seal_words;
use super::process::Tree;
use super::{Launched, Launcher, WardenProgram, spawn, warden};
use crate::Result;

/// Starts the server under a [warden](super::warden), which ends the whole tree with it, and with this process.
#[derive(Debug, Clone)]
pub struct WardenLauncher {
    warden: WardenProgram,
}

impl WardenLauncher {
    /// A launcher with this warden.
    #[must_use]
    pub fn new(warden: WardenProgram) -> Self {
        Self { warden }
    }
}

impl Launcher for WardenLauncher {
    fn launch(&self, command: &ServerCommand) -> Result<Launched> {
        let program = command.resolve()?;
        // Absolute, because the warden is looked up after the change to the server's directory.
        let warden = std::path::absolute(&self.warden.path).map_err(|error| start_error(&self.warden.path, error))?;
        check_program(&warden).map_err(|error| {
            error.with_hint("it is the warden, which holds the server's processes: install it, or use a plain launcher")
        })?;
        let mut process = spawn::command(&warden, command);
        process.args(&self.warden.leading);
        process
            .args([warden::WATCH, &std::process::id().to_string()])
            .args(warden::handed_over(command.executable.as_ref(), command.confinement.as_ref()))
            // Keys pressed in the host's terminal are for the host.
            .process_group(0);
        let words: Vec<OsString> = std::iter::once(program.into_os_string()).chain(command.args.clone()).collect();
        let sealed = match command.is_private {
            true => Some(seal_words(&words).map_err(|error| start_error(&warden, error))?),
            false => None,
        };
        match &sealed {
            Some(sealed) => process.arg(warden::private_words(sealed)),
            None => process.args(&words),
        };
        let launched = spawn::spawn(process, Tree::Warden).map_err(|error| start_error(&warden, error))?;
        // The warden opens it as soon as it runs; nobody tells when that was.
        launched.process.keep_until_gone(sealed);
        Ok(launched)
    }

    fn confines(&self) -> bool {
        true
    }
}
