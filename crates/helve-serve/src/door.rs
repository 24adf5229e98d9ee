//! Policy at the door: where a rule says *ask*, the person behind the agent is asked, if the agent can do that.

use std::sync::Arc;

use helve::{Answerer, ApprovalAnswer, ApprovalRequest, Approver};
use helve_model::CallKind;
use helve_model::json::RawJson;
use helve_wire::plane::quoted;
use helve_wire::{BoxFuture, Question, QuestionKind};

use crate::agent::Clients;
use crate::named_questions::{arguments, foreign_name, of_helve};

/// Asks by a form with one question.
#[derive(Debug)]
pub(crate) struct DoorApprover {
    answerer: Arc<dyn Answerer>,
    /// Whom a yes would count for.
    clients: Clients,
}

/// A yes that lasts. It is offered to one client alone: where several may be behind an agent, it would be a yes for all.
const UNTIL_THE_END: &str = "until the agent ends";

impl DoorApprover {
    /// `None` when the agent cannot ask its person: then it is the host's to decide.
    pub(crate) fn of(answerer: &Arc<dyn Answerer>, clients: Clients) -> Option<Arc<dyn Approver>> {
        let can_ask = answerer.capabilities().elicitation_form;
        can_ask.then(|| Arc::new(Self { answerer: Arc::clone(answerer), clients }) as Arc<dyn Approver>)
    }
}

impl Approver for DoorApprover {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move {
            let question =
                Question { kind: QuestionKind::Elicitation, params: Some(form(&request, self.clients)), during: None };
            match self.answerer.question(&request.name.server, question).await {
                Ok(answer) => read(&answer, self.clients),
                Err(_) => ApprovalAnswer::Unavailable,
            }
        })
    }
}

fn form(request: &ApprovalRequest, clients: Clients) -> RawJson {
    // Where the rule stands that asks is the person's business, and an agent reads this before them.
    let message = quoted(&of_helve(&format!(
        "May {} {} {} ({} risk)?\nArguments: {}",
        request.caller,
        verb(request.kind),
        foreign_name(&request.name.to_string()),
        request.risk,
        arguments(&request.arguments)
    )));
    let lasting = match clients {
        Clients::One => format!(r#""{UNTIL_THE_END}","#),
        Clients::Several => String::new(),
    };
    let decision = format!(r#"{{"type":"string","title":"May it run?","enum":["once",{lasting}"no"]}}"#);
    RawJson::assembled(format!(
        r#"{{"mode":"form","message":{message},"requestedSchema":{{"type":"object","properties":{{"decision":{decision}}},"required":["decision"]}}}}"#
    ))
}

const fn verb(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Tool => "call the tool",
        CallKind::Resource => "read the resource",
        CallKind::Prompt => "get the prompt",
        CallKind::Method => "send the method",
    }
}

fn read(answer: &RawJson, clients: Clients) -> ApprovalAnswer {
    if answer.member_str("action").as_deref() != Some("accept") {
        return ApprovalAnswer::Decline;
    }
    match answer.member("content").and_then(|content| content.member_str("decision")).as_deref() {
        Some("once") => ApprovalAnswer::Once,
        Some(UNTIL_THE_END) if clients == Clients::One => ApprovalAnswer::Run,
        Some(UNTIL_THE_END) => ApprovalAnswer::Once,
        _ => ApprovalAnswer::Decline,
    }
}
