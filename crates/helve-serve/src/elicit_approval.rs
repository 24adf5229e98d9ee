//! Policy at the door: where a rule says *ask*, the person behind the agent is asked, if the agent can do that.

use std::sync::Arc;

use helve::{Answerer, ApprovalAnswer, ApprovalRequest, Approver};
use helve_model::CallKind;
use helve_model::json::{ObjectWriter, RawJson, quoted};
use helve_wire::{BoxFuture, PeerQuestion, QuestionKind};

use crate::named_questions::{arguments, foreign_name, of_helve};

/// Asks by a form with one question.
#[derive(Debug)]
pub(crate) struct ElicitingApprover {
    answerer: Arc<dyn Answerer>,
    lasting: Lasting,
    dismissed: ApprovalAnswer,
}

/// For how long a person may say yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lasting {
    /// For this call alone: where several clients may be behind an agent, anything else would be a yes for all of them.
    Once,
    /// For as long as the agent is there.
    UntilTheEnd,
    /// For good, until the tool is defined otherwise or its server is another one.
    Always,
}

const ONCE: &str = "once";
const UNTIL_THE_END: &str = "until the agent ends";
const ALWAYS: &str = "always";
const NO: &str = "no";

impl ElicitingApprover {
    /// `None` when the agent cannot ask its person: then it is the host's to decide.
    pub(crate) fn of(answerer: &Arc<dyn Answerer>, lasting: Lasting) -> Option<Arc<dyn Approver>> {
        Self::made(answerer, lasting, ApprovalAnswer::Decline)
    }

    /// The form as one of several ways to answer: a yes is for this call alone, and one that is put away leaves the question
    /// to the others.
    pub(crate) fn beside_others(answerer: &Arc<dyn Answerer>) -> Option<Arc<dyn Approver>> {
        Self::made(answerer, Lasting::Once, ApprovalAnswer::Unavailable)
    }

    fn made(answerer: &Arc<dyn Answerer>, lasting: Lasting, dismissed: ApprovalAnswer) -> Option<Arc<dyn Approver>> {
        let can_ask = answerer.capabilities().elicitation_form;
        let made = || Arc::new(Self { answerer: Arc::clone(answerer), lasting, dismissed }) as Arc<dyn Approver>;
        can_ask.then(made)
    }
}

impl Approver for ElicitingApprover {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move {
            let question = PeerQuestion {
                kind: QuestionKind::Elicitation,
                params: Some(form(&request, self.lasting)),
                during: None,
            };
            match self.answerer.question(&request.name.server, question).await {
                Ok(answer) if answer.member_str("action").as_deref() == Some("cancel") => self.dismissed.clone(),
                Ok(answer) => read(&answer, self.lasting),
                Err(_) => ApprovalAnswer::Unavailable,
            }
        })
    }
}

fn form(request: &ApprovalRequest, lasting: Lasting) -> RawJson {
    // Where the rule stands that asks is the person's business, and an agent reads this before them.
    let message = of_helve(&format!(
        "May {} {} {} ({} risk)?\nArguments: {}",
        request.caller,
        verb(request.kind),
        foreign_name(&request.name.to_string()),
        request.risk,
        arguments(&request.arguments)
    ));
    let offered = offered(lasting).into_iter().map(quoted);
    let decision = ObjectWriter::new().text("type", "string").text("title", "May it run?").array("enum", offered);
    let schema = ObjectWriter::new()
        .text("type", "object")
        .object("properties", ObjectWriter::new().object("decision", decision))
        .array("required", [quoted("decision")]);
    ObjectWriter::new().text("mode", "form").text("message", &message).object("requestedSchema", schema).finish()
}

const fn verb(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Tool => "call the tool",
        CallKind::Resource => "read the resource",
        CallKind::Prompt => "get the prompt",
        CallKind::Method => "send the method",
    }
}

/// The answers that a form has.
fn offered(lasting: Lasting) -> Vec<&'static str> {
    let answers = [(ONCE, Lasting::Once), (UNTIL_THE_END, Lasting::UntilTheEnd), (ALWAYS, Lasting::Always)];
    answers.into_iter().filter(|(_, needed)| *needed <= lasting).map(|(answer, _)| answer).chain([NO]).collect()
}

fn read(answer: &RawJson, lasting: Lasting) -> ApprovalAnswer {
    if answer.member_str("action").as_deref() != Some("accept") {
        return ApprovalAnswer::Decline;
    }
    let decision = answer.member("content").and_then(|content| content.member_str("decision"));
    // A yes that was not offered is a yes to this call.
    match decision.as_deref() {
        Some(ALWAYS) if lasting == Lasting::Always => ApprovalAnswer::Always { pattern: None },
        Some(UNTIL_THE_END) if lasting >= Lasting::UntilTheEnd => ApprovalAnswer::Run,
        Some(ONCE | UNTIL_THE_END) => ApprovalAnswer::Once,
        _ => ApprovalAnswer::Decline,
    }
}
