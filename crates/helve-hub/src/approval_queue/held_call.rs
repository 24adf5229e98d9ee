//! One call that is held: how long, who is asked besides the page, and what its agent is told when nobody answered.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use helve::{AnswerPage, ApprovalAnswer, ApprovalRequest, Approver, BoxFuture, OpenQuestion};
use helve_model::QualifiedName;
use helve_model::json::ObjectWriter;
use helve_serve::{AskedAgent, PageWay};
use helve_store::{Approval, ApprovalState, AskOutcome, StoreError};
use helve_wire::Progress;
use tokio::time::{Instant, sleep, sleep_until};

use super::{ApprovalQueue, words};

/// So often a call asks anew because another like it used the yes.
const ROUNDS: usize = 16;

/// So often an agent that asked for progress hears that its call waits.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// Told what the question about a call of one tool is called. What that tool calls in turn (a program is such a tool) is not
/// its business.
#[derive(Clone)]
pub(crate) struct OnAsked {
    pub(crate) tool: QualifiedName,
    /// On a thread where it may block.
    pub(crate) tell: Arc<dyn Fn(&str) + Send + Sync>,
}

/// The approver of one call.
pub(super) struct HeldCall {
    queue: Arc<ApprovalQueue>,
    agent: AskedAgent,
    on_asked: Option<OnAsked>,
}

/// What became of waiting.
enum Waited {
    /// The question was answered, or has ended.
    Settled(Box<Approval>),
    /// Nobody has answered, and the agent is told to come back.
    Overdue,
}

impl HeldCall {
    pub(super) const fn new(queue: Arc<ApprovalQueue>, agent: AskedAgent) -> Self {
        Self { queue, agent, on_asked: None }
    }

    /// The same, and this is told of the question once it is asked: whoever makes the call may have answered it already.
    pub(super) fn telling(mut self, on_asked: OnAsked) -> Self {
        self.on_asked = Some(on_asked);
        self
    }

    async fn hold(&self, request: ApprovalRequest) -> ApprovalAnswer {
        match self.ask(request).await {
            Ok(answer) => answer,
            Err(error) => {
                tracing::warn!(%error, "nobody could be asked about a call");
                later(words::CANNOT_ASK.to_owned())
            }
        }
    }

    async fn ask(&self, request: ApprovalRequest) -> Result<ApprovalAnswer, StoreError> {
        for round in 0..ROUNDS {
            let asking = request.clone();
            let approval = match self.with_queue(move |queue| queue.ask(&asking)).await? {
                AskOutcome::Allowed(_) => return Ok(ApprovalAnswer::Once),
                AskOutcome::TooMany(count) => return Ok(later(words::too_many(count))),
                AskOutcome::New(approval) | AskOutcome::Joined(approval) => approval,
            };
            // One answer is for one question: what is asked anew is answered anew.
            if let Some(on_asked) = self.on_asked.clone().filter(|on_asked| round == 0 && on_asked.tool == request.name)
            {
                let id = approval.id.clone();
                self.with_queue(move |_| {
                    (on_asked.tell)(&id);
                    Ok(())
                })
                .await?;
            }
            let settled = match self.wait(&approval, &request).await? {
                Waited::Settled(settled) => settled,
                Waited::Overdue => return Ok(ApprovalAnswer::Later(self.still_open(&approval))),
            };
            match settled.state {
                ApprovalState::Allowed => {
                    let id = settled.id.clone();
                    if self.with_queue(move |queue| queue.spend(&id)).await? {
                        return Ok(ApprovalAnswer::Once);
                    }
                }
                ApprovalState::Denied => return Ok(ApprovalAnswer::DeclineWith(words::denied(&settled))),
                ApprovalState::Withdrawn => return Ok(ApprovalAnswer::DeclineWith(words::withdrawn(&settled))),
                ApprovalState::Expired => return Ok(later(words::expired(&settled))),
                // Another call like this one used the yes: one yes is one call.
                ApprovalState::Used | ApprovalState::Lapsed | ApprovalState::Pending => {}
            }
        }
        Ok(later(words::CANNOT_ASK.to_owned()))
    }

