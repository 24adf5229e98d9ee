//! Whose request is next on the thread that all of them share.
//!
//! One principal gets so many requests begun at a time; then whatever else is ready has its turn. However many requests a
//! principal sends, by however many connections, another one waits for one round at most.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::principal::Principal;
use helve_model::sync::lock;

/// Requests of one principal that begin at once, and for how long they count; further ones begin in rounds.
const AT_ONCE: usize = 16;
const AT_ONCE_TIME: Duration = Duration::from_millis(1);

/// Requests of one principal that begin in one round. After each round everything that is ready has its turn.
const ROUND: usize = 4;

/// The rounds. Cheap to clone; every clone is the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pace(Arc<Mutex<Rounds>>);

/// Whose requests are counted together: a principal's, or those of all who may not come in.
type Who = Option<Principal>;

#[derive(Debug, Default)]
struct Rounds {
    began: Option<Instant>,
    /// What was begun at once since then.
    begun: HashMap<Who, usize>,
    waiting: HashMap<Who, VecDeque<oneshot::Sender<()>>>,
    /// Somebody goes from round to round.
    is_going: bool,
}

impl Pace {
    /// Returns when a request may begin. Cancel safe.
    pub(crate) async fn enter(&self, who: &Who) {
        let waits = {
            let mut rounds = lock(&self.0);
            if rounds.may_begin(who) {
                return;
            }
            let (begins, waits) = oneshot::channel();
            rounds.waiting.entry(who.clone()).or_default().push_back(begins);
            if !std::mem::replace(&mut rounds.is_going, true) {
                drop(tokio::spawn(go_round(self.clone())));
            }
            waits
        };
        // The sender is dropped only where everything ends.
        let _: Result<(), oneshot::error::RecvError> = waits.await;
    }
}

impl Rounds {
    fn may_begin(&mut self, who: &Who) -> bool {
        if self.waiting.contains_key(who) {
            return false;
        }
        let now = Instant::now();
        if self.began.is_none_or(|began| now - began > AT_ONCE_TIME) {
            self.began = Some(now);
            self.begun.clear();
        }
        let begun = self.begun.entry(who.clone()).or_default();
        let may = *begun < AT_ONCE;
        *begun += usize::from(may);
        may
    }

    /// Those who begin in the next round.
    fn next(&mut self) -> Vec<oneshot::Sender<()>> {
        let next_of = |waiting: &mut VecDeque<oneshot::Sender<()>>| -> Vec<oneshot::Sender<()>> {
            waiting.retain(|waits| !waits.is_closed());
            waiting.drain(..waiting.len().min(ROUND)).collect()
        };
        let begin: Vec<oneshot::Sender<()>> = self.waiting.values_mut().flat_map(next_of).collect();
        self.waiting.retain(|_, waiting| !waiting.is_empty());
        self.is_going = !begin.is_empty();
        begin
    }
}

/// Begins one round after another, for as long as somebody waits.
async fn go_round(pace: Pace) {
    loop {
        behind_the_others().await;
        let begin = lock(&pace.0).next();
        if begin.is_empty() {
            return;
        }
        // One that has gone meanwhile needs no place.
        for begins in begin {
            let _: Result<(), ()> = begins.send(());
        }
    }
}

/// Waits until every task that is ready now has had its turn.
pub async fn behind_the_others() {
    let mut has_waited = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
