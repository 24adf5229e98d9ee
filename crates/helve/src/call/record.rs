//! What is remembered of a call: on every exit, refusals, invalid arguments and cancellation included.

use std::sync::Arc;

use helve_model::{ErrorCode, QualifiedName};
use helve_policy::{Caller, Decision, Ground};
use tokio::time::Instant;

use super::CallOutcome;
use crate::error::CallError;
use crate::event::{CallEnd, CallRecord, EventSink, HostEvent};

/// A call being recorded. Dropped before its end, it was cancelled.
pub(super) struct Recording<'call> {
    events: &'call EventSink,
    name: &'call QualifiedName,
    caller: Caller,
    started: Instant,
    ground: Option<Ground>,
    end: CallEnd,
    attempts: u32,
    argument_bytes: usize,
    result_bytes: usize,
}

impl<'call> Recording<'call> {
    pub(super) fn begin(
        events: &'call EventSink,
        name: &'call QualifiedName,
        caller: Caller,
        argument_bytes: usize,
    ) -> Self {
        Self {
            events,
            name,
            caller,
            started: Instant::now(),
            ground: None,
            end: CallEnd::Failed(ErrorCode::Cancelled),
            attempts: 0,
            argument_bytes,
            result_bytes: 0,
        }
    }

    pub(super) fn decided(&mut self, decision: &Decision) {
        self.ground = Some(decision.ground().clone());
    }

    pub(super) fn attempt(&mut self) {
        self.attempts += 1;
    }

    pub(super) fn took_bytes(&mut self, bytes: usize) {
        self.result_bytes = bytes;
    }

    pub(super) fn finish(mut self, result: &Result<CallOutcome, CallError>) {
        self.end = match result {
            Ok(outcome) if outcome.from_cache => CallEnd::FromCache,
            Ok(outcome) if outcome.outcome.is_error() => CallEnd::ToolError,
            Ok(_) => CallEnd::Done,
            Err(error) => CallEnd::Failed(error.code()),
        };
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        let duration = self.started.elapsed();
        let end = self.end;
        tracing::debug!(tool = %self.name, ?end, ?duration, attempts = self.attempts, "call");
        self.events.send(|| {
            HostEvent::Call(Arc::new(CallRecord {
                name: self.name.clone(),
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
