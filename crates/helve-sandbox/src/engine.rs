//! The narrowest sandbox: an interpreter that computes and talks over its three pipes, and does nothing else.
//!
//! It reads the files that it is told are its own and no others, sees the names in directories that it must list, writes
//! nothing, has no sockets, starts no process, makes no code in memory, and signals nobody but itself. The one program that
//! it can run again is itself, with the same rules. It needs Landlock and filters of system calls, no namespaces: what mounts
//! would hold (modes and times), the list of system calls holds.
//!
//! Whoever starts it gives it an environment of its own making, not a person's; `rules` say nothing about that.

use std::path::{Path, PathBuf};

use helve_model::sandbox::Limits;

use crate::files::{FileKind, Files};
use crate::plan::PlanRefusal;
use crate::protected_places::Protected;
use crate::rules::{Access, Calls, Grant, Machine, NetworkRule, Rules};

/// What belongs to an interpreter, found out before it is confined.
#[derive(Debug, Clone, Default)]
pub struct Engine {
    /// Files that are run: the interpreter's own and the loader of its libraries.
    pub programs: Vec<PathBuf>,
    /// Files and directories that are read: its libraries.
    pub libraries: Vec<PathBuf>,
    /// Directories whose names it must see, and nothing more of: all below is listed too.
    pub listed: Vec<PathBuf>,
    /// What it may use; see [`Engine::LIMITS`].
    pub limits: Limits,
    /// The person's home, of which no protected place is opened.
    pub home: Option<PathBuf>,
    /// Directories that nobody may open.
    pub own: Vec<PathBuf>,
}

impl Engine {
    /// Enough for a small program: 256 MB, 30 s of processor time, 32 open files, and no byte in any file.
    pub const LIMITS: Limits = Limits {
        memory: Some(256 << 20),
        processes: None,
        open_files: Some(32),
        file_size: Some(0),
        processor_seconds: Some(30),
    };
}

/// The rules for an engine.
///
/// # Errors
/// This machine cannot confine a program, a path is not there, or one would open a protected place.
pub fn engine(engine: &Engine, machine: &Machine, files: &dyn Files) -> Result<Rules, PlanRefusal> {
    let Engine { programs, libraries, listed, limits, home, own } = engine;
    if let Some(refusal) = machine.why_not() {
        return Err(refusal);
    }
    let protected = Protected::new(home.as_deref(), own, files);
    let mut rules = Rules::new(machine.landlock_abi);
    (rules.calls, rules.network, rules.limits) = (Calls::Engine, NetworkRule::Closed, *limits);
    for (paths, access) in [(programs, Access::Run), (libraries, Access::Read), (listed, Access::List)] {
        for path in paths {
            let grant = grant(path, access, &protected, files)?;
            if !rules.grants.contains(&grant) {
                rules.grants.push(grant);
            }
        }
    }
    Ok(rules)
}

fn grant(path: &Path, access: Access, protected: &Protected, files: &dyn Files) -> Result<Grant, PlanRefusal> {
    let Some((real, kind)) = files.resolve(path) else { return Err(PlanRefusal::DoesNotExist(path.to_owned())) };
    if let Some(place) = protected.reached_from(&real) {
        return Err(PlanRefusal::Reaches { path: real, protected: place.path.clone(), owner: place.owner });
    }
    // A directory of programs is more than one interpreter, and the root is everything.
    if access == Access::Run && kind == FileKind::Directory || real.parent().is_none() {
        let protected = real.clone();
        return Err(PlanRefusal::Reaches { path: real, protected, owner: crate::protected_places::PlaceOwner::Helve });
    }
    Ok(Grant { path: real, access })
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
