//! Calls that became tasks at a server: which server an agent's task is at, so that what it asks about it gets there.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use helve_model::ServerName;
use helve_model::json::RawJson;
use helve_wire::RpcError;

use crate::exchange::Exchange;
use crate::principal::Principal;
use crate::refusal::{self, invalid_params};
use crate::request::Request;
use crate::resources::offering;
use crate::sync::lock;
use crate::tools::usable;

/// Whose tasks are where. The oldest are forgotten first.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    servers: HashMap<(Principal, String), ServerName>,
    order: VecDeque<(Principal, String)>,
}

/// Keeps in mind where a call became a task, if it did.
pub(crate) fn remember(exchange: &Exchange, server: &ServerName, result: &RawJson) {
    let legacy = result.member("task").and_then(|task| task.member_str("taskId"));
    let is_task = || result.member("resultType").is_some_and(|kind| kind.as_str() == r#""task""#);
    let Some(task) = legacy.or_else(|| if is_task() { result.member_str("taskId") } else { None }) else { return };
    let key = (exchange.agent.principal.clone(), task);
    let mut known = lock(&exchange.gateway.tasks.0);
    known.servers.insert(key.clone(), server.clone());
    known.order.push_back(key);
    while known.order.len() > exchange.gateway.options.limits.tasks {
        if let Some(oldest) = known.order.pop_front() {
            drop(known.servers.remove(&oldest));
        }
    }
}

/// Asks the server of a task about it.
pub(crate) async fn relay(exchange: &Exchange, request: &Request) -> Result<RawJson, RpcError> {
    let task = request.required("taskId")?;
    let key = (exchange.agent.principal.clone(), task);
    let server = lock(&exchange.gateway.tasks.0).servers.get(&key).cloned();
    match server {
        Some(server) => ask(exchange, &server, request).await,
        None => Err(invalid_params(format!("Unknown task: {}", key.1))),
    }
}

/// The tasks of all servers.
pub(crate) async fn list(exchange: &Exchange, request: &Request) -> Result<RawJson, RpcError> {
    let mut servers = offering(&exchange.gateway.host, "tasks");
    if let (Some(only), true) = (servers.pop(), servers.is_empty()) {
        return ask(exchange, &only, request).await;
    }
    Err(RpcError::method_not_found(&request.method))
}

async fn ask(exchange: &Exchange, server: &ServerName, request: &Request) -> Result<RawJson, RpcError> {
    let lodging = exchange.host_for(server).await.map_err(|error| refusal::of_call(&error))?;
    let params = request.params_for_server();
    match lodging.host.request(server.as_str(), &request.method, params.as_ref()).await {
        Ok(result) => usable(&result),
        Err(error) => Err(refusal::of_call(&error)),
    }
}
