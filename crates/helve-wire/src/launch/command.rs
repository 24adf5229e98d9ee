//! What to start, and what can be said about it before it is started: which file a program name means, and why it
//! cannot run.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use helve_model::ErrorCode;
use rustix::fs::{Access, access};

#[cfg(sandbox)]
use super::confinement::{Confinement, SealedFile};
use super::environment::ChildEnvironment;
use super::executable::Executable;
use crate::{Error, Result};

/// The process to start. Nothing is added to it: the server gets exactly these arguments and this environment.
///
/// `Debug` shows neither arguments nor values of variables, since both may hold secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ServerCommand {
    /// A path, or a name to look up in the `PATH` of [`Self::environment`]. A relative path with a slash starts at
    /// [`Self::working_directory`].
    pub program: OsString,
    /// The arguments after the program's name, each passed as it is: no shell is involved.
    pub args: Vec<OsString>,
    /// Something in it is for the server alone: no process of ours shows it on its command line. The server's own does.
    pub is_private: bool,
    /// Where the server runs; the host's own directory if `None`.
    pub working_directory: Option<PathBuf>,
    /// The complete environment. [`super::child_environment`] builds it.
    pub environment: ChildEnvironment,
    /// The open file to run in place of what [`Self::program`] leads to by then (Linux); the name stays what it is called.
    pub executable: Option<Executable>,
    /// Copies of files that the server is started from. Where its sandbox has mounts, they lie over those files (Linux).
    #[cfg(sandbox)]
    pub sealed: Vec<SealedFile>,
    /// What the process puts on itself before it becomes the server (Linux). [`super::SandboxedLauncher`] sets it.
    #[cfg(sandbox)]
    pub confinement: Option<Confinement>,
}

impl ServerCommand {
    /// Checks what can be checked without starting anything, and finds the file to run.
    pub(super) fn resolve(&self) -> Result<PathBuf> {
        self.check_strings()?;
        if let Some(directory) = &self.working_directory {
            check_directory(directory)?;
        }
        if self.program.as_bytes().contains(&b'/') {
            let path = Path::new(&self.program);
            let seen_from_here = self.working_directory.as_deref().unwrap_or(Path::new("")).join(path);
            check_program(&seen_from_here)?;
            // Relative stays relative: it is looked up after the change of directory.
            return Ok(path.to_owned());
        }
        self.search()
    }

    fn search(&self) -> Result<PathBuf> {
        let name = self.program.display();
        let not_found = Error::new(ErrorCode::TransportError, format!("cannot find the program `{name}`"));
        let Some(search_path) = self.environment.get("PATH") else {
            return Err(not_found
                .with_hint("the server's environment has no PATH: add one, or give the program's absolute path"));
        };
        let mut refused = None;
        for directory in std::env::split_paths(search_path) {
            // A relative entry would let the directory the server runs in choose the program.
            if !directory.is_absolute() {
                continue;
            }
            let candidate = directory.join(&self.program);
            match check_program(&candidate) {
                Ok(()) => return Ok(candidate),
                Err(error) if candidate.is_file() => refused = refused.or(Some(error)),
                Err(_) => {}
            }
        }
        Err(refused.unwrap_or_else(|| {
            not_found.with_hint(format!("searched the server's PATH: {}", search_path.display())).with_hint(format!(
                "install `{name}`, add its directory to the server's PATH, or give its absolute path"
            ))
        }))
    }

    /// The operating system ends strings at a NUL and names of variables at `=`.
    fn check_strings(&self) -> Result<()> {
        let invalid = |message: String| Err(Error::new(ErrorCode::TransportError, message));
        if self.program.is_empty() {
            return invalid("the server's command is empty".into());
        }
        let has_nul = |text: &OsStr| text.as_bytes().contains(&0);
        if has_nul(&self.program) || self.args.iter().any(|argument| has_nul(argument)) {
            return invalid("the server's command contains a NUL character".into());
        }
        for (name, value) in self.environment.iter() {
            if name.is_empty() || has_nul(name) || name.as_bytes().contains(&b'=') {
                return invalid(format!("{name:?} cannot be the name of an environment variable"));
            }
            if has_nul(value) {
                return invalid(format!("the environment variable {} contains a NUL character", name.display()));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ServerCommand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ServerCommand")
            .field("program", &self.program)
            .field("args", &format_args!("{} hidden", self.args.len()))
            .field("working_directory", &self.working_directory)
            .field("environment", &self.environment)
            .finish()
    }
}

/// Says whether this file can be run.
pub(super) fn check_program(path: &Path) -> Result<()> {
    let shown = path.display();
    let failed = |what: String| Error::new(ErrorCode::TransportError, what);
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(with_tilde_hint(failed(format!("the program `{shown}` does not exist")), path)
                .with_hint("check the path, or install the program"));
        }
        Err(error) => return Err(failed(format!("cannot look at the program `{shown}`")).with_source(error)),
    };
    if metadata.is_dir() {
        return Err(
            failed(format!("the program `{shown}` is a directory")).with_hint("give the path of the program inside it")
        );
    }
    if let Err(error) = access(path, Access::EXEC_OK) {
        return Err(failed(format!("the program `{shown}` is not executable"))
            .with_source(io::Error::from(error))
            .with_hint(format!("run `chmod +x {shown}`, or name its interpreter as the program")));
    }
    Ok(())
}

/// Explains why the operating system refused to start a program that looked right.
pub(super) fn start_error(path: &Path, error: io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => Some("the interpreter named in its first line (`#!`) does not exist"),
        io::ErrorKind::ArgumentListTooLong => Some("its arguments and environment are too large for this system"),
        io::ErrorKind::PermissionDenied => Some("its file system may forbid running programs (`noexec`)"),
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => {
            Some("the limit of processes or memory is reached: stop something, or raise it (`ulimit -u`)")
        }
        _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            Some("it is not a program for this machine; a script needs a first line that names its interpreter (`#!`)")
        }
        _ => None,
    };
    let failed = Error::new(ErrorCode::TransportError, format!("cannot start `{}`", path.display())).with_source(error);
    match hint {
        Some(hint) => failed.with_hint(hint),
        None => failed,
    }
}

fn check_directory(directory: &Path) -> Result<()> {
    let shown = directory.display();
    let failed = |what: String| Error::new(ErrorCode::TransportError, what);
    match directory.metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(failed(format!("the working directory `{shown}` is not a directory"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(with_tilde_hint(failed(format!("the working directory `{shown}` does not exist")), directory)
                .with_hint("create it, or change the server's working directory"))
        }
        Err(error) => Err(failed(format!("cannot look at the working directory `{shown}`")).with_source(error)),
    }
}

fn with_tilde_hint(error: Error, path: &Path) -> Error {
    if path.starts_with("~") { error.with_hint("`~` is not expanded here: write the whole path") } else { error }
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
