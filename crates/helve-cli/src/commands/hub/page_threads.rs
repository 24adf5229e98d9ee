//! The threads of page and API: a slow page never delays a call. They end in the background, however the hub ends: a runtime must
//! not be dropped where tasks run.

use tokio::runtime::{Builder, Handle, Runtime};

use crate::failure::Failure;

/// Agents have threads of their own.
const PAGE_THREADS: usize = 2;

/// They run until this is dropped.
pub(super) struct PageThreads {
    runtime: Option<Runtime>,
    handle: Handle,
}

impl PageThreads {
    pub(super) fn start() -> Result<Self, Failure> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(PAGE_THREADS)
            .thread_name("page")
            .enable_all()
            .build()
            .map_err(|error| Failure::other("no runtime could be started").cause(&error))?;
        let handle = runtime.handle().clone();
        Ok(Self { runtime: Some(runtime), handle })
    }

    pub(super) const fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for PageThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
