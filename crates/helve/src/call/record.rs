//! What is remembered of a call: on every exit, refusals, invalid arguments and cancellation included.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use helve_model::json::RawJson;
use helve_model::{ErrorCode, QualifiedName, SecretSet};
use helve_policy::{Decision, Ground, Permit, Refusal};
use helve_wire::Session;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use tracing::Span;

use super::{CallContext, CallOutcome};
use crate::catalog::ToolEntry;
use crate::error::CallError;
use crate::host_core::HostCore;
use crate::record::{CallBodies, CallEnd, CallId, CallRecord, trace_id};

/// A call being recorded. Dropped before its end, it was cancelled.
pub(super) struct Recording<'call> {
    host: &'call HostCore,
    context: &'call CallContext,
    id: CallId,
    /// What the caller wrote, if it wrote anything.
    asked: Option<&'call str>,
    name: Option<QualifiedName>,
    started: Instant,
    ground: Option<Ground>,
    end: CallEnd,
    /// Known once the call has its outcome.
    duration: Option<Duration>,
    attempts: u32,
    /// Where the call went last, and how many unreadable lines had been heard there before it.
    sent_to: Option<(Arc<Session>, u64)>,
    argument_bytes: usize,
    argument_digest: Option<[u8; 32]>,
    result_bytes: usize,
    /// What was sent and came back, where the server's entry asks for that.
    bodies: Option<Box<CallBodies>>,
    /// Somebody else records the call from here on.
    goes_on: bool,
}

impl<'call> Recording<'call> {
    pub(super) fn begin(
        host: &'call HostCore,
        asked: Option<&'call str>,
        context: &'call CallContext,
        arguments: &RawJson,
    ) -> Self {
        let wants_digest = host.surroundings.recorder.as_ref().is_some_and(|recorder| recorder.wants_digest());
        Self {
            host,
            context,
            id: host.next_call(),
            asked,
            name: None,
            started: Instant::now(),
            ground: None,
            end: CallEnd::Failed(ErrorCode::Cancelled),
            duration: None,
            attempts: 0,
            sent_to: None,
            argument_bytes: arguments.as_str().len(),
            argument_digest: wants_digest.then(|| Sha256::digest(arguments.as_str()).into()),
            result_bytes: 0,
            bodies: None,
            goes_on: false,
        }
    }

    /// What everything is logged in that is done for this call.
    pub(super) fn span(&self) -> Span {
        tracing::debug_span!(
            "call",
            id = %self.id,
            tool = spelled(self.asked, self.name.as_ref()),
            principal = self.context.principal.id(),
            door = %self.context.source.door,
        )
    }

    pub(super) const fn id(&self) -> CallId {
        self.id
    }

    pub(super) fn found(&mut self, name: &QualifiedName) {
        self.name = Some(name.clone());
    }

    pub(super) fn decided(&mut self, decision: &Decision) {
        self.ground = Some(decision.ground().clone());
    }

    pub(super) fn refused(&mut self, refusal: &Refusal) {
        self.ground = Some(refusal.ground().clone());
    }

    pub(super) fn permitted(&mut self, permit: &Permit) {
        self.ground = Some(permit.ground().clone());
    }

    pub(super) fn attempt(&mut self) {
        self.attempts += 1;
    }

    /// An attempt at a server, of which a call that is cut off tells what the server wrote instead of an answer.
    pub(super) fn attempt_at(&mut self, session: &Arc<Session>) {
        self.attempt();
        if self.context.total.is_some() {
            self.sent_to = Some((Arc::clone(session), session.noise()));
        }
    }

