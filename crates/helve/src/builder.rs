//! How a host is put together, and what makes its start fail.

use std::fmt;
use std::sync::Arc;

use futures_util::future::join_all;
use helve_model::{PendingReason, ServerName, ServerStatus, TransportSpec};
use helve_policy::{Approval, SourcedRule};
use helve_wire::EraPreference;
use tokio::task::spawn_blocking;

use crate::answerer::{Answerer, Elicitor, LogSink, RootsProvider, Sampler, SamplingLimits};
use crate::ask::{Approver, NobodyThere};
use crate::error::CallError;
use crate::host::Host;
use crate::host_core::HostCore;
use crate::question_router::Responders;
use crate::save::{Resumable, SavedHost};
use crate::settings::{Builtins, HostSettings, Plan, Planned, Surroundings};
use crate::spill::sweep;
use crate::tool::Toolbox;

/// Builds a [`Host`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), helve::CallError> {
/// use std::time::Duration;
/// use helve::{ApproveAll, Host, HostSettings};
///
/// let settings = HostSettings::default().with(|settings| settings.call_timeout = Duration::from_secs(5));
/// let host = Host::builder()
///     .settings(settings)
///     .approver(ApproveAll) // what no rule decides, runs
///     .mcp(false) // native tools only
///     .start()
///     .await?;
/// assert!(host.status().is_empty());
/// # Ok(())
/// # }
/// ```
pub struct HostBuilder {
    pub(crate) settings: HostSettings,
    pub(crate) surroundings: Surroundings,
    pub(crate) plan: Plan,
    pub(crate) toolboxes: Vec<Toolbox>,
    pub(crate) builtins: Option<Arc<dyn Builtins>>,
    pub(crate) approver: Arc<dyn Approver>,
    pub(crate) approvals: Vec<Approval>,
    pub(crate) responders: Responders,
    pub(crate) answerer: Option<Arc<dyn Answerer>>,
    pub(crate) resumable: Resumable,
    pub(crate) mcp: bool,
}

impl Default for HostBuilder {
    fn default() -> Self {
        Self {
            settings: HostSettings::default(),
            surroundings: Surroundings::default(),
            plan: Plan::default(),
            toolboxes: Vec::new(),
            builtins: None,
            approver: Arc::new(NobodyThere),
            approvals: Vec::new(),
            responders: Responders::default(),
            answerer: None,
            resumable: Resumable::default(),
            mcp: true,
        }
    }
}

impl HostBuilder {
    /// Times and limits.
    #[must_use]
    pub fn settings(mut self, settings: HostSettings) -> Self {
        self.settings = settings;
        self
    }

    /// What the host may know about the machine.
    #[must_use]
    pub fn surroundings(mut self, surroundings: Surroundings) -> Self {
        self.surroundings = surroundings;
        self
    }

    /// Servers, rules and pins, as a configuration has them.
    #[must_use]
    pub fn plan(mut self, plan: Plan) -> Self {
        self.plan = plan;
        self
    }

    /// One more server.
    #[must_use]
    pub fn server(mut self, server: impl Into<Planned>) -> Self {
        self.plan.servers.push(server.into());
        self
    }

    /// More servers.
    #[must_use]
    pub fn servers(mut self, servers: impl IntoIterator<Item = impl Into<Planned>>) -> Self {
        self.plan.servers.extend(servers.into_iter().map(Into::into));
        self
    }

    /// What may be called. Without rules, everything that is not known to be harmless is asked for.
    #[must_use]
    pub fn rules(mut self, rules: Vec<SourcedRule>) -> Self {
        self.plan.rules = Some(rules);
        self
    }

    /// Tools written in Rust.
    #[must_use]
    pub fn toolbox(mut self, toolbox: Toolbox) -> Self {
        self.toolboxes.push(toolbox);
        self
    }

    /// Opens built-in servers.
    #[must_use]
    pub fn builtins(mut self, builtins: Arc<dyn Builtins>) -> Self {
        self.builtins = Some(builtins);
        self
    }

