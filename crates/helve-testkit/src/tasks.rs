//! Owns tasks: calls answered later, in the form of 2025-11-25 and as the modern extension.
//!
//! A task finishes after a number of polls, so that tests decide its pace and no clock does.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

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

#[derive(Clone, Debug)]
struct Task {
    plan: Plan,
    status: Status,
    polls_left: u64,
    /// The client's answer, once it was asked for and given.
    answer: Option<Value>,
}

/// What a task shall do, from the arguments of the tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
struct Plan {
    polls: u64,
    poll_ms: u64,
    /// The result has `isError`.
    tool_error: bool,
    /// The task fails with a JSON-RPC error.
    fail: bool,
    /// Modern: the task asks the client before it finishes.
    ask: bool,
    /// Answer with a task though the client did not ask for one (2025-11-25) or cannot take one (modern).
    unasked: bool,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
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
    let asked = match &call.era {
        CallEra::Legacy { .. } => call.params()["task"].is_object(),
        CallEra::Modern { .. } => call.client_can(&extension_pointer()),
    };
    if !asked && !plan.unasked {
        return match &call.era {
            CallEra::Legacy { .. } => call.error(-32601, "the tool `task` must be called as a task"),
            CallEra::Modern { .. } => call.missing_capability(&json!({ "extensions": { TASKS_EXTENSION: {} } })),
        };
    }
    let task = Task { polls_left: plan.polls, plan, status: Status::Working, answer: None };
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
    let mut own_meta = Map::new();
    own_meta.insert(RELATED_TASK.to_string(), json!({ "taskId": id }));
    call.result_text(ResultKind::Complete, &json!({ "task": body }).to_string(), own_meta);
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

/// 2025-11-25: waits for the end of the task, polling on the client's behalf.
pub(crate) fn result(call: &Call) {
    call.clone().spawn(async move |call| {
        let id = task_id(&call);
        loop {
            let pause = {
                let mut table = call.peer.inner.tasks.lock();
                let Some(task) = table.get_mut(&id) else { break };
                if task.is_over() {
                    break;
                }
                task.poll();
                Duration::from_millis(task.plan.poll_ms)
            };
            tokio::time::sleep(pause).await;
        }
        with_task(&call, |call, id, task| {
            if task.status == Status::Completed {
                let mut own_meta = Map::new();
                own_meta.insert(RELATED_TASK.to_string(), json!({ "taskId": id }));
                return call.result_text(ResultKind::Complete, &task.outcome().to_string(), own_meta);
            }
            let message = if task.status == Status::Cancelled { "the task was cancelled" } else { "the task failed" };
            call.error(-32603, message);
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
    let answers = call.params()["inputResponses"].clone();
    with_task(call, |call, _, task| {
        if task.status == Status::InputRequired && answers["name"].is_object() {
            task.answer = Some(answers["name"].clone());
            task.status = Status::Working;
        }
        call.result(&json!({}));
    });
}

fn task_id(call: &Call) -> String {
    call.params()["taskId"].as_str().unwrap_or_default().to_string()
}

fn with_task(call: &Call, work: impl FnOnce(&Call, &str, &mut Task)) {
    let id = task_id(call);
    let mut table = call.peer.inner.tasks.lock();
    match table.get_mut(&id) {
        Some(task) => work(call, &id, task),
        None => call.error(-32602, &format!("Unknown task: {id}")),
    }
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
        if self.polls_left > 0 {
            self.polls_left -= 1;
        } else if self.plan.ask && self.answer.is_none() {
            self.status = Status::InputRequired;
        } else {
            self.status = if self.plan.fail { Status::Failed } else { Status::Completed };
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
        let (ttl, interval) = if modern { ("ttlMs", "pollIntervalMs") } else { ("ttl", "pollInterval") };
        json!({
            "taskId": id, "status": status, "statusMessage": format!("{} polls left", self.polls_left),
            "createdAt": TIMESTAMP, "lastUpdatedAt": TIMESTAMP, ttl: 60000, interval: self.plan.poll_ms,
        })
    }

    /// Modern: what `tasks/get` says beyond the status.
    fn add_details(&self, body: &mut Value) {
        match self.status {
            Status::Completed => body["result"] = self.outcome(),
            Status::Failed => body["error"] = json!({ "code": -32603, "message": "the task failed" }),
            Status::InputRequired => {
                let params = json!({ "mode": "form", "message": "Who are you?", "requestedSchema": {
                    "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] } });
                body["inputRequests"] = json!({ "name": { "method": "elicitation/create", "params": params } });
            }
            Status::Working | Status::Cancelled => {}
        }
    }

    fn outcome(&self) -> Value {
        let mut outcome =
            json!({ "content": [{ "type": "text", "text": self.plan.text }], "isError": self.plan.tool_error });
        if let Some(answer) = &self.answer {
            outcome["structuredContent"] = json!({ "answer": answer });
        }
        outcome
    }
}
