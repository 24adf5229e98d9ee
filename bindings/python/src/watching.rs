//! Watches as Python iterates over them: one watch each, whose events are taken one by one.

use std::sync::Arc;
use std::time::Duration;

use helve::{CallError, RawJson, WatchFilter, WatchId, Watcher};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::core::{check_process, failed};
use crate::mailbox::{Answer, Mailbox, WorkFuture};
use crate::outcome::arguments as read_arguments;
use crate::runtime;
use crate::value;

/// One watch, which ends with this.
#[pyclass(frozen, module = "helve._helve")]
#[derive(Debug)]
pub(crate) struct Watch {
    process: u32,
    /// `None` only while it is dropped.
    watcher: Option<Arc<Watcher>>,
}

impl Watch {
    pub(crate) fn new(process: u32, watcher: Watcher) -> Self {
        Self { process, watcher: Some(Arc::new(watcher)) }
    }

    fn start(
        &self,
        py: Python<'_>,
        mailbox: &Mailbox,
        future: Option<Py<PyAny>>,
        work: impl FnOnce(Arc<Watcher>) -> WorkFuture,
    ) -> PyResult<u64> {
        check_process(py, self.process)?;
        let watcher = self.watcher.clone().ok_or_else(|| PyValueError::new_err("the watch has ended"))?;
        mailbox.start(future, None, |_| Ok(work(watcher)))
    }
}

#[pymethods]
impl Watch {
    /// The server tells when a resource has changed.
    fn subscribe(
        &self,
        py: Python<'_>,
        mailbox: &Mailbox,
        future: Option<Py<PyAny>>,
        server: String,
        uri: String,
        reason: String,
    ) -> PyResult<u64> {
        self.start(py, mailbox, future, |watcher| {
            Box::pin(async move { begun(watcher.subscribe(&server, &uri, &reason).await.map(|id| (id, None))) })
        })
    }

    /// A tool is called again and again.
    #[expect(clippy::too_many_arguments, reason = "one crossing: an object of options would cost another")]
    fn poll_tool(
        &self,
        py: Python<'_>,
        mailbox: &Mailbox,
        future: Option<Py<PyAny>>,
        name: String,
        arguments: &str,
        every: f64,
        reason: String,
    ) -> PyResult<u64> {
        let every = interval(every)?;
        let arguments = read_arguments(arguments);
        self.start(py, mailbox, future, |watcher| {
            Box::pin(async move {
                let begun_with = match arguments {
                    Ok(arguments) => watcher.poll_tool(&name, arguments, every, &reason).await,
                    Err(error) => Err(error),
                };
                begun(begun_with.map(|(id, first)| (id, Some(first))))
            })
        })
    }

    /// A resource is read again and again.
    #[expect(clippy::too_many_arguments, reason = "one crossing: an object of options would cost another")]
    fn poll_resource(
        &self,
        py: Python<'_>,
        mailbox: &Mailbox,
        future: Option<Py<PyAny>>,
        server: String,
        uri: String,
        every: f64,
        reason: String,
    ) -> PyResult<u64> {
        let every = interval(every)?;
        self.start(py, mailbox, future, |watcher| {
            Box::pin(async move {
                let begun_with = watcher.poll_resource(&server, &uri, every, &reason).await;
                begun(begun_with.map(|(id, first)| (id, Some(first))))
            })
        })
    }

    /// The next event.
    fn next(&self, py: Python<'_>, mailbox: &Mailbox, future: Option<Py<PyAny>>) -> PyResult<u64> {
        self.start(py, mailbox, future, |watcher| {
            Box::pin(async move { value::answer(watcher.next().await.to_json()) })
        })
    }

    /// Ends the watch; its server is told.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        check_process(py, self.process)?;
        let _runtime = runtime::runtime()?.enter();
        if let Some(watcher) = &self.watcher {
            watcher.end(&WatchFilter::default());
        }
        Ok(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let watcher = self.watcher.take();
        match runtime::runtime() {
            Ok(runtime) if self.process == runtime::process() => {
                let _runtime = runtime.enter();
                drop(watcher);
            }
            // It is the parent's.
            _ => std::mem::forget(watcher),
        }
    }
}

/// The id of a watch, and what was seen first.
fn begun(watch: Result<(WatchId, Option<RawJson>), CallError>) -> Answer {
    match watch {
        Ok((id, first)) => Box::new(move |py: Python<'_>| {
            let first = first.map(|first| value::loads(py, first.as_str())).transpose()?;
            Ok((id.to_string(), first).into_pyobject(py)?.into_any().unbind())
        }),
        Err(error) => failed(error),
    }
}

fn interval(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(format!("a time: {error}")))
}
