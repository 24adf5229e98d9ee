//! Getting a permitted call to its tool: the turn, the session, and repeating it only where that is safe, or after the
//! person has been to the pages that the server wants visited first.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt as _;
use helve_model::{ErrorCode, Outcome};
use helve_policy::Permit;
use helve_wire::{CallOptions, PeerHandler, Times};
use tokio::time::{Instant, sleep, timeout_at};

use super::record::Recording;
use super::{CallContext, pages};
use crate::catalog::ToolEntry;
use crate::connect::hub_hint;
use crate::error::CallError;
use crate::handler::CallHandler;
use crate::host_core::HostCore;
use crate::missed_variables;
use crate::record::CallId;
use crate::server_handle::ServerHandle;
use crate::settings::Surroundings;
use crate::tool::{Tool, ToolContext};

/// What a person is told who may be about to do it twice.
const MAY_HAVE_RUN: &str = "the call may have run: look before you repeat it";
/// Between two attempts of one call.
const RETRY_AFTER: Duration = Duration::from_millis(50);

/// A call that was answered.
pub(super) struct Sent {
    pub(super) outcome: Outcome,
    /// What was not as it should be on the way.
    pub(super) warning: Option<String>,
}

/// How long the call may stay without answer or progress.
pub(super) fn timeout(host: &HostCore, tool: &ToolEntry, context: &CallContext) -> Duration {
    let of_server = || tool.handle.as_ref().and_then(|handle| handle.call_timeout());
    let of_tool = || tool.native().and_then(|native| native.timeout());
    context.timeout.or_else(of_tool).or_else(of_server).unwrap_or(host.settings.call_timeout)
}

/// The tool as its server lists it now: a definition from an earlier run is never used for a call unchecked.
pub(super) async fn listed_by_server(
    host: &HostCore,
    tool: &ToolEntry,
    deadline: Instant,
) -> Result<Arc<ToolEntry>, CallError> {
    let name = tool.name();
    let Some(handle) = &tool.handle else { return Err(nobody_runs(tool)) };
    drop(handle.session(deadline).await.map_err(|error| error.at(name))?);
    let listed = host.snapshot().find(name).cloned();
    if let Some(listed) = listed.filter(|listed| !listed.from_cache) {
        return Ok(listed);
    }
    Err(match handle.unlisted() {
        Some(unlisted) => unlisted.with_hint("what it listed in an earlier run is only shown, never called"),
        None => CallError::new(
            ErrorCode::ToolNotFound,
            format!("the server `{}` no longer has the tool `{}`", name.server, name.tool),
        ),
    }
    .at(name))
}

/// Makes the call.
pub(super) async fn send(
    host: &HostCore,
    tool: &ToolEntry,
    permit: &Permit,
    context: &CallContext,
    timeout: Duration,
    recording: &mut Recording<'_>,
) -> Result<Sent, CallError> {
    let _turn = match &context.turns {
        Some(turns) => Some(turns.take(&tool.name().server).await.map_err(|error| error.at(tool.name()))?),
        None => None,
    };
    match (tool.native(), &tool.handle) {
        (Some(native), _) => {
            recording.attempt();
            let outcome = run_native(native.as_ref(), tool, permit, context, recording.id(), timeout).await?;
            Ok(Sent { outcome, warning: None })
        }
        (None, Some(handle)) => to_server(host, tool, handle, permit, context, timeout, recording).await,
        (None, None) => Err(nobody_runs(tool)),
    }
}

async fn run_native(
    native: &dyn Tool,
    tool: &ToolEntry,
    permit: &Permit,
    context: &CallContext,
    id: CallId,
    timeout: Duration,
) -> Result<Outcome, CallError> {
    let tool_context = ToolContext {
        caller: context.caller,
        principal: context.principal.clone(),
        scope: context.scope.clone(),
        source: context.source.clone().within(id),
        on_progress: context.on_progress.clone(),
        approver: context.approver.clone(),
        approvals: context.approvals.clone(),
        refusals: context.refusals.clone(),
        answerer: context.answerer.clone(),
    };
    // A tool that panics costs its own call, as a server that crashes does.
    let running = AssertUnwindSafe(async { native.call(permit, &tool_context).await }).catch_unwind();
    match timeout_at(Instant::now() + timeout, running).await {
        Ok(Ok(result)) => result.map_err(|failure| CallError::from_tool(failure, tool.name())),
        Ok(Err(_)) => Err(panicked(tool, context)),
        Err(_) => Err(too_slow(tool, context, timeout)),
    }
}

