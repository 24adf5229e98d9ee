//! The modern era: every request carries its own metadata, every result its type; nothing is remembered between them.

use helve_model::protocol::methods;
use std::sync::Arc;
use std::time::Duration;

use helve::{Answerer, CallContext};
use helve_model::ServerName;
use helve_model::json::{ObjectWriter, RawJson, quoted, scan};
use helve_model::protocol::{code, extension, meta as meta_key, version};
use helve_wire::{BoxFuture, ClientCapabilities, Era, LogLevel, NegotiatedVersion, QuestionKind, Relayed, RpcError};

use tokio::sync::Notify;

use super::{AgentEra, listen};
use crate::approver_source::PageStyle;
use crate::assigned_host::AssignedHost;
use crate::capabilities;
use crate::catalog::LISTS_COUNT_FOR;
use crate::conversation::{Line, OpenCall};
use crate::discovery::Step;
use crate::exchange::{Exchange, waits_on};
use crate::gate::{self, Meta, Reader, Request};
use crate::gateway::Gateway;
use crate::held_tasks::HeldTasks;
use crate::refusal::{self, invalid_params};
use crate::seal::{CallDigest, Sealed};
use crate::tools::FoundTool;
use crate::{links, named_questions, resources, tasks, tools};

/// The versions of this era, newest first.
const VERSIONS: [&str; 1] = version::MODERN;

/// What the legacy era says about a resource that is not there, and what this one says.
const LEGACY_NOT_FOUND: i64 = code::RESOURCE_NOT_FOUND;
const NOT_FOUND: i64 = code::INVALID_PARAMS;

/// The era without sessions.
pub(crate) struct Modern;

impl AgentEra for Modern {
    fn speaks(&self, version: &str) -> bool {
        NegotiatedVersion::of_version(version).is_some_and(|negotiated| negotiated.era == Era::Modern)
    }

    fn check(&self, meta: &Meta) -> Result<(), RpcError> {
        let Some(version) = &meta.protocol_version else {
            return Err(invalid_params(format!("`_meta` lacks {}", meta_key::PROTOCOL_VERSION)));
        };
        let version: String =
            version.parse().map_err(|_| invalid_params(format!("{} is not a string", meta_key::PROTOCOL_VERSION)))?;
        if !self.speaks(&version) {
            return Err(unsupported(&version));
        }
        match &meta.client_capabilities {
            Some(capabilities) if capabilities.is_object() => Ok(()),
            _ => Err(invalid_params(format!("`_meta` lacks {}", meta_key::CLIENT_CAPABILITIES))),
        }
    }

    fn is_asked_by_request(&self) -> bool {
        false
    }

