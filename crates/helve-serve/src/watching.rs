//! The resources that one agent, or one stream of it, wants to hear about: subscriptions at the servers that have them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use helve::{Host, WatchChange, WatchFilter, Watcher};
use helve_model::ServerName;
use helve_model::json::{ObjectWriter, RawJson};
use helve_wire::RpcError;
use tokio::task::AbortHandle;

use crate::offer_index::Place;
use crate::refusal;
use helve_model::sync::lock;

/// Resources that one agent, or one stream of it, may watch.
const MOST_WATCHED: usize = 1_024;

/// Called with the parameters of `notifications/resources/updated`.
pub(crate) type OnUpdate = Arc<dyn Fn(&RawJson) + Send + Sync>;

/// What is watched. Everything ends with it.
pub(crate) struct Watching {
    on_update: OnUpdate,
    servers: Mutex<HashMap<ServerName, Watched>>,
}

/// What is watched at one server.
struct Watched {
    watcher: Watcher,
    /// The URIs as the agent knows them, by the server's own.
    served: Arc<Mutex<HashMap<String, String>>>,
    task: AbortHandle,
}

impl Watching {
    pub(crate) fn new(on_update: OnUpdate) -> Self {
        Self { on_update, servers: Mutex::default() }
    }

    /// Begins to watch a resource, which the agent calls `uri`.
    pub(crate) async fn add(&self, host: &Host, place: &Place, uri: &str) -> Result<(), RpcError> {
        let watcher = {
            let mut servers = lock(&self.servers);
            let is_known = |watched: &Watched| lock(&watched.served).contains_key(&place.name);
            let count: usize = servers.values().map(|watched| lock(&watched.served).len()).sum();
            if count >= MOST_WATCHED && !servers.get(&place.server).is_some_and(is_known) {
                return Err(refusal::too_many(format!("no more than {MOST_WATCHED} resources are watched at once")));
            }
            let watched = servers.entry(place.server.clone()).or_insert_with(|| self.watch(host));
            lock(&watched.served).insert(place.name.clone(), uri.to_owned());
            watched.watcher.clone()
        };
        let subscribed = watcher.subscribe(place.server.as_str(), &place.name, "").await;
        subscribed.map(drop).map_err(|error| refusal::of_call(&error))
    }

    /// True when nothing is watched.
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.servers).values().all(|watched| lock(&watched.served).is_empty())
    }

    /// The servers at which something is watched.
    pub(crate) fn servers(&self) -> Vec<ServerName> {
        let servers = lock(&self.servers);
        let watched = servers.iter().filter(|(_, watched)| !lock(&watched.served).is_empty());
        watched.map(|(server, _)| server.clone()).collect()
    }

    /// Watches a resource no longer.
    pub(crate) fn remove(&self, place: &Place) {
        if let Some(watched) = lock(&self.servers).get(&place.server) {
            watched.watcher.end(&WatchFilter { target: Some(place.name.clone()), ..WatchFilter::default() });
            drop(lock(&watched.served).remove(&place.name));
        }
    }

    fn watch(&self, host: &Host) -> Watched {
        let watcher = host.watcher();
        let served: Arc<Mutex<HashMap<String, String>>> = Arc::default();
        let (on_update, names, events) = (Arc::clone(&self.on_update), Arc::clone(&served), watcher.clone());
        let task = tokio::spawn(async move {
            loop {
                let event = events.next().await;
                let Some(uri) = lock(&names).get(&event.target).cloned() else { continue };
                match event.change {
                    WatchChange::Updated(params) if params.check().is_ok() => on_update(&as_served(&params, &uri)),
                    WatchChange::MayHaveChanged => on_update(&as_served(&RawJson::empty_object(), &uri)),
                    _ => {}
                }
            }
        });
        Watched { watcher, served, task: task.abort_handle() }
    }
}

/// The parameters of an update with the URI that the agent knows, and without what the server says about its own
/// subscription.
fn as_served(params: &RawJson, uri: &str) -> RawJson {
    let served = ObjectWriter::new().text("uri", uri);
    served.members_of(params, |key| !matches!(key, "uri" | "_meta")).finish()
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.task.abort();
        self.watcher.end(&WatchFilter::default());
    }
}

impl fmt::Debug for Watching {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Watching").field("servers", &lock(&self.servers).len()).finish_non_exhaustive()
    }
}
