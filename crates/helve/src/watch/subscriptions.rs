//! What is subscribed to at one server: for how many watches, and again after every new connection.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use helve_model::json::RawJson;
use helve_model::{ErrorCode, Hint};
use helve_policy::{Caller, Decision, Subject};
use helve_wire::{Session, Times};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::{Watch, WatchChange, WatchId};
use crate::error::CallError;
use crate::host::Host;
use crate::server_handle::ServerHandle;
use helve_model::sync::lock;

/// What parts the pieces of a URI.
const BORDERS: [char; 3] = ['/', '?', '#'];

/// The subscriptions at one server.
pub(crate) struct Subscriptions {
    held: Mutex<BTreeMap<String, Vec<Weak<Watch>>>>,
    /// One change at a time is told to the server, so that the last word is the newest.
    turn: Semaphore,
    /// The server is down, and the watches were told so.
    is_out: AtomicBool,
}

impl Default for Subscriptions {
    fn default() -> Self {
        Self { held: Mutex::default(), turn: Semaphore::new(1), is_out: AtomicBool::new(false) }
    }
}

impl Subscriptions {
    /// Subscribes for a watch; at the server only if nobody has before.
    pub(super) async fn hold(
        &self,
        host: &Host,
        handle: &ServerHandle,
        uri: &str,
        watch: &Arc<Watch>,
    ) -> Result<(), CallError> {
        let times = host.times(handle);
        may_be_known(host, handle, uri)?;
        let session = handle.session(Instant::now() + times.idle).await?;
        if !session.greeting().offers_part("resources", "subscribe") {
            let message = format!("the server `{}` does not tell when its resources change", handle.server());
            return Err(CallError::new(ErrorCode::ProtocolError, message)
                .at_server(handle.server())
                .with_hint(Hint::PollInstead));
        }
        // Never closed.
        let _turn = self.turn.acquire().await;
        let is_first = {
            let mut held = lock(&self.held);
            let watches = held.entry(uri.to_owned()).or_default();
            watches.push(Arc::downgrade(watch));
            watches.len() == 1
        };
        if !is_first {
            return Ok(());
        }
        // Whoever gives up before the answer must not be counted for ever.
        let undo = Undo { subscriptions: self, uri, id: watch.id, is_done: false };
        let subscribed = session.subscribe(uri, times).await;
        subscribed.map_err(|error| CallError::from_wire(error, handle.server()))?;
        undo.keep();
        Ok(())
    }

    /// A watch has ended; the server is told when it was the last one.
    pub(super) fn release(&self, handle: &Arc<ServerHandle>, uri: &str, id: WatchId) {
        if !self.forget(uri, id) {
            return;
        }
        let (Some(session), Ok(runtime)) = (handle.session_now(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let (handle, uri) = (Arc::clone(handle), uri.to_owned());
        drop(runtime.spawn(async move {
            let subscriptions = handle.subscriptions();
            let _turn = subscriptions.turn.acquire().await;
            if lock(&subscriptions.held).contains_key(&uri) {
                return;
            }
            if let Err(error) = session.unsubscribe(&uri, Times::default()).await {
                tracing::debug!(server = %handle.server(), uri, %error, "the server was not told that nobody listens");
            }
        }));
    }

    /// The server says that a resource has changed; it may be a part of what is watched.
    pub(crate) fn updated(&self, params: &RawJson) {
        let Some(uri) = params.member_str("uri") else { return };
        for watch in self.watches_of(|held| is_part_of(&uri, held)) {
            watch.tell(WatchChange::Updated(params.clone()));
        }
    }

    /// The server cannot be reached, for this reason: said once, until it is there again.
    pub(crate) fn outage(&self, error: &Arc<CallError>) {
        if !self.is_out.swap(true, Ordering::Relaxed) {
            for watch in self.watches_of(|_| true) {
                watch.tell(WatchChange::Failed(Arc::clone(error)));
            }
        }
    }

    /// There is a new connection, or the server had forgotten the old one: all is subscribed to again, and may have
    /// changed meanwhile.
    pub(crate) fn restore(handle: &Arc<ServerHandle>, session: &Session) {
        handle.subscriptions().is_out.store(false, Ordering::Relaxed);
        let uris: Vec<String> = lock(&handle.subscriptions().held).keys().cloned().collect();
        if uris.is_empty() {
            return;
        }
        let (handle, session) = (Arc::clone(handle), session.clone());
        drop(tokio::spawn(async move {
            let subscriptions = handle.subscriptions();
            for uri in uris {
                let _turn = subscriptions.turn.acquire().await;
                if !lock(&subscriptions.held).contains_key(&uri) {
                    continue;
                }
                let subscribed = session.subscribe(&uri, Times::default()).await;
                let change = match subscribed {
                    Ok(()) => WatchChange::MayHaveChanged,
                    Err(error) if session.has_ended() => {
                        // The next connection restores it.
                        tracing::debug!(server = %handle.server(), uri, %error, "not subscribed again");
                        return;
                    }
                    Err(error) => WatchChange::Ended(Arc::new(CallError::from_wire(error, handle.server()))),
                };
                for watch in subscriptions.watches_of(|held| held == uri) {
                    watch.tell(change.clone());
                }
                if matches!(change, WatchChange::Ended(_)) {
                    lock(&subscriptions.held).remove(&uri);
                }
            }
        }));
    }

    fn watches_of(&self, is_meant: impl Fn(&str) -> bool) -> Vec<Arc<Watch>> {
        let held = lock(&self.held);
        let meant = held.iter().filter(|(uri, _)| is_meant(uri)).flat_map(|(_, watches)| watches);
        meant.filter_map(Weak::upgrade).collect()
    }

    /// Takes a watch out; true when nobody is left for the resource.
    fn forget(&self, uri: &str, id: WatchId) -> bool {
        let mut held = lock(&self.held);
        let Some(watches) = held.get_mut(uri) else { return false };
        watches.retain(|watch| watch.upgrade().is_some_and(|watch| watch.id != id));
        let is_over = watches.is_empty();
        if is_over {
            held.remove(uri);
        }
        is_over
    }
}

/// A resource is part of itself, and of what its address continues behind a border: `a/10` is not part of `a/1`.
fn is_part_of(uri: &str, whole: &str) -> bool {
    let Some(rest) = uri.strip_prefix(whole) else { return false };
    rest.is_empty() || whole.ends_with(BORDERS) || rest.starts_with(BORDERS)
}

/// What a rule denies to be read cannot be listened to either.
fn may_be_known(host: &Host, handle: &ServerHandle, uri: &str) -> Result<(), CallError> {
    let Some(rules) = host.shared().rule_set() else { return Ok(()) };
    let policy = rules.for_tool(Subject::resource(handle.server(), uri));
    match policy.decide(Caller::Poll, RawJson::empty_object()) {
        Decision::Deny(refusal) => Err(CallError::from_refusal(&refusal)),
        Decision::Allow(_) | Decision::Ask(_) => Ok(()),
    }
}

struct Undo<'a> {
    subscriptions: &'a Subscriptions,
    uri: &'a str,
    id: WatchId,
    is_done: bool,
}

impl Undo<'_> {
    fn keep(mut self) {
        self.is_done = true;
    }
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.subscriptions.forget(self.uri, self.id);
        }
    }
}