    /// An agent forgot what every request has to say.
    fn answer_without_host(&self, _request: &Request, meta: &Meta) -> Option<Result<RawJson, RpcError>> {
        self.check(meta).err().map(Err)
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

/// Answers one request whose metadata was checked.
async fn answer(exchange: &Exchange, request: &Request, meta: Meta) -> Result<RawJson, RpcError> {
    let _present = exchange.agent.present();
    let _turn = exchange.gateway.ledger.requests.take(&exchange.agent.taker()).await?;
    let gateway = &exchange.gateway;
    let result = match request.method.as_str() {
        methods::SERVER_DISCOVER => {
            gateway.introduce().await;
            Ok(discover(exchange))
        }
        methods::TOOLS_LIST => tools::list(exchange, request).await.map(|page| cacheable(&page.result, page.count_for)),
        methods::TOOLS_CALL => call_tool(exchange, request, meta).await,
        methods::RESOURCES_LIST => {
            resources::list(exchange, request).await.map(|page| cacheable(&page.result, page.count_for))
        }
        methods::RESOURCE_TEMPLATES_LIST => {
            resources::list_templates(exchange, request).await.map(|page| cacheable(&page.result, page.count_for))
        }
        methods::RESOURCES_READ => read_resource(exchange, request, meta).await.map(|read| fresh(&read)),
        methods::PROMPTS_LIST => {
            resources::list_prompts(exchange, request).await.map(|page| cacheable(&page.result, page.count_for))
        }
        methods::PROMPTS_GET => get_prompt(exchange, request, meta).await,
        methods::COMPLETION_COMPLETE => gate::complete(exchange, request, &meta).await,
        methods::SUBSCRIPTIONS_LISTEN => listen::listen(exchange, request, &meta).await,
        methods::TASKS_GET | methods::TASKS_UPDATE | methods::TASKS_CANCEL => {
            needs_tasks(&meta)?;
            match gateway.held_tasks.answer(exchange, request) {
                Some(answer) => answer,
                None => tasks::relay(exchange, request, &meta).await,
            }
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
    let data = ObjectWriter::new().array("supported", VERSIONS.map(quoted)).text("requested", version);
    RpcError {
        code: code::UNSUPPORTED_VERSION,
        message: format!("Unsupported protocol version: {version}"),
        data: Some(data.finish()),
    }
}

fn discover(exchange: &Exchange) -> RawJson {
    let gateway = &exchange.gateway;
    let told = ObjectWriter::new()
        .array("supportedVersions", VERSIONS.map(quoted))
        .raw("capabilities", gateway.offers().modern())
        .optional_text("instructions", gateway.instructions(&exchange.agent));
    cacheable(&told.finish(), None)
}

async fn call_tool(exchange: &Exchange, request: &Request, meta: Meta) -> Result<RawJson, RpcError> {
    let catalog = exchange.catalog();
    let meant = tools::meant(exchange, &catalog, request).transpose()?;
    let request = match &meant {
        None => request,
        Some(Step::Call(meant)) => meant,
        Some(Step::Answered(answer)) => return Ok(answer.clone()),
    };
    let name = request.required("name")?;
    let found = tools::find(exchange, catalog, &name).await?;
    let arguments = request.param("arguments").unwrap_or_else(RawJson::empty_object);
    let server = found.tool.name().server.clone();
    let tool = Arc::clone(&found.tool);
    let result = in_rounds(exchange, request, meta, &server, Some(&found), |assigned, context| {
        let context = context.with(|context| context.known_as = Some(name));
        Box::pin(async move { tools::call(assigned, tool, arguments, context).await })
    })
    .await?;
    if HeldTasks::is_own(&result) {
        return Ok(result);
    }
    links::remember(exchange, &server, &result);
    tasks::remember(exchange, &server, result)
}

async fn read_resource(exchange: &Exchange, request: &Request, meta: Meta) -> Result<RawJson, RpcError> {
    let place = resources::place_of_resource(exchange, &request.required("uri")?).await?;
    let server = place.server.clone();
    in_rounds(exchange, request, meta, &server, None, |assigned, context| {
        Box::pin(async move {
            // All of it: the agent's turn is over when this is.
            let assigned = assigned;
            resources::read(&assigned.host, &place, &context).await
        })
    })
    .await
}

async fn get_prompt(exchange: &Exchange, request: &Request, meta: Meta) -> Result<RawJson, RpcError> {
    let place = resources::place_of_prompt(exchange, &request.required("name")?).await?;
    let arguments = request.param("arguments").unwrap_or_else(RawJson::empty_object);
    let server = place.server.clone();
    in_rounds(exchange, request, meta, &server, None, |assigned, context| {
        Box::pin(async move {
            let assigned = assigned;
            resources::get_prompt(&assigned.host, &place, arguments, &context).await
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
    found: Option<&FoundTool>,
    make: impl FnOnce(AssignedHost, CallContext) -> BoxFuture<'static, Result<RawJson, RpcError>>,
) -> Result<RawJson, RpcError> {
    let (gateway, agent) = (&exchange.gateway, &exchange.agent);
    let line = Line {
        stream: Arc::clone(&exchange.stream),
        progress_token: meta.progress_token.clone(),
        log_from: meta.log_level.as_deref().and_then(LogLevel::from_word),
    };
    let responses = request.param("inputResponses");
    let digest = CallDigest::new(server, &request.method, &request.subject(), request.param("arguments").as_ref());
    let state = match request.param("requestState") {
        None => None,
        Some(state) => match open_state(exchange, digest, &state)? {
            Sealed::State { state, .. } => Some(RawJson::assembled(state)),
            Sealed::Parked { handle, .. } => {
                return gateway
                    .suspended_calls
                    .resume(gateway, &agent.principal, handle, line, responses.as_ref())
                    .await;
            }
        },
    };
    let declared = meta.client_capabilities.clone().unwrap_or_else(RawJson::empty_object);
    let can = capabilities::read(&declared);
    let said = request.params.as_ref().map_or(0, |params| params.as_str().len());
    // Only what was found as a tool becomes a task.
    let may_be_task = found.is_some() && gateway.options.approvals.is_some() && needs_tasks(&meta).is_ok();
    let overdue = may_be_task.then(Arc::<Notify>::default);
    let call = OpenCall::new(agent, server, digest, said, can.clone(), line).becoming_task(overdue.clone());
    let answerer: Arc<dyn Answerer> = Arc::<crate::conversation::Conversation>::clone(&call.conversation);
    let assigned = match found {
        Some(found) => exchange.host_for_tool(found).await?,
        None => exchange.host_for(server).await.map_err(|error| refusal::of_call(&error))?,
    };
    let on_progress = call.conversation.on_progress();
    let waits = meta.progress_token.is_some().then(|| Arc::clone(&on_progress));
    let overdue = overdue.or_else(|| waits_on(server, &meta));
    let approver = exchange.approver(&answerer, PageStyle::Question, overdue, waits);
    let context = exchange.common_context(&assigned, server, answerer, request, &meta).with(|context| {
        context.approver = approver;
        context.on_progress = Some(on_progress);
        context.relayed = Some(Relayed { capabilities: Some(declared), responses, state, task: None });
    });
    let (made, asker) = (make(assigned, context), server.clone());
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
    match extensions.and_then(|extensions| extensions.member(extension::TASKS)) {
        Some(_) => Ok(()),
        None => {
            let tasks = ObjectWriter::new().object(extension::TASKS, ObjectWriter::new());
            Err(missing_capability(&ObjectWriter::new().object("extensions", tasks).into_text()))
        }
    }
}

/// A legacy server has no code for what it misses in its client; it says so in words. Where these name something that the
/// agent did not declare, that is what is missing.
fn explained(error: RpcError, can: &ClientCapabilities) -> RpcError {
    let kinds = [QuestionKind::Elicitation, QuestionKind::Sampling, QuestionKind::Roots];
    let words = ["elicitation", "sampling", "roots"];
    let is_plain = !code::MODERN.contains(&error.code) && error.code != NOT_FOUND;
    let missed = kinds.into_iter().zip(words).find(|(kind, word)| !can.allow(*kind) && error.message.contains(word));
    match missed {
        Some((_, word)) if is_plain => {
            let missing = missing_capability(&ObjectWriter::new().object(word, ObjectWriter::new()).into_text());
            RpcError { message: error.message, ..missing }
        }
        _ => error,
    }
}

pub(crate) fn missing_capability(required: &str) -> RpcError {
    RpcError {
        code: code::MISSING_CAPABILITY,
        message: "Missing required client capability".to_owned(),
        data: Some(ObjectWriter::new().raw("requiredCapabilities", required).finish()),
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
            result.replacing("requestState", &quoted(&text))
        }
        _ => result,
    }
}

/// A list, with how long it may be used: as its servers say, changes are announced to those who listen. What an agent sees may
/// depend on who it is, so it is nobody else's.
fn cacheable(result: &RawJson, count_for: Option<Duration>) -> RawJson {
    let milliseconds = count_for.unwrap_or(LISTS_COUNT_FOR).as_millis();
    kept_for(result, u64::try_from(milliseconds).unwrap_or(u64::MAX))
}

/// What was read, marked as old at once where the server did not say otherwise.
fn fresh(result: &RawJson) -> RawJson {
    if result.member("ttlMs").is_some() { result.clone() } else { kept_for(result, 0) }
}

fn kept_for(result: &RawJson, milliseconds: u64) -> RawJson {
    ObjectWriter::after(result).number("ttlMs", milliseconds).text("cacheScope", "private").finish()
}

/// Puts in what every result of this era has. A modern server's result has it already, and stays as it is.
fn complete(gateway: &Gateway, result: &RawJson) -> RawJson {
    let (mut has_type, mut has_meta) = (false, false);
    for member in scan::members(result.as_str()).into_iter().flatten().map_while(Result::ok) {
        has_type |= member.key_is("resultType");
        has_meta |= member.key_is("_meta");
    }
    let info = &gateway.server_info;
    let result = ours(result, info.as_str());
    if has_type {
        return result;
    }
    let typed = ObjectWriter::after(&result).text("resultType", "complete");
    let meta = (!has_meta).then(|| ObjectWriter::new().raw(meta_key::SERVER_INFO, info).into_text());
    typed.optional("_meta", meta).finish()
}

/// Whoever is behind us, it is us who answers: a server's name in the metadata becomes ours.
fn ours(result: &RawJson, info: &str) -> RawJson {
    match result.member("_meta") {
        Some(meta) if meta.member(meta_key::SERVER_INFO).is_some() => {
            result.replacing("_meta", meta.replacing(meta_key::SERVER_INFO, info).as_str())
        }
        _ => result.clone(),
    }
}
