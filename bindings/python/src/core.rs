//! A host that runs, as Python's classes hold it: every method starts work on the runtime and leaves a ticket, or looks and returns.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use helve::{Host, Offers, Registry, ServerReport, ToolDefinition};
use helve_model::Definition;
use helve_model::json::{ObjectWriter, RawJson};
use helve_model::sync::lock;
use helve_setup::Setup;
use pyo3::prelude::*;

use crate::callbacks::Skill;
use crate::code::Code;
use crate::mailbox::{Answer, Home, Mailbox, WorkFuture};
use crate::opening::{self, Opened, Opening};
use crate::value::loads;
use crate::view::View;
use crate::watching::Watch;
use crate::{error, runtime};

/// A host that is closed at the end of the interpreter may take so long for it.
const LAST_CLOSE: Duration = Duration::from_secs(15);

/// A host that runs.
#[pyclass(frozen, module = "helve._helve")]
pub(crate) struct Core {
    process: u32,
    open: Mutex<Option<Open>>,
    home: Arc<Home>,
}

#[derive(Clone)]
struct Open {
    host: Host,
    registry: Registry,
    setup: Arc<Setup>,
    code: Arc<Code>,
}

/// Starts a host; its answer is a [`Core`].
#[pyfunction]
pub(crate) fn open(
    py: Python<'_>,
    mailbox: &Mailbox,
    future: Option<Py<PyAny>>,
    host: Py<PyAny>,
    options: &str,
) -> PyResult<u64> {
    let opening: Opening = serde_json::from_str(options)
        .map_err(|error| error::unusable(py, &format!("the options of a host cannot be read: {error}")))?;
    let home = Arc::new(Home::new(mailbox.clone(), host));
    mailbox.start(future, None, |_| {
        Ok(Box::pin(async move {
            let opened = opening.open(Arc::clone(&home)).await;
            Box::new(move |py: Python<'_>| match opened {
                Ok(opened) => Ok(Py::new(py, Core::new(opened, home))?.into_any()),
                Err(error) => Err(error::from_setup(py, &error)),
            }) as Answer
        }))
    })
}

impl Core {
    fn new(opened: Opened, home: Arc<Home>) -> Self {
        let Opened { host, setup, settings } = opened;
        let code = Arc::new(Code::new(Arc::clone(&setup), settings));
        let open = Open { registry: Registry::new(host.clone()), host, setup, code };
        Self { process: runtime::process(), open: Mutex::new(Some(open)), home }
    }

    /// The host, in the process that started it.
    fn open(&self, py: Python<'_>) -> PyResult<Open> {
        // After a fork nothing of it may be touched: whoever held its locks is not there.
        check_process(py, self.process)?;
        lock(&self.open).clone().ok_or_else(|| error::unusable(py, "the host has been closed"))
    }

    fn start(
        &self,
        py: Python<'_>,
        mailbox: &Mailbox,
        future: Option<Py<PyAny>>,
        work: impl FnOnce(Open) -> WorkFuture,
    ) -> PyResult<u64> {
        let open = self.open(py)?;
        mailbox.start(future, None, |_| Ok(work(open)))
    }
}

/// # Errors
/// This is another process than the one that the host was started in.
pub(crate) fn check_process(py: Python<'_>, process: u32) -> PyResult<()> {
    if process == runtime::process() {
        return Ok(());
    }
    let message = "this host was started in another process, and does not survive a fork: start one of its own here";
    Err(error::unusable(py, message))
}

#[pymethods]
impl Core {
    /// All tools, called as a script calls them.
    fn view(&self, py: Python<'_>) -> PyResult<View> {
        let open = self.open(py)?;
        Ok(View::new(self.process, open.registry.scope().clone(), open.code))
    }

