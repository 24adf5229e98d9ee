//! The form action brokers like: capabilities named `server:tool`, a status and an error code with every result, a
//! time-out with every call. The codes are the broker's own table: see [`action_code`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use helve_model::json::RawJson;
use helve_model::name::Spelling;
use helve_model::{ErrorCode, Hint};
use helve_policy::Caller;
use helve_wire::BoxFuture;
use tokio::time::Instant;

use crate::call::CallContext;
use crate::error::CallError;
use crate::host::Host;
use helve_model::sync::lock;

/// Somebody who can do things under names of his own.
pub trait CapabilityProvider: Send + Sync {
    /// What he can do now.
    fn capabilities(&self) -> Vec<Capability>;

    /// Does it.
    fn invoke(&self, call: ActionCall) -> BoxFuture<'_, ActionResult>;
}

/// Something that can be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    /// Its name, such as `filesystem:read_file`.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// The schema of its arguments.
    pub input_schema: RawJson,
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionCall {
    /// The caller's own name for this call; comes back with the result.
    pub id: String,
    /// What is to be done.
    pub capability: String,
    /// With which arguments: an object.
    pub arguments: RawJson,
    /// How long it may take in all; `None`: as the host says.
    pub timeout: Option<Duration>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionResult {
    /// The call's id.
    pub id: String,
    /// How it ended.
    pub status: ActionStatus,
    /// The tool's whole result, if there is one: an action whose tool failed has both a result and an error.
    pub output: Option<RawJson>,
    /// What went wrong.
    pub error: Option<ActionError>,
    /// How long it took.
    pub duration: Duration,
}

/// How an action ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionStatus {
    /// Well.
    Ok,
    /// Not well: see the error.
    Error,
    /// It took too long.
    Timeout,
}

/// What went wrong with an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionError {
    /// The kind of error, as [`action_code`] says it; `TOOL_ERROR` when the tool ran and failed.
    pub code: ErrorCode,
    /// What happened.
    pub message: String,
    /// What to do about it.
    pub hints: Vec<String>,
}

/// Brings calls to whoever offers them.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), helve::CallError> {
/// use helve::Host;
/// use helve::broker::{ActionCall, ActionStatus, Broker, HostProvider};
/// use helve_model::{ErrorCode, json::RawJson};
///
/// let broker = Broker::new();
/// broker.register(HostProvider::new(Host::builder().start().await?));
/// let result = broker
///     .invoke(ActionCall {
///         id: "call-1".to_owned(),
///         capability: "weather:today".to_owned(),
///         arguments: RawJson::empty_object(),
///         timeout: None,
///     })
///     .await;
/// assert_eq!((result.id.as_str(), result.status), ("call-1", ActionStatus::Error));
/// assert_eq!(result.error.map(|error| error.code), Some(ErrorCode::ToolNotFound));
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Broker {
    providers: Mutex<Vec<Arc<dyn CapabilityProvider>>>,
}

/// A host's tools as capabilities.
#[derive(Debug, Clone)]
pub struct HostProvider {
    host: Host,
}

impl Broker {
    /// Nobody offers anything yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One more who offers something. Where two offer the same name, the earlier one is asked.
    pub fn register(&self, provider: impl CapabilityProvider + 'static) {
        lock(&self.providers).push(Arc::new(provider));
    }

    /// All that is offered, sorted by name.
    #[must_use]
    pub fn capabilities(&self) -> Vec<Capability> {
        let mut by_name: BTreeMap<String, Capability> = BTreeMap::new();
        for provider in self.providers() {
            for capability in provider.capabilities() {
                by_name.entry(capability.name.clone()).or_insert(capability);
            }
        }
        by_name.into_values().collect()
    }

    /// Has it done by whoever offers it.
    pub async fn invoke(&self, call: ActionCall) -> ActionResult {
        let providers = self.providers();
        let offers = |provider: &&Arc<dyn CapabilityProvider>| {
            provider.capabilities().iter().any(|capability| capability.name == call.capability)
        };
        // Nobody offers it by that name: the last one may know it by another spelling, or say what comes near.
        match providers.iter().find(offers).or(providers.last()) {
            Some(provider) => provider.invoke(call).await,
            None => {
                let message = format!("nobody offers `{}`", call.capability);
                let error = CallError::new(ErrorCode::ToolNotFound, message);
                ActionResult::failed(call.id, &error, Duration::ZERO)
            }
        }
    }

    fn providers(&self) -> Vec<Arc<dyn CapabilityProvider>> {
        lock(&self.providers).clone()
    }
}

impl HostProvider {
    /// The tools of a host.
    #[must_use]
    pub const fn new(host: Host) -> Self {
        Self { host }
    }
}

impl CapabilityProvider for HostProvider {
    fn capabilities(&self) -> Vec<Capability> {
        let snapshot = self.host.snapshot();
        let capability = |tool: &Arc<crate::catalog::ToolEntry>| Capability {
            name: Spelling::Colon.render(tool.name()),
            description: tool.view().description.clone(),
            input_schema: RawJson::assembled(tool.input_schema().to_owned()),
        };
        snapshot.tools().map(capability).collect()
    }

    fn invoke(&self, call: ActionCall) -> BoxFuture<'_, ActionResult> {
        Box::pin(async move {
            let started = Instant::now();
            // Progress does not prolong an action.
            let context = CallContext { timeout: call.timeout, total: call.timeout, ..CallContext::new(Caller::Agent) };
            match self.host.call(&call.capability, call.arguments, context).await {
                Ok(outcome) => ActionResult::done(call.id, &outcome, started.elapsed()),
                Err(error) => ActionResult::failed(call.id, &error, started.elapsed()),
            }
        })
    }
}

impl ActionResult {
    fn done(id: String, outcome: &crate::call::CallOutcome, duration: Duration) -> Self {
        let output = Some(outcome.outcome.raw().clone());
        if !outcome.outcome.is_error() {
            return Self { id, status: ActionStatus::Ok, output, error: None, duration };
        }
        let error = ActionError { code: ErrorCode::ToolError, message: outcome.to_text(), hints: Vec::new() };
        Self { id, status: ActionStatus::Error, output, error: Some(error), duration }
    }

    fn failed(id: String, error: &CallError, duration: Duration) -> Self {
        let status = if error.code() == ErrorCode::Timeout { ActionStatus::Timeout } else { ActionStatus::Error };
        let hints = error.hints().iter().map(Hint::to_string).collect();
        let error = ActionError { code: action_code(error.code()), message: error.chain(), hints };
        Self { id, status, output: None, error: Some(error), duration }
    }
}

/// The code a broker's action ends with, where the host's own says more than brokers tell apart: a server that cannot be
/// connected to is `TRANSPORT_ERROR`, and a capability nobody has is `TOOL_NOT_FOUND`, whether its server is there or not.
/// What brokers have no word for keeps the host's.
#[must_use]
pub const fn action_code(code: ErrorCode) -> ErrorCode {
    match code {
        ErrorCode::ServerUnavailable => ErrorCode::TransportError,
        ErrorCode::ServerNotFound => ErrorCode::ToolNotFound,
        other => other,
    }
}

impl fmt::Debug for Broker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Broker").field("providers", &lock(&self.providers).len()).finish()
    }
}
