//! What a host remembers of earlier runs: each server's tools and what it speaks. The files are `schema_cache`'s.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use helve_model::{ServerSpec, ToolDefinition};
use helve_wire::{ClientCapabilities, Greeting, Listing, NegotiatedVersion};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::catalog::{Listed, ServerCatalog};
use crate::schema_cache::SchemaCache;
use crate::settings::{HostSettings, Surroundings};
use helve_model::sync::lock;

/// Lists that are read or written at once. Each takes a thread, and a hundred servers come at the same moment.
const AT_ONCE: usize = 4;

/// How long the list of a hub's server is shown: whether it is still true is heard from the hub, and while that is away it is
/// all there is.
const OF_HUBS: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Kept lists, and how long they count.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    cache: Arc<SchemaCache>,
    ttl: Duration,
    /// Lists count although their servers would rather be asked again.
    shows_aged: bool,
    clock: fn() -> SystemTime,
    turns: Arc<Semaphore>,
    /// What is being written.
    writes: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

/// What is remembered of a server.
#[derive(Debug)]
pub(crate) struct Remembered {
    /// What it said about itself, if that still counts.
    pub(crate) greeting: Option<Greeting>,
    pub(crate) negotiated: NegotiatedVersion,
    /// Its tools, if they still count.
    pub(crate) catalog: Option<Arc<ServerCatalog>>,
}

impl Memory {
    /// `None` when nothing is to be kept, or the directory cannot be used: a host works without.
    pub(crate) fn open(settings: &HostSettings, surroundings: &Surroundings) -> Option<Self> {
        let ttl = settings.schema_cache_ttl?;
        let directory = surroundings.cache_directory.clone()?;
        match SchemaCache::open(directory, surroundings.working_directory.clone()) {
            Ok(cache) => Some(Self {
                cache: Arc::new(cache),
                ttl,
                shows_aged: settings.shows_aged_lists,
                clock: surroundings.clock,
                turns: Arc::new(Semaphore::new(AT_ONCE)),
                writes: Arc::default(),
            }),
            Err(error) => {
                tracing::warn!("tool lists are not kept: {error}");
                None
            }
        }
    }

    /// What an earlier run found out about a server, for one who can do the same.
    pub(crate) async fn recall(&self, spec: Arc<ServerSpec>, asker: ClientCapabilities) -> Option<Remembered> {
        let memory = self.clone();
        let is_of_hub = spec.name.place().is_some();
        let ttl = if is_of_hub { OF_HUBS } else { self.ttl };
        let load = move || memory.cache.load(&memory.cache.key(&spec, &asker), (memory.clock)(), ttl);
        let kept = self.in_turn(load).await??;
        let instructions = kept.greeting.instructions.clone();
        let tools = kept.tools.into_iter().map(Listed::Remote).collect();
        let age = (self.clock)().duration_since(kept.stored_at).ok();
        let is_shown = kept.is_fresh || ((self.shows_aged || is_of_hub) && age.is_some_and(|age| age < ttl));
        let catalog = is_shown.then(|| Arc::new(ServerCatalog { tools, instructions, more: None, from_cache: true }));
        let negotiated = kept.greeting.negotiated.clone();
        Some(Remembered { negotiated, greeting: kept.is_fresh.then_some(kept.greeting), catalog })
    }

    /// Keeps what a server listed for this asker. Done aside: nobody waits for a disk.
    pub(crate) fn keep(
        &self,
        spec: Arc<ServerSpec>,
        asker: ClientCapabilities,
        greeting: Greeting,
        listing: &Listing<ToolDefinition>,
    ) {
        let (memory, tools, hint) = (self.clone(), listing.items.clone(), listing.cache);
        let turns = self.clone();
        let store = move || {
            let key = memory.cache.key(&spec, &asker);
            if let Err(error) = memory.cache.store(&key, &greeting, &tools, hint, (memory.clock)()) {
                tracing::warn!(server = %spec.name, "its tools are not kept: {error}");
            }
        };
        let write = tokio::spawn(async move {
            turns.in_turn(store).await;
        });
        let mut writes = lock(&self.writes);
        writes.retain(|write| !write.is_finished());
        writes.push(write);
    }

    /// Does what waits for a disk; `None` when the runtime is ending.
    async fn in_turn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        // Never closed.
        let _turn = self.turns.acquire().await;
        spawn_blocking(work).await.ok()
    }

    /// Waits until everything is written.
    pub(crate) async fn written(&self) {
        let writes = std::mem::take(&mut *lock(&self.writes));
        drop(join_all(writes).await);
    }
}
