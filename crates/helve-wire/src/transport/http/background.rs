//! What a connection does beside the calls: answers to questions, cancellations, streams. It ends with the connection.

use std::future::Future;
use std::sync::Mutex;

use tokio::runtime::Handle;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Duration, timeout};

use helve_model::sync::lock;

/// So much can be under way at once. A server that asks faster than it takes answers gets no more of them.
const TASKS: usize = 1_024;

/// The tasks of one connection.
#[derive(Debug, Default)]
pub(crate) struct Background {
    tasks: Mutex<JoinSet<()>>,
}

impl Background {
    /// Starts a task; nothing happens outside a runtime, or when too many run already.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Option<AbortHandle> {
        let runtime = Handle::try_current().ok()?;
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        if tasks.len() >= TASKS {
            tracing::debug!("too many tasks beside the calls of one connection");
            return None;
        }
        Some(tasks.spawn_on(task, &runtime))
    }

    /// Waits for the tasks to finish, but no longer than `time`; then they are ended.
    pub(crate) async fn finish(&self, time: Duration) {
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        drop(timeout(time, async { while tasks.join_next().await.is_some() {} }).await);
    }

    /// Ends all tasks.
    pub(crate) fn end(&self) {
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        tasks.abort_all();
    }
}