    /// Waits for an answer, whoever gives it.
    async fn wait(&self, approval: &Approval, request: &ApprovalRequest) -> Result<Waited, StoreError> {
        let mut waiting = self.queue.wait_for(&approval.id);
        let mut form =
            self.agent.form.as_ref().filter(|_| !approval.asked.needs_page).map(|form| form.approve(request.clone()));
        let mut overdue = pin!(sleep(self.queue.times.hold));
        let mut reports = pin!(self.report(request));
        let mut was_told = false;
        loop {
            let id = approval.id.clone();
            // Looked at after joining those who wait, so that no answer is missed.
            match self.with_queue(move |queue| queue.look(&id)).await? {
                Some(found) if found.state == ApprovalState::Pending => {}
                Some(found) => return Ok(Waited::Settled(Box::new(found))),
                None => return Ok(Waited::Overdue),
            }
            tokio::select! {
                biased;
                _ = waiting.changed.changed() => {}
                never = &mut reports => match never {},
                answer = answered(&mut form) => {
                    form = None;
                    self.answer_by_form(approval, request, answer).await?;
                }
                () = &mut overdue => {
                    if was_told {
                        return Ok(Waited::Overdue);
                    }
                    was_told = true;
                    if let Some(task) = &self.agent.task {
                        task.notify_one();
                        let lasts = approval.asked.ends.since(self.queue.now());
                        overdue.as_mut().set(sleep_until(Instant::now() + lasts));
                    } else if let PageWay::Question(question) = &self.agent.page {
                        let page = self.page(approval);
                        if !question.show(&request.name.server, &page, &words::page(approval)).await {
                            return Ok(Waited::Overdue);
                        }
                        overdue.as_mut().set(sleep(self.queue.times.hold));
                    } else {
                        return Ok(Waited::Overdue);
                    }
                }
            }
        }
    }

    /// Tells the agent again and again that its call waits, where it asked for progress.
    async fn report(&self, request: &ApprovalRequest) -> Infallible {
        let Some(tell) = &self.agent.progress else { return std::future::pending().await };
        let message = words::waiting(request);
        let mut reports = 0_u32;
        loop {
            // Progress has to grow, and what the server says of its own begins at nought.
            let progress = -1.0 / f64::from(reports + 1);
            let raw = ObjectWriter::new().raw("progressToken", "0").raw("progress", progress.to_string());
            let raw = raw.text("message", &message).finish();
            tell(Progress { progress, total: None, message: Some(message.clone()), raw });
            reports = reports.saturating_add(1).min(u32::MAX - 1);
            sleep(REPORT_EVERY).await;
        }
    }

    /// The agent's form was answered. Whether that was first is for the store to say.
    async fn answer_by_form(
        &self,
        approval: &Approval,
        request: &ApprovalRequest,
        answer: ApprovalAnswer,
    ) -> Result<(), StoreError> {
        let is_allowed = match answer {
            ApprovalAnswer::Once | ApprovalAnswer::Run | ApprovalAnswer::Always { .. } => true,
            ApprovalAnswer::Decline | ApprovalAnswer::DeclineWith(_) => false,
            // The form was put away: the others can still answer.
            ApprovalAnswer::Later(_) | ApprovalAnswer::Unavailable => return Ok(()),
        };
        let agent = request.source.agent.as_ref().map(|agent| agent.name.clone()).unwrap_or_default();
        let id = approval.id.clone();
        self.with_queue(move |queue| queue.decide(&id, is_allowed, &format!("form:{agent}"), None)).await?;
        Ok(())
    }

    fn still_open(&self, approval: &Approval) -> OpenQuestion {
        let page = matches!(self.agent.page, PageWay::WithError).then(|| self.page(approval));
        OpenQuestion::new(words::still_open(approval), page)
    }

    fn page(&self, approval: &Approval) -> AnswerPage {
        AnswerPage { id: approval.id.clone(), url: self.queue.link(&approval.id) }
    }

    /// Does something that may block on a thread where that delays nobody.
    async fn with_queue<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ApprovalQueue) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let queue = Arc::clone(&self.queue);
        let turn = Arc::clone(&queue.turns).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let worked = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work(&queue)
        });
        worked.await.unwrap_or(Err(StoreError::Closed))
    }
}

/// The answer of the form; without a form there is none.
async fn answered(form: &mut Option<BoxFuture<'_, ApprovalAnswer>>) -> ApprovalAnswer {
    match form {
        Some(form) => form.await,
        None => std::future::pending().await,
    }
}

fn later(said: String) -> ApprovalAnswer {
    ApprovalAnswer::Later(OpenQuestion::new(said, None))
}

impl Approver for HeldCall {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(self.hold(request))
    }
}