    /// The approver, asked when a rule says *ask*. Without one, such calls are refused.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Arc::new(approver);
        self
    }

    /// What was approved before.
    #[must_use]
    pub fn approvals(mut self, approvals: Vec<Approval>) -> Self {
        self.approvals = approvals;
        self
    }

    /// Answers what servers ask a person. Without one, servers are told that they cannot ask.
    #[must_use]
    pub fn elicitor(mut self, elicitor: impl Elicitor + 'static) -> Self {
        self.responders.elicitor = Some(Arc::new(elicitor));
        self
    }

    /// Whose model servers may use, and how much of it. Without one, they are told that they cannot.
    #[must_use]
    pub fn sampler(mut self, sampler: impl Sampler + 'static, limits: SamplingLimits) -> Self {
        self.responders.sampler = Some(Arc::new(sampler));
        self.responders.sampling_limits = limits;
        self
    }

    /// Says in which directories servers are to work. Without one, they are told none.
    #[must_use]
    pub fn roots(mut self, provider: impl RootsProvider + 'static) -> Self {
        self.responders.roots = Some(Arc::new(provider));
        self
    }

    /// Hears what servers log; [`HostEvent::Log`](crate::HostEvent::Log) tells it as well.
    #[must_use]
    pub fn log_sink(mut self, sink: impl LogSink + 'static) -> Self {
        self.responders.log_sink = Some(Arc::new(sink));
        self
    }

    /// In which era servers that have both are spoken to. Some can ask their questions in the legacy one alone.
    #[must_use]
    pub const fn era_preference(mut self, preference: EraPreference) -> Self {
        self.responders.era_preference = preference;
        self
    }

    /// Gets whatever servers ask and log, unopened, instead of all of the above.
    #[must_use]
    pub fn answerer(mut self, answerer: Arc<dyn Answerer>) -> Self {
        self.answerer = Some(answerer);
        self
    }

    /// Goes on where an earlier host was saved: what servers speak is known, and HTTP sessions that are still valid are
    /// used again. Its watches are [`SavedHost::watches`].
    #[must_use]
    pub fn resume(mut self, saved: SavedHost) -> Self {
        self.resumable = Resumable::new(saved);
        self
    }

    /// False turns MCP off as a whole: no server is started, native tools stay.
    #[must_use]
    pub const fn mcp(mut self, on: bool) -> Self {
        self.mcp = on;
        self
    }

    /// Starts the host. Servers are connected in the background; only required ones are waited for.
    ///
    /// # Errors
    /// When a required server cannot be connected, or a server has no name: everything is ended again.
    pub async fn start(mut self) -> Result<Host, CallError> {
        let plan = std::mem::take(&mut self.plan);
        let required: Vec<_> = plan
            .servers
            .iter()
            .filter(|server| server.spec.required && server.spec.enabled)
            .filter(|server| self.mcp || matches!(server.spec.transport, TransportSpec::Builtin(_)))
            .map(|server| server.spec.name.clone())
            .collect();
        if let Some(directory) = self.surroundings.spill_directory.clone() {
            let now = (self.surroundings.clock)();
            // Nobody waits for it, and there may be no such directory yet.
            drop(spawn_blocking(move || sweep(&directory, now)));
        }
        let shared = HostCore::new(self);
        let (changes, _) = shared.apply(|_| plan);
        let host = Host::new(shared);

        let waits = required.iter().map(|name| wait_for(&host, name.as_str()));
        let failed = join_all(waits).await.into_iter().find_map(Result::err);
        let fatal = |name: &ServerName| required.contains(name) || name.as_str().is_empty();
        let unopened = changes.errors.into_iter().find(|(name, _)| fatal(name)).map(|(_, error)| error);
        match unopened.or(failed) {
            None => Ok(host),
            Some(error) => {
                host.shutdown().await;
                let is_required = error.server().is_some_and(|server| required.contains(server));
                let hint = "the server is `required`, so nothing was started without it";
                Err(if is_required { error.with_hint(hint) } else { error })
            }
        }
    }
}

async fn wait_for(host: &Host, name: &str) -> Result<(), CallError> {
    let Ok(Some(handle)) = host.shared().handle(name) else { return Ok(()) };
    let connecting = ServerStatus::Pending(PendingReason::Connecting);
    let mut status = handle.watch();
    // The sender lives as long as the handle.
    drop(status.wait_for(|status| *status != connecting).await);
    match handle.status() {
        ServerStatus::Connected | ServerStatus::Pending(_) => Ok(()),
        other => Err(handle.unavailable(&other)),
    }
}

impl fmt::Debug for HostBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HostBuilder")
            .field("settings", &self.settings)
            .field("surroundings", &self.surroundings)
            .field("plan", &self.plan)
            .field("toolboxes", &self.toolboxes)
            .field("mcp", &self.mcp)
            .finish_non_exhaustive()
    }
}
