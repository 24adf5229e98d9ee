//! What is passed on to a server besides calls: methods of extensions that it declared, methods that a rule opens at it,
//! completions, and notifications. Nothing leaves without a clearance.

use helve::{CallContext, Host};
use helve_model::ServerName;
use helve_model::json::{RawJson, quoted};
use helve_model::method::{self, MethodPart, Need};
use helve_policy::{CalledBy, Caller, MessageForm, Relay};
use helve_wire::RpcError;

use super::request::{Meta, for_server};
use super::{Notification, Reader, Request};
use crate::agent::Agent;
use crate::exchange::Exchange;
use crate::gateway::Gateway;
use crate::ledger::Exceeded;
use crate::offer_index::Place;
use crate::refusal::{self, invalid_params};
use crate::resources::{place_of_prompt, place_of_resource};
use crate::tools::usable;

/// Answers a request of a method that neither era has for itself.
pub(crate) async fn relay(exchange: &Exchange, request: &Request, meta: &Meta) -> Result<RawJson, RpcError> {
    let unknown = || RpcError::method_not_found(&request.method);
    let params = request.params_for_server();
    let known = method::request(&request.method);
    let (server, params) = match known {
        Some(known) => match (known.of, known.need) {
            (MethodPart::Extension(extension), Need::Resource(member)) => {
                let place = place_of_resource(exchange, &request.required(member)?).await?;
                if !exchange.gateway.host.declares(&place.server, extension) {
                    return Err(unknown());
                }
                let params = params.map(|params| params.replacing(member, &quoted(&place.name)));
                (place.server, params)
            }
            (MethodPart::Extension(extension), Need::Nothing) => {
                let declares = |server: &ServerName| exchange.gateway.host.declares(server, extension);
                (only(exchange, declares).ok_or_else(unknown)?, params)
            }
            _ => return Err(unknown()),
        },
        None => {
            let party = CalledBy::new(Caller::Agent, &exchange.agent.principal);
            let opens = |server: &ServerName| exchange.gateway.host.opens(server, &request.method, party);
            (only(exchange, opens).ok_or_else(unknown)?, params)
        }
    };
    // An extension was declared by the server that agents share, if they do: their own may be of an era without it.
    if known.is_some() && exchange.gateway.may_be_shared(&server) {
        return send(&exchange.gateway.host, exchange, &server, &request.method, params, meta).await;
    }
    relay_to(exchange, &server, &request.method, params, meta).await
}

/// Passes a request on to this server, if what it is about is allowed.
pub(crate) async fn relay_to(
    exchange: &Exchange,
    server: &ServerName,
    method: &str,
    params: Option<RawJson>,
    meta: &Meta,
) -> Result<RawJson, RpcError> {
    let assigned = exchange.host_for(server).await.map_err(|error| refusal::of_call(&error))?;
    send(&assigned.host, exchange, server, method, params, meta).await
}

/// `completion/complete`: asked of the server that has the prompt or the template.
pub(crate) async fn complete(exchange: &Exchange, request: &Request, meta: &Meta) -> Result<RawJson, RpcError> {
    let incomplete = || invalid_params("`ref` names neither a prompt nor a resource");
    let params = request.params_for_server().ok_or_else(incomplete)?;
    let reference = params.member("ref").ok_or_else(incomplete)?;
    let (Place { server, name }, key) = match (reference.member_str("name"), reference.member_str("uri")) {
        (Some(name), None) => (place_of_prompt(exchange, &name).await?, "name"),
        (None, Some(uri)) => (place_of_resource(exchange, &uri).await?, "uri"),
        _ => return Err(incomplete()),
    };
    let reference = reference.replacing(key, &quoted(&name));
    let params = params.replacing("ref", reference.as_str());
    // No server is started for one agent to complete its words.
    let host = exchange.gateway.host_besides_calls(&exchange.agent, &server).await;
    let host = host.map_err(|error| refusal::of_call(&error))?;
    send(&host, exchange, &server, &request.method, Some(params), meta).await
}

/// May this agent hear of changes of a resource?
pub(crate) async fn follow(exchange: &Exchange, host: &Host, place: &Place, meta: &Meta) -> Result<(), RpcError> {
    let context = exchange.asking_context(meta);
    host.may_follow(&place.server, &place.name, &context).await.map_err(|error| refusal::of_call(&error))
}

/// Tells the servers of an agent something that it said: what the protocol lets an agent tell, or what a rule opens.
///
/// # Errors
/// When too many of its principal's are on their way to servers: this one is dropped.
pub(crate) fn tell(gateway: &Gateway, agent: &Agent, notification: Notification) -> Result<(), Exceeded> {
    let Some(host) = agent.private_host(gateway) else { return Ok(()) };
    let Notification { method, params } = notification;
    if method::client_notification(&method).is_some() && !agent.has_roots() {
        return Ok(());
    }
    let held = gateway.ledger.notifications.try_hold(&agent.principal, 1)?;
    let params = params.map(|params| for_server(&params));
    let (principal, source) = (agent.principal.clone(), agent.source(None));
    tokio::spawn(async move {
        let servers: Vec<ServerName> = host.snapshot().servers().map(|entry| entry.name().clone()).collect();
        let context = CallContext::new(Caller::Agent).with(|context| {
            context.principal = principal;
            context.source = source;
        });
        for server in servers {
            let (method, params) = (method.clone(), params.clone());
            let message = Relay { server, method, params, form: MessageForm::Notification };
            // An agent that cannot be reached asks again when it is back; what is not allowed is not said.
            if let Ok(clearance) = host.clear(message, &context).await {
                drop(host.relay_notification(&clearance).await);
            }
        }
        drop(held);
    });
    Ok(())
}

async fn send(
    host: &Host,
    exchange: &Exchange,
    server: &ServerName,
    method: &str,
    params: Option<RawJson>,
    meta: &Meta,
) -> Result<RawJson, RpcError> {
    let message = Relay { server: server.clone(), method: method.to_owned(), params, form: MessageForm::Request };
    let context = exchange.asking_context(meta);
    let answer = match host.clear(message, &context).await {
        Ok(clearance) => {
            // Whoever is asked takes a person's time, and nobody's turn.
            let _turn = exchange.turn_at(server).await?;
            host.relay(&clearance).await
        }
        Err(error) => Err(error),
    };
    match answer {
        Ok(answer) => {
            let answer = usable(&answer)?;
            super::result(&answer, &Reader::of(meta))?;
            Ok(answer)
        }
        Err(error) => Err(refusal::of_call(&error)),
    }
}

/// The only server of which this holds.
fn only(exchange: &Exchange, holds: impl Fn(&ServerName) -> bool) -> Option<ServerName> {
    let snapshot = exchange.gateway.host.snapshot();
    let mut servers = snapshot.servers().map(|entry| entry.name()).filter(|server| holds(server));
    let first = servers.next()?;
    if servers.next().is_some() { None } else { Some(first.clone()) }
}
