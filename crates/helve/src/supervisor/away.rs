//! What a supervisor does when the hub that has its server goes and comes: nothing is tried in between.

use std::sync::Arc;

use helve_model::{Failure, PendingReason, ServerStatus};

use super::{State, Supervisor};
use crate::backoff::Backoff;
use crate::error::CallError;

impl Supervisor {
    /// The hub that has the server does not answer. What the server listed stays known; whoever calls is told at once.
    pub(super) fn away(&mut self, error: Arc<CallError>) {
        // What was being tried is given up, and a connection that leads nowhere is not closed with ceremony.
        if let State::Up(up) = std::mem::replace(&mut self.state, State::Idle) {
            up.session.abandon();
            self.handle.listings().failed();
        }
        if !self.handle.is_on() {
            return;
        }
        self.handle.describe(|facts| facts.retry_at = None);
        let status = ServerStatus::Failed(Failure { code: error.code(), message: error.chain() });
        self.handle.set_down(status, Some(Arc::clone(&error)));
        self.publish_unchecked();
        self.tell_status();
        self.handle.subscriptions().outage(&error);
        self.answer_waiting(&Err(error));
    }

    /// The hub answers again.
    pub(super) fn back(&mut self) {
        if !self.handle.is_on() || matches!(self.state, State::Up(_) | State::Connecting(..)) {
            return;
        }
        (self.backoff, self.early_ends) = (Backoff::default(), 0);
        let status = self.handle.switched(true);
        let waits = status == ServerStatus::Pending(PendingReason::Lazy);
        self.state = State::Idle;
        self.set_status(status);
        if !waits {
            self.begin();
        }
    }
}
