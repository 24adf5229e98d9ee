//! The events that wait for their owner: of each watch the newest change and the trouble behind it, in the order in which
//! they first came, and not faster than anybody can make use of.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::{WatchChange, WatchEvent, WatchId};
use helve_model::sync::lock;

/// Between two events of one watch there is at least so much time: what comes meanwhile is one event at its end.
pub(super) const SHORTEST_GAP: Duration = Duration::from_millis(100);

#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

#[derive(Default)]
struct Waiting {
    /// Those with something to tell.
    order: VecDeque<WatchId>,
    /// Those with something to tell, and too soon.
    resting: BTreeSet<(Instant, WatchId)>,
    slots: HashMap<WatchId, Slot>,
}

/// What waits of one watch.
#[derive(Default)]
struct Slot {
    change: Option<WatchEvent>,
    /// It failed or ended after that. What it tells is not a reason to lose a change.
    trouble: Option<WatchEvent>,
    rests_until: Option<Instant>,
}

enum Next {
    Event(WatchEvent),
    NotBefore(Instant),
    Nothing,
}

impl Queue {
    /// Puts an event in; one of the same watch that nobody has taken yet is superseded.
    pub(super) fn push(&self, mut event: WatchEvent) {
        {
            let mut waiting = lock(&self.waiting);
            let Waiting { order, resting, slots } = &mut *waiting;
            let slot = slots.entry(event.id).or_default();
            if slot.is_empty() {
                match slot.rests_until.filter(|end| *end > Instant::now()) {
                    Some(end) => drop(resting.insert((end, event.id))),
                    None => order.push_back(event.id),
                }
            }
            let place = if event.is_trouble() {
                &mut slot.trouble
            } else {
                // It goes well again.
                event.superseded = slot.trouble.take().map_or(0, |trouble| trouble.superseded + 1);
                &mut slot.change
            };
            event.superseded += place.as_ref().map_or(0, |older| older.superseded + 1);
            *place = Some(event);
        }
        self.arrived.notify_one();
    }

    pub(super) async fn next(&self) -> WatchEvent {
        loop {
            let arrived = self.arrived.notified();
            match self.take() {
                Next::Event(event) => return event,
                Next::NotBefore(end) => {
                    tokio::select! {
                        () = arrived => {}
                        () = sleep_until(end) => {}
                    }
                }
                Next::Nothing => arrived.await,
            }
        }
    }

    pub(super) fn try_next(&self) -> Option<WatchEvent> {
        if let Next::Event(event) = self.take() { Some(event) } else { None }
    }

    fn take(&self) -> Next {
        let now = Instant::now();
        let mut waiting = lock(&self.waiting);
        let Waiting { order, resting, slots } = &mut *waiting;
        while resting.first().is_some_and(|(end, _)| *end <= now) {
            order.extend(resting.pop_first().map(|(_, id)| id));
        }
        while let Some(id) = order.pop_front() {
            let Some(slot) = slots.get_mut(&id) else { continue };
            let Some(event) = slot.change.take().or_else(|| slot.trouble.take()) else { continue };
            if matches!(event.change, WatchChange::Ended(_)) {
                slots.remove(&id);
            } else if slot.is_empty() {
                slot.rests_until = Some(now + SHORTEST_GAP);
            } else {
                // What went wrong after a change is told with it.
                order.push_front(id);
            }
            if !order.is_empty() || !resting.is_empty() {
                // Another one who waits must not sleep on it.
                self.arrived.notify_one();
            }
            return Next::Event(event);
        }
        resting.first().map_or(Next::Nothing, |(end, _)| Next::NotBefore(*end))
    }

    /// Nobody wants to hear of this watch any more.
    pub(super) fn forget(&self, id: WatchId) {
        let mut waiting = lock(&self.waiting);
        if let Some(end) = waiting.slots.remove(&id).and_then(|slot| slot.rests_until) {
            waiting.resting.remove(&(end, id));
        }
    }
}

impl Slot {
    const fn is_empty(&self) -> bool {
        self.change.is_none() && self.trouble.is_none()
    }
}

impl WatchEvent {
    const fn is_trouble(&self) -> bool {
        matches!(self.change, WatchChange::Failed(_) | WatchChange::Ended(_))
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
