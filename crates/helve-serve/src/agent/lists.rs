//! What an agent knows of its lists, and when it hears that they are others: never twice for one change, never of a list that
//! is the same for it, and not again before it has looked.

use std::sync::{Arc, Weak};
use std::time::Duration;

use helve::Answerer as _;
use helve_model::sync::lock;
use tokio::time::Instant;

use super::Agent;
use crate::change_notices::{ChangeNotice, Listener, Notification};
use crate::gate;
use crate::message::Message;

/// Changes of a list within this time are told at once, and once more at its end.
const GATHERED: Duration = Duration::from_millis(500);

/// What an agent knows of changed lists.
#[derive(Default)]
pub(super) struct Told {
    /// The list of tools that it got or was told of last: see [`crate::catalog::Catalog::listed`].
    tools: Option<u64>,
    /// It heard that its list is out of date, and has not asked for a new one since: to hear it again tells it nothing.
    knows_of_change: bool,
    /// When it was last told of each list, and whether it will be told once more.
    lists: [(Option<Instant>, bool); 3],
}

impl Agent {
    /// It gets this list of tools, and knows of it from then on.
    pub(crate) fn lists(&self, listed: u64) {
        let mut told = lock(&self.told);
        (told.tools, told.knows_of_change) = (Some(listed), false);
    }

    /// The list of tools that it got or was told of last.
    pub(crate) fn listed(&self) -> Option<u64> {
        lock(&self.told).tools
    }

    /// Before it has asked for a list, it counts as knowing the one of now.
    pub(super) fn knows_of_list(&self) {
        if let Some(now) = self.listed_now() {
            lock(&self.told).tools.get_or_insert(now);
        }
    }

    /// The list of tools that it would get now; `None` when there is nobody to say.
    pub(super) fn listed_now(&self) -> Option<u64> {
        let gateway = self.gateway.get().and_then(Weak::upgrade)?;
        Some(self.catalog(&gateway).listed(gateway.options.discovery))
    }

    /// Tells it that a list has changed, if it has changed for this agent.
    fn announce(&self, news: ChangeNotice) {
        let hears = {
            let state = lock(&self.state);
            state.version.is_some() && !state.has_ended
        };
        let is_news = || {
            let now = self.listed_now();
            let mut told = lock(&self.told);
            let is_other = now.is_none() || told.tools != now;
            told.tools = now;
            let is_news = is_other && !told.knows_of_change;
            if is_news {
                // What nobody reads now may never be heard.
                told.knows_of_change = self.standalone.is_heard();
            }
            is_news
        };
        if hears && (news != ChangeNotice::Tools || is_news()) {
            self.standalone.send(Message::notification(news.method(), None));
        }
    }
}

impl Listener for Agent {
    fn hear(self: Arc<Self>, news: ChangeNotice) {
        let wait = {
            let mut told = lock(&self.told);
            let Some((last, is_coming)) = told.lists.get_mut(news as usize) else { return };
            let wait = last.map_or(Duration::ZERO, |last| GATHERED.saturating_sub(last.elapsed()));
            if std::mem::replace(is_coming, !wait.is_zero()) {
                return;
            }
            if wait.is_zero() {
                *last = Some(Instant::now());
            }
            wait
        };
        if wait.is_zero() {
            return self.announce(news);
        }
        let agent = Arc::downgrade(&self);
        tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            let Some(agent) = agent.upgrade() else { return };
            if let Some(list) = lock(&agent.told).lists.get_mut(news as usize) {
                *list = (Some(Instant::now()), false);
            }
            agent.announce(news);
        });
    }

    fn hear_notification(&self, notification: &Notification) {
        // An agent that cannot be sent to a page is not told that a visit is over.
        if gate::is_about_a_page(&notification.method) && !self.capabilities().elicitation_url {
            return;
        }
        let hears = {
            let state = lock(&self.state);
            state.version.is_some() && !state.has_ended
        };
        let params = self.tasks.get().filter(|_| hears).and_then(|tasks| tasks.notice(&self.principal, notification));
        if let Some(params) = &params {
            self.open_tasks.hear(params);
        }
        // It may belong to a call that is open; if not, the agent hears it all the same.
        if let Some(params) = params
            && let Some(stream) = self.nearest_stream()
        {
            stream.send(Message::notification(&notification.method, Some(&params)));
        }
    }
}
