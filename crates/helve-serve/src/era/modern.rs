//! The modern era: every request carries its own metadata, every result its type; nothing is remembered between them.

use std::sync::Arc;
use std::time::Duration;

use helve::{Answerer, CallContext};
use helve_model::ServerName;
use helve_model::json::{RawJson, scan};
use helve_wire::plane::quoted;
use helve_wire::{BoxFuture, ClientCapabilities, Era, QuestionKind, Relayed, RpcError, Verdict};

use super::listen;
use crate::capabilities;
use crate::catalog::LISTS_COUNT_FOR;
use crate::conversation::{Line, OpenCall};
use crate::discovery::Step;
use crate::exchange::Exchange;
use crate::gate::{self, Meta, Reader, Request, with_member};
use crate::gateway::Gateway;
use crate::lodging::Lodging;
use crate::news::Level;
use crate::refusal::{self, invalid_params};
use crate::seal::{CallDigest, Sealed};
use crate::{links, named_questions, resources, tasks, tools};

/// The method by which an agent asks who we are.
const DISCOVER: &str = "server/discover";

/// The versions of this era, newest first.
const VERSIONS: [&str; 1] = ["2026-07-28"];

const MISSING_CAPABILITY: i64 = -32021;
const UNSUPPORTED_VERSION: i64 = -32022;

/// The extension by which a call may be answered with a task.
const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Where a result says who answers.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// What the legacy era says about a resource that is not there, and what this one says.
const LEGACY_NOT_FOUND: i64 = -32002;
const NOT_FOUND: i64 = -32602;

/// Is this request of the modern era?
pub(crate) fn is_modern(request: &Request, meta: &Meta) -> bool {
    meta.protocol_version.is_some() || request.method == DISCOVER
}

/// Is this a version of this era?
pub(crate) fn speaks(version: &str) -> bool {
    Verdict::of_version(version).is_some_and(|verdict| verdict.era == Era::Modern)
}

/// Does a request carry what it has to?
pub(crate) fn check(meta: &Meta) -> Result<(), RpcError> {
    let Some(version) = &meta.protocol_version else {
        return Err(invalid_params("`_meta` lacks io.modelcontextprotocol/protocolVersion"));
    };
    let version: String =
        version.parse().map_err(|_| invalid_params("io.modelcontextprotocol/protocolVersion is no string"))?;
    if !speaks(&version) {
        return Err(unsupported(&version));
    }
    match &meta.client_capabilities {
        Some(capabilities) if capabilities.is_object() => Ok(()),
        _ => Err(invalid_params("`_meta` lacks io.modelcontextprotocol/clientCapabilities")),
    }
}

/// Answers one request whose metadata was checked.
pub(crate) async fn answer(exchange: &Exchange, request: &Request, meta: Meta) -> Result<RawJson, RpcError> {
    let _present = exchange.agent.present();
    let _turn = exchange.gateway.ledger.requests.take(&exchange.agent.taker()).await?;
    let gateway = &exchange.gateway;
    let result = match request.method.as_str() {
        DISCOVER => {
            gateway.introduce().await;
            Ok(discover(gateway))
        }
        "tools/list" => tools::list(exchange, request).await.map(|page| cacheable(&page.result, page.count_for)),
        "tools/call" => call_tool(exchange, request, meta).await,
        "resources/list" => resources::list(gateway, request).await.map(|page| cacheable(&page.result, page.count_for)),
        "resources/templates/list" => {
            resources::list_templates(gateway, request).await.map(|page| cacheable(&page.result, page.count_for))
        }
        "resources/read" => read_resource(exchange, request, meta).await.map(|read| fresh(&read)),
        "prompts/list" => {
            resources::list_prompts(gateway, request).await.map(|page| cacheable(&page.result, page.count_for))
        }
        "prompts/get" => get_prompt(exchange, request, meta).await,
        "completion/complete" => gate::complete(exchange, request, &meta).await,
        "subscriptions/listen" => listen::listen(exchange, request, &meta).await,
        "tasks/get" | "tasks/update" | "tasks/cancel" => {
            needs_tasks(&meta)?;
            tasks::relay(exchange, request, &meta).await
        }
        _ => gate::relay(exchange, request, &meta).await,
    };
    match result {
        Ok(result) => Ok(complete(gateway, &result)),
        Err(error) if error.code == LEGACY_NOT_FOUND => Err(RpcError { code: NOT_FOUND, ..error }),
        Err(error) => Err(error),
    }
}

