//! What happens in the host and concerns agents that did not ask: changed lists.

use helve_model::protocol::notifications;
use std::sync::{Arc, Mutex, Weak};

use helve::{Events, HostEvent};
use helve_model::ServerName;
use helve_model::json::RawJson;

use crate::catalog::Catalog;
use crate::gate;
use crate::gateway::Gateway;
use helve_model::sync::lock;

/// A list that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeNotice {
    Tools,
    Resources,
    Prompts,
}

/// Somebody to tell.
pub(crate) trait Listener: Send + Sync {
    /// Called for everything; picks what is of interest. Must not block.
    fn hear(self: Arc<Self>, news: ChangeNotice);

    /// A server says something that is none of the protocol's news. Must not block.
    fn hear_notification(&self, notification: &Notification) {
        let _: &Notification = notification;
    }
}

/// What a server says without being asked, in its own words.
#[derive(Debug)]
pub(crate) struct Notification {
    pub(crate) server: ServerName,
    pub(crate) method: String,
    pub(crate) params: RawJson,
}

/// All who listen; they leave by being dropped.
#[derive(Default)]
pub(crate) struct Listeners(Mutex<Listening>);

#[derive(Default)]
struct Listening {
    all: Vec<Weak<dyn Listener>>,
    /// Those who left are looked for when there are so many: each look costs no more than what came since the last.
    looked_at: usize,
}

impl ChangeNotice {
    pub(crate) const fn method(self) -> &'static str {
        match self {
            Self::Tools => notifications::TOOLS_LIST_CHANGED,
            Self::Resources => notifications::RESOURCES_LIST_CHANGED,
            Self::Prompts => notifications::PROMPTS_LIST_CHANGED,
        }
    }
}

impl Listeners {
    pub(crate) fn add(&self, listener: &Arc<impl Listener + 'static>) {
        let listener: Weak<dyn Listener> = Arc::downgrade(listener) as Weak<dyn Listener>;
        let mut listening = lock(&self.0);
        if listening.all.len() >= listening.looked_at {
            listening.all.retain(|listener| listener.strong_count() > 0);
            listening.looked_at = listening.all.len() * 2 + 16;
        }
        listening.all.push(listener);
    }

    pub(crate) fn tell(&self, news: ChangeNotice) {
        self.all().into_iter().for_each(|listener| listener.hear(news));
    }

    /// Passes on what a server says.
    pub(crate) fn pass_on(&self, notification: &Notification) {
        self.all().iter().for_each(|listener| listener.hear_notification(notification));
    }

    /// Nobody is told while the list is locked: hearing may do anything.
    fn all(&self) -> Vec<Arc<dyn Listener>> {
        lock(&self.0).all.iter().filter_map(Weak::upgrade).collect()
    }
}

/// Passes on what happens, for as long as there is a gateway. `seen` is what agents saw before all of these events.
pub(crate) async fn pass_on(gateway: Weak<Gateway>, mut seen: Arc<Catalog>, mut events: Events) {
    while let Some(event) = events.next().await {
        let Some(gateway) = gateway.upgrade() else { return };
        match event {
            HostEvent::Catalog { .. } | HostEvent::Lost(_) => {
                let now = gateway.catalog();
                if now.tool_list != seen.tool_list {
                    gateway.listeners.tell(ChangeNotice::Tools);
                }
                // Rules may have changed with it.
                gateway.offer_index.forget();
                if now.servers != seen.servers {
                    gateway.listeners.tell(ChangeNotice::Resources);
                    gateway.listeners.tell(ChangeNotice::Prompts);
                }
                seen = now;
            }
            HostEvent::ResourcesChanged { .. } => {
                gateway.offer_index.forget();
                gateway.listeners.tell(ChangeNotice::Resources);
            }
            HostEvent::PromptsChanged { .. } => {
                gateway.offer_index.forget();
                gateway.listeners.tell(ChangeNotice::Prompts);
            }
            // Of a server that agents share, what names no request is nobody's; but each agent knows which tasks are its.
            HostEvent::Notification { server, method, params }
                if (gateway.has_one_agent() || (gateway.may_be_shared(&server) && gate::is_about_a_task(&method)))
                    && gate::is_heard(&gateway.host, &server, &method, &params) =>
            {
                gateway.listeners.pass_on(&Notification { server, method, params });
            }
            _ => {}
        }
    }
}

impl std::fmt::Debug for Listeners {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Listeners").field(&lock(&self.0).all.len()).finish()
    }
}
