//! Events that nobody has read yet: in order, bounded, and cheap to drop, however long nobody reads.
//!
//! Of events that nobody reads, the oldest notifications go first. Answers and questions stand in a queue of their own, so
//! that nobody has to look past them, and what was dropped leaves nothing behind.

use std::collections::VecDeque;

use crate::message::{Kind, Message};

/// What an event costs beside its own bytes.
const BESIDES: usize = size_of::<Waits>();

/// The queue.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    notifications: VecDeque<Waits>,
    /// Answers and questions, which are never dropped.
    others: VecDeque<Waits>,
    /// How many ever came.
    came: u64,
    bytes: usize,
    /// Of answers and questions alone.
    kept_bytes: usize,
}

#[derive(Debug)]
struct Waits {
    /// Its place among all that ever came.
    place: u64,
    message: Message,
}

impl Waiting {
    /// Takes a message; when there are more than so many bytes, the oldest notifications go.
    pub(super) fn push(&mut self, message: Message, limit: usize) {
        self.came += 1;
        let waits = Waits { place: self.came, message };
        self.bytes += waits.cost();
        if waits.message.kind() == Kind::Notification {
            self.notifications.push_back(waits);
        } else {
            self.kept_bytes += waits.cost();
            self.others.push_back(waits);
        }
        while self.bytes > limit {
            let Some(oldest) = self.notifications.pop_front() else { break };
            self.bytes -= oldest.cost();
        }
    }

    /// The next message in the order in which they came.
    pub(super) fn pop(&mut self) -> Option<Message> {
        let place = |queue: &VecDeque<Waits>| queue.front().map_or(u64::MAX, |waits| waits.place);
        let is_notification = place(&self.notifications) < place(&self.others);
        let waits = if is_notification { self.notifications.pop_front() } else { self.others.pop_front() }?;
        self.bytes -= waits.cost();
        if !is_notification {
            self.kept_bytes -= waits.cost();
        }
        Some(waits.message)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.notifications.is_empty() && self.others.is_empty()
    }

    /// Does an answer or a question wait?
    pub(super) fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    /// All that is held, with what it costs to hold it.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// True when more than one answer or question waits, and all of them are more than so many bytes.
    pub(super) fn is_overfull(&self, limit: usize) -> bool {
        self.others.len() > 1 && self.kept_bytes > limit
    }

    /// How many wait.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.notifications.len() + self.others.len()
    }
}

impl Waits {
    const fn cost(&self) -> usize {
        self.message.len() + BESIDES
    }
}
