//! Watches: hearing of changes of what servers have, whether the server tells of them or has to be asked.
//!
//! A [`Watcher`] owns its watches; they end with it. Of each watch at most one change waits to be taken, the newest, and
//! changes are told a tenth of a second apart, so that a server that floods costs no more than one that whispers.

mod poll;
mod queue;
mod saved_watches;
mod subscriptions;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use helve_model::json::{ObjectWriter, RawJson};
use helve_model::{ErrorCode, QualifiedName, ServerName};
use tokio::task::AbortHandle;
use tokio::time::Instant;

pub use poll::{DEFAULT_INTERVAL, MINIMUM_INTERVAL};
use queue::Queue;
pub use saved_watches::SavedWatch;
pub(crate) use subscriptions::Subscriptions;

use crate::error::CallError;
use crate::host::{Host, WeakHost};
use helve_model::sync::lock;

/// So many watches one owner may have.
const MAX_WATCHES: usize = 4096;
/// Of a content that is larger, those who are told in texts hear only the size.
const MAX_TOLD_BYTES: usize = 256 << 10;

/// Numbers of watches, never given twice in one process.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Owns watches and hears of their events. Dropping the last clone ends them.
///
/// ```no_run
/// # async fn example(host: &helve::Host) -> Result<(), helve::CallError> {
/// let watcher = host.watcher();
/// watcher.subscribe("files", "file:///etc/hosts", "the names may change").await?;
/// let event = watcher.next().await;
/// println!("{}: {:?}", event.target, event.change);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Watcher {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    host: WeakHost,
    queue: Queue,
    watches: Mutex<BTreeMap<WatchId, Arc<Watch>>>,
}

/// Names one watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(u64);

/// What is watched, and how its changes are learned of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchSource {
    /// The server tells when a resource has changed.
    Subscription {
        /// Which server.
        server: ServerName,
        /// Which resource.
        uri: String,
    },
    /// A tool is called again and again.
    PolledTool {
        /// Which tool.
        name: QualifiedName,
        /// With which arguments.
        arguments: RawJson,
        /// How often.
        every: Duration,
    },
    /// A resource is read again and again.
    PolledResource {
        /// Which server.
        server: ServerName,
        /// Which resource.
        uri: String,
        /// How often.
        every: Duration,
    },
}

/// Something about a watch.
#[derive(Debug, Clone)]
pub struct WatchEvent {
    /// Which watch.
    pub id: WatchId,
    /// Which server it is about.
    pub server: ServerName,
    /// The URI, or the tool's name.
    pub target: String,
    /// Why it is watched, in the words of whoever made the watch.
    pub reason: Option<String>,
    /// What happened.
    pub change: WatchChange,
    /// How many events before this one nobody took; this one stands for them.
    pub superseded: u64,
}

/// What happened to what is watched.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum WatchChange {
    /// The server says that it changed; its parameters as it wrote them.
    Updated(RawJson),
    /// The server could not tell for a while: it may have changed.
    MayHaveChanged,
    /// What a poll got is another content than before: the whole result.
    Content(RawJson),
    /// It could not be looked at; it is tried again.
    Failed(Arc<CallError>),
    /// The watch has ended, for this reason; it is gone.
    Ended(Arc<CallError>),
}

/// How a watch is doing.
#[derive(Debug, Clone)]
pub struct WatchReport {
    /// Which watch.
    pub id: WatchId,
    /// What is watched, and how.
    pub source: WatchSource,
    /// Why.
    pub reason: Option<String>,
    /// Since when.
    pub age: Duration,
    /// Events so far, superseded ones included.
    pub events: u64,
    /// How often it was looked at; nothing for a subscription.
    pub polls: u64,
    /// How often that failed.
    pub failures: u64,
    /// The last failure, until it goes well again.
    pub last_error: Option<String>,
}

/// One watch.
pub(crate) struct Watch {
    id: WatchId,
    source: WatchSource,
    reason: Option<String>,
    made: Instant,
    owner: Weak<Inner>,
    counts: Mutex<Counts>,
    /// The task that polls; nothing for a subscription.
    task: Mutex<Option<AbortHandle>>,
}

#[derive(Default)]
struct Counts {
    events: u64,
    polls: u64,
    failures: u64,
    last_error: Option<String>,
    /// The hash of what a poll got last.
    content: Option<[u8; 32]>,
}

impl Host {
    /// Somebody who watches. What he watches ends with him.
    #[must_use]
    pub fn watcher(&self) -> Watcher {
        Watcher {
            inner: Arc::new(Inner { host: self.downgrade(), queue: Queue::default(), watches: Mutex::default() }),
        }
    }
}

