//! Resources and prompts on the way of a call: permission as for tools, as kinds of their own.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use helve_model::json::RawJson;
use helve_model::{
    CallKind, ErrorCode, Hint, PromptDefinition, PromptOutcome, QualifiedName, ReadOutcome, ServerName, ToolName,
};
use helve_policy::{Answer, Permit, Subject, Whereabouts};
use helve_schema::check_prompt_arguments;
use helve_wire::{Session, Times};
use serde_json::{Map, Value};
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::record::Recording;
use super::{CallContext, authorize, dispatch};
use crate::error::CallError;
use crate::host_core::HostCore;
use crate::record::CallEnd;
use crate::server_handle::ServerHandle;
use crate::spill::{spill_contents, spill_messages};
use crate::turn::Turn;
use helve_model::sync::lock;

/// What reading a resource produced.
#[derive(Debug, Clone)]
pub struct ResourceOutcome {
    /// What came back: whole, or cut with the rest in [`ResourceOutcome::kept_in`].
    pub outcome: ReadOutcome,
    /// Where contents that were too large are kept whole.
    pub kept_in: Vec<PathBuf>,
}

/// Reads a resource.
pub(crate) async fn read_resource(
    host: &HostCore,
    handle: &ServerHandle,
    uri: &str,
    context: &CallContext,
) -> Result<ResourceOutcome, CallError> {
    let name = QualifiedName::new(handle.server().clone(), ToolName::new(uri));
    let mut recording = Recording::begin(host, None, context, &RawJson::empty_object());
    recording.found(&name);
    let span = recording.span();
    let result = async {
        let subject = Subject::resource(&name.server, uri);
        let permit = permit(host, subject, RawJson::empty_object(), context, &mut recording).await?;
        let _turn = turn(context, &name.server).await?;
        let timeout = timeout(host, handle, context);
        let session = handle.session(Instant::now() + timeout).await?;
        offered(&session, handle, CallKind::Resource, ErrorCode::ResourceNotFound)?;
        recording.attempt();
        let options = dispatch::options(host, handle, context, timeout);
        let read = session.read_resource(&permit, options).await;
        let outcome = read.map_err(|error| CallError::from_wire(error, &name.server))?;
        recording.took_bytes(outcome.raw().as_str().len());
        if context.relayed.is_none() && outcome.raw().member("contents").and_then(|list| list.elements()).is_none() {
            return Err(CallError::new(ErrorCode::ProtocolError, "the server's answer has no `contents`"));
        }
        Ok(cut(host, &name, outcome, context).await)
    }
    .instrument(span)
    .await
    .map_err(|error: CallError| error.at(&name));
    recording.end_with(result.as_ref().map(|_| CallEnd::Done));
    result
}

/// Gets a prompt. Its arguments are checked against what the server lists.
pub(crate) async fn get_prompt(
    host: &HostCore,
    handle: &ServerHandle,
    prompt: &str,
    arguments: RawJson,
    context: &CallContext,
) -> Result<PromptOutcome, CallError> {
    let name = QualifiedName::new(handle.server().clone(), ToolName::new(prompt));
    let mut recording = Recording::begin(host, None, context, &arguments);
    recording.found(&name);
    let span = recording.span();
    let result = async {
        let timeout = timeout(host, handle, context);
        let session = handle.session(Instant::now() + timeout).await?;
        offered(&session, handle, CallKind::Prompt, ErrorCode::PromptNotFound)?;
        let definition = listed(handle, &session, &name, Times::exactly(timeout)).await?;
        check(&name, &definition, &arguments)?;
        let subject = Subject::prompt(&name.server, &definition);
        let permit = permit(host, subject, arguments, context, &mut recording).await?;
        let _turn = turn(context, &name.server).await?;
        recording.attempt();
        let got = session.get_prompt(&permit, dispatch::options(host, handle, context, timeout)).await;
        let outcome = got.map_err(|error| CallError::from_wire(error, &name.server))?;
        recording.took_bytes(outcome.raw().as_str().len());
        Ok(cut_prompt(host, &name, outcome, context).await)
    }
    .instrument(span)
    .await
    .map_err(|error: CallError| error.at(&name));
    recording.end_with(result.as_ref().map(|_| CallEnd::Done));
    result
}

/// What a server does not offer, it is not asked for.
fn offered(session: &Session, handle: &ServerHandle, kind: CallKind, code: ErrorCode) -> Result<(), CallError> {
    let what = format!("{kind}s");
    if session.greeting().offers(&what) {
        return Ok(());
    }
    let server = handle.server();
    Err(CallError::new(code, format!("the server `{server}` has no {what}"))
        .at_server(server)
        .with_hint(Hint::ListOffers(kind)))
}

/// How long a server may stay without an answer.
pub(crate) fn timeout(host: &HostCore, handle: &ServerHandle, context: &CallContext) -> Duration {
    context.timeout.or_else(|| handle.call_timeout()).unwrap_or(host.settings.call_timeout)
}

