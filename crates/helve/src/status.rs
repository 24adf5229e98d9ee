//! How a server is doing, in full: for status pages, `helve servers` and doctors.

use std::time::Duration;

use helve_model::json::RawJson;
use helve_model::{Hint, HttpFlavour, Layer, Origin, ServerName, ServerStatus, TransportSpec};

use crate::catalog::ServerEntry;

/// One server, at one moment.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerReport {
    /// Its name.
    pub name: ServerName,
    /// Its status, with the reason.
    pub status: ServerStatus,
    /// How it is reached: `stdio`, `http`, `sse`, `builtin` or `native`; as it turned out, once it is connected.
    pub transport: &'static str,
    /// The era of the protocol it speaks, once that is known.
    pub era: Option<String>,
    /// The version of the protocol it speaks.
    pub protocol_version: Option<String>,
    /// How many tools an agent sees.
    pub tools: usize,
    /// How many tools a list leaves out.
    pub hidden_tools: usize,
    /// The tools are from an earlier run.
    pub from_cache: bool,
    /// How long the last connection took to make, its list included.
    pub connect_time: Option<Duration>,
    /// How long the last ping took.
    pub latency: Option<Duration>,
    /// How often a connection broke.
    pub restarts: u32,
    /// Why its tools are not known although it is connected.
    pub list_error: Option<String>,
    /// Why the last connection broke, or could not be made.
    pub last_error: Option<String>,
    /// What to do about it.
    pub hints: Vec<Hint>,
    /// Where it is configured.
    pub origin: Origin,
    /// In which layer.
    pub layer: Layer,
    /// What it can do, as it says it.
    pub capabilities: Option<RawJson>,
    /// The name and version it gives itself.
    pub server_info: Option<RawJson>,
    /// What it wants a model to know.
    pub instructions: Option<String>,
    /// The newest part of its stderr.
    pub stderr: Option<String>,
    /// Lines on its stdout that were not message of the protocol.
    pub noise: u64,
}

impl ServerReport {
    pub(crate) fn new(entry: &ServerEntry, status: ServerStatus, is_native: bool) -> Self {
        let spec = entry.spec();
        let handle = entry.handle.as_deref();
        let facts = handle.map(crate::server_handle::ServerHandle::facts).unwrap_or_default();
        let failure = handle.and_then(crate::server_handle::ServerHandle::last_error);
        let session = handle.and_then(crate::server_handle::ServerHandle::session_now);
        let is_over_sse = session.as_ref().is_some_and(|session| session.is_over_sse());
        let diagnostics = session.map(|session| session.diagnostics());
        let negotiated = facts.greeting.as_ref().map(|greeting| &greeting.negotiated);
        let tools = entry.tools().count();
        Self {
            name: spec.name.clone(),
            transport: if is_over_sse { "sse" } else { transport(&spec.transport, is_native) },
            era: negotiated.map(|negotiated| negotiated.era.to_string()),
            protocol_version: negotiated.map(|negotiated| negotiated.version.clone()),
            tools,
            hidden_tools: entry.all_tools().count() - tools,
            from_cache: entry.is_from_cache(),
            connect_time: facts.connect_time,
            latency: facts.latency,
            restarts: facts.restarts,
            last_error: failure
                .as_ref()
                .map(|error| error.chain())
                .or_else(|| facts.list_error.clone())
                .or(facts.last_end),
            list_error: facts.list_error,
            hints: failure.map(|error| error.hints().to_vec()).unwrap_or_default(),
            origin: spec.origin.clone(),
            layer: spec.layer,
            capabilities: facts.greeting.as_ref().map(|greeting| greeting.capabilities.clone()),
            server_info: facts.greeting.as_ref().and_then(|greeting| greeting.server_info.clone()),
            instructions: entry.instructions().map(ToOwned::to_owned),
            stderr: diagnostics.as_ref().map(|diagnostics| diagnostics.stderr.clone()).filter(|text| !text.is_empty()),
            noise: diagnostics.map_or(0, |diagnostics| diagnostics.noise),
            status,
        }
    }
}

const fn transport(transport: &TransportSpec, is_native: bool) -> &'static str {
    match transport {
        TransportSpec::Stdio(_) => "stdio",
        TransportSpec::Http(http) => match http.flavour {
            HttpFlavour::Sse => "sse",
            HttpFlavour::Auto | HttpFlavour::Streamable => "http",
        },
        TransportSpec::Builtin(_) if is_native => "native",
        TransportSpec::Builtin(_) => "builtin",
    }
}
