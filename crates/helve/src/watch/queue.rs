//! The events that wait for their owner: one of each watch, the newest, in the order in which they first came.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use tokio::sync::Notify;

use super::{WatchEvent, WatchId};
use crate::sync::lock;

#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

#[derive(Default)]
struct Waiting {
    order: VecDeque<WatchId>,
    events: HashMap<WatchId, WatchEvent>,
}

impl Queue {
    /// Puts an event in; one of the same watch that nobody has taken yet is superseded.
    pub(super) fn push(&self, mut event: WatchEvent) {
        {
            let mut waiting = lock(&self.waiting);
            match waiting.events.get(&event.id) {
                Some(older) => event.superseded = older.superseded + 1,
                None => waiting.order.push_back(event.id),
            }
            waiting.events.insert(event.id, event);
        }
        self.arrived.notify_one();
    }

    pub(super) async fn next(&self) -> WatchEvent {
        loop {
            let arrived = self.arrived.notified();
            if let Some(event) = self.try_next() {
                return event;
            }
            arrived.await;
        }
    }

    pub(super) fn try_next(&self) -> Option<WatchEvent> {
        let mut waiting = lock(&self.waiting);
        loop {
            let id = waiting.order.pop_front()?;
            if let Some(event) = waiting.events.remove(&id) {
                if !waiting.order.is_empty() {
                    // Another one who waits must not sleep on it.
                    self.arrived.notify_one();
                }
                return Some(event);
            }
        }
    }

    /// Nobody wants to hear of this watch any more.
    pub(super) fn forget(&self, id: WatchId) {
        lock(&self.waiting).events.remove(&id);
    }
}
