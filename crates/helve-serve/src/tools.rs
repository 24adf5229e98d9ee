//! `tools/list` and `tools/call`: the host's call path, with the bytes of arguments and results passed through.

use std::sync::Arc;
use std::time::Duration;

use helve::{CallContext, ToolEntry};
use helve_model::json::RawJson;
use helve_policy::Caller;
use helve_wire::{Progress, ProgressCallback, RpcError};

use crate::gateway::Gateway;
use crate::message::Message;
use crate::outbox::Outlet;
use crate::refusal::{self, invalid_params};
use crate::request::{Meta, Request, with_member};

/// How long a call waits for a server that may have the tool and is still connecting.
const TOOL_COMES_WITHIN: Duration = Duration::from_secs(30);

pub(crate) async fn list(gateway: &Gateway, request: &Request) -> Result<RawJson, RpcError> {
    gateway.settle().await;
    let page = gateway.catalog().tool_list.page(request.param("cursor").as_ref());
    page.ok_or_else(|| invalid_params("there is no page of this cursor"))
}

pub(crate) async fn call(
    gateway: &Gateway,
    stream: &Arc<dyn Outlet>,
    request: &Request,
    meta: Meta,
) -> Result<RawJson, RpcError> {
    let tool = find(gateway, &request.required("name")?).await?;
    let arguments = request.param("arguments").unwrap_or_else(RawJson::empty_object);
    let context = CallContext {
        on_progress: meta.progress_token.map(|token| relay_progress(stream, token)),
        meta: meta.rest,
        uncut: true,
        ..CallContext::new(Caller::Agent)
    };
    match gateway.host.prepare(tool).invoke(arguments, context).await {
        Ok(outcome) => usable(outcome.outcome.raw()),
        Err(error) => refusal::outcome_of_call(&error),
    }
}

/// The tool of this served name. One that is not there may come with a server that is not there yet.
async fn find(gateway: &Gateway, name: &str) -> Result<Arc<ToolEntry>, RpcError> {
    if let Some(tool) = gateway.catalog().tool(name) {
        return Ok(Arc::clone(tool));
    }
    gateway.host.settled(TOOL_COMES_WITHIN).await;
    gateway.catalog().tool(name).cloned().ok_or_else(|| invalid_params(format!("Unknown tool: {name}")))
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

/// Progress goes to the agent in wire order, under the agent's own token.
fn relay_progress(stream: &Arc<dyn Outlet>, token: RawJson) -> ProgressCallback {
    let stream = Arc::clone(stream);
    Arc::new(move |progress: Progress| {
        if progress.raw.check().is_ok() {
            let params = with_member(&progress.raw, "progressToken", token.as_str());
            stream.send(Message::notification("notifications/progress", Some(&params)));
        }
    })
}
