//! Starting a server's process, holding its process tree, and ending it: which decisions a launcher makes and which
//! its caller makes.
//!
//! A [`Launcher`] turns a [`ServerCommand`] into three pipes and a [`ServerProcess`]. The caller speaks over the pipes;
//! [`close`] ends the tree politely, dropping the [`ServerProcess`] ends it at once.
//!
//! There are two launchers, and [`SandboxedLauncher`] confines what either of them starts (Linux). [`PlainLauncher`] puts the server into a process group of its own and signals the group:
//! what leaves the group (`setsid`, a daemon's double fork) escapes it, and nothing ends the server when the host is
//! killed. [`WardenLauncher`] puts a [`warden`] in between, which holds the whole tree (Linux). A process that somebody else
//! keeps is taken for one of ours by [`lend`].

mod close;
mod command;
#[cfg(sandbox)]
mod confinement;
mod environment;
mod executable;
#[cfg(sandbox)]
mod handover_socket;
#[cfg(sandbox)]
mod host_proxy;
mod lent;
mod plain;
mod process;
#[cfg(sandbox)]
mod sandboxed_launcher;
mod spawn;
#[cfg(warden)]
pub mod warden;
#[cfg(warden)]
mod warden_launcher;
mod warden_program;

use std::fmt;

use tokio::net::unix::pipe;

use crate::Result;

pub use close::{CloseReport, CloseStep, CloseTimes, close};
pub use command::ServerCommand;
#[cfg(sandbox)]
pub use confinement::{Confinement, SealedFile};
pub use environment::{ChildEnvironment, child_environment};
pub use executable::Executable;
#[cfg(sandbox)]
pub use host_proxy::RefusedHosts;
pub use lent::{Loan, LoanState, lend};
pub use plain::PlainLauncher;
pub use process::{ExitReport, ServerProcess};
#[cfg(sandbox)]
pub use sandboxed_launcher::{Sandbox, SandboxedLauncher, probe};
#[cfg(warden)]
pub use warden_launcher::WardenLauncher;
pub use warden_program::WardenProgram;

/// Starts servers. The seam between the transport and the operating system: wrap a launcher to change the command
/// before it runs (a sandbox, a remote shell), or to count.
pub trait Launcher: fmt::Debug + Send + Sync {
    /// Starts the program. Returns as soon as the process exists; whether it is a working server shows on its pipes.
    ///
    /// Must be called within a tokio runtime whose I/O and time drivers are on. Blocks for as long as the operating
    /// system takes to create a process (about a millisecond), never for the program itself.
    ///
    /// # Errors
    /// `TRANSPORT_ERROR` when the program cannot be started, with a hint what to do about it.
    fn launch(&self, command: &ServerCommand) -> Result<Launched>;

    /// True when [`ServerCommand::confinement`] is applied. A launcher that does not know of it gets a command that applies it
    /// by itself.
    fn confines(&self) -> bool {
        false
    }
}

impl<L: Launcher + ?Sized> Launcher for &L {
    fn launch(&self, command: &ServerCommand) -> Result<Launched> {
        (**self).launch(command)
    }

    fn confines(&self) -> bool {
        (**self).confines()
    }
}

impl<L: Launcher + ?Sized> Launcher for std::sync::Arc<L> {
    fn launch(&self, command: &ServerCommand) -> Result<Launched> {
        (**self).launch(command)
    }

    fn confines(&self) -> bool {
        (**self).confines()
    }
}

/// A started server: our ends of its three pipes, and the process.
#[derive(Debug)]
pub struct Launched {
    /// What we write becomes the server's input; dropping it is the polite request to end.
    pub stdin: pipe::Sender,
    /// The server's output.
    pub stdout: pipe::Receiver,
    /// The server's diagnostics; they must be read, or the server blocks when the pipe is full.
    pub stderr: pipe::Receiver,
    /// The process with everything it starts.
    pub process: ServerProcess,
}
