//! The same host for callers without async: a thread of its own runs it, every function waits.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use helve_model::json::RawJson;
use helve_model::{ErrorCode, PromptDefinition, PromptOutcome, ResourceDefinition};
use tokio::runtime::{Builder, Runtime};

use crate::builder::HostBuilder;
use crate::call::{CallContext, CallOutcome, ResourceOutcome};
use crate::catalog::Snapshot;
use crate::error::CallError;
use crate::host::ServerChanges;
use crate::offers::Offers;
use crate::settings::{Plan, Planned};
use crate::status::ServerReport;

/// A host whose functions wait. Must not be used from within an async runtime.
///
/// When it is dropped, every server is ended.
///
/// ```
/// use helve::{CallContext, blocking};
/// use helve_model::json::RawJson;
/// use helve_policy::Caller;
///
/// let host = blocking::Host::start(helve::Host::builder())?;
/// let error = host.call("nobody/there", RawJson::empty_object(), CallContext::new(Caller::Script)).unwrap_err();
/// assert_eq!(error.code().as_str(), "SERVER_NOT_FOUND");
/// host.shutdown();
/// # Ok::<(), helve::CallError>(())
/// ```
#[derive(Debug)]
pub struct Host {
    host: crate::Host,
    runtime: Runtime,
}

impl Host {
    /// Starts the host that `builder` describes. See [`HostBuilder::start`].
    ///
    /// # Errors
    /// As [`HostBuilder::start`], or when no thread can be had.
    pub fn start(builder: HostBuilder) -> Result<Self, CallError> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("helve").enable_all().build();
        let runtime = runtime.map_err(no_thread)?;
        let host = runtime.block_on(builder.start())?;
        Ok(Self { host, runtime })
    }

    /// The async host behind it, for use on another runtime.
    #[must_use]
    pub const fn inner(&self) -> &crate::Host {
        &self.host
    }

    /// See [`crate::Host::snapshot`].
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.host.snapshot()
    }

    /// See [`crate::Host::call`].
    ///
    /// # Errors
    /// As [`crate::Host::call`].
    pub fn call(
        &self,
        name: &str,
        arguments: impl Into<RawJson>,
        context: CallContext,
    ) -> Result<CallOutcome, CallError> {
        self.runtime.block_on(self.host.call(name, arguments, context))
    }

    /// See [`crate::Host::call_many`].
    pub fn call_many(
        &self,
        calls: Vec<(String, RawJson)>,
        context: &CallContext,
    ) -> Vec<Result<CallOutcome, CallError>> {
        self.runtime.block_on(self.host.call_many(calls, context))
    }

    /// See [`crate::Host::resources`].
    ///
    /// # Errors
    /// As [`crate::Host::resources`].
    pub fn resources(&self, server: Option<&str>) -> Result<Offers<ResourceDefinition>, CallError> {
        self.runtime.block_on(self.host.resources(server))
    }

    /// See [`crate::Host::read_resource`].
    ///
    /// # Errors
    /// As [`crate::Host::read_resource`].
    pub fn read_resource(&self, server: &str, uri: &str, context: &CallContext) -> Result<ResourceOutcome, CallError> {
        self.runtime.block_on(self.host.read_resource(server, uri, context))
    }

    /// See [`crate::Host::prompts`].
    ///
    /// # Errors
    /// As [`crate::Host::prompts`].
    pub fn prompts(&self, server: Option<&str>) -> Result<Offers<PromptDefinition>, CallError> {
        self.runtime.block_on(self.host.prompts(server))
    }

    /// See [`crate::Host::get_prompt`].
    ///
    /// # Errors
    /// As [`crate::Host::get_prompt`].
    pub fn get_prompt(
        &self,
        server: &str,
        prompt: &str,
        arguments: impl Into<RawJson>,
        context: &CallContext,
    ) -> Result<PromptOutcome, CallError> {
        self.runtime.block_on(self.host.get_prompt(server, prompt, arguments, context))
    }

    /// Waits for the next event of a watcher that was made by [`crate::Host::watcher`] of [`Host::inner`], and for the
    /// making of watches: any future of the library runs here.
    pub fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// See [`crate::Host::set_servers`].
    pub fn set_servers(&self, plan: impl Into<Plan>) -> ServerChanges {
        self.runtime.block_on(self.host.set_servers(plan))
    }

    /// See [`crate::Host::connect_servers`].
    pub fn connect_servers(&self, plan: impl Into<Plan>) -> ServerChanges {
        self.runtime.block_on(self.host.connect_servers(plan))
    }

    /// See [`crate::Host::connect_server`].
    ///
    /// # Errors
    /// As [`crate::Host::connect_server`].
    pub fn connect_server(&self, server: impl Into<Planned>) -> Result<ServerReport, CallError> {
        self.runtime.block_on(self.host.connect_server(server))
    }

    /// See [`crate::Host::add_server`].
    pub fn add_server(&self, server: impl Into<Planned>) -> ServerChanges {
        self.runtime.block_on(self.host.add_server(server))
    }

    /// See [`crate::Host::remove_server`].
    ///
    /// # Errors
    /// As [`crate::Host::remove_server`].
    pub fn remove_server(&self, name: &str) -> Result<(), CallError> {
        self.runtime.block_on(self.host.remove_server(name))
    }

    /// See [`crate::Host::reconnect_server`].
    ///
    /// # Errors
    /// As [`crate::Host::reconnect_server`].
    pub fn reconnect_server(&self, name: &str) -> Result<(), CallError> {
        self.runtime.block_on(self.host.reconnect_server(name))
    }

    /// See [`crate::Host::toggle`].
    ///
    /// # Errors
    /// As [`crate::Host::toggle`].
    pub fn toggle(&self, name: &str, on: bool) -> Result<(), CallError> {
        self.host.toggle(name, on)
    }

    /// See [`crate::Host::status`].
    #[must_use]
    pub fn status(&self) -> Vec<ServerReport> {
        self.host.status()
    }

    /// See [`crate::Host::settled`].
    pub fn settled(&self, within: Duration) -> bool {
        self.runtime.block_on(self.host.settled(within))
    }

    /// See [`crate::Host::shutdown`].
    pub fn shutdown(self) {
        self.runtime.block_on(self.host.shutdown());
    }
}

fn no_thread(error: io::Error) -> CallError {
    CallError::new(ErrorCode::LimitExceeded, "no thread for the host could be had").with_source(error)
}
