//! What a host remembers of earlier runs: each server's tools and what it speaks. The files are `schema_cache`'s.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use helve_model::{ServerSpec, ToolDefinition};
use helve_wire::{Greeting, Listing, Verdict};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::catalog::{Listed, ServerCatalog};
use crate::schema_cache::SchemaCache;
use crate::settings::{HostSettings, Surroundings};
use crate::sync::lock;

/// Kept lists, and how long they count.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    cache: Arc<SchemaCache>,
    ttl: Duration,
    clock: fn() -> SystemTime,
    /// What is being written.
    writes: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

/// What is remembered of a server.
#[derive(Debug)]
pub(crate) struct Remembered {
    /// What it said about itself, if that still counts.
    pub(crate) greeting: Option<Greeting>,
    pub(crate) verdict: Verdict,
    /// Its tools, if they still count.
    pub(crate) catalog: Option<Arc<ServerCatalog>>,
}

impl Memory {
    /// `None` when nothing is to be kept, or the directory cannot be used: a host works without.
    pub(crate) fn open(settings: &HostSettings, surroundings: &Surroundings) -> Option<Self> {
        let ttl = settings.schema_cache_ttl?;
        let directory = surroundings.cache_directory.clone()?;
        match SchemaCache::open(directory) {
            Ok(cache) => Some(Self { cache: Arc::new(cache), ttl, clock: surroundings.clock, writes: Arc::default() }),
            Err(error) => {
                tracing::warn!("tool lists are not kept: {error}");
                None
            }
        }
    }

    /// What an earlier run found out about a server.
    pub(crate) async fn recall(&self, spec: Arc<ServerSpec>) -> Option<Remembered> {
        let memory = self.clone();
        let load = move || memory.cache.load(&memory.cache.key(&spec), (memory.clock)(), memory.ttl);
        let kept = spawn_blocking(load).await.ok()??;
        let instructions = kept.greeting.instructions.clone();
        let tools = kept.tools.into_iter().map(Listed::Remote).collect();
        let catalog = kept.is_fresh.then(|| Arc::new(ServerCatalog { tools, instructions, from_cache: true }));
        let verdict = kept.greeting.verdict.clone();
        Some(Remembered { verdict, greeting: kept.is_fresh.then_some(kept.greeting), catalog })
    }

    /// Keeps what a server listed. Done aside: nobody waits for a disk.
    pub(crate) fn keep(&self, spec: Arc<ServerSpec>, greeting: Greeting, listing: &Listing<ToolDefinition>) {
        let (memory, tools, hint) = (self.clone(), listing.items.clone(), listing.cache);
        let write = spawn_blocking(move || {
            let key = memory.cache.key(&spec);
            if let Err(error) = memory.cache.store(&key, &greeting, &tools, hint, (memory.clock)()) {
                tracing::warn!(server = %spec.name, "its tools are not kept: {error}");
            }
        });
        let mut writes = lock(&self.writes);
        writes.retain(|write| !write.is_finished());
        writes.push(write);
    }

    /// Waits until everything is written.
    pub(crate) async fn written(&self) {
        let writes = std::mem::take(&mut *lock(&self.writes));
        drop(join_all(writes).await);
    }
}