impl Watcher {
    /// Watches a resource of which the server tells when it changes. An empty reason is none.
    ///
    /// # Errors
    /// `RESOURCE_NOT_FOUND` or the server's own refusal, a rule's, or why the server cannot be reached.
    pub async fn subscribe(&self, server: &str, uri: &str, reason: &str) -> Result<WatchId, CallError> {
        Ok(self.keep(self.subscribed(server, uri, reason, None).await?))
    }

    /// A watch of which the server knows, not kept yet.
    async fn subscribed(
        &self,
        server: &str,
        uri: &str,
        reason: &str,
        id: Option<WatchId>,
    ) -> Result<Arc<Watch>, CallError> {
        let host = self.host()?;
        let handle = host.handle_of(server)?;
        let source = WatchSource::Subscription { server: handle.server().clone(), uri: uri.to_owned() };
        let watch = self.new_watch(source, reason, id)?;
        handle.subscriptions().hold(&host, &handle, uri, &watch).await?;
        Ok(watch)
    }

    /// Ends watches that fit all that is said about them, and gives their number.
    pub fn end(&self, which: &WatchFilter) -> usize {
        let ended: Vec<_> = {
            let mut watches = lock(&self.inner.watches);
            let ids: Vec<_> = watches.values().filter(|watch| which.fits(watch)).map(|watch| watch.id).collect();
            ids.iter().filter_map(|id| watches.remove(id)).collect()
        };
        for watch in &ended {
            self.inner.release(watch);
        }
        ended.len()
    }

    /// The next event. Cancel safe.
    pub async fn next(&self) -> WatchEvent {
        self.inner.queue.next().await
    }

    /// The next event, if one is there.
    #[must_use]
    pub fn try_next(&self) -> Option<WatchEvent> {
        self.inner.queue.try_next()
    }

    /// How its watches are doing, oldest first.
    #[must_use]
    pub fn reports(&self) -> Vec<WatchReport> {
        lock(&self.inner.watches).values().map(|watch| watch.report()).collect()
    }

    pub(crate) fn downgrade(&self) -> WeakWatcher {
        WeakWatcher(Arc::downgrade(&self.inner))
    }

    fn host(&self) -> Result<Host, CallError> {
        self.inner.host.upgrade()
    }

    /// `id` is the one it had in an earlier process.
    fn new_watch(&self, source: WatchSource, reason: &str, id: Option<WatchId>) -> Result<Arc<Watch>, CallError> {
        let (count, id) = {
            let watches = lock(&self.inner.watches);
            (watches.len(), id.filter(|id| !watches.contains_key(id)))
        };
        if count >= MAX_WATCHES {
            return Err(CallError::new(ErrorCode::LimitExceeded, format!("there are {MAX_WATCHES} watches already"))
                .at_server(source.server())
                .with_hint("end those that nobody needs any more"));
        }
        Ok(Arc::new(Watch {
            id: id.map_or_else(WatchId::next, WatchId::again),
            source,
            reason: (!reason.is_empty()).then(|| reason.to_owned()),
            made: Instant::now(),
            owner: Arc::downgrade(&self.inner),
            counts: Mutex::default(),
            task: Mutex::default(),
        }))
    }

    fn keep(&self, watch: Arc<Watch>) -> WatchId {
        let id = watch.id;
        lock(&self.inner.watches).insert(id, watch);
        id
    }
}

/// A watcher held by what must not keep it alive.
#[derive(Clone)]
pub(crate) struct WeakWatcher(Weak<Inner>);

impl WeakWatcher {
    pub(crate) fn upgrade(&self) -> Option<Watcher> {
        self.0.upgrade().map(|inner| Watcher { inner })
    }
}

/// Which watches are meant: all that fit everything that is said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchFilter {
    /// This one.
    pub id: Option<WatchId>,
    /// Those of this server.
    pub server: Option<String>,
    /// Those of this URI or tool.
    pub target: Option<String>,
    /// Only subscriptions, or only polls.
    pub kind: Option<WatchKind>,
}

/// How changes are learned of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchKind {
    /// The server tells.
    Subscription,
    /// The server is asked.
    Poll,
}

impl WatchFilter {
    fn fits(&self, watch: &Watch) -> bool {
        self.id.is_none_or(|id| id == watch.id)
            && self.server.as_ref().is_none_or(|server| server == watch.source.server().as_str())
            && self.target.as_ref().is_none_or(|target| watch.source.is_about(target))
            && self.kind.is_none_or(|kind| kind == watch.source.kind())
    }
}

