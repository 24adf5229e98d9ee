//! How many calls may be on their way to one server.
//!
//! A call that waits for a person holds no slot. A server does not always say which of its calls asks, so each question
//! that it has open makes room for one more call.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

/// The slots of one server.
#[derive(Debug)]
pub(crate) struct Slots {
    free: Semaphore,
    /// Slots that were lent for a question and were taken when it was answered: the next calls to end give them back.
    owed: AtomicUsize,
}

/// One call's slot.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    slots: &'a Slots,
    permit: Option<SemaphorePermit<'a>>,
}

/// A question that is being answered.
#[derive(Debug)]
pub(crate) struct OpenQuestion<'a>(&'a Slots);

impl Slots {
    pub(crate) fn new(at_once: usize) -> Self {
        Self { free: Semaphore::new(at_once.clamp(1, Semaphore::MAX_PERMITS)), owed: AtomicUsize::new(0) }
    }

    /// A slot, as soon as there is one; `None` when that takes too long. Cancel safe.
    pub(crate) async fn take(&self, deadline: Instant) -> Option<Slot<'_>> {
        let permit = match self.free.try_acquire() {
            Ok(permit) => permit,
            Err(_) => timeout_at(deadline, self.free.acquire()).await.ok()?.ok()?,
        };
        Some(Slot { slots: self, permit: Some(permit) })
    }

    /// The server asks something: until it is answered, one more call may be on its way.
    pub(crate) fn question(&self) -> OpenQuestion<'_> {
        self.free.add_permits(1);
        OpenQuestion(self)
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        match self.0.free.try_acquire() {
            Ok(lent) => lent.forget(),
            Err(_) => drop(self.0.owed.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let pays = || {
            let one_less = |owed: usize| owed.checked_sub(1);
            self.slots.owed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
        };
        if self.slots.owed.load(Ordering::Relaxed) > 0
            && pays()
            && let Some(permit) = self.permit.take()
        {
            permit.forget();
        }
    }
}

#[cfg(test)]
#[path = "slots_tests.rs"]
mod tests;
