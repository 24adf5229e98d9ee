//! The legacy era: `initialize`, a session, requests from us to the agent.

use helve_model::protocol::{methods, notifications};
use std::sync::Arc;

use helve_model::json::scan::{self, Member};
use helve_model::json::{ObjectWriter, RawJson};
use helve_model::protocol::{meta, version};
use helve_wire::{BoxFuture, Era, LogLevel, NegotiatedVersion, RpcError};

use super::AgentEra;
use crate::agent::Agent;
use crate::discovery::Step;
use crate::exchange::Exchange;
use crate::gate::{self, Meta, Notification, Reader, Request};
use crate::gateway::Gateway;
use crate::ledger::Exceeded;
use crate::observer::Visitor;
use crate::refusal::{self, invalid_params};
use crate::{links, resources, tasks, tools};

/// Offered to an agent that asks for a version we do not speak.
const NEWEST: &str = version::V2025_11_25;

/// From this version on a stream begins with an event that only has an id.
const PRIMED_SINCE: &str = version::V2025_11_25;

/// The only version that has batches.
const BATCHES_IN: &str = version::V2025_03_26;

/// Members that every result of a modern server has, or each that may be kept.
const RESULT_ENVELOPE: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];

/// Metadata that belongs to the modern era's messages, whoever writes them.
const META_ENVELOPE: [&str; 5] =
    [meta::SERVER_INFO, meta::CLIENT_INFO, meta::PROTOCOL_VERSION, meta::CLIENT_CAPABILITIES, meta::SUBSCRIPTION_ID];

/// The era of sessions.
pub(crate) struct Legacy;

impl AgentEra for Legacy {
    fn speaks(&self, version: &str) -> bool {
        NegotiatedVersion::of_version(version).is_some_and(|negotiated| negotiated.era == Era::Legacy)
    }

    /// What every request would have to say was said by `initialize`.
    fn check(&self, _meta: &Meta) -> Result<(), RpcError> {
        Ok(())
    }

    fn is_asked_by_request(&self) -> bool {
        true
    }

    /// An agent asks whether anybody is there.
    fn answer_without_host(&self, request: &Request, _meta: &Meta) -> Option<Result<RawJson, RpcError>> {
        (request.method == methods::PING).then(|| Ok(RawJson::empty_object()))
    }

    fn answer<'a>(
        &self,
        exchange: &'a Exchange,
        request: &'a Request,
        meta: Meta,
    ) -> BoxFuture<'a, Result<RawJson, RpcError>> {
        Box::pin(answer(exchange, request, meta))
    }
}

/// Answers one request.
async fn answer(exchange: &Exchange, request: &Request, meta: Meta) -> Result<RawJson, RpcError> {
    let _present = exchange.agent.present();
    let _turn = exchange.gateway.ledger.requests.take(&exchange.agent.taker()).await?;
    let gateway = &*exchange.gateway;
    let result = match request.method.as_str() {
        methods::INITIALIZE => {
            gateway.introduce().await;
            initialize(exchange, request)
        }
        methods::PING => Ok(RawJson::empty_object()),
        methods::LOGGING_SET_LEVEL => set_log_level(exchange, request).await,
        methods::TOOLS_LIST => tools::list(exchange, request).await.map(|page| page.result),
        methods::TOOLS_CALL => call_tool(exchange, request, &meta).await,
        methods::RESOURCES_LIST => resources::list(exchange, request).await.map(|page| page.result),
        methods::RESOURCE_TEMPLATES_LIST => resources::list_templates(exchange, request).await.map(|page| page.result),
        methods::RESOURCES_READ => read_resource(exchange, request, &meta).await,
        methods::RESOURCES_SUBSCRIBE => subscribe(exchange, request, &meta).await,
        methods::RESOURCES_UNSUBSCRIBE => unsubscribe(exchange, request).await,
        methods::PROMPTS_LIST => resources::list_prompts(exchange, request).await.map(|page| page.result),
        methods::PROMPTS_GET => get_prompt(exchange, request, &meta).await,
        methods::COMPLETION_COMPLETE => gate::complete(exchange, request, &meta).await,
        methods::TASKS_GET | methods::TASKS_RESULT | methods::TASKS_CANCEL => {
            tasks::relay(exchange, request, &meta).await
        }
        methods::TASKS_LIST => tasks::list(exchange, request, &meta).await,
        _ => gate::relay(exchange, request, &meta).await,
    };
    result.map(without_envelope)
}

/// The result as this era has it: what a modern server's envelope says besides is for agents of that era.
fn without_envelope(result: RawJson) -> RawJson {
    let members = || scan::members(result.as_str()).into_iter().flatten().map_while(Result::ok);
    let is_envelope = |member: &Member<'_>| RESULT_ENVELOPE.iter().any(|key| member.key_is(key));
    let kept = |member: &Member<'_>| if member.key_is("_meta") { kept_meta(member.value) } else { None };
    if !members().any(|member| is_envelope(&member) || kept(&member).is_some()) {
        return result;
    }
    let mut written = ObjectWriter::new().with_room(result.as_str().len());
    for member in members().filter(|member| !is_envelope(member)) {
        let meta = kept(&member);
        let value = meta.as_deref().unwrap_or(member.value);
        if !value.is_empty() {
            written.add_written(member.raw_key, value);
        }
    }
    written.finish()
}