impl WatchEvent {
    /// As JSON, for models and others who are told in texts: which watch, what happened, and the content (of a large one the size) or
    /// the error.
    #[must_use]
    pub fn to_json(&self) -> RawJson {
        let told = ObjectWriter::new()
            .text("watch", &self.id.to_string())
            .text("server", self.server.as_str())
            .text("target", &self.target)
            .optional_text("reason", self.reason.as_deref());
        let told = |word: &str| told.text("change", word).raw("superseded", self.superseded.to_string());
        match &self.change {
            WatchChange::Updated(_) => told("updated"),
            WatchChange::MayHaveChanged => told("may_have_changed"),
            WatchChange::Content(content) if content.as_str().len() > MAX_TOLD_BYTES => {
                told("content").number("contentBytes", content.as_str().len() as u64)
            }
            WatchChange::Content(content) => told("content").raw("content", content),
            WatchChange::Failed(error) => told("failed").raw("error", error.to_agent().to_json()),
            WatchChange::Ended(error) => told("ended").raw("error", error.to_agent().to_json()),
        }
        .finish()
    }
}

impl Inner {
    /// Lets go of what a watch holds.
    fn release(&self, watch: &Watch) {
        if let Some(task) = lock(&watch.task).take() {
            task.abort();
        }
        if let WatchSource::Subscription { server, uri } = &watch.source
            && let Ok(host) = self.host.upgrade()
            && let Ok(handle) = host.handle_of(server.as_str())
        {
            handle.subscriptions().release(&handle, uri, watch.id);
        }
        self.queue.forget(watch.id);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let watches = std::mem::take(&mut *lock(&self.watches));
        for watch in watches.values() {
            self.release(watch);
        }
    }
}

impl Watch {
    /// Tells the owner, if he is still there.
    fn tell(&self, change: WatchChange) {
        let Some(owner) = self.owner.upgrade() else { return };
        {
            let mut counts = lock(&self.counts);
            counts.events += 1;
            counts.last_error = match &change {
                WatchChange::Failed(error) | WatchChange::Ended(error) => Some(error.chain()),
                WatchChange::Updated(_) | WatchChange::MayHaveChanged | WatchChange::Content(_) => None,
            };
        }
        let is_over = matches!(change, WatchChange::Ended(_));
        owner.queue.push(WatchEvent {
            id: self.id,
            server: self.source.server().clone(),
            target: self.source.target().to_owned(),
            reason: self.reason.clone(),
            change,
            superseded: 0,
        });
        if is_over {
            drop(lock(&owner.watches).remove(&self.id));
        }
    }

    fn report(&self) -> WatchReport {
        let counts = lock(&self.counts);
        WatchReport {
            id: self.id,
            source: self.source.clone(),
            reason: self.reason.clone(),
            age: self.made.elapsed(),
            events: counts.events,
            polls: counts.polls,
            failures: counts.failures,
            last_error: counts.last_error.clone(),
        }
    }
}

impl WatchSource {
    /// Which server it is about.
    #[must_use]
    pub const fn server(&self) -> &ServerName {
        match self {
            Self::Subscription { server, .. } | Self::PolledResource { server, .. } => server,
            Self::PolledTool { name, .. } => &name.server,
        }
    }

    /// The URI, or the tool's name.
    #[must_use]
    pub fn target(&self) -> &str {
        match self {
            Self::Subscription { uri, .. } | Self::PolledResource { uri, .. } => uri,
            Self::PolledTool { name, .. } => name.tool.as_str(),
        }
    }

    /// How changes are learned of.
    #[must_use]
    pub const fn kind(&self) -> WatchKind {
        match self {
            Self::Subscription { .. } => WatchKind::Subscription,
            Self::PolledTool { .. } | Self::PolledResource { .. } => WatchKind::Poll,
        }
    }

    /// True when a text names what is watched: its URI, or its tool in this server or with it.
    fn is_about(&self, target: &str) -> bool {
        match self {
            Self::PolledTool { name, .. } => name.tool.as_str() == target || name.to_string() == target,
            _ => self.target() == target,
        }
    }
}

impl WatchId {
    fn next() -> Self {
        Self(NEXT_ID.fetch_add(1, Ordering::Relaxed))
    }

    /// The same id once more, and never another watch's.
    fn again(self) -> Self {
        NEXT_ID.fetch_max(self.0.saturating_add(1), Ordering::Relaxed);
        self
    }

    /// Reads what [`WatchId`] shows.
    ///
    /// # Errors
    /// `INVALID_PARAMS` for anything else.
    pub fn parse(text: &str) -> Result<Self, CallError> {
        text.strip_prefix("watch-").and_then(|number| number.parse().ok()).map(Self).ok_or_else(|| {
            CallError::new(ErrorCode::InvalidParams, format!("`{text}` is not an id of a watch"))
                .with_hint("ids look like `watch-7`; whoever made the watch was told it")
        })
    }
}

impl fmt::Display for WatchId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "watch-{}", self.0)
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Watcher").field("watches", &lock(&self.inner.watches).len()).finish_non_exhaustive()
    }
}
