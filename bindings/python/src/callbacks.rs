//! Python's functions where a host asks for somebody: who approves, who answers servers, whose model is lent, who hears logs and
//! records, and the tools that are Python functions. Each asks by a letter and reads the reply; whatever is not an answer is a no.

use std::sync::Arc;

use helve::{
    Approval, ApprovalAnswer, ApprovalRequest, Approver, BoxFuture, CallEnd, CallRecord, ElicitationAnswer,
    ElicitationRequest, Elicitor, ErrorCode, LogLine, LogSink, Outcome, Permit, RawJson, Recorder, Sampler,
    SamplingCall, Tool, ToolContext, ToolDefinition, ToolFailure,
};
use helve_model::json::ObjectWriter;
use helve_setup::store::Stores;
use helve_setup::store::approvals::ApprovalFile;
use pyo3::prelude::*;

use crate::mailbox::Home;
use crate::value;

/// Asks Python whether a call may run.
#[derive(Debug)]
pub(crate) struct PythonApprover {
    pub(crate) home: Arc<Home>,
    /// Where a yes for good is kept.
    pub(crate) stores: Option<Stores>,
}

/// Asks Python what a server wants to know of a person.
#[derive(Debug)]
pub(crate) struct PythonElicitor(pub(crate) Arc<Home>);

/// Lends the model that Python has.
#[derive(Debug)]
pub(crate) struct PythonSampler(pub(crate) Arc<Home>);

/// Hands on what servers log.
#[derive(Debug)]
pub(crate) struct PythonLog(pub(crate) Arc<Home>);

/// Hands on what became of calls.
#[derive(Debug)]
pub(crate) struct PythonRecorder(pub(crate) Arc<Home>);

/// A tool that is a Python function.
#[derive(Debug)]
pub(crate) struct Skill {
    pub(crate) home: Arc<Home>,
    pub(crate) definition: ToolDefinition,
}

/// The call that a Python function serves: what it calls in turn is called on the same behalf, within the same scope.
#[pyclass(frozen, module = "helve._helve")]
#[derive(Debug)]
pub(crate) struct Parent(pub(crate) ToolContext);

impl Approver for PythonApprover {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move {
            let question = ObjectWriter::new()
                .text("name", &request.name.to_string())
                .text("server", request.name.server.as_str())
                .text("tool", request.name.tool.as_str())
                .text("kind", &request.kind.to_string())
                .raw("arguments", request.arguments.as_str())
                .text("caller", &request.caller.to_string())
                .text("risk", &request.risk.to_string())
                .text("question", &request.sentence)
                .finish();
            let Some(Ok(reply)) = self.home.ask("approve", value::answer(question)).await else {
                return ApprovalAnswer::Decline;
            };
            match reply.as_str() {
                "once" => ApprovalAnswer::Once,
                "run" => ApprovalAnswer::Run,
                "always" => ApprovalAnswer::Always { pattern: None },
                _ => ApprovalAnswer::Decline,
            }
        })
    }

    fn keep(&self, approval: &Approval) {
        let Some(stores) = &self.stores else { return };
        if let Err(error) = stores.update(|file: &mut ApprovalFile| file.add(approval)) {
            let message = format!("the approval is not kept: {}", error.message());
            self.home.tell("warning", value::answer(RawJson::string(&message)));
        }
    }
}

impl Elicitor for PythonElicitor {
    fn elicit(&self, request: ElicitationRequest) -> BoxFuture<'_, ElicitationAnswer> {
        Box::pin(async move {
            let question = ObjectWriter::new()
                .text("server", request.server.as_str())
                .text("message", &request.question.message())
                .raw("params", request.params.as_str())
                .finish();
            let Some(Ok(reply)) = self.0.ask("elicit", value::answer(question)).await else {
                return ElicitationAnswer::Cancel;
            };
            match reply.as_str() {
                "decline" => ElicitationAnswer::Decline,
                "cancel" => ElicitationAnswer::Cancel,
                "accept" => ElicitationAnswer::Accept(None),
                content => RawJson::checked(content)
                    .map_or(ElicitationAnswer::Cancel, |content| ElicitationAnswer::Accept(Some(content))),
            }
        })
    }
}

impl Sampler for PythonSampler {
    fn sample(&self, call: SamplingCall) -> BoxFuture<'_, Result<RawJson, String>> {
        Box::pin(async move {
            let question = ObjectWriter::new()
                .text("server", call.server.as_str())
                .raw("params", call.request.raw.as_str())
                .finish();
            match self.0.ask("sample", value::answer(question)).await {
                Some(Ok(reply)) => RawJson::checked(reply).map_err(|error| error.to_string()),
                Some(Err(reason)) => Err(reason),
                None => Err("the model does not answer".to_owned()),
            }
        })
    }

    fn takes_tools(&self) -> bool {
        true
    }
}

impl LogSink for PythonLog {
    fn log(&self, line: LogLine) {
        let told = ObjectWriter::new()
            .text("server", line.server.as_str())
            .text("level", &line.level)
            .optional_text("logger", line.logger.as_deref())
            .raw("data", line.data.as_str())
            .finish();
        self.0.tell("log", value::answer(told));
    }
}

impl Recorder for PythonRecorder {
    fn record(&self, call: &CallRecord) {
        let (ended, code) = match call.end {
            CallEnd::Done => ("done", None),
            CallEnd::ToolError => ("done", Some(ErrorCode::ToolError)),
            CallEnd::FromCache => ("from cache", None),
            CallEnd::Failed(code) => ("failed", Some(code)),
            _ => ("unknown", None),
        };
        let started = call.started.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let told = ObjectWriter::new()
            .text("id", &call.id.to_string())
            .optional_text("parent", call.source.parent.map(|parent| parent.to_string()))
            .text("asked", &call.asked())
            .optional_text("server", call.name.as_ref().map(|name| name.server.as_str()))
            .optional_text("tool", call.name.as_ref().map(|name| name.tool.as_str()))
            .text("caller", &call.caller.to_string())
            .text("end", ended)
            .optional_text("code", code.map(ErrorCode::as_str))
            .optional_text("decided_by", call.ground.as_ref().map(|ground| ground.decider.to_string()))
            .raw("started", started.as_secs_f64().to_string())
            .raw("duration", call.duration.as_secs_f64().to_string())
            .number("attempts", call.attempts)
            .number("argument_bytes", call.argument_bytes as u64)
            .number("result_bytes", call.result_bytes as u64)
            .finish();
        self.0.tell("record", value::answer(told));
    }
}

impl Tool for Skill {
    fn definition(&self) -> ToolDefinition {
        self.definition.clone()
    }

    fn call<'a>(&'a self, permit: &'a Permit, context: &'a ToolContext) -> BoxFuture<'a, Result<Outcome, ToolFailure>> {
        Box::pin(async move {
            let (name, arguments, context) = (permit.name().tool.clone(), permit.arguments().clone(), context.clone());
            let payload = Box::new(move |py: Python<'_>| {
                let arguments = value::loads(py, arguments.as_str())?;
                let parent = Py::new(py, Parent(context))?;
                Ok((name.as_str(), arguments, parent).into_pyobject(py)?.into_any().unbind())
            });
            match self.home.ask("skill", payload).await {
                Some(Ok(reply)) => RawJson::checked(reply).map(Outcome::new).map_err(|error| {
                    ToolFailure::new(ErrorCode::ToolError, format!("its result is not JSON: {error}"))
                }),
                Some(Err(reason)) => Ok(Outcome::failure(&reason)),
                None => Err(ToolFailure::new(ErrorCode::Cancelled, "the function was cancelled")),
            }
        })
    }
}