/// What is left of a result's metadata without the envelope's own, empty where that is nothing; `None` when it has none.
fn kept_meta(meta: &str) -> Option<String> {
    let is_envelope = |member: &Member<'_>| member.key().is_some_and(|key| META_ENVELOPE.contains(&&*key));
    let members = || scan::members(meta).into_iter().flatten().map_while(Result::ok);
    if !members().any(|member| is_envelope(&member)) {
        return None;
    }
    let mut kept = ObjectWriter::new();
    for member in members().filter(|member| !is_envelope(member)) {
        kept.add_written(member.raw_key, member.value);
    }
    Some(if kept.is_empty() { String::new() } else { kept.into_text() })
}

/// A notification of an agent.
///
/// # Errors
/// When too many of its principal's are on their way to servers: this one is dropped.
pub(crate) fn notified(gateway: &Arc<Gateway>, agent: &Agent, notification: Notification) -> Result<(), Exceeded> {
    match notification.method.as_str() {
        notifications::CANCELLED => agent.running.cancel(notification.params.as_ref()),
        // They are about this connection.
        notifications::INITIALIZED | notifications::PROGRESS => {}
        _ => return gate::tell(gateway, agent, notification),
    }
    Ok(())
}

/// Does a stream begin with an event that only has an id?
pub(crate) fn is_primed(version: &str) -> bool {
    version >= PRIMED_SINCE
}

/// May an agent of this version send several messages as one array?
pub(crate) fn has_batches(version: &str) -> bool {
    version == BATCHES_IN
}

fn initialize(exchange: &Exchange, request: &Request) -> Result<RawJson, RpcError> {
    let asked = request.required("protocolVersion")?;
    let version = if Legacy.speaks(&asked) { asked } else { NEWEST.to_owned() };
    let gateway = &exchange.gateway;
    let capabilities = gateway.offers().legacy();
    let result = ObjectWriter::new()
        .text("protocolVersion", &version)
        .raw("capabilities", capabilities)
        .raw("serverInfo", &gateway.server_info)
        .optional_text("instructions", gateway.instructions(&exchange.agent));
    if let Some(capabilities) = request.param("capabilities") {
        exchange.agent.declare(&capabilities);
    }
    if let Some(info) = request.param("clientInfo") {
        exchange.agent.introduce(&info);
    }
    exchange.agent.greet(version);
    let visitor = Visitor::of(exchange.agent.principal.clone());
    gateway.welcome(&exchange.agent, visitor.introduced(request.param("clientInfo").as_ref()));
    Ok(result.finish())
}

async fn set_log_level(exchange: &Exchange, request: &Request) -> Result<RawJson, RpcError> {
    let word = request.required("level")?;
    let level = LogLevel::from_word(&word).ok_or_else(|| invalid_params(format!("there is no log level `{word}`")))?;
    exchange.agent.set_log_level(&exchange.gateway, level).await;
    Ok(RawJson::empty_object())
}

async fn call_tool(exchange: &Exchange, request: &Request, meta: &Meta) -> Result<RawJson, RpcError> {
    let catalog = exchange.catalog();
    let meant = tools::meant(exchange, &catalog, request).transpose()?;
    let request = match &meant {
        None => request,
        Some(Step::Call(meant)) => meant,
        Some(Step::Answered(answer)) => return Ok(answer.clone()),
    };
    let name = request.required("name")?;
    let found = tools::find(exchange, catalog, &name).await?;
    let assigned = exchange.host_for_tool(&found).await?;
    let arguments = request.param("arguments").unwrap_or_else(RawJson::empty_object);
    let server = found.tool.name().server.clone();
    let context = exchange.context(&assigned, &server, request, meta).with(|context| context.known_as = Some(name));
    let result = tools::call(assigned, found.tool, arguments, context).await?;
    gate::result(&result, &Reader::Legacy)?;
    links::remember(exchange, &server, &result);
    tasks::remember(exchange, &server, result)
}

async fn read_resource(exchange: &Exchange, request: &Request, meta: &Meta) -> Result<RawJson, RpcError> {
    let place = resources::place_of_resource(exchange, &request.required("uri")?).await?;
    let assigned = exchange.host_for(&place.server).await.map_err(|error| refusal::of_call(&error))?;
    let read =
        resources::read(&assigned.host, &place, &exchange.context(&assigned, &place.server, request, meta)).await?;
    gate::result(&read, &Reader::Legacy).map(|()| read)
}

async fn get_prompt(exchange: &Exchange, request: &Request, meta: &Meta) -> Result<RawJson, RpcError> {
    let place = resources::place_of_prompt(exchange, &request.required("name")?).await?;
    let assigned = exchange.host_for(&place.server).await.map_err(|error| refusal::of_call(&error))?;
    let arguments = request.param("arguments").unwrap_or_else(RawJson::empty_object);
    let context = exchange.context(&assigned, &place.server, request, meta);
    let got = resources::get_prompt(&assigned.host, &place, arguments, &context).await?;
    gate::result(&got, &Reader::Legacy).map(|()| got)
}

async fn subscribe(exchange: &Exchange, request: &Request, meta: &Meta) -> Result<RawJson, RpcError> {
    let uri = request.required("uri")?;
    let place = resources::place_of_resource(exchange, &uri).await?;
    let assigned = exchange.host_for(&place.server).await.map_err(|error| refusal::of_call(&error))?;
    gate::follow(exchange, &assigned.host, &place, meta).await?;
    let _turn = exchange.turn_at(&place.server).await?;
    exchange.agent.watching().add(&assigned.host, &place, &uri).await?;
    Ok(RawJson::empty_object())
}

async fn unsubscribe(exchange: &Exchange, request: &Request) -> Result<RawJson, RpcError> {
    let place = resources::place_of_resource(exchange, &request.required("uri")?).await?;
    exchange.agent.watching().remove(&place);
    Ok(RawJson::empty_object())
}
