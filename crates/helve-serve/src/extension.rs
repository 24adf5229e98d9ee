//! Methods that are not the protocol's own: passed on to the server they can only be for.

use helve_model::ServerName;
use helve_model::json::RawJson;
use helve_wire::RpcError;

use crate::exchange::Exchange;
use crate::refusal;
use crate::request::Request;
use crate::resources::place_of_resource;
use crate::tools::usable;

/// What begins so is the protocol's own: an era that does not know it must say so.
const OWN: [&str; 13] = [
    "completion/",
    "elicitation/",
    "initialize",
    "logging/",
    "notifications/",
    "ping",
    "prompts/",
    "roots/",
    "sampling/",
    "server/",
    "subscriptions/",
    "tasks/",
    "tools/",
];

/// The same for resources, whose extensions live under the same roof.
const OWN_OF_RESOURCES: [&str; 5] =
    ["resources/list", "resources/read", "resources/subscribe", "resources/templates/list", "resources/unsubscribe"];

/// Asks the server that has the resource a request is about, or the only server there is.
pub(crate) async fn relay(exchange: &Exchange, request: &Request) -> Result<RawJson, RpcError> {
    let method = request.method.as_str();
    let unknown = || RpcError::method_not_found(method);
    if OWN.iter().any(|own| method.starts_with(own)) || OWN_OF_RESOURCES.contains(&method) {
        return Err(unknown());
    }
    let server = match request.required("uri") {
        Ok(uri) => place_of_resource(exchange, &uri).await?.server,
        Err(_) => only_server(exchange).ok_or_else(unknown)?,
    };
    let lodging = exchange.host_for(&server).await.map_err(|error| refusal::of_call(&error))?;
    let params = request.params_for_server();
    match lodging.host.request(server.as_str(), method, params.as_ref()).await {
        Ok(result) => usable(&result),
        Err(error) => Err(refusal::of_call(&error)),
    }
}

fn only_server(exchange: &Exchange) -> Option<ServerName> {
    let snapshot = exchange.gateway.host.snapshot();
    let mut servers = snapshot.servers();
    let only = servers.next()?;
    if servers.next().is_some() { None } else { Some(only.name().clone()) }
}
