//! When a server listed its tools, and whether it has to be asked again.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// How old the list of a server's tools may be.
#[derive(Debug, Clone, Copy)]
pub enum ListAge {
    /// As old as the server says; where it does not say, this old.
    AsServersSay(Duration),
    /// This old, whatever the server says.
    AtMost(Duration),
}

/// What is known of one server's lists.
#[derive(Debug, Default)]
pub(crate) struct Listings(watch::Sender<Known>);

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// How often it has listed, or could not.
    ended: u64,
    /// When the last good list was asked for, and how long the server says that it counts.
    last: Option<(Instant, Option<Duration>)>,
    /// Since when it is being asked.
    asked: Option<Instant>,
}

/// A list that is to come.
pub(crate) struct Coming {
    listings: watch::Receiver<Known>,
    ended: u64,
    /// Nobody has asked for it yet.
    pub(crate) is_first: bool,
}

impl Listings {
    /// The server is being asked.
    pub(crate) fn asked(&self) {
        self.0.send_modify(|known| known.asked = Some(Instant::now()));
    }

    /// The server has listed its tools, which count for so long.
    pub(crate) fn listed(&self, count_for: Option<Duration>) {
        self.0.send_modify(|known| {
            known.ended += 1;
            known.last = Some((known.asked.take().unwrap_or_else(Instant::now), count_for));
        });
    }

    /// The server could not list them, or is gone.
    pub(crate) fn failed(&self) {
        self.0.send_modify(|known| {
            known.ended += 1;
            known.asked = None;
        });
    }

    /// How long the list counts from now on, where the server said how long it counts.
    pub(crate) fn count_for(&self) -> Option<Duration> {
        let (asked, count_for) = self.0.borrow().last?;
        count_for.map(|count_for| count_for.saturating_sub(asked.elapsed()))
    }

    /// What to wait for where the list is older than it may be; not for a server that kept others waiting for so long.
    pub(crate) fn wanted(&self, age: ListAge, patience: Duration) -> Option<Coming> {
        let listings = self.0.subscribe();
        let Known { ended, last, asked } = *listings.borrow();
        let is_good = last.is_some_and(|(at, count_for)| match age {
            ListAge::AsServersSay(otherwise) => at.elapsed() < count_for.unwrap_or(otherwise),
            ListAge::AtMost(age) => at.elapsed() < age,
        });
        let keeps_waiting = asked.is_some_and(|asked| asked.elapsed() > patience);
        (!is_good && !keeps_waiting).then_some(Coming { listings, ended, is_first: asked.is_none() })
    }
}

impl Coming {
    /// Waits until it has come, or cannot come. Cancel safe.
    pub(crate) async fn ended(mut self, within: Duration) {
        // The sender lives as long as the server's handle, and whoever waits holds that.
        drop(timeout(within, self.listings.wait_for(|known| known.ended > self.ended)).await);
    }
}
