//! Owns who answers for a program's calls: what was said up front for this very run, else the person, while the program waits.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use helve::{ApprovalAnswer, ApprovalRequest, Approver, BoxFuture, Principal, QualifiedName};
use helve_model::sync::lock;
use helve_model::{Answerers, Risk};
use helve_policy::{Approval, Decider};

use crate::slots::Place;

/// The approver of one program.
pub(crate) struct ProgramApprover {
    person: Arc<dyn Approver>,
    principal: Principal,
    /// What the person said yes to before the program ran.
    covered: Mutex<HashSet<QualifiedName>>,
    asking: Asking,
    place: Arc<Place>,
}

/// Which calls wait for the person, and who wants to know.
#[derive(Default)]
struct Asking {
    asked: Mutex<Questions>,
    waker: AtomicWaker,
}

#[derive(Default)]
struct Questions {
    names: Vec<String>,
    /// They are not what was told last.
    is_news: bool,
}

impl ProgramApprover {
    pub(crate) fn new(person: Arc<dyn Approver>, principal: Principal, place: Arc<Place>) -> Self {
        Self { person, principal, covered: Mutex::default(), asking: Asking::default(), place }
    }

    /// These need not be asked for again while this program runs.
    pub(crate) fn cover(&self, tools: impl IntoIterator<Item = QualifiedName>) {
        lock(&self.covered).extend(tools);
    }

    /// Which calls wait for the person, whenever that changes.
    pub(crate) fn poll_asking(&self, context: &mut Context<'_>) -> Poll<Vec<String>> {
        self.asking.waker.register(context.waker());
        let mut asked = lock(&self.asking.asked);
        if std::mem::take(&mut asked.is_news) { Poll::Ready(asked.names.clone()) } else { Poll::Pending }
    }

    /// Asks the person. The program's place is free for others meanwhile.
    pub(crate) async fn ask(&self, request: ApprovalRequest) -> ApprovalAnswer {
        let Some(_paused) = self.place.pause(&self.principal).await else { return ApprovalAnswer::Unavailable };
        let _asked = Asked::new(&self.asking, request.name.to_string());
        self.person.approve(request).await
    }
}

impl Approver for ProgramApprover {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        // What is dangerous, and what is for a page, is asked for with its arguments, whatever was said about the whole.
        let is_for_page = request.decider.as_ref().is_some_and(wants_page);
        let is_covered = request.risk != Risk::High && !is_for_page && lock(&self.covered).contains(&request.name);
        if is_covered {
            return Box::pin(std::future::ready(ApprovalAnswer::Once));
        }
        Box::pin(self.ask(request))
    }

    fn keep(&self, approval: &Approval) {
        self.person.keep(approval);
    }
}

/// A rule that wants each call answered on a page: a yes to several calls at once is not enough.
pub(crate) fn wants_page(decider: &Decider) -> bool {
    matches!(decider, Decider::Rule(source) if source.rule.by == Some(Answerers::Page))
}

impl Asking {
    fn change(&self, change: impl FnOnce(&mut Vec<String>)) {
        {
            let mut asked = lock(&self.asked);
            change(&mut asked.names);
            asked.is_news = true;
        }
        self.waker.wake();
    }
}

/// A question that is open, until it is dropped.
struct Asked<'a> {
    asking: &'a Asking,
    name: String,
}

impl<'a> Asked<'a> {
    fn new(asking: &'a Asking, name: String) -> Self {
        asking.change(|asked| asked.push(name.clone()));
        Self { asking, name }
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.asking.change(|asked| {
            if let Some(index) = asked.iter().position(|name| *name == self.name) {
                asked.remove(index);
            }
        });
    }
}