    /// How long the call has taken so far.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(super) fn took_bytes(&mut self, bytes: usize) {
        self.result_bytes = bytes;
    }

    /// Keeps what is sent, if anybody records.
    pub(super) fn keep_arguments(&mut self, tool: &ToolEntry, arguments: &RawJson) {
        if self.host.surroundings.recorder.is_some() {
            let arguments = Some(arguments.clone());
            self.bodies = Some(Box::new(CallBodies { arguments, result: None, secrets: secrets(tool) }));
        }
    }

    /// Keeps what came back, too.
    pub(super) fn keep_result(&mut self, tool: &ToolEntry, result: &RawJson) {
        if let Some(bodies) = &mut self.bodies {
            bodies.result = Some(result.clone());
            // A server that has just been started has its secrets only now.
            bodies.secrets = secrets(tool).or_else(|| bodies.secrets.take());
        }
    }

    /// The error of a call that took longer than all of it may.
    pub(super) fn too_long(&self, total: Duration) -> CallError {
        let (asked, seconds) = (spelled(self.asked, self.name.as_ref()), total.as_secs_f64());
        let error = CallError::new(ErrorCode::Timeout, format!("`{asked}` timed out after {seconds} s in all"))
            .with_may_have_run(self.attempts > 0)
            .with_hint("give the call more time, or its tool less to do");
        let unreadable = self.sent_to.as_ref().and_then(|(session, before)| session.noise_since(*before));
        let error = match unreadable {
            Some(unreadable) => error.with_source(unreadable),
            None => error,
        };
        match &self.name {
            Some(name) => error.at(name),
            None => error,
        }
    }

    pub(super) fn finish(&mut self, result: &Result<CallOutcome, CallError>) {
        self.duration = result.as_ref().ok().map(|outcome| outcome.duration);
        self.end_with(result.as_ref().map(|outcome| match outcome {
            outcome if outcome.from_cache => CallEnd::FromCache,
            outcome if outcome.outcome.is_error() => CallEnd::ToolError,
            _ => CallEnd::Done,
        }));
    }

    /// The call is only prepared here: whoever makes it records it.
    pub(super) const fn goes_on(&mut self) {
        self.goes_on = true;
    }

    pub(super) fn end_with(&mut self, end: Result<CallEnd, &CallError>) {
        self.end = match end {
            Ok(end) => end,
            Err(error) => {
                if let (None, Some(server), Some(tool)) = (&self.name, error.server(), error.tool()) {
                    self.name = Some(QualifiedName::new(server.clone(), tool.clone()));
                }
                CallEnd::Failed(error.code())
            }
        };
    }
}

impl Recording<'_> {
    fn record(&mut self, duration: Duration) -> CallRecord {
        let (context, name) = (self.context, self.name.take());
        let is_another = |asked: &&str| name.as_ref().is_none_or(|name| !spells(asked, name));
        let traceparent = context.meta.as_ref().and_then(|meta| meta.member_str("traceparent"));
        CallRecord {
            id: self.id,
            principal: context.principal.clone(),
            caller: context.caller,
            source: context.source.clone(),
            asked: self.asked.filter(is_another).map(ToOwned::to_owned),
            name,
            ground: self.ground.take(),
            end: self.end,
            started: (self.host.surroundings.clock)().checked_sub(duration).unwrap_or(SystemTime::UNIX_EPOCH),
            duration,
            attempts: self.attempts,
            argument_bytes: self.argument_bytes,
            argument_digest: self.argument_digest,
            result_bytes: self.result_bytes,
            bodies: self.bodies.take().map(Arc::from),
            trace: traceparent.as_deref().and_then(trace_id).map(ToOwned::to_owned),
        }
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if self.goes_on {
            return;
        }
        let duration = self.duration.unwrap_or_else(|| self.started.elapsed());
        tracing::debug!(
            id = %self.id,
            tool = spelled(self.asked, self.name.as_ref()),
            principal = self.context.principal.id(),
            end = ?self.end,
            ?duration,
            attempts = self.attempts,
            "call"
        );
        let recorder = self.host.surroundings.recorder.as_ref();
        let events = &self.host.events;
        if recorder.is_none() && !events.hears_calls() {
            return;
        }
        let record = Arc::new(self.record(duration));
        if let Some(recorder) = recorder {
            recorder.record(&record);
        }
        events.send_call(record);
    }
}

/// What a server must not be quoted with.
fn secrets(tool: &ToolEntry) -> Option<Arc<SecretSet>> {
    tool.handle.as_ref()?.session_now()?.secrets().cloned()
}

fn spelled(asked: Option<&str>, name: Option<&QualifiedName>) -> String {
    match (asked, name) {
        (Some(asked), _) => asked.to_owned(),
        (None, Some(name)) => name.to_string(),
        (None, None) => String::new(),
    }
}

/// True for `server/tool` as most names are written; any other spelling of the same is another one.
fn spells(asked: &str, name: &QualifiedName) -> bool {
    let tool = asked.strip_prefix(name.server.as_str()).and_then(|rest| rest.strip_prefix('/'));
    tool == Some(name.tool.as_str())
}
