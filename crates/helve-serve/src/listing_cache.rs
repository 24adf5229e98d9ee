//! What each server lists of one kind, asked so that one that does not answer keeps nobody waiting for the others.
//!
//! A list waits for every server a little while. A server that has not answered then is in the list as it was known before, is not
//! asked or waited for again until it answers, and is announced if its answer brings something new.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use helve::{Host, Offered, Offers};
use helve_model::ServerName;
use helve_model::json::RawJson;
use helve_wire::BoxFuture;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::catalog::shortest;
use crate::change_notices::ChangeNotice;
use crate::gateway::LISTED_WITHIN;
use helve_model::sync::lock;

/// What servers list of one kind.
pub(crate) struct ListingCache<D>(Mutex<HashMap<ServerName, Slot<D>>>);

/// A list as it was given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ServerListing<D> {
    pub(crate) items: Vec<Offered<D>>,
    /// What was said with it, as an object.
    pub(crate) more: Option<RawJson>,
    /// How long it counts, where somebody says so.
    pub(crate) count_for: Option<Duration>,
}

/// What one server lists.
struct Slot<D> {
    known: ServerListing<D>,
    /// It is being asked: closed when it has answered.
    asking: Option<watch::Receiver<()>>,
    /// The current question; the answer to an earlier one does not count.
    question: u64,
    /// Something changed since it was asked.
    is_outdated: bool,
    /// Nobody waits for the answer any more.
    is_late: bool,
}

/// Tells agents that a list has changed.
pub(crate) trait Announcer: Send + Sync + 'static {
    /// A server has answered after all.
    fn announce(&self, news: ChangeNotice);
}

/// Asks these servers, and gives what is known of them after a little while, in their order.
pub(crate) async fn read<S: Announcer, D: Clone + PartialEq + Send + Sync + 'static>(
    listings: &Arc<S>,
    cache: fn(&S) -> &ListingCache<D>,
    host: &Host,
    servers: &[ServerName],
    news: ChangeNotice,
    ask: fn(Host, ServerName) -> BoxFuture<'static, ServerListing<D>>,
) -> ServerListing<D> {
    let mut waited_for = Vec::new();
    for server in servers {
        let (question, done) = match cache(listings).next_question(server) {
            Next::Ask(question, done, asking) => {
                waited_for.push(asking);
                (question, done)
            }
            Next::Wait(asking) => {
                waited_for.push(asking);
                continue;
            }
            Next::Nothing => continue,
        };
        let (listings, answer, server) = (Arc::clone(listings), ask(host.clone(), server.clone()), server.clone());
        // A task of its own: whoever asks may go, and the answer is wanted all the same.
        tokio::spawn(async move {
            let answer = answer.await;
            let is_news = cache(&listings).take(&server, question, answer);
            drop(done);
            if is_news {
                listings.announce(news);
            }
        });
    }
    let answers = waited_for.iter_mut().map(|asking| async { while asking.changed().await.is_ok() {} });
    // A late server is announced.
    drop(timeout(LISTED_WITHIN, join_all(answers)).await);
    cache(listings).known(servers)
}

/// What is to be done to know what a server lists now.
enum Next {
    Ask(u64, watch::Sender<()>, watch::Receiver<()>),
    /// Somebody asks already.
    Wait(watch::Receiver<()>),
    /// It did not answer in time before.
    Nothing,
}

impl<D: Clone + PartialEq> ListingCache<D> {
    fn next_question(&self, server: &ServerName) -> Next {
        let mut slots = lock(&self.0);
        let slot = slots.entry(server.clone()).or_default();
        match &slot.asking {
            Some(_) if slot.is_late => return Next::Nothing,
            Some(asking) if !slot.is_outdated => return Next::Wait(asking.clone()),
            _ => {}
        }
        let (done, asking) = watch::channel(());
        slot.asking = Some(asking.clone());
        slot.question += 1;
        slot.is_outdated = false;
        Next::Ask(slot.question, done, asking)
    }

    /// A server has answered. True when agents have to hear of it: they got another list meanwhile.
    fn take(&self, server: &ServerName, question: u64, answer: ServerListing<D>) -> bool {
        let mut slots = lock(&self.0);
        let Some(slot) = slots.get_mut(server).filter(|slot| slot.question == question) else { return false };
        let is_news = slot.is_late && slot.known != answer;
        slot.known = answer;
        slot.asking = None;
        slot.is_late = false;
        is_news
    }

    /// What is known of these servers. A server that is still being asked is late from now on.
    fn known(&self, servers: &[ServerName]) -> ServerListing<D> {
        let mut slots = lock(&self.0);
        let mut known = ServerListing::default();
        let mut said = Vec::new();
        for server in servers {
            if let Some(slot) = slots.get_mut(server) {
                said.push(slot.known.count_for);
                slot.is_late = slot.asking.is_some();
                known.items.extend(slot.known.items.iter().cloned());
                known.more.clone_from(&slot.known.more);
            }
        }
        known.count_for = shortest(said.into_iter());
        known
    }

    /// Something has changed: an answer that is on its way may be old.
    pub(crate) fn outdate(&self) {
        lock(&self.0).values_mut().for_each(|slot| slot.is_outdated = true);
    }
}

impl<D> Default for ListingCache<D> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<D> Default for ServerListing<D> {
    fn default() -> Self {
        Self { items: Vec::new(), more: None, count_for: None }
    }
}

impl<D> From<Offers<D>> for ServerListing<D> {
    /// Of one server.
    fn from(offers: Offers<D>) -> Self {
        let more = offers.more.into_iter().next().map(|(_, more)| more);
        let count_for = offers.count_for.into_iter().next().map(|(_, count_for)| count_for);
        Self { items: offers.items, more, count_for }
    }
}

impl<D> Default for Slot<D> {
    fn default() -> Self {
        Self { known: ServerListing::default(), asking: None, question: 0, is_outdated: false, is_late: false }
    }
}