fn unsupported(version: &str) -> RpcError {
    let data = format!(r#"{{"supported":{},"requested":{}}}"#, quoted_list(&VERSIONS), quoted(version));
    RpcError {
        code: UNSUPPORTED_VERSION,
        message: format!("Unsupported protocol version: {version}"),
        data: Some(RawJson::assembled(data)),
    }
}

fn discover(gateway: &Gateway) -> RawJson {
    let (versions, capabilities) = (quoted_list(&VERSIONS), gateway.offers().modern());
    let instructions = gateway.instructions();
    let instructions = instructions.map_or_else(String::new, |text| format!(r#","instructions":{}"#, quoted(&text)));
    let told = format!(r#"{{"supportedVersions":{versions},"capabilities":{capabilities}{instructions}}}"#);
    cacheable(&RawJson::assembled(told), None)
}

async fn call_tool(exchange: &Exchange, request: &Request, meta: Meta) -> Result<RawJson, RpcError> {
    let meant = tools::meant(exchange, request).transpose()?;
    let request = match &meant {
        None => request,
        Some(Step::Call(meant)) => meant,
        Some(Step::Answered(answer)) => return Ok(answer.clone()),
    };
    let name = request.required("name")?;
    let tool = tools::find(exchange, &name).await?;
    let arguments = request.param("arguments").unwrap_or_else(RawJson::empty_object);
    let server = tool.name().server.clone();
    let result = in_rounds(exchange, request, meta, &server, |lodging, context| {
        let context = CallContext { known_as: Some(name), ..context };
        Box::pin(async move { tools::call(lodging, tool, arguments, context).await })
    })
    .await?;
    links::remember(exchange, &server, &result);
    tasks::remember(exchange, &server, result)
}

async fn read_resource(exchange: &Exchange, request: &Request, meta: Meta) -> Result<RawJson, RpcError> {
    let place = resources::place_of_resource(exchange, &request.required("uri")?).await?;
    let server = place.server.clone();
    in_rounds(exchange, request, meta, &server, |lodging, context| {
        Box::pin(async move {
            // All of it: the agent's turn is over when this is.
            let lodging = lodging;
            resources::read(&lodging.host, &place, &context).await
        })
    })
    .await
}

async fn get_prompt(exchange: &Exchange, request: &Request, meta: Meta) -> Result<RawJson, RpcError> {
    let place = resources::place_of_prompt(&exchange.gateway, &request.required("name")?).await?;
    let arguments = request.param("arguments").unwrap_or_else(RawJson::empty_object);
    let server = place.server.clone();
    in_rounds(exchange, request, meta, &server, |lodging, context| {
        Box::pin(async move {
            let lodging = lodging;
            resources::get_prompt(&lodging.host, &place, arguments, &context).await
        })
    })
    .await
}

/// Makes a call for an agent that is asked by result. A modern server's own state goes through the agent sealed; a call that
/// something has to be asked for meanwhile waits here for the answer.
async fn in_rounds(
    exchange: &Exchange,
    request: &Request,
    meta: Meta,
    server: &ServerName,
    make: impl FnOnce(Lodging, CallContext) -> BoxFuture<'static, Result<RawJson, RpcError>>,
) -> Result<RawJson, RpcError> {
    let (gateway, agent) = (&exchange.gateway, &exchange.agent);
    let line = Line {
        stream: Arc::clone(&exchange.stream),
        progress_token: meta.progress_token.clone(),
        log_from: meta.log_level.as_deref().and_then(Level::from_word),
    };
    let responses = request.param("inputResponses");
    let digest = CallDigest::new(server, &request.method, &request.subject(), request.param("arguments").as_ref());
    let state = match request.param("requestState") {
        None => None,
        Some(state) => match open_state(exchange, digest, &state)? {
            Sealed::State { state, .. } => Some(RawJson::assembled(state)),
            Sealed::Parked { handle, .. } => {
                return gateway.parking.resume(gateway, &agent.principal, handle, line, responses.as_ref()).await;
            }
        },
    };
    let declared = meta.client_capabilities.clone().unwrap_or_else(RawJson::empty_object);
    let can = capabilities::read(&declared);
    let said = request.params.as_ref().map_or(0, |params| params.as_str().len());
    let call = OpenCall::new(gateway.asked_by_servers(agent), server, digest, said, can.clone(), line);
    let answerer: Arc<dyn Answerer> = Arc::<crate::conversation::Conversation>::clone(&call.conversation);
    let context = CallContext {
        on_progress: Some(call.conversation.on_progress()),
        relayed: Some(Relayed { capabilities: Some(declared), responses, state, task: None }),
        ..exchange.common_context(server, answerer, request, &meta)
    };
    let lodging = exchange.host_for(server).await.map_err(|error| refusal::of_call(&error))?;
    let (made, asker) = (make(lodging, context), server.clone());
    let named = async move { made.await.map(|result| named_questions::in_result(&asker, result)) };
    let result = call.run(gateway, &agent.principal, Box::pin(named)).await;
    match result {
        Ok(result) => {
            gate::result(&result, &Reader::Modern(Box::new(can)))?;
            Ok(seal_state(exchange, digest, result))
        }
        Err(error) => Err(explained(error, &agent.capabilities())),
    }
}

/// Tasks are asked about by agents that know them.
fn needs_tasks(meta: &Meta) -> Result<(), RpcError> {
    let extensions = meta.client_capabilities.as_ref().and_then(|capabilities| capabilities.member("extensions"));
    match extensions.and_then(|extensions| extensions.member(TASKS_EXTENSION)) {
        Some(_) => Ok(()),
        None => Err(missing_capability(&format!(r#"{{"extensions":{{"{TASKS_EXTENSION}":{{}}}}}}"#))),
    }
}

/// A legacy server has no code for what it misses in its client; it says so in words. Where these name something that the
/// agent did not declare, that is what is missing.
fn explained(error: RpcError, can: &ClientCapabilities) -> RpcError {
    let kinds = [QuestionKind::Elicitation, QuestionKind::Sampling, QuestionKind::Roots];
    let words = ["elicitation", "sampling", "roots"];
    let is_plain = !(-32099..=-32020).contains(&error.code) && error.code != NOT_FOUND;
    let missed = kinds.into_iter().zip(words).find(|(kind, word)| !can.allow(*kind) && error.message.contains(word));
    match missed {
        Some((_, word)) if is_plain => {
            let missing = missing_capability(&format!(r#"{{"{word}":{{}}}}"#));
            RpcError { message: error.message, ..missing }
        }
        _ => error,
    }
}

pub(crate) fn missing_capability(required: &str) -> RpcError {
    RpcError {
        code: MISSING_CAPABILITY,
        message: "Missing required client capability".to_owned(),
        data: Some(RawJson::assembled(format!(r#"{{"requiredCapabilities":{required}}}"#))),
    }
}

fn is_question(result: &RawJson) -> bool {
    result.member("resultType").is_some_and(|kind| kind.as_str() == r#""input_required""#)
}

fn open_state(exchange: &Exchange, call: CallDigest, state: &RawJson) -> Result<Sealed, RpcError> {
    let opened =
        state.parse::<String>().ok().and_then(|text| exchange.gateway.seal.open(&exchange.agent.principal, &text));
    let is_of = |sealed: &Sealed| match sealed {
        Sealed::State { call: of, .. } | Sealed::Parked { call: of, .. } => *of == call,
    };
    opened.filter(is_of).ok_or_else(|| invalid_params("this requestState was not given for this call, or is too old"))
}

/// The state that a modern server wants back goes to the agent sealed.
fn seal_state(exchange: &Exchange, call: CallDigest, result: RawJson) -> RawJson {
    let state = if is_question(&result) { result.member("requestState") } else { None };
    match state.filter(|state| state.as_str() != "null") {
        // A call that is parked here is sealed already.
        Some(state)
            if state
                .parse::<String>()
                .ok()
                .and_then(|text| exchange.gateway.seal.open(&exchange.agent.principal, &text))
                .is_none() =>
        {
            let sealed = Sealed::State { call, state: state.as_str().to_owned() };
            let lasts = exchange.gateway.options.limits.state_time;
            let text = exchange.gateway.seal.seal(&exchange.agent.principal, &sealed, lasts);
            with_member(&result, "requestState", &quoted(&text))
        }
        _ => result,
    }
}

/// A list, with how long it may be used: as its servers say, changes are announced to those who listen. What an agent sees may
/// depend on who it is, so it is nobody else's.
fn cacheable(result: &RawJson, count_for: Option<Duration>) -> RawJson {
    let milliseconds = count_for.unwrap_or(LISTS_COUNT_FOR).as_millis();
    with_members(result, &format!(r#""ttlMs":{milliseconds},"cacheScope":"private""#))
}

/// What was read, marked as old at once where the server did not say otherwise.
fn fresh(result: &RawJson) -> RawJson {
    if result.member("ttlMs").is_some() {
        result.clone()
    } else {
        with_members(result, r#""ttlMs":0,"cacheScope":"private""#)
    }
}

/// Puts in what every result of this era has. A modern server's result has it already, and stays as it is.
fn complete(gateway: &Gateway, result: &RawJson) -> RawJson {
    let (mut has_type, mut has_meta) = (false, false);
    for member in scan::members(result.as_str()).into_iter().flatten().map_while(Result::ok) {
        has_type |= member.key_is("resultType");
        has_meta |= member.key_is("_meta");
    }
    let info = &gateway.server_info;
    let result = &ours(result, info);
    let meta = format!(r#""_meta":{{"{SERVER_INFO}":{info}}}"#);
    match (has_type, has_meta) {
        (true, _) => result.clone(),
        (false, true) => with_members(result, r#""resultType":"complete""#),
        (false, false) => with_members(result, &format!(r#""resultType":"complete",{meta}"#)),
    }
}

/// Whoever is behind us, it is us who answers: a server's name in the metadata becomes ours.
fn ours(result: &RawJson, info: &str) -> RawJson {
    match result.member("_meta") {
        Some(meta) if meta.member(SERVER_INFO).is_some() => {
            with_member(result, "_meta", with_member(&meta, SERVER_INFO, info).as_str())
        }
        _ => result.clone(),
    }
}

/// The object with further members behind its own.
fn with_members(object: &RawJson, members: &str) -> RawJson {
    let text = object.as_str().trim_end();
    let open = text.strip_suffix('}').unwrap_or(text).trim_end();
    let comma = if open.ends_with('{') { "" } else { "," };
    RawJson::assembled([open, comma, members, "}"].concat())
}

fn quoted_list(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    format!("[{}]", words.join(","))
}
