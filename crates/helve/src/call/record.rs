//! What is remembered of a call: on every exit, refusals, invalid arguments and cancellation included.

use std::sync::Arc;
use std::time::Duration;

use helve_model::{ErrorCode, QualifiedName};
use helve_policy::{Caller, Decision, Ground};
use tokio::time::Instant;

use super::CallOutcome;
use crate::error::CallError;
use crate::event::{CallEnd, CallRecord, EventSink, HostEvent};

/// A call being recorded. Dropped before its end, it was cancelled.
pub(super) struct Recording<'call> {
    events: &'call EventSink,
    /// What the caller wrote, if he wrote anything.
    asked: Option<&'call str>,
    name: Option<QualifiedName>,
    caller: Caller,
    started: Instant,
    ground: Option<Ground>,
    end: CallEnd,
    /// Known once the call has its outcome.
    duration: Option<Duration>,
    attempts: u32,
    argument_bytes: usize,
    result_bytes: usize,
}

impl<'call> Recording<'call> {
    pub(super) fn begin(
        events: &'call EventSink,
        asked: Option<&'call str>,
        caller: Caller,
        argument_bytes: usize,
    ) -> Self {
        Self {
            events,
            asked,
            name: None,
            caller,
            started: Instant::now(),
            ground: None,
            end: CallEnd::Failed(ErrorCode::Cancelled),
            duration: None,
            attempts: 0,
            argument_bytes,
            result_bytes: 0,
        }
    }

    pub(super) fn found(&mut self, name: &QualifiedName) {
        self.name = Some(name.clone());
    }

    pub(super) fn decided(&mut self, decision: &Decision) {
        self.ground = Some(decision.ground().clone());
    }

    pub(super) fn attempt(&mut self) {
        self.attempts += 1;
    }

    /// How long the call has taken so far.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(super) fn took_bytes(&mut self, bytes: usize) {
        self.result_bytes = bytes;
    }

    /// The error of a call that took longer than all of it may.
    pub(super) fn too_long(&self, total: Duration) -> CallError {
        let (asked, seconds) = (spelled(self.asked, self.name.as_ref()), total.as_secs_f64());
        let error = CallError::new(ErrorCode::Timeout, format!("`{asked}` was not done within {seconds} s in all"))
            .with_may_have_run(self.attempts > 0)
            .with_hint("give the call more time, or its tool less to do");
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

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        let duration = self.duration.unwrap_or_else(|| self.started.elapsed());
        let end = self.end;
        let name = self.name.take();
        let asked = self.asked;
        tracing::debug!(tool = spelled(asked, name.as_ref()), ?end, ?duration, attempts = self.attempts, "call");
        self.events.send(|| {
            HostEvent::Call(Arc::new(CallRecord {
                asked: asked
                    .filter(|asked| name.as_ref().is_none_or(|name| !spells(asked, name)))
                    .map(ToOwned::to_owned),
                name,
                caller: self.caller,
                ground: self.ground.take(),
                end,
                duration,
                attempts: self.attempts,
                argument_bytes: self.argument_bytes,
                result_bytes: self.result_bytes,
            }))
        });
    }
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
