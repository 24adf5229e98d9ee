//! Every call that ends, handed to the store and counted. It runs on the thread of the call: texts are made elsewhere.

use std::sync::Arc;

use helve::{CallEnd, CallRecord, Door, Recorder};
use helve_model::{Action, ErrorCode};
use helve_policy::Decider;
use helve_store::{Decided, Ended, IntoCall, Moment, NewCall, Store};

use crate::bodies::BodySeal;
use crate::metrics::Metrics;

/// Hands every call that ends to the store.
#[derive(Debug)]
pub struct CallRecorder {
    store: Arc<Store>,
    metrics: Arc<Metrics>,
    /// For servers whose entries ask for more than that a call was made.
    seal: Option<Arc<BodySeal>>,
}

impl CallRecorder {
    /// Into this store, counted here.
    #[must_use]
    pub const fn new(store: Arc<Store>, metrics: Arc<Metrics>) -> Self {
        Self { store, metrics, seal: None }
    }

    /// The same, keeping what servers' entries ask for, sealed with this.
    #[must_use]
    pub fn sealing(mut self, seal: Arc<BodySeal>) -> Self {
        self.seal = Some(seal);
        self
    }
}

impl Recorder for CallRecorder {
    fn record(&self, call: &CallRecord) {
        let ended = ended(call.end);
        self.metrics.count(call.name.as_ref(), ended, call.duration);
        self.store.record(Box::new(Row {
            call: call.clone(),
            seal: self.seal.as_ref().filter(|_| call.bodies.is_some()).cloned(),
        }));
    }
}

#[derive(Debug)]
struct Row {
    call: CallRecord,
    seal: Option<Arc<BodySeal>>,
}

const fn ended(end: CallEnd) -> Ended {
    match end {
        CallEnd::ToolError => Ended::ToolError,
        CallEnd::FromCache => Ended::Cached,
        CallEnd::Failed(ErrorCode::Denied | ErrorCode::ApprovalRequired) => Ended::Refused,
        CallEnd::Failed(_) => Ended::Failed,
        _ => Ended::Done,
    }
}

/// A number for each way in, as it is stored: it never changes its meaning.
const fn door_number(door: Door) -> u8 {
    match door {
        Door::CommandLine => 1,
        Door::PromptTag => 2,
        Door::Poll => 3,
        Door::Stream => 4,
        Door::Http => 5,
        Door::Code => 6,
        Door::Page => 7,
        _ => 0,
    }
}

fn decided(decider: &Decider, end: CallEnd) -> Decided {
    match decider {
        Decider::Rule(rule) => match rule.rule.action {
            Action::Allow => Decided::Allow,
            Action::Ask => Decided::Ask,
            Action::Deny => Decided::Deny,
        },
        Decider::Approved(_) | Decider::Declined => Decided::Ask,
        // What no rule mentions is asked for, and nobody was there to answer.
        _ if matches!(end, CallEnd::Failed(ErrorCode::ApprovalRequired)) => Decided::Ask,
        _ if ended(end) == Ended::Refused => Decided::Deny,
        _ => Decided::Allow,
    }
}

impl IntoCall for Row {
    fn into_call(self: Box<Self>) -> NewCall {
        let Self { call, seal } = *self;
        let id = call.id.to_string();
        let body = seal.zip(call.bodies.as_ref()).and_then(|(seal, bodies)| seal.seal(bodies, &id));
        let (host, number) = id.rsplit_once('-').unwrap_or((id.as_str(), "0"));
        let asked = call.asked().into_owned();
        let name = call.name.as_ref().map(ToString::to_string);
        let ended = ended(call.end);
        NewCall {
            at: Moment::from(call.started).after(call.duration),
            host: host.to_owned(),
            number: number.parse().unwrap_or_default(),
            principal: call.principal.id().to_owned(),
            agent: call
                .source
                .agent
                .as_ref()
                .map(|agent| format!("{} {}", agent.name, agent.version).trim().to_owned()),
            door: door_number(call.source.door),
            server: call.name.as_ref().map(|name| name.server.to_string()),
            asked: (name.as_deref() != Some(asked.as_str())).then_some(asked),
            tool: name,
            decision: call.ground.as_ref().map_or(Decided::Not, |ground| decided(&ground.decider, call.end)),
            rule: call.ground.as_ref().map(|ground| ground.decider.to_string()),
            ended,
            code: match call.end {
                CallEnd::Failed(code) => Some(code.as_str().to_owned()),
                _ => None,
            },
            took: u64::try_from(call.duration.as_micros()).unwrap_or(u64::MAX),
            attempts: call.attempts,
            bytes_in: call.argument_bytes as u64,
            bytes_out: call.result_bytes as u64,
            parent: call.source.parent.map(|parent| parent.to_string()),
            trace: call.trace.as_deref().and_then(trace_bytes),
            body,
        }
    }
}

fn trace_bytes(digits: &str) -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(index * 2..index * 2 + 2)?, 16).ok()?;
    }
    Some(bytes)
}
