//! What a call would meet, found out before there are any arguments: for plans that are looked at as a whole.

use helve_model::Action;
use helve_model::json::RawJson;
use helve_policy::{Decision, Whereabouts};

use super::{CallContext, PreparedCall};
use crate::error::CallError;
use helve_model::sync::lock;

/// What a call would meet.
#[derive(Debug)]
#[non_exhaustive]
pub enum Foreseen {
    /// It runs.
    Allowed,
    /// Somebody is asked, whatever the arguments are.
    Asks,
    /// It depends on the arguments.
    ByArguments,
    /// It is refused, whatever the arguments are.
    Denied(CallError),
}

impl PreparedCall {
    /// What a call in this context would meet. Nothing is asked and nothing is recorded; the call itself is decided when
    /// it is made.
    #[must_use]
    pub fn foresee(&self, context: &CallContext) -> Foreseen {
        let policy = self.tool.policy();
        let subject = policy.subject();
        if let Some(refusal) = context.scope.refuse(&subject.name, subject.kind, policy.risk()) {
            return Foreseen::Denied(CallError::from_refusal(&refusal));
        }
        if self.tool.is_unpinned() {
            return Foreseen::Denied(CallError::from_refusal(&policy.refuse_changed()));
        }
        match policy.foresee(context.called_by()) {
            None => return Foreseen::ByArguments,
            Some((Action::Allow, _)) => return Foreseen::Allowed,
            Some((Action::Ask | Action::Deny, _)) => {}
        }
        let arguments = RawJson::empty_object();
        match policy.decide_at(context.called_by(), arguments, &Whereabouts::default()) {
            Decision::Allow(_) => Foreseen::Allowed,
            Decision::Deny(refusal) => Foreseen::Denied(CallError::from_refusal(&refusal)),
            Decision::Ask(question) => {
                let is_approved = lock(&self.host.approvals).find(&question).is_some()
                    || context.approvals.as_ref().is_some_and(|own| lock(own.set()).find(&question).is_some());
                if is_approved { Foreseen::Allowed } else { Foreseen::Asks }
            }
        }
    }
}
