//! `tools/list` and `tools/call`: the host's call path, with the bytes of arguments and results passed through.

use std::sync::Arc;
use std::time::Duration;

use helve::{CallContext, ListAge, ServerEntry, ToolEntry};
use helve_model::json::RawJson;
use helve_model::protocol::code;
use helve_model::{ServerName, ServerStatus};
use helve_wire::RpcError;

use crate::assigned_host::AssignedHost;
use crate::catalog::{self, Catalog, LISTS_COUNT_FOR, Page};
use crate::discovery::{self, Step};
use crate::exchange::Exchange;
use crate::gate::Request;
use crate::refusal::{self, invalid_params};

/// How long a call waits for a server that may have the tool and is still connecting.
const TOOL_COMES_WITHIN: Duration = Duration::from_secs(30);

/// For so long a list tells that there is no tool of a name: servers are not asked again for each one that is not found.
const MISSES_LAST: Duration = Duration::from_secs(1);

pub(crate) async fn list(exchange: &Exchange, request: &Request) -> Result<Page, RpcError> {
    exchange.gateway.tools_known().await;
    exchange.gateway.start_private_servers(&exchange.agent).await;
    exchange.gateway.list_again(&exchange.agent, ListAge::AsServersSay(LISTS_COUNT_FOR), |_| true).await;
    let (catalog, cursor) = (exchange.catalog(), request.param("cursor"));
    exchange.agent.lists(catalog.listed(exchange.gateway.options.discovery));
    let page = if exchange.gateway.options.discovery.is_on(&catalog) {
        discovery::list(exchange.gateway.options.discovery, &catalog).page(cursor.as_ref())
    } else {
        catalog.tool_list.page(cursor.as_ref())
    };
    let count_for = catalog::tools_count_for(&exchange.gateway.host, exchange.agent.own_host().as_ref());
    page.map(|page| Page { count_for, ..page }).ok_or_else(|| invalid_params("there is no page of this cursor"))
}

/// What a call means: itself, one by another name, or something that is answered at once.
pub(crate) fn meant(exchange: &Exchange, catalog: &Catalog, request: &Request) -> Option<Result<Step, RpcError>> {
    let discovery = exchange.gateway.options.discovery;
    if discovery.is_on(catalog) { discovery::step(discovery, &exchange.gateway.host, catalog, request) } else { None }
}

/// A tool, and the catalog that it was found in.
pub(crate) struct FoundTool {
    pub(crate) tool: Arc<ToolEntry>,
    pub(crate) catalog: Arc<Catalog>,
}

/// The tool that a call names. One that is not there may come with a server that is not there yet.
pub(crate) async fn find(exchange: &Exchange, catalog: Arc<Catalog>, name: &str) -> Result<FoundTool, RpcError> {
    let found = |catalog: Arc<Catalog>| {
        let tool = Arc::clone(catalog.tool(name)?);
        Some(FoundTool { tool, catalog })
    };
    match found(catalog) {
        Some(tool) => Ok(tool),
        None => Box::pin(find_later(exchange, name, found)).await,
    }
}

async fn find_later(
    exchange: &Exchange,
    name: &str,
    found: impl Fn(Arc<Catalog>) -> Option<FoundTool>,
) -> Result<FoundTool, RpcError> {
    // It may be among those that were kept, and are just being read.
    exchange.gateway.host.recalled().await;
    if let Some(tool) = found(exchange.catalog()) {
        return Ok(tool);
    }
    exchange.gateway.host.settled(TOOL_COMES_WITHIN).await;
    exchange.gateway.start_private_servers(&exchange.agent).await;
    if let Some(tool) = found(exchange.catalog()) {
        return Ok(tool);
    }
    // A server of its own may list it, and be slow to come, or to come back.
    if let Some(own) = exchange.agent.own_host() {
        own.settled(TOOL_COMES_WITHIN).await;
    }
    if let Some(tool) = found(exchange.catalog()) {
        return Ok(tool);
    }
    let may_have_it = |server: &ServerName| exchange.gateway.options.naming.may_name(name, server);
    exchange.gateway.list_again(&exchange.agent, ListAge::AtMost(MISSES_LAST), may_have_it).await;
    match found(exchange.catalog()) {
        Some(tool) => Ok(tool),
        None => Err(unknown(exchange, name).await),
    }
}

/// Why there is no such tool: the server it can only be of is not there, and nobody knows what it has; or there is none.
async fn unknown(exchange: &Exchange, name: &str) -> RpcError {
    let host = &exchange.gateway.host;
    let snapshot = host.snapshot();
    let is_unheard = |server: &&Arc<ServerEntry>| server.all_tools().next().is_none();
    let may_have_it = |server: &&Arc<ServerEntry>| exchange.gateway.options.naming.may_name(name, server.name());
    let mut unheard = snapshot.servers().filter(is_unheard).filter(may_have_it);
    let (Some(only), None) = (unheard.next(), unheard.next()) else { return no_such(name) };
    let status = host.server_status(only.name().as_str()).map(|report| report.status);
    match status {
        // Asking for it would try again whether somebody has signed in since, and that takes its time.
        Some(ServerStatus::NeedsAuth { .. }) => {
            only.unavailable().map_or_else(|| no_such(name), |error| refusal::of_call(&error))
        }
        Some(ServerStatus::Failed(_)) => {
            let why = host.ready(only.name().as_str(), Duration::ZERO).await;
            why.err().map_or_else(|| no_such(name), |error| refusal::of_call(&error))
        }
        _ => no_such(name),
    }
}

fn no_such(name: &str) -> RpcError {
    invalid_params(format!("Unknown tool: {name}"))
}

/// Calls a tool on the host that runs its server for this agent.
pub(crate) async fn call(
    assigned: AssignedHost,
    tool: Arc<ToolEntry>,
    arguments: RawJson,
    context: CallContext,
) -> Result<RawJson, RpcError> {
    let called = if assigned.is_shared {
        assigned.host.prepare(tool).invoke(arguments, context).await
    } else {
        assigned.host.call(&tool.name().to_string(), arguments, context).await
    };
    match called {
        Ok(outcome) => usable(outcome.outcome.raw()),
        Err(error) => refusal::outcome_of_call(&error),
    }
}

/// What a server sent is checked before it leaves: a broken payload must cost one call, not the agent's connection.
pub(crate) fn usable(result: &RawJson) -> Result<RawJson, RpcError> {
    match result.check() {
        Ok(()) => Ok(result.clone()),
        Err(error) => {
            let message = format!("the server's result is not JSON: {error}");
            Err(RpcError { code: code::SERVER_ERROR, message, data: None })
        }
    }
}