/// A turn at the server, where callers share it.
async fn turn(context: &CallContext, server: &ServerName) -> Result<Option<Turn>, CallError> {
    match &context.turns {
        Some(turns) => turns.take(server).await.map(Some),
        None => Ok(None),
    }
}

async fn permit(
    host: &HostCore,
    subject: Subject,
    arguments: RawJson,
    context: &CallContext,
    recording: &mut Recording<'_>,
) -> Result<Permit, CallError> {
    let Some(rules) = host.rule_set() else {
        return Err(CallError::new(ErrorCode::ServerUnavailable, "the host has no servers yet"));
    };
    let policy = rules.for_tool(subject);
    authorize::in_scope(&policy, context, recording)?;
    match authorize::decide(host, &policy, arguments, &Whereabouts::default(), context, recording)? {
        Answer::Approved(permit) => Ok(permit),
        Answer::Open(question) => authorize::ask(host, &policy, context, question, &Whereabouts::default()).await,
    }
}

/// The prompt as its server lists it. What is kept counts as long as the server would say that it changed.
async fn listed(
    handle: &ServerHandle,
    session: &Session,
    name: &QualifiedName,
    times: Times,
) -> Result<PromptDefinition, CallError> {
    let wanted = name.tool.as_str();
    let find = |prompts: &[PromptDefinition]| prompts.iter().find(|prompt| prompt.name() == wanted).cloned();
    let kept = lock(handle.prompts()).clone();
    if let Some(found) = kept.as_deref().and_then(find) {
        return Ok(found);
    }
    let listing = session.list_prompts(times).await.map_err(|error| CallError::from_wire(error, &name.server))?;
    let prompts: Arc<[PromptDefinition]> = listing.items.into();
    if session.greeting().offers_part("prompts", "listChanged") {
        *lock(handle.prompts()) = Some(Arc::clone(&prompts));
    }
    if let Some(found) = find(&prompts) {
        return Ok(found);
    }
    let message = format!("the server `{}` has no prompt `{wanted}`", name.server);
    let error = CallError::new(ErrorCode::PromptNotFound, message);
    let names: Vec<String> = prompts.iter().map(|definition| format!("`{}`", definition.name())).collect();
    Err(if names.is_empty() { error } else { error.with_hint(format!("it has {}", names.join(", "))) })
}

fn check(name: &QualifiedName, definition: &PromptDefinition, arguments: &RawJson) -> Result<(), CallError> {
    let invalid = |message: String| CallError::new(ErrorCode::InvalidParams, message);
    let arguments: Map<String, Value> = arguments.parse().map_err(|error| {
        invalid(format!("the arguments of the {} `{name}` are not object", CallKind::Prompt)).with_source(error)
    })?;
    check_prompt_arguments(name.tool.as_str(), &definition.view(), &arguments)
        .map_err(|problem| invalid(problem.to_string()))
}

/// Cuts what is too large; the whole is kept in files, where there is a directory for them.
async fn cut(host: &HostCore, name: &QualifiedName, outcome: ReadOutcome, context: &CallContext) -> ResourceOutcome {
    let limit = host.settings.result_bytes;
    if context.uncut || outcome.raw().as_str().len() <= limit {
        return ResourceOutcome { outcome, kept_in: Vec::new() };
    }
    let (whole, name, directory) = (outcome.clone(), name.clone(), host.surroundings.spill_directory.clone());
    match spawn_blocking(move || spill_contents(&whole, &name, limit, directory.as_deref())).await {
        Ok(Ok(Some((outcome, kept_in)))) => ResourceOutcome { outcome, kept_in },
        Ok(Ok(None)) | Err(_) => ResourceOutcome { outcome, kept_in: Vec::new() },
        Ok(Err(error)) => {
            tracing::warn!(%error, "a resource is too large and could not be kept in a file");
            ResourceOutcome { outcome, kept_in: Vec::new() }
        }
    }
}

/// The same for the messages of a prompt.
async fn cut_prompt(
    host: &HostCore,
    name: &QualifiedName,
    outcome: PromptOutcome,
    context: &CallContext,
) -> PromptOutcome {
    let limit = host.settings.result_bytes;
    if context.uncut || outcome.raw().as_str().len() <= limit {
        return outcome;
    }
    let (whole, name, directory) = (outcome.clone(), name.clone(), host.surroundings.spill_directory.clone());
    match spawn_blocking(move || spill_messages(&whole, &name, limit, directory.as_deref())).await {
        Ok(Ok(Some(cut))) => cut,
        Ok(Ok(None)) | Err(_) => outcome,
        Ok(Err(error)) => {
            tracing::warn!(%error, "a prompt is too large and could not be kept in a file");
            outcome
        }
    }
}
