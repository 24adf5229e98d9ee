//! What [`crate::confined`] is where nothing can confine a program: no interpreter is started, so no program ever runs.

use std::sync::Arc;

use helve_wire::launch::{Launcher, ServerCommand, WardenProgram};

use crate::engine::EngineSetup;
use crate::limits::Limits;
use crate::probe::Python;

const NOWHERE: &str = "a program cannot be confined here: sandboxes need Linux";

/// Nobody starts interpreters.
pub(crate) fn launcher(_stage: &WardenProgram) -> Result<Arc<dyn Launcher>, String> {
    Err(NOWHERE.to_owned())
}

/// No interpreter is started.
pub(crate) async fn command(
    _python: &Python,
    _setup: &EngineSetup,
    _stage: &WardenProgram,
    _limits: &Limits,
) -> Result<ServerCommand, String> {
    Err(NOWHERE.to_owned())
}
