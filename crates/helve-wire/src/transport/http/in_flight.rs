//! A call on its way over HTTP: told to the peer when nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::dispatch::{Dispatcher, Outlet};
use crate::encode;
use crate::error::Result;
use crate::pending::{Answer, Slot};

/// A request that is cancelled at the peer unless it was answered.
pub(crate) struct InFlight<'link> {
    pub(crate) dispatcher: &'link Dispatcher,
    pub(crate) outlet: &'link Arc<dyn Outlet>,
    pub(crate) id: u64,
    /// Whether the peer wants to be told. A modern server sees that the stream is gone, and wants to hear nothing else.
    pub(crate) tells: bool,
    pub(crate) meta: &'link str,
    pub(crate) sent: &'link AtomicBool,
}

impl InFlight<'_> {
    /// Gives the request up; true when the peer may have begun with it.
    pub(crate) fn abandon(&self) -> bool {
        let sent = self.sent.load(Ordering::Relaxed);
        let is_pending = self.dispatcher.pending.remove(self.id).is_some();
        if is_pending && sent && self.tells {
            self.outlet.send(encode::cancelled(self.id, self.meta));
        }
        sent
    }

    /// How the call ends that could not be sent as it should: another stream may have answered it all the same.
    pub(crate) async fn unless_answered(&self, slot: &Slot, otherwise: Result<Answer>) -> Result<Answer> {
        match self.dispatcher.pending.remove(self.id) {
            Some(_) => otherwise,
            None => Ok(slot.wait().await),
        }
    }

    /// What never reached the peer cannot have run there.
    pub(crate) fn judge(&self, answer: Result<Answer>) -> Result<Answer> {
        match answer {
            Ok(Answer::Failed(error)) if !self.sent.load(Ordering::Relaxed) => {
                Ok(Answer::Failed(error.with_may_have_run(false)))
            }
            answer => answer,
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.abandon();
    }
}
