//! Policy at the door: where a rule says *ask*, the person behind the agent is asked, if the agent can do that.

use std::sync::Arc;

use helve::{Answerer, ApprovalAnswer, ApprovalRequest, Approver};
use helve_model::json::RawJson;
use helve_wire::plane::quoted;
use helve_wire::{BoxFuture, Question, QuestionKind};

/// Asks by a form with one question.
#[derive(Debug)]
pub(crate) struct DoorApprover(Arc<dyn Answerer>);

impl DoorApprover {
    /// `None` when the agent cannot ask its person: then it is the host's to decide.
    pub(crate) fn of(answerer: &Arc<dyn Answerer>) -> Option<Arc<dyn Approver>> {
        answerer.capabilities().elicitation_form.then(|| Arc::new(Self(Arc::clone(answerer))) as Arc<dyn Approver>)
    }
}

impl Approver for DoorApprover {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move {
            let question = Question { kind: QuestionKind::Elicitation, params: Some(form(&request)), during: None };
            match self.0.question(&request.name.server, question).await {
                Ok(answer) => read(&answer),
                Err(_) => ApprovalAnswer::Unavailable,
            }
        })
    }
}

fn form(request: &ApprovalRequest) -> RawJson {
    let message = quoted(&format!("{}\n{}", request.sentence, request.arguments));
    let decision = r#"{"type":"string","title":"May it run?","enum":["once","until the agent ends","no"]}"#;
    RawJson::assembled(format!(
        r#"{{"mode":"form","message":{message},"requestedSchema":{{"type":"object","properties":{{"decision":{decision}}},"required":["decision"]}}}}"#
    ))
}

fn read(answer: &RawJson) -> ApprovalAnswer {
    if answer.member_str("action").as_deref() != Some("accept") {
        return ApprovalAnswer::Decline;
    }
    match answer.member("content").and_then(|content| content.member_str("decision")).as_deref() {
        Some("once") => ApprovalAnswer::Once,
        Some("until the agent ends") => ApprovalAnswer::Run,
        _ => ApprovalAnswer::Decline,
    }
}
