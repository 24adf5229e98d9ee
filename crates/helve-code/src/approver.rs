//! Owns who answers for a program's calls: what was said up front for this very run, else the person, while the program waits.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use helve::{ApprovalAnswer, ApprovalRequest, Approver, BoxFuture, Principal, QualifiedName};
use helve_model::Risk;
use helve_model::sync::lock;
use helve_policy::Approval;
use tokio::sync::watch;

use crate::slots::Place;

/// The approver of one program.
pub(crate) struct ProgramApprover {
    person: Arc<dyn Approver>,
    principal: Principal,
    /// What the person said yes to before the program ran.
    covered: Mutex<HashSet<QualifiedName>>,
    /// Which calls wait for the person.
    asking: watch::Sender<Vec<String>>,
    place: Arc<Place>,
}

impl ProgramApprover {
    pub(crate) fn new(person: Arc<dyn Approver>, principal: Principal, place: Arc<Place>) -> Self {
        Self { person, principal, covered: Mutex::default(), asking: watch::channel(Vec::new()).0, place }
    }

    /// These need not be asked for again while this program runs.
    pub(crate) fn cover(&self, tools: impl IntoIterator<Item = QualifiedName>) {
        lock(&self.covered).extend(tools);
    }

    pub(crate) fn asking(&self) -> watch::Receiver<Vec<String>> {
        self.asking.subscribe()
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
        // What is dangerous is asked for with its arguments, whatever was said about the whole.
        let is_covered = request.risk != Risk::High && lock(&self.covered).contains(&request.name);
        if is_covered {
            return Box::pin(std::future::ready(ApprovalAnswer::Once));
        }
        Box::pin(self.ask(request))
    }

    fn keep(&self, approval: &Approval) {
        self.person.keep(approval);
    }
}

/// A question that is open, until it is dropped.
struct Asked<'a> {
    asking: &'a watch::Sender<Vec<String>>,
    name: String,
}

impl<'a> Asked<'a> {
    fn new(asking: &'a watch::Sender<Vec<String>>, name: String) -> Self {
        asking.send_modify(|asked| asked.push(name.clone()));
        Self { asking, name }
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.asking.send_modify(|asked| {
            if let Some(index) = asked.iter().position(|name| *name == self.name) {
                asked.remove(index);
            }
        });
    }
}
