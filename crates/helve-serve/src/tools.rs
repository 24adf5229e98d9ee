//! `tools/list` and `tools/call`: the host's call path, with the bytes of arguments and results passed through.

use std::sync::Arc;
use std::time::Duration;

use helve::{CallContext, ToolEntry};
use helve_model::json::RawJson;
use helve_wire::RpcError;

use crate::discovery::{self, Step};
use crate::exchange::Exchange;
use crate::gate::Request;
use crate::gateway::Lodging;
use crate::refusal::{self, invalid_params};

/// How long a call waits for a server that may have the tool and is still connecting.
const TOOL_COMES_WITHIN: Duration = Duration::from_secs(30);

pub(crate) async fn list(exchange: &Exchange, request: &Request) -> Result<RawJson, RpcError> {
    exchange.gateway.settle().await;
    exchange.gateway.furnish(&exchange.agent).await;
    let (catalog, cursor) = (exchange.catalog(), request.param("cursor"));
    let page = if exchange.gateway.options.discovery.is_on(&catalog) {
        discovery::list().page(cursor.as_ref())
    } else {
        catalog.tool_list.page(cursor.as_ref())
    };
    page.ok_or_else(|| invalid_params("there is no page of this cursor"))
}

/// What a call means: itself, one by another name, or something that is answered at once.
pub(crate) fn meant(exchange: &Exchange, request: &Request) -> Option<Result<Step, RpcError>> {
    let catalog = exchange.catalog();
    if exchange.gateway.options.discovery.is_on(&catalog) { discovery::step(&catalog, request) } else { None }
}

/// The tool that a call names. One that is not there may come with a server that is not there yet.
pub(crate) async fn find(exchange: &Exchange, name: &str) -> Result<Arc<ToolEntry>, RpcError> {
    if let Some(tool) = exchange.catalog().tool(name) {
        return Ok(Arc::clone(tool));
    }
    exchange.gateway.host.settled(TOOL_COMES_WITHIN).await;
    exchange.gateway.furnish(&exchange.agent).await;
    exchange.catalog().tool(name).cloned().ok_or_else(|| invalid_params(format!("Unknown tool: {name}")))
}

/// Calls a tool on the host that runs its server for this agent.
pub(crate) async fn call(
    lodging: Lodging,
    tool: Arc<ToolEntry>,
    arguments: RawJson,
    context: CallContext,
) -> Result<RawJson, RpcError> {
    let called = if lodging.is_shared {
        lodging.host.prepare(tool).invoke(arguments, context).await
    } else {
        lodging.host.call(&tool.name().to_string(), arguments, context).await
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
            Err(RpcError { code: -32000, message, data: None })
        }
    }
}
