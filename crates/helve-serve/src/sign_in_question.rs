//! A page to sign in on, put to the person behind an agent. Owns to whom: the very person who runs helve, at an agent that said
//! it can show pages, once for each server and run. Everybody else gets the error.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use helve::auth::ports::{BoxFuture as AuthFuture, Person};
use helve::auth::{AuthError, Page};
use helve::{Answerer, SignsIn};
use helve_model::json::{ObjectWriter, RawJson};
use helve_model::sync::lock;
use helve_model::{Principal, PrincipalKind, ServerName};
use helve_wire::{PeerQuestion, QuestionKind};

use crate::named_questions::{foreign_name, of_helve};

/// Servers to which somebody was asked to sign in, and has not: the question is open, or was answered with no.
#[derive(Debug, Default)]
pub(crate) struct SignInQuestions {
    asked: Mutex<HashSet<ServerName>>,
    counted: AtomicU64,
}

/// The way to ask one agent's person.
pub(crate) struct SignInQuestion {
    questions: Arc<SignInQuestions>,
    answerer: Arc<dyn Answerer>,
}

impl SignInQuestion {
    /// `None` for agents of anybody but the person who runs helve, and for agents that cannot show a page: a login is that
    /// person's own.
    pub(crate) fn of(
        questions: &Arc<SignInQuestions>,
        principal: &Principal,
        owner: Option<&Principal>,
        answerer: &Arc<dyn Answerer>,
    ) -> Option<Arc<dyn SignsIn>> {
        if !is_own(principal, owner) || !answerer.capabilities().elicitation_url {
            return None;
        }
        Some(Arc::new(Self { questions: Arc::clone(questions), answerer: Arc::clone(answerer) }))
    }
}

/// The person who runs helve started this agent, or the machine says that it is theirs. A token may be anybody's.
fn is_own(principal: &Principal, owner: Option<&Principal>) -> bool {
    match principal.kind() {
        PrincipalKind::Person => true,
        PrincipalKind::LocalUser => owner == Some(principal),
        _ => false,
    }
}

impl SignsIn for SignInQuestion {
    fn person(&self, server: &ServerName) -> Option<Box<dyn Person>> {
        // One at a time, and none after a no.
        if !lock(&self.questions.asked).insert(server.clone()) {
            return None;
        }
        let number = self.questions.counted.fetch_add(1, Ordering::Relaxed);
        Some(Box::new(BehindAgent { answerer: Arc::clone(&self.answerer), server: server.clone(), number }))
    }

    fn ended(&self, server: &ServerName, is_signed_in: bool) {
        if is_signed_in {
            lock(&self.questions.asked).remove(server);
        }
    }
}

/// A person who sees pages through an agent.
struct BehindAgent {
    answerer: Arc<dyn Answerer>,
    server: ServerName,
    number: u64,
}

impl Person for BehindAgent {
    fn show<'a>(&'a self, page: &'a Page) -> AuthFuture<'a, Result<(), AuthError>> {
        Box::pin(async move {
            let params = Some(question(&self.server, page, self.number));
            let question = PeerQuestion { kind: QuestionKind::Elicitation, params, during: None };
            let answer = self.answerer.question(&self.server, question).await;
            let action = answer.ok().and_then(|answer| answer.member_str("action"));
            if action.as_deref() == Some("accept") {
                return Ok(());
            }
            Err(AuthError::declined("the person did not want to sign in"))
        })
    }
}

fn question(server: &ServerName, page: &Page, number: u64) -> RawJson {
    let host = page.url.host_str().unwrap_or_default();
    let name = foreign_name(server.as_str());
    let message = of_helve(&format!("Sign in to the server {name} at {host}? The login is kept for all your agents."));
    ObjectWriter::new()
        .text("mode", "url")
        .text("message", &message)
        .text("url", page.url.as_str())
        .text("elicitationId", &format!("helve-sign-in-{number}"))
        .finish()
}
