//! What [`crate::confine`] is where nothing can confine a program: everything that asks gets the same answer, and a server that
//! is to run in a sandbox is not started.

use std::path::PathBuf;

use helve_model::{ErrorCode, ServerName, ServerSpec};
use helve_sandbox::{Machine, Plan};
use helve_wire::launch::WardenProgram;

use crate::error::CallError;
use crate::settings::Surroundings;

/// What every question about a sandbox is answered with.
const NOWHERE: &str = "a program cannot be confined here: sandboxes need Linux";

/// What a host would confine servers with.
#[derive(Debug, Clone)]
pub struct Confining {
    /// The program that would confine itself before it becomes a server.
    pub stage: WardenProgram,
    /// Where each confined server would get a directory of its own.
    pub directory: PathBuf,
    /// The person's home.
    pub home: Option<PathBuf>,
    /// Directories that no sandbox would open.
    pub own: Vec<PathBuf>,
}

impl Confining {
    /// A host that would confine.
    #[must_use]
    pub const fn new(stage: WardenProgram, directory: PathBuf, home: Option<PathBuf>, own: Vec<PathBuf>) -> Self {
        Self { stage, directory, home, own }
    }

    /// The same for another host.
    #[must_use]
    pub fn for_another_host(&self) -> Self {
        self.clone()
    }

    /// The hosts that a server asked for in vain: nothing kept it from any.
    pub(crate) const fn list_refused_hosts(&self, _server: &ServerName) -> Vec<String> {
        Vec::new()
    }

    /// What this machine can enforce.
    ///
    /// # Errors
    /// Always: nothing.
    pub fn machine(&self) -> Result<Machine, CallError> {
        Err(CallError::new(ErrorCode::Config, NOWHERE))
    }
}

/// What would hold for a server of this spec. `None` when it has no sandbox.
///
/// # Errors
/// `CONFIG` when it is to have one.
pub fn sandbox_plan(spec: &ServerSpec, _surroundings: &Surroundings) -> Result<Option<Plan>, CallError> {
    refuse(spec).map(|()| None)
}

/// What a server's own words say about what its sandbox did not let it do: it has none.
#[must_use]
pub const fn sandbox_hints(_words: &str, _spec: &ServerSpec, _surroundings: &Surroundings) -> Vec<String> {
    Vec::new()
}

/// A program that is to be confined is not started where nothing confines it.
pub(crate) fn refuse(spec: &ServerSpec) -> Result<(), CallError> {
    if spec.sandbox.as_ref().is_none_or(|sandbox| !sandbox.is_on()) {
        return Ok(());
    }
    let hint = format!("`sandbox = \"off\"` of the server `{}` at {} starts it unconfined", spec.name, spec.origin);
    Err(CallError::new(ErrorCode::Config, NOWHERE).at_server(&spec.name).with_hint(hint))
}
