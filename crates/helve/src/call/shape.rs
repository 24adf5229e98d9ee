//! What becomes of a result: checked against the tool's promise, kept where that is allowed, cut where it is too large.

use std::path::PathBuf;

use helve_model::json::RawJson;
use helve_model::{Definition as _, Outcome, Owner, QualifiedName};
use helve_policy::Permit;
use helve_policy::pin::DefinitionHash;
use helve_schema::{OutputCheck, OutputVerdict, check_output};
use helve_wire::Relayed;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::CallContext;
use crate::catalog::ToolEntry;
use crate::host_core::HostCore;
use crate::result_cache::ResultKey;
use crate::spill::spill;
use helve_model::sync::lock;

/// The name a result may be kept under; `None` when it must not be kept. What was unlocked by answering a question, or
/// brings answers nobody asked for, is never kept: the answers would count for calls that were made without them.
pub(super) fn cache_key(
    host: &HostCore,
    tool: &ToolEntry,
    permit: &Permit,
    context: &CallContext,
) -> Option<ResultKey> {
    host.settings.result_cache_ttl?;
    let is_plain = |relayed: &Relayed| {
        // Taken apart, so that something new that is relayed has to be decided on.
        let Relayed { capabilities: _, responses, state, task } = relayed;
        responses.is_none() && state.is_none() && task.is_none()
    };
    if !may_be_kept(host, tool) || !context.relayed.as_ref().is_none_or(is_plain) {
        return None;
    }
    let answerer = || context.answerer.as_ref().map(|answerer| answerer.capabilities().to_json());
    let declared = context.relayed.as_ref().and_then(|relayed| relayed.capabilities.as_ref());
    let can = declared.map_or_else(answerer, |declared| Some(declared.as_str().to_owned()));
    let told = [context.meta.as_ref().map(RawJson::as_str), context.more.as_ref().map(RawJson::as_str), can.as_deref()];
    let definition = DefinitionHash::of(tool.definition().raw().as_str());
    let QualifiedName { server, tool } = tool.name().clone();
    let owner = Owner::new(context.principal.clone(), server);
    Some(ResultKey::new(owner, tool, definition, permit.arguments(), told))
}

/// True for tools whose results the person lets us keep, and for those that are known to change nothing.
fn may_be_kept(host: &HostCore, tool: &ToolEntry) -> bool {
    tool.policy().is_harmless_to_keep() || host.settings.cacheable.contains(tool.name())
}

/// What an earlier call of the same produced.
pub(super) fn from_cache(host: &HostCore, key: Option<&ResultKey>) -> Option<Outcome> {
    let key = key?;
    lock(&host.results).get(key, Instant::now().into_std())
}

/// Keeps a result, unless it is a failure: the next try may fare better. A tool that may have changed something makes
/// everything old that its server said to whoever called it. What others were told stays until its time is over, as it does
/// when anything changes that helve is not asked for: nobody can empty another's cache, or see in it that others call.
pub(super) fn into_cache(
    host: &HostCore,
    tool: &ToolEntry,
    key: Option<ResultKey>,
    context: &CallContext,
    outcome: &Outcome,
) {
    if host.settings.result_cache_ttl.is_none() {
        return;
    }
    match key {
        Some(key) if !outcome.is_error() => {
            lock(&host.results).insert(key, outcome.clone(), Instant::now().into_std());
        }
        Some(_) => {}
        None if tool.policy().only_reads() || may_be_kept(host, tool) => {}
        None => lock(&host.results).forget(&Owner::new(context.principal.clone(), tool.name().server.clone())),
    }
}

/// What is wrong with a structured result, when the tool promised a form.
pub(super) fn broken_promise(tool: &ToolEntry, outcome: &Outcome) -> Option<String> {
    let validator = tool.output_validator()?;
    if outcome.is_error() {
        return None;
    }
    let structured = outcome.raw().member("structuredContent");
    match check_output(validator, structured.as_ref().map(RawJson::as_str), OutputCheck::Warn) {
        OutputVerdict::Accepted => None,
        OutputVerdict::Warned(problem) | OutputVerdict::Rejected(problem) => Some(problem.to_string()),
    }
}

/// A result that is too large is cut, and kept whole in files where there is a directory for them; where they cannot be
/// written it stays as it is.
pub(super) async fn cut(
    host: &HostCore,
    tool: &ToolEntry,
    outcome: Outcome,
    context: &CallContext,
    warnings: &mut Vec<String>,
) -> (Outcome, Vec<PathBuf>) {
    let limit = host.settings.result_bytes;
    if context.uncut || outcome.raw().as_str().len() <= limit {
        return (outcome, Vec::new());
    }
    let (whole, name, directory) = (outcome.clone(), tool.name().clone(), host.surroundings.spill_directory.clone());
    match spawn_blocking(move || spill(&whole, &name, limit, directory.as_deref())).await {
        Ok(Ok(Some(spilled))) => (spilled.outcome, spilled.files),
        Ok(Ok(None)) => (outcome, Vec::new()),
        Ok(Err(error)) => {
            warnings.push(format!("the result is larger than {limit} bytes and could not be kept in a file: {error}"));
            (outcome, Vec::new())
        }
        // The runtime is ending.
        Err(_) => (outcome, Vec::new()),
    }
}
