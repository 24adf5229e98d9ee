//! A call that is answered with a task is followed to its end: by polling, in the server's own rhythm.

use helve_model::protocol::methods;
use std::sync::Arc;
use std::time::Duration;

use helve_model::ErrorCode;
use helve_model::json::RawJson;
use tokio::time::{Instant, sleep};

use super::Shared;
use super::call::{CallOptions, broken_result};
use crate::channel::{Ask, refused};
use crate::encode::quoted;
use crate::error::{Error, Result, RpcError};
use crate::request::Times;

/// How often a task is looked at when the server does not say.
const POLL: Duration = Duration::from_secs(1);
/// However short or long an interval the server names, it is held within these.
const POLL_MIN: Duration = Duration::from_millis(5);
const POLL_MAX: Duration = Duration::from_secs(30);

impl Shared {
    /// 2025-11-25: `tasks/get` until it is over, then `tasks/result`, which answers as the call would have.
    pub(super) async fn follow_legacy_task(self: &Arc<Self>, task: &RawJson, options: &CallOptions) -> Result<RawJson> {
        let running = Running::new(self, task, options.times)?;
        let mut status = task.clone();
        loop {
            match status.member_str("status").as_deref() {
                Some("working" | "submitted") => {}
                Some("cancelled") => return Err(running.over(cancelled())),
                // A task that waits for input asks while its result is being waited for.
                Some("completed" | "failed" | "input_required") => break,
                _ => return Err(broken_result("is a task in a state the protocol does not have")),
            }
            status = running.look_again(&status, "pollInterval").await?;
        }
        let result = self.ask(running.ask(methods::TASKS_RESULT, &[("taskId", &running.id)])?).await;
        running.over(result)
    }

    /// The extension of 2026: `tasks/get` has the result, the error or the questions in it.
    pub(super) async fn follow_modern_task(self: &Arc<Self>, task: &RawJson, options: &CallOptions) -> Result<RawJson> {
        let running = Running::new(self, task, options.times)?;
        let mut status = task.clone();
        loop {
            match status.member_str("status").as_deref() {
                Some("working") => {}
                Some("input_required") => {
                    if let Some(questions) = status.member("inputRequests") {
                        let answers = self.answer(&questions, options.handler.as_ref()).await?;
                        let members = [("taskId", running.id.as_str()), ("inputResponses", answers.as_str())];
                        drop(self.ask(running.ask(methods::TASKS_UPDATE, &members)?).await?);
                    }
                }
                Some("completed") => {
                    let result =
                        status.member("result").ok_or_else(|| broken_result("is a finished task without result"));
                    return running.over(result);
                }
                Some("failed") => {
                    let error = status.member("error").as_ref().and_then(RpcError::from_raw);
                    let error = error.map_or_else(
                        || broken_result("is a failed task without error"),
                        |error| refused(methods::TOOLS_CALL, error),
                    );
                    return Err(running.over(error));
                }
                Some("cancelled") => return Err(running.over(cancelled())),
                _ => return Err(broken_result("is a task in a state the protocol does not have")),
            }
            status = running.look_again(&status, "pollIntervalMs").await?;
        }
    }
}

/// A task at the server, cancelled there unless it is over.
struct Running<'session> {
    session: &'session Arc<Shared>,
    name: String,
    /// The name as a JSON string.
    id: String,
    times: Times,
    deadline: Instant,
    is_over: bool,
}

impl<'session> Running<'session> {
    fn new(session: &'session Arc<Shared>, task: &RawJson, times: Times) -> Result<Self> {
        let name = task.member_str("taskId").ok_or_else(|| broken_result("is a task without id"))?;
        Ok(Self { session, id: quoted(&name), name, times, deadline: Instant::now() + times.total, is_over: false })
    }

    async fn look_again(&self, status: &RawJson, interval: &str) -> Result<RawJson> {
        let named = status.member(interval).and_then(|value| value.parse::<u64>().ok()).map(Duration::from_millis);
        let pause = named.unwrap_or(POLL).clamp(POLL_MIN, POLL_MAX);
        if Instant::now() + pause > self.deadline {
            return Err(self.too_long());
        }
        sleep(pause).await;
        self.session.ask(self.ask(methods::TASKS_GET, &[("taskId", &self.id)])?).await
    }

    /// A request about the task, bounded by what is left of the call's time.
    fn ask<'a>(&'a self, method: &'a str, members: &'a [(&'a str, &'a str)]) -> Result<Ask<'a>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(self.too_long());
        }
        let times = Times { idle: self.times.idle.min(left), total: left };
        Ok(Ask { subject: Some(&self.name), times, ..Ask::new(method, members) })
    }

    fn too_long(&self) -> Error {
        let seconds = self.times.total.as_secs_f64();
        Error::new(ErrorCode::Timeout, format!("the task was not finished within {seconds} s, and was cancelled"))
            .with_hint("raise the total time-out of the call")
            .with_may_have_run(true)
    }

    /// The task needs no cancelling any more.
    fn over<T>(mut self, outcome: T) -> T {
        self.is_over = true;
        outcome
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        // Without a runtime there is no connection either.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (session, name, id) = (Arc::clone(self.session), self.name.clone(), self.id.clone());
        runtime.spawn(async move {
            let times = Times::exactly(POLL_MAX);
            let members = [("taskId", id.as_str())];
            let mut released = session.released.subscribe();
            // Nobody is left to hear about it; and what is left of the session must not wait for it.
            tokio::select! {
                biased;
                answer = session.ask(Ask { subject: Some(&name), times, ..Ask::new(methods::TASKS_CANCEL, &members) }) => drop(answer),
                gone = released.wait_for(|released| *released) => drop(gone),
            }
        });
    }
}

fn cancelled() -> Error {
    Error::new(ErrorCode::Cancelled, "the task was cancelled at the server").with_may_have_run(true)
}
