//! From where the approvers of agents' calls come that a rule wants asked about: where there is a source, a call waits there and is
//! answered by whoever is first, the agent's own form being one way of several. Without one the form is the only way.

use std::fmt;
use std::sync::Arc;

use helve::{AnswerPage, Answerer, Approver};
use helve_model::ServerName;
use helve_model::json::ObjectWriter;
use helve_wire::{PeerQuestion, ProgressCallback, QuestionKind};
use tokio::sync::Notify;

use crate::named_questions::of_helve;

/// Gives each call an approver that asks more than the agent that makes it.
pub trait ApproverSource: fmt::Debug + Send + Sync {
    /// The approver for one call of this agent.
    fn approver(&self, agent: AskedAgent) -> Arc<dyn Approver>;
}

/// What an agent can do for its person while a call of it waits.
#[derive(Default)]
#[non_exhaustive]
pub struct AskedAgent {
    /// The agent's own form: it says yes to this call or no, or that nobody answered.
    pub form: Option<Arc<dyn Approver>>,
    /// How it can be given a page to show.
    pub page: PageWay,
    /// The call becomes a task when it has waited too long: told then, and the call goes on waiting.
    pub task: Option<Arc<Notify>>,
    /// Hears that the call waits, and goes on hearing it, where the agent asked for progress.
    pub progress: Option<ProgressCallback>,
}

/// How an agent can be given a page to show its person.
#[derive(Debug, Default)]
pub enum PageWay {
    /// It cannot.
    #[default]
    None,
    /// With the error that its call ends with.
    WithError,
    /// By a question; the call goes on when the agent comes back.
    Question(PageQuestion),
}

/// The way to put a page to an agent's person while the call is open.
pub struct PageQuestion(Arc<dyn Answerer>);

impl PageQuestion {
    /// Puts the page to the person; true when the agent came back without a no.
    pub async fn show(&self, server: &ServerName, page: &AnswerPage, why: &str) -> bool {
        let params = Some(elicitation(page, why).finish());
        let question = PeerQuestion { kind: QuestionKind::Elicitation, params, during: None };
        let answer = self.0.question(server, question).await;
        answer.is_ok_and(|answer| answer.member_str("action").as_deref() == Some("accept"))
    }
}

/// The ways of the two eras to show a page, for an agent that can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageStyle {
    /// Nothing can be shown here.
    Never,
    /// With the error of a call.
    WithError,
    /// By a question.
    Question,
}

impl PageStyle {
    pub(crate) fn way(self, answerer: &Arc<dyn Answerer>) -> PageWay {
        match self {
            _ if !answerer.capabilities().elicitation_url => PageWay::None,
            Self::Never => PageWay::None,
            Self::WithError => PageWay::WithError,
            Self::Question => PageWay::Question(PageQuestion(Arc::clone(answerer))),
        }
    }
}

/// A page to be shown, as the protocol writes it.
pub(crate) fn elicitation(page: &AnswerPage, why: &str) -> ObjectWriter {
    ObjectWriter::new()
        .text("mode", "url")
        .text("message", &of_helve(why))
        .text("url", &page.url)
        .text("elicitationId", &format!("helve-approval-{}", page.id))
}

impl fmt::Debug for PageQuestion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PageQuestion")
    }
}

impl fmt::Debug for AskedAgent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (has_form, is_task, has_progress) = (self.form.is_some(), self.task.is_some(), self.progress.is_some());
        formatter
            .debug_struct("AskedAgent")
            .field("form", &has_form)
            .field("page", &self.page)
            .field("task", &is_task)
            .field("progress", &has_progress)
            .finish()
    }
}
