//! Resources and prompts: which server is asked, and what is asked of it.

use helve::{CallContext, Host};
use helve_model::json::{ObjectWriter, RawJson};
use helve_model::protocol::code;
use helve_model::{CallKind, ServerName};
use helve_policy::{CalledBy, Caller};
use helve_wire::RpcError;

use crate::catalog::Page;
use crate::exchange::Exchange;
use crate::gate::Request;
use crate::offer_index::Place;
use crate::refusal::{self, invalid_params};
use crate::tools::usable;

pub(crate) async fn list(exchange: &Exchange, request: &Request) -> Result<Page, RpcError> {
    let gateway = &exchange.gateway;
    gateway.settle().await;
    let index = gateway.offer_index.read_resources(&gateway.host).await;
    let page = index.resource_list.page(request.param("cursor").as_ref()).ok_or_else(no_page)?;
    Ok(within_reach(exchange, CallKind::Resource, page, ["resources", "uri"], |uri| index.find(uri)))
}

pub(crate) async fn list_templates(exchange: &Exchange, request: &Request) -> Result<Page, RpcError> {
    let gateway = &exchange.gateway;
    gateway.settle().await;
    let index = gateway.offer_index.read_resources(&gateway.host).await;
    let page = index.template_list.page(request.param("cursor").as_ref()).ok_or_else(no_page)?;
    Ok(within_reach(exchange, CallKind::Resource, page, ["resourceTemplates", "uriTemplate"], |uri| index.find(uri)))
}

pub(crate) async fn list_prompts(exchange: &Exchange, request: &Request) -> Result<Page, RpcError> {
    let gateway = &exchange.gateway;
    gateway.settle().await;
    let index = gateway.offer_index.read_prompts(&gateway.host, &gateway.options.naming).await;
    let page = index.list.page(request.param("cursor").as_ref()).ok_or_else(no_page)?;
    Ok(within_reach(exchange, CallKind::Prompt, page, ["prompts", "name"], |name| index.find(name)))
}

/// A page without what an agent may not see. What cannot be told whose it is, it may not.
fn within_reach(
    exchange: &Exchange,
    kind: CallKind,
    page: Page,
    [list, name]: [&str; 2],
    place: impl Fn(&str) -> Option<Place>,
) -> Page {
    let (reach, host) = (&exchange.agent.reach, &exchange.gateway.host);
    let by_caller = host.differs_by_caller();
    if reach.is_everything() && !by_caller {
        return page;
    }
    let party = CalledBy::new(Caller::Agent, &exchange.agent.principal);
    let may = |place: &Place| match kind {
        _ if !by_caller => true,
        CallKind::Prompt => host.may_get_prompt(&place.server, &place.name, party),
        _ => host.may_read(&place.server, &place.name, party),
    };
    let items = page.result.member(list).and_then(|items| items.elements()).unwrap_or_default();
    let is_seen = |item: &RawJson| {
        let found = item.member_str(name).and_then(|name| place(&name));
        found.is_some_and(|place| reach.offers(&place.server, &place.name) && may(&place))
    };
    let seen = RawJson::array(items.into_iter().filter(is_seen));
    Page { result: page.result.replacing(list, seen.as_str()), count_for: page.count_for }
}

/// Nothing is there that an agent may not see.
fn reached(exchange: &Exchange, place: Place, missing: impl FnOnce() -> RpcError) -> Result<Place, RpcError> {
    if exchange.agent.reach.offers(&place.server, &place.name) { Ok(place) } else { Err(missing()) }
}

/// Which server a URI is read from: the only one that has resources, the one whose result pointed to it before anybody
/// listed it, the one that lists it, the one it names, the first whose result pointed to it.
pub(crate) async fn place_of_resource(exchange: &Exchange, uri: &str) -> Result<Place, RpcError> {
    let place = find_resource(exchange, uri).await?;
    reached(exchange, place, || not_found(uri))
}

async fn find_resource(exchange: &Exchange, uri: &str) -> Result<Place, RpcError> {
    let gateway = &exchange.gateway;
    gateway.settle().await;
    let mut offering = offering(&gateway.host, "resources");
    if let (Some(server), true) = (offering.pop(), offering.is_empty()) {
        return Ok(Place { server, name: uri.to_owned() });
    }
    let principal = &exchange.agent.principal;
    let linked = |server: ServerName| Place { server, name: uri.to_owned() };
    if let Some(place) = gateway.links.find_first(principal, uri).map(linked) {
        return Ok(place);
    }
    if let Some(place) = gateway.offer_index.resources().and_then(|index| index.find(uri)) {
        return Ok(place);
    }
    if let Some(place) = gateway.offer_index.look_again(&gateway.host).await.find(uri) {
        return Ok(place);
    }
    let named = uri.split_once('+').and_then(|(server, uri)| {
        let snapshot = gateway.host.snapshot();
        let server = snapshot.server(server)?.name().clone();
        Some(Place { server, name: uri.to_owned() })
    });
    named.or_else(|| gateway.links.find(principal, uri).map(linked)).ok_or_else(|| not_found(uri))
}

/// Which server has the prompt of this served name.
pub(crate) async fn place_of_prompt(exchange: &Exchange, name: &str) -> Result<Place, RpcError> {
    let gateway = &exchange.gateway;
    gateway.settle().await;
    let unknown = || invalid_params(format!("Unknown prompt: {name}"));
    if let Some(place) = gateway.offer_index.prompts().and_then(|index| index.find(name)) {
        return reached(exchange, place, unknown);
    }
    let index = gateway.offer_index.read_prompts(&gateway.host, &gateway.options.naming).await;
    reached(exchange, index.find(name).ok_or_else(unknown)?, unknown)
}

pub(crate) async fn read(host: &Host, place: &Place, context: &CallContext) -> Result<RawJson, RpcError> {
    match host.read_resource(place.server.as_str(), &place.name, context).await {
        Ok(read) => usable(read.outcome.raw()),
        Err(error) => Err(refusal::of_call(&error)),
    }
}

pub(crate) async fn get_prompt(
    host: &Host,
    place: &Place,
    arguments: RawJson,
    context: &CallContext,
) -> Result<RawJson, RpcError> {
    match host.get_prompt(place.server.as_str(), &place.name, arguments, context).await {
        Ok(prompt) => usable(prompt.raw()),
        Err(error) => Err(refusal::of_call(&error)),
    }
}

/// The servers that say they offer this, by name.
pub(crate) fn offering(host: &Host, capability: &str) -> Vec<ServerName> {
    let snapshot = host.snapshot();
    let offers = |entry: &&std::sync::Arc<helve::ServerEntry>| {
        entry.greeting().is_some_and(|greeting| greeting.offers(capability))
    };
    snapshot.servers().filter(offers).map(|entry| entry.name().clone()).collect()
}

fn no_page() -> RpcError {
    invalid_params("there is no page of this cursor")
}

fn not_found(uri: &str) -> RpcError {
    let data = ObjectWriter::new().text("uri", uri).finish();
    RpcError { code: code::RESOURCE_NOT_FOUND, message: format!("Resource not found: {uri}"), data: Some(data) }
}
