//! One stream for all servers of a hub: which there are, whose lists changed, and whether the hub is there at all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use helve::{Host, WeakHost};
use helve_config::ConfiguredHub;
use helve_model::name::PlaceName;
use helve_model::sync::lock;
use helve_model::{ErrorCode, ServerName};
use helve_wire::{Error as WireError, Feed};
use tokio::task::AbortHandle;

use super::hub_list::{self, HubList};
use super::hub_memory::KeptHub;
use super::why;
use crate::setup::Setup;

/// A stream on which nothing is heard for so long is dead: a hub says something every ten seconds.
const SILENCE: Duration = Duration::from_secs(30);

/// How long a hub may take to answer before it counts as away.
const OPENED_WITHIN: Duration = Duration::from_secs(2);

/// Between two attempts: the first, and the longest.
const FIRST_DELAY: Duration = Duration::from_millis(50);
const LONGEST_DELAY: Duration = Duration::from_secs(1);

/// A hub that refuses is asked again after this.
const REFUSED_DELAY: Duration = Duration::from_secs(30);

/// Between two lists that are looked at: a flood of them costs no more.
const GAP: Duration = Duration::from_millis(200);

/// Follows hubs for a host that runs on. Dropped, it follows none.
#[derive(Debug)]
pub struct HubFollower {
    setup: Arc<Setup>,
    host: WeakHost,
    followed: Mutex<BTreeMap<PlaceName, (ConfiguredHub, AbortHandle)>>,
}

/// What is known of the hub that is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Unknown,
    There,
    Away,
}

impl HubFollower {
    /// Follows none yet.
    #[must_use]
    pub fn new(setup: Arc<Setup>, host: &Host) -> Self {
        Self { setup, host: host.downgrade(), followed: Mutex::default() }
    }

    /// Follows exactly these from now on. Within a runtime.
    pub fn follow(&self, hubs: &[ConfiguredHub]) {
        let mut followed = lock(&self.followed);
        followed.retain(|place, (known, task)| {
            let stays = hubs.iter().any(|hub| hub.place == *place && hub.url == known.url);
            if !stays {
                task.abort();
            }
            stays
        });
        for hub in hubs {
            followed.entry(hub.place.clone()).or_insert_with(|| {
                let task = tokio::spawn(follow(Arc::clone(&self.setup), self.host.clone(), hub.clone()));
                (hub.clone(), task.abort_handle())
            });
        }
    }
}

impl Drop for HubFollower {
    fn drop(&mut self) {
        lock(&self.followed).values().for_each(|(_, task)| task.abort());
    }
}

/// Follows one hub until the host is gone.
async fn follow(setup: Arc<Setup>, host: WeakHost, hub: ConfiguredHub) {
    let mut presence = Presence::Unknown;
    let mut delay = FIRST_DELAY;
    loop {
        let ended = match setup.open_feed(&hub, OPENED_WITHIN).await {
            Ok(feed) => {
                delay = FIRST_DELAY;
                let ended = listen(&setup, &host, &hub, feed, &mut presence).await;
                tracing::debug!(hub = %hub.place, error = %ended, "the hub's stream ended");
                // It may only be the stream: whether the hub is there is seen by asking at once.
                match setup.open_feed(&hub, OPENED_WITHIN).await {
                    Ok(feed) => listen(&setup, &host, &hub, feed, &mut presence).await,
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        let Ok(host) = host.upgrade() else { return };
        let is_refused = ended.code() == ErrorCode::AuthRequired;
        let has_no_feed = !is_refused && ended.http_status().is_some_and(|status| !(502..=504).contains(&status));
        if !has_no_feed && presence != Presence::Away {
            presence = Presence::Away;
            let reason = why(&ended);
            host.place_away(&hub.place, &reason);
            note_away(&setup, &hub, reason).await;
        }
        drop(host);
        if is_refused || has_no_feed {
            tokio::time::sleep(REFUSED_DELAY).await;
        } else {
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(LONGEST_DELAY);
        }
    }
}

/// Reads one stream to its end.
async fn listen(
    setup: &Arc<Setup>,
    host: &WeakHost,
    hub: &ConfiguredHub,
    mut feed: Feed,
    presence: &mut Presence,
) -> WireError {
    loop {
        let event = match feed.next(SILENCE).await {
            Ok(event) => event,
            Err(error) => return error,
        };
        if event.kind.as_deref() != Some(hub_list::EVENT) {
            continue;
        }
        let list = match HubList::read(&event.data) {
            Ok(list) => list,
            Err(error) => return error,
        };
        if list.left_out > 0 {
            tracing::warn!(hub = %hub.place, servers = list.left_out, "servers of the hub have no name that can be taken");
        }
        let changed = keep(setup, hub, list).await;
        let Ok(host) = host.upgrade() else { return WireError::new(ErrorCode::Cancelled, "the host has ended") };
        if std::mem::replace(presence, Presence::There) == Presence::Away {
            host.place_back(&hub.place);
        }
        let servers: Vec<ServerName> =
            changed.iter().filter_map(|name| ServerName::placed(&hub.place, name).ok()).collect();
        if !servers.is_empty() {
            // A server that is slow to list delays no other news.
            tokio::spawn(async move { host.lists_changed(&servers).await });
        }
        tokio::time::sleep(GAP).await;
    }
}

/// Keeps what a hub said, aside: nobody waits for a disk.
async fn keep(setup: &Arc<Setup>, hub: &ConfiguredHub, list: HubList) -> Vec<String> {
    let (setup, hub) = (Arc::clone(setup), hub.clone());
    let kept = tokio::task::spawn_blocking(move || {
        let file = setup.kept_hub_file(&hub.place)?;
        Some(KeptHub::keep(&file, &hub.url, &list, setup.environment().now()))
    });
    kept.await.ok().flatten().unwrap_or_default()
}

async fn note_away(setup: &Arc<Setup>, hub: &ConfiguredHub, why: String) {
    let (setup, hub) = (Arc::clone(setup), hub.clone());
    let noted = tokio::task::spawn_blocking(move || {
        if let Some(file) = setup.kept_hub_file(&hub.place) {
            KeptHub::note_away(&file, &hub.url, &why, setup.environment().now());
        }
    });
    // A note that is missed is made next time.
    drop(noted.await);
}
