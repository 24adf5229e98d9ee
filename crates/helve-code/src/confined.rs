//! Owns the interpreter's sandbox: which files are its own, what it runs first, and who starts it.

use std::path::PathBuf;
use std::sync::Arc;

use helve_sandbox::{Disk, Engine as Confined, Limits as ProcessLimits, engine};
use helve_wire::launch::{Confinement, Launcher, ServerCommand, WardenLauncher, WardenProgram, probe};

use crate::engine::EngineSetup;
use crate::limits::Limits;
use crate::probe::Python;

/// What an interpreter runs first: it closes whatever else it inherited, and the worker comes by the pipe, compiled. No
/// program has been read by then.
const LOADER: &str = "import marshal,posix\nposix.closerange(3,65536)\nn=int(posix.read(0,10))\nb=b''\nwhile len(b)<n:\n p=posix.read(0,n-len(b))\n if not p:posix._exit(0)\n b+=p\nexec(marshal.loads(b))";

/// Files that an interpreter reads besides its own.
const READ_BESIDES: [&str; 2] = ["/etc/ld.so.cache", "/usr/share/zoneinfo"];

/// Starts interpreters.
#[expect(clippy::unnecessary_wraps, reason = "where nothing can be confined, nobody does")]
pub(crate) fn launcher(stage: &WardenProgram) -> Result<Arc<dyn Launcher>, String> {
    Ok(Arc::new(WardenLauncher::new(stage.clone())))
}

/// How an interpreter is started, in the narrowest sandbox that there is.
pub(crate) async fn command(
    python: &Python,
    setup: &EngineSetup,
    stage: &WardenProgram,
    limits: &Limits,
) -> Result<ServerCommand, String> {
    let asked = stage.clone();
    let machine = tokio::task::spawn_blocking(move || probe(&asked)).await;
    let machine = machine.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    let rules = engine(&confined(python, setup, limits), &machine, &Disk).map_err(|refusal| refusal.to_string())?;
    let confinement = Confinement::new(&rules, stage.clone()).map_err(|error| error.to_string())?;
    Ok(ServerCommand {
        program: python.executable.clone().into(),
        args: ["-I", "-S", "-E", "-B", "-W", "ignore", "-c", LOADER].into_iter().map(Into::into).collect(),
        environment: [("LC_ALL", "C.UTF-8"), ("PYTHONHASHSEED", "0"), ("MALLOC_ARENA_MAX", "1")].into_iter().collect(),
        confinement: Some(confinement),
        ..ServerCommand::default()
    })
}

fn confined(python: &Python, setup: &EngineSetup, limits: &Limits) -> Confined {
    let is_loader = |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-"));
    let mut programs: Vec<PathBuf> = python.libraries.iter().filter(is_loader).cloned().collect();
    programs.push(python.executable.clone());
    let besides = READ_BESIDES.iter().map(PathBuf::from);
    let read = python.entries.iter().chain(&python.libraries).cloned().chain(besides);
    let libraries = read.filter(|path| path.exists() && !programs.contains(path)).collect();
    let listed = [&python.stdlib].into_iter().chain(&python.extensions).cloned().collect();
    let limits = ProcessLimits {
        memory: Some(limits.memory_bytes),
        processor_seconds: Some(limits.processor_seconds),
        ..Confined::LIMITS
    };
    Confined { programs, libraries, listed, limits, home: setup.home.clone(), own: setup.own.clone() }
}