async fn to_server(
    host: &HostCore,
    tool: &ToolEntry,
    handle: &ServerHandle,
    permit: &Permit,
    context: &CallContext,
    timeout: Duration,
    recording: &mut Recording<'_>,
) -> Result<Sent, CallError> {
    let mut deadline = Instant::now() + timeout;
    // Whoever hands out turns says how many calls may be on their way.
    let _slot = match (&context.turns, handle.slots()) {
        (Some(_), _) => None,
        (None, slots) => match slots.take(deadline).await {
            Some(slot) => Some(slot),
            None => return Err(no_slot(tool, context, host.settings.in_flight_per_server)),
        },
    };
    let _call = handle.count_call();
    let retries = handle.max_retries().unwrap_or(host.settings.max_retries);
    let mut attempt = 0;
    let mut was_sent_somewhere = false;
    loop {
        let session = handle.session(deadline).await.map_err(|error| error.at(tool.name()))?;
        recording.attempt_at(&session);
        let mut options = options(host, handle, context, timeout);
        // Made and followed here, unless whoever calls asks for it.
        options.as_task = tool.requires_task().then_some(options.times.total);
        let noise = session.noise();
        let error = match session.call_tool(permit, options).await {
            Ok(outcome) => {
                return Ok(Sent { outcome, warning: noisy(session.noise().saturating_sub(noise)) });
            }
            Err(error) => error,
        };
        // Whoever relays the call relays this as well.
        if context.answerer.is_none()
            && !was_sent_somewhere
            && let Some(pages) = pages::wanted(&error)
        {
            let visit = Box::pin(pages::visit(host, &tool.name().server, &pages));
            visit.await.map_err(|refusal| refusal.at(tool.name()))?;
            handle.question_count().fetch_add(1, Ordering::Relaxed);
            was_sent_somewhere = true;
            // A person takes the time a person takes.
            deadline = Instant::now() + timeout;
            continue;
        }
        if attempt >= retries || !may_repeat(tool, &error) || Instant::now() + RETRY_AFTER >= deadline {
            let error = explain(error, tool, (handle, &host.surroundings), timeout);
            let hint = "finish what the page wants of you, then make the call again";
            return Err(if was_sent_somewhere { error.with_hint(hint) } else { error });
        }
        attempt += 1;
        tracing::debug!(tool = %tool.name(), attempt, %error, "the call is made again");
        sleep(RETRY_AFTER).await;
    }
}

/// How the wire is to make a call.
pub(super) fn options(host: &HostCore, handle: &ServerHandle, context: &CallContext, timeout: Duration) -> CallOptions {
    let handler = context.answerer.as_ref().map(|answerer| -> Arc<dyn PeerHandler> {
        let (answerer, slots) = (Arc::clone(answerer), Arc::clone(handle.slots()));
        let (server, questions) = (handle.server().clone(), Arc::clone(handle.question_count()));
        Arc::new(CallHandler { server, events: host.events.clone(), answerer, questions, slots })
    });
    CallOptions::default().with(|options| {
        options.times = Times { idle: timeout, total: host.settings.call_total.max(timeout) };
        options.on_progress.clone_from(&context.on_progress);
        options.meta.clone_from(&context.meta);
        options.more.clone_from(&context.more);
        options.handler = handler;
        options.relayed.clone_from(&context.relayed);
    })
}

/// Nothing can have happened, or happening twice is known to be happening once; and another attempt may fare better.
fn may_repeat(tool: &ToolEntry, error: &helve_wire::Error) -> bool {
    let can_get_better = error.code() == ErrorCode::TransportError && error.rpc().is_none();
    can_get_better && (!error.may_have_run() || tool.policy().may_be_repeated())
}

fn explain(
    error: helve_wire::Error,
    tool: &ToolEntry,
    (handle, surroundings): (&ServerHandle, &Surroundings),
    timeout: Duration,
) -> CallError {
    let name = tool.name();
    let is_cut_off = matches!(error.code(), ErrorCode::TransportError | ErrorCode::ProtocolError | ErrorCode::Timeout);
    let may_have_run = is_cut_off && error.may_have_run() && error.rpc().is_none();
    let explained = match error.code() {
        ErrorCode::Timeout => {
            CallError::from_wire(error, &name.server).at(name).with_hint(handle.raise_call_timeout(timeout))
        }
        ErrorCode::AuthRequired => {
            let hint = handle.credentials_hint(&error);
            let ours = CallError::from_wire(error, &name.server).at(name);
            hint.into_iter().fold(ours, CallError::with_hint)
        }
        // The program may have ended for want of a variable.
        ErrorCode::TransportError if let Some(hint) = hub_hint(handle.spec(), &error) => {
            CallError::from_wire(error, &name.server).at(name).with_hint(hint)
        }
        ErrorCode::TransportError => {
            missed_variables::explain(CallError::from_wire(error, &name.server).at(name), handle.spec(), surroundings)
        }
        _ => CallError::from_wire(error, &name.server).at(name),
    };
    if may_have_run { explained.with_hint(MAY_HAVE_RUN) } else { explained }
}

fn too_slow(tool: &ToolEntry, context: &CallContext, timeout: Duration) -> CallError {
    let shown = context.names(tool.name());
    CallError::new(ErrorCode::Timeout, format!("`{shown}` timed out after {} s", timeout.as_secs_f64()))
        .with_may_have_run(true)
        .with_hint(MAY_HAVE_RUN)
        .at(tool.name())
}

fn panicked(tool: &ToolEntry, context: &CallContext) -> CallError {
    let shown = context.names(tool.name());
    CallError::new(ErrorCode::ToolError, format!("`{shown}` panicked")).with_may_have_run(true).at(tool.name())
}

/// What a person is told of lines on a server's output that nobody can read.
fn noisy(lines: u64) -> Option<String> {
    match lines {
        0 => None,
        1 => Some("during the call the server wrote a line to its stdout that is not a message".to_owned()),
        lines => Some(format!("during the call the server wrote {lines} lines to its stdout that are not messages")),
    }
}

fn nobody_runs(tool: &ToolEntry) -> CallError {
    CallError::new(ErrorCode::ServerUnavailable, "nobody runs this tool").at(tool.name())
}

fn no_slot(tool: &ToolEntry, context: &CallContext, limit: usize) -> CallError {
    let shown = context.names(tool.name());
    CallError::new(
        ErrorCode::LimitExceeded,
        format!("`{shown}` did not get its turn in time: its server is sent no more than {limit} at once"),
    )
    .with_hint("give the call more time, or raise the host's limit of calls in flight for each server")
    .at(tool.name())
}