    /// Adds a tool that is a Python function.
    fn add_skill(&self, py: Python<'_>, definition: &str) -> PyResult<()> {
        let open = self.open(py)?;
        let definition = RawJson::checked(definition)
            .map_err(|error| error.to_string())
            .and_then(|raw| ToolDefinition::from_raw(raw).map_err(|problem| problem.to_string()));
        let definition =
            definition.map_err(|reason| error::unusable(py, &format!("the function is not a tool: {reason}")))?;
        let _runtime = runtime::runtime()?.enter();
        let skill = Skill { home: Arc::clone(&self.home), definition };
        open.registry.register(skill).map_err(|error| error::from_call(py, &error))
    }

    /// Waits until a server is connected, or until all of them are or have failed.
    fn ready(
        &self,
        py: Python<'_>,
        mailbox: &Mailbox,
        future: Option<Py<PyAny>>,
        server: Option<String>,
        timeout: f64,
    ) -> PyResult<u64> {
        let within = Duration::try_from_secs_f64(timeout).unwrap_or(Duration::MAX.min(FOREVER));
        self.start(py, mailbox, future, |open| {
            Box::pin(async move {
                let ready = match &server {
                    Some(server) => open.host.ready(server, within).await.map(|()| true),
                    None => Ok(open.host.settled(within).await),
                };
                Box::new(move |py: Python<'_>| match ready {
                    Ok(ready) => Ok(ready.into_pyobject(py)?.to_owned().into_any().unbind()),
                    Err(error) => Err(error::from_call(py, &error)),
                }) as Answer
            })
        })
    }

    /// How every server is doing.
    fn servers(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        let reports = self.open(py)?.host.status();
        reports.iter().map(|report| loads(py, described(report).as_str())).collect()
    }

    /// What servers offer besides tools: `resources`, `templates` or `prompts`.
    fn offers(
        &self,
        py: Python<'_>,
        mailbox: &Mailbox,
        future: Option<Py<PyAny>>,
        kind: &str,
        server: Option<String>,
    ) -> PyResult<u64> {
        let kind = kind.to_owned();
        self.start(py, mailbox, future, |open| {
            Box::pin(async move {
                let server = server.as_deref();
                match kind.as_str() {
                    "resources" => offered(open.host.resources(server).await),
                    "templates" => offered(open.host.resource_templates(server).await),
                    _ => offered(open.host.prompts(server).await),
                }
            })
        })
    }

    /// Adds the servers of a document, or replaces those of their names, and waits until each is connected.
    fn add_servers(
        &self,
        py: Python<'_>,
        mailbox: &Mailbox,
        future: Option<Py<PyAny>>,
        document: &str,
    ) -> PyResult<u64> {
        let open = self.open(py)?;
        let specs = opening::servers(&open.setup, document).map_err(|error| error::from_setup(py, &error))?;
        self.start(py, mailbox, future, |open| {
            Box::pin(async move {
                for spec in specs {
                    if let Err(error) = open.host.connect_server(spec).await {
                        return failed(error);
                    }
                }
                nothing()
            })
        })
    }

    /// Ends and removes a server.
    fn remove_server(
        &self,
        py: Python<'_>,
        mailbox: &Mailbox,
        future: Option<Py<PyAny>>,
        server: String,
    ) -> PyResult<u64> {
        self.start(py, mailbox, future, |open| {
            Box::pin(async move { open.host.remove_server(&server).await.map_or_else(failed, |()| nothing()) })
        })
    }

    /// Makes a new connection to a server.
    fn reconnect_server(
        &self,
        py: Python<'_>,
        mailbox: &Mailbox,
        future: Option<Py<PyAny>>,
        server: String,
    ) -> PyResult<u64> {
        self.start(py, mailbox, future, |open| {
            Box::pin(async move { open.host.reconnect_server(&server).await.map_or_else(failed, |()| nothing()) })
        })
    }

    /// Takes a server's tools out of the catalog, or puts them back.
    fn toggle(&self, py: Python<'_>, server: &str, on: bool) -> PyResult<()> {
        let open = self.open(py)?;
        let _runtime = runtime::runtime()?.enter();
        open.host.toggle(server, on).map_err(|error| error::from_call(py, &error))
    }

    /// Somebody who watches; what is watched ends with it.
    fn watch(&self, py: Python<'_>) -> PyResult<Watch> {
        Ok(Watch::new(self.process, self.open(py)?.host.watcher()))
    }

    /// Ends every server, patiently. The host cannot be used any more from now on.
    fn close(&self, py: Python<'_>, mailbox: &Mailbox, future: Option<Py<PyAny>>) -> PyResult<u64> {
        check_process(py, self.process)?;
        let open = lock(&self.open).take();
        mailbox.start(future, None, |_| {
            Ok(Box::pin(async move {
                if let Some(open) = open {
                    open.host.shutdown().await;
                }
                nothing()
            }))
        })
    }

    /// The same, without anybody to tell: the interpreter ends.
    fn close_now(&self, py: Python<'_>) -> PyResult<()> {
        if self.process != runtime::process() {
            return Ok(());
        }
        let Some(open) = lock(&self.open).take() else { return Ok(()) };
        let runtime = runtime::runtime()?;
        py.detach(|| {
            // One that does not end in time is ended by its warden.
            drop(runtime.block_on(async { tokio::time::timeout(LAST_CLOSE, open.host.shutdown()).await }));
            let _runtime = runtime.enter();
            drop(open);
        });
        Ok(())
    }

    /// True when the host can be used no more.
    #[getter]
    fn is_closed(&self) -> bool {
        self.process != runtime::process() || lock(&self.open).is_none()
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let Ok(open) = self.open.get_mut() else { return };
        let Some(open) = open.take() else { return };
        if self.process == runtime::process()
            && let Ok(runtime) = runtime::runtime()
        {
            let _runtime = runtime.enter();
            drop(open);
        } else {
            // It is the parent's: its servers are not this process' to end.
            std::mem::forget(open);
        }
    }
}

