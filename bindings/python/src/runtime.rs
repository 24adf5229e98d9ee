//! The runtime that all hosts of a process share: started with the first of them, never by an import. Its threads run no Python, so
//! that the interpreter can end whatever they do.

use std::sync::Mutex;

use helve_model::sync::lock;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;

/// The runtime and the process it was started in. It is never dropped: after a fork its threads are not there to be waited for.
static RUNTIME: Mutex<Option<(u32, &'static Runtime)>> = Mutex::new(None);

/// The process that this is.
pub(crate) fn process() -> u32 {
    std::process::id()
}

/// Runs something on the runtime.
pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> PyResult<AbortHandle> {
    Ok(runtime()?.spawn(work).abort_handle())
}

/// The runtime of this process.
pub(crate) fn runtime() -> PyResult<&'static Runtime> {
    let mut runtime = lock(&RUNTIME);
    match *runtime {
        Some((process, runtime)) if process == self::process() => Ok(runtime),
        _ => {
            let built = Builder::new_multi_thread().worker_threads(1).thread_name("helve").enable_all().build();
            let built =
                built.map_err(|error| PyRuntimeError::new_err(format!("no runtime could be started: {error}")))?;
            let built: &'static Runtime = Box::leak(Box::new(built));
            *runtime = Some((self::process(), built));
            Ok(built)
        }
    }
}
