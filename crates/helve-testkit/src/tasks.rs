//! Owns tasks: calls answered later, in the form of 2025-11-25 and as the modern extension.
//!
//! A task says itself when it is done: after a number of polls, so that tests decide its pace and no clock does, or at a
//! time, where the one who wrote the test wants seconds.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::call::{Call, CallEra, ResultKind};
use crate::listen::extension_pointer;
use crate::meta::{RELATED_TASK, TASKS_EXTENSION};

/// Timestamps are part of the form, but nothing may depend on the day.
const TIMESTAMP: &str = "2026-07-28T00:00:00Z";

/// All tasks of a peer.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    table: Mutex<BTreeMap<String, Task>>,
}

/// A task to be made.
#[derive(Debug)]
pub(crate) struct Job {
    /// Handed to `outcome`.
    pub(crate) arguments: Value,
    pub(crate) pace: Pace,
    pub(crate) poll_ms: u64,
    /// What the task asks the client before it ends: requests by key.
    pub(crate) questions: Map<String, Value>,
    pub(crate) outcome: Outcome,
}

/// Makes what a task ends with from its arguments and the client's answers: a result, or the message of a protocol error.
pub(crate) type Outcome = fn(&Value, &Map<String, Value>) -> Result<Value, String>;

/// When a task has worked enough.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    /// After this many polls.
    Polls(u64),
    At(Instant),
}

#[derive(Debug)]
struct Task {
    job: Job,
    status: Status,
    answers: Map<String, Value>,
    /// How it ended, unless it was cancelled.
    end: Option<Result<Value, String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

/// What the tool `task` shall do, from its arguments.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
struct Plan {
    polls: u64,
    poll_ms: u64,
    /// The result has `isError`.
    tool_error: bool,
    /// The task fails with a JSON-RPC error.
    fail: bool,
    /// The task asks the client before it finishes.
    ask: bool,
    /// Answer with a task though the client did not ask for one (2025-11-25) or cannot take one (modern).
    unasked: bool,
    text: String,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            polls: 2,
            poll_ms: 5,
            tool_error: false,
            fail: false,
            ask: false,
            unasked: false,
            text: "task done".to_string(),
        }
    }
}