/// More than this nobody waits.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3_600);

pub(crate) fn failed(error: helve::CallError) -> Answer {
    Box::new(move |py| Err(error::from_call(py, &error)))
}

pub(crate) fn nothing() -> Answer {
    Box::new(|py| Ok(py.None()))
}

/// What servers offer, and why some of them did not answer.
fn offered<D: Definition + Send + 'static>(offers: Result<Offers<D>, helve::CallError>) -> Answer {
    Box::new(move |py| {
        let offers = offers.map_err(|error| error::from_call(py, &error))?;
        let items: PyResult<Vec<_>> = offers
            .items
            .iter()
            .map(|offer| Ok((offer.server.as_str(), loads(py, offer.definition.raw().as_str())?)))
            .collect();
        let errors: Vec<PyErr> = offers.errors.iter().map(|error| error::from_call(py, error)).collect();
        Ok((items?, errors, offers.warnings).into_pyobject(py)?.into_any().unbind())
    })
}

fn described(report: &ServerReport) -> RawJson {
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64().to_string());
    ObjectWriter::new()
        .text("name", report.name.as_str())
        .text("status", report.status.word())
        .text("detail", &report.status.to_string())
        .text("transport", report.transport)
        .optional_text("era", report.era.as_deref())
        .optional_text("protocol_version", report.protocol_version.as_deref())
        .number("tools", report.tools as u64)
        .number("hidden_tools", report.hidden_tools as u64)
        .number("restarts", report.restarts)
        .optional("connect_seconds", seconds(report.connect_time))
        .optional_text("last_error", report.last_error.as_deref())
        .array("hints", report.hints.iter().map(|hint| RawJson::string(&hint.to_string())))
        .optional_text("instructions", report.instructions.as_deref())
        .optional("server_info", report.server_info.as_ref().map(|info| info.as_str()))
        .optional_text("stderr", report.stderr.as_deref())
        .finish()
}

impl std::fmt::Debug for Core {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Core").field("process", &self.process).finish_non_exhaustive()
    }
}