/// The tool `task`: answers with a task if the client can follow one.
pub(crate) fn start(call: &Call, arguments: &Value) {
    let plan: Plan = match serde_json::from_value(arguments.clone()) {
        Ok(plan) => plan,
        Err(error) => return call.error(-32602, &format!("bad arguments: {error}")),
    };
    if !wanted(call) && !plan.unasked {
        return refuse(call, "task");
    }
    let mut questions = Map::new();
    if plan.ask {
        let params = json!({ "mode": "form", "message": "Who are you?", "requestedSchema": {
            "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] } });
        questions.insert("name".to_string(), json!({ "method": "elicitation/create", "params": params }));
    }
    let outcome: Outcome = |arguments, answers| {
        let plan: Plan = serde_json::from_value(arguments.clone()).unwrap_or_default();
        if plan.fail {
            return Err("the task failed".to_string());
        }
        let mut result = json!({ "content": [{ "type": "text", "text": plan.text }], "isError": plan.tool_error });
        if let Some(answer) = answers.get("name") {
            result["structuredContent"] = json!({ "answer": answer });
        }
        Ok(result)
    };
    let pace = Pace::Polls(plan.polls);
    create(call, Job { arguments: arguments.clone(), pace, poll_ms: plan.poll_ms, questions, outcome });
}

/// Whether the client asked for a task, or would understand one.
pub(crate) fn wanted(call: &Call) -> bool {
    match &call.era {
        CallEra::Legacy { version } => version == "2025-11-25" && call.params()["task"].is_object(),
        CallEra::Modern { .. } => call.client_can(&extension_pointer()),
    }
}

/// Refuses to call a tool that makes nothing but tasks.
pub(crate) fn refuse(call: &Call, tool: &str) {
    match &call.era {
        CallEra::Legacy { .. } => call.error(-32601, &format!("the tool `{tool}` must be called as a task")),
        CallEra::Modern { .. } => missing_extension(call),
    }
}

/// Answers with a new task.
pub(crate) fn create(call: &Call, job: Job) {
    let task = Task { job, status: Status::Working, answers: Map::new(), end: None };
    let (id, body) = {
        let mut table = call.peer.inner.tasks.lock();
        let id = format!("task-{}", table.len() + 1);
        let body = task.describe(&id, call.is_modern());
        table.insert(id.clone(), task);
        (id, body)
    };
    if call.is_modern() {
        return call.result_text(ResultKind::Task, &body.to_string(), Map::new());
    }
    let body = json!({ "task": body });
    call.result_text(ResultKind::Complete, &body.to_string(), related(&id));
}

/// One poll; the task may finish by it.
pub(crate) fn get(call: &Call) {
    with_task(call, |call, id, task| {
        task.poll();
        let mut body = task.describe(id, call.is_modern());
        if call.is_modern() {
            task.add_details(&mut body);
        }
        call.result(&body);
    });
}

pub(crate) fn cancel(call: &Call) {
    with_task(call, |call, id, task| {
        if call.is_modern() {
            if !task.is_over() {
                task.status = Status::Cancelled;
            }
            return call.result(&json!({}));
        }
        if task.is_over() {
            return call.error(-32602, "the task is over");
        }
        task.status = Status::Cancelled;
        call.result(&task.describe(id, false));
    });
}

/// 2025-11-25: waits for the end of the task, polling on the client's behalf and asking what the task wants to know.
pub(crate) fn result(call: &Call) {
    call.clone().spawn(async move |call| {
        let id = task_id(&call);
        loop {
            let (pause, questions) = {
                let mut table = call.peer.inner.tasks.lock();
                let Some(task) = table.get_mut(&id) else { break };
                task.poll();
                if task.is_over() {
                    break;
                }
                let waits = task.status == Status::InputRequired;
                let questions = if waits { task.job.questions.clone() } else { Map::new() };
                (Duration::from_millis(task.job.poll_ms), questions)
            };
            let mut answers = Map::new();
            for (key, mut question) in questions {
                question["params"]["_meta"] = Value::Object(related(&id));
                let method = question["method"].as_str().unwrap_or_default().to_string();
                answers.insert(key, call.ask(&method, &question["params"]).await);
            }
            if answers.is_empty() {
                tokio::time::sleep(pause).await;
            } else if let Some(task) = call.peer.inner.tasks.lock().get_mut(&id) {
                task.take_answers(answers);
            }
        }
        with_task(&call, |call, id, task| match &task.end {
            Some(Ok(result)) => call.result_text(ResultKind::Complete, &result.to_string(), related(id)),
            Some(Err(message)) => call.error(-32603, message),
            None => call.error(-32603, "the task was cancelled"),
        });
    });
}

pub(crate) fn list(call: &Call) {
    let described: Vec<Value> = {
        let table = call.peer.inner.tasks.lock();
        table.iter().map(|(id, task)| task.describe(id, false)).collect()
    };
    call.result(&json!({ "tasks": described }));
}

/// Modern: takes the client's answers to what the task asked.
pub(crate) fn update(call: &Call) {
    let Value::Object(answers) = call.params()["inputResponses"].clone() else {
        return call.error(-32602, "inputResponses is missing");
    };
    with_task(call, |call, _, task| {
        task.take_answers(answers);
        call.result(&json!({}));
    });
}

fn task_id(call: &Call) -> String {
    call.params()["taskId"].as_str().unwrap_or_default().to_string()
}

fn with_task(call: &Call, work: impl FnOnce(&Call, &str, &mut Task)) {
    if call.is_modern() && !call.client_can(&extension_pointer()) {
        return missing_extension(call);
    }
    let id = task_id(call);
    let mut table = call.peer.inner.tasks.lock();
    match table.get_mut(&id) {
        Some(task) => work(call, &id, task),
        None => call.error(-32602, &format!("Unknown task: {id}")),
    }
}

fn missing_extension(call: &Call) {
    call.missing_capability(&json!({ "extensions": { TASKS_EXTENSION: {} } }));
}

/// 2025-11-25: the metadata that ties a message to its task.
fn related(id: &str) -> Map<String, Value> {
    let mut meta = Map::new();
    meta.insert(RELATED_TASK.to_string(), json!({ "taskId": id }));
    meta
}

impl Tasks {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Task>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Task {
    fn is_over(&self) -> bool {
        matches!(self.status, Status::Completed | Status::Failed | Status::Cancelled)
    }

    fn poll(&mut self) {
        if self.status != Status::Working {
            return;
        }
        let worked_enough = match &mut self.job.pace {
            Pace::Polls(0) => true,
            Pace::Polls(left) => {
                *left -= 1;
                false
            }
            Pace::At(time) => Instant::now() >= *time,
        };
        if !worked_enough {
            return;
        }
        if !self.job.questions.is_empty() {
            self.status = Status::InputRequired;
            return;
        }
        let end = (self.job.outcome)(&self.job.arguments, &self.answers);
        self.status = if end.is_ok() { Status::Completed } else { Status::Failed };
        self.end = Some(end);
    }

    /// Takes answers to what is still asked and forgets those questions; anything else is ignored.
    fn take_answers(&mut self, given: Map<String, Value>) {
        if self.status != Status::InputRequired {
            return;
        }
        for (key, answer) in given {
            if answer.is_object() && self.job.questions.remove(&key).is_some() {
                self.answers.insert(key, answer);
            }
        }
        if self.job.questions.is_empty() {
            self.status = Status::Working;
        }
    }

    fn describe(&self, id: &str, modern: bool) -> Value {
        let status = match self.status {
            Status::Working => "working",
            Status::InputRequired => "input_required",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        };
        let message = match self.job.pace {
            Pace::Polls(left) => format!("{left} polls left"),
            Pace::At(_) => format!("now {status}"),
        };
        let (ttl, interval) = if modern { ("ttlMs", "pollIntervalMs") } else { ("ttl", "pollInterval") };
        json!({
            "taskId": id, "status": status, "statusMessage": message,
            "createdAt": TIMESTAMP, "lastUpdatedAt": TIMESTAMP, ttl: 60000, interval: self.job.poll_ms,
        })
    }

    /// Modern: what `tasks/get` says beyond the status.
    fn add_details(&self, body: &mut Value) {
        match &self.end {
            Some(Ok(result)) => body["result"] = result.clone(),
            Some(Err(message)) => body["error"] = json!({ "code": -32603, "message": message }),
            None if self.status == Status::InputRequired => body["inputRequests"] = json!(self.job.questions),
            None => {}
        }
    }
}
