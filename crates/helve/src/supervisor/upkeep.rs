//! What a server is asked while it is connected: for its list again, and whether it is alive.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use helve_model::{ErrorCode, ToolDefinition};
use helve_wire::{Error as WireError, Listing, Session, Times};
use tokio::time::Instant;

use super::{State, Supervisor};
use crate::catalog::{Listed, ServerCatalog};
use crate::error::CallError;

/// Between the starts of two listings that `list_changed` caused: a flood of changes costs two.
pub(super) const LISTING_GAP: Duration = Duration::from_secs(1);
/// A listing that failed is tried again after this.
pub(super) const LISTING_RETRY: Duration = Duration::from_secs(10);
/// How long a server may take to list its tools again.
const LISTING_TIME: Duration = Duration::from_secs(30);
/// So many silent pings in a row, and the connection is given up.
const PINGS_MISSED: u32 = 2;

impl Supervisor {
    pub(super) fn followed(&mut self, followed: Result<(), WireError>) {
        let State::Up(up) = &mut self.state else { return };
        up.following = None;
        // A server that cannot be listened to is asked for its list at every connection, and that is all. One that is
        // only late may have changed since it was listed.
        up.is_stale |= followed.is_ok();
    }

    pub(super) fn list_wanted(&mut self) {
        match &mut self.state {
            State::Up(up) if up.listing.is_none() => {
                up.is_stale = true;
                up.list_after = Instant::now();
            }
            State::Up(_) => {}
            // Whoever waits for it waits in vain.
            _ => self.handle.listings().failed(),
        }
    }

    pub(super) fn changed(&mut self) {
        if let State::Up(up) = &mut self.state {
            up.is_stale = true;
        }
    }

    pub(super) fn list_again(&mut self) {
        let State::Up(up) = &mut self.state else { return };
        up.is_stale = false;
        // What was said before now will be in the list.
        let _: Option<()> = self.handler.tools_changed.notified().now_or_never();
        up.list_after = Instant::now() + LISTING_GAP;
        self.handle.listings().asked();
        let session = up.session.clone();
        let time = self.spec.call_timeout.unwrap_or(LISTING_TIME);
        up.listing = Some(Box::pin(async move { session.list_tools(Times::exactly(time)).await }));
    }

    pub(super) fn listed(&mut self, listing: Result<Listing<ToolDefinition>, WireError>) {
        let State::Up(up) = &mut self.state else { return };
        up.listing = None;
        match listing {
            // Nothing new: whoever holds the list holds it still.
            Ok(listing) if self.catalog.as_ref().is_some_and(|known| known.is_listed_by(&listing)) => {
                self.handle.listings().listed(counts_for(&listing));
            }
            Ok(listing) => {
                let (session, counts_for) = (up.session.clone(), counts_for(&listing));
                let catalog = self.take_listing(listing, &session);
                self.catalog = Some(Arc::clone(&catalog));
                if self.handle.is_on() {
                    self.publish(catalog);
                }
                self.handle.listings().listed(counts_for);
            }
            Err(error) => {
                self.handle.listings().failed();
                up.is_stale = true;
                up.list_after = Instant::now() + LISTING_RETRY;
                let reason = CallError::from_wire(error, &self.spec.name).chain();
                self.warn(format!("its tools could not be listed again, the last list stays: {reason}"));
            }
        }
    }

    pub(super) fn ping(&mut self) {
        let Some(shared) = self.shared.upgrade() else { return };
        let State::Up(up) = &mut self.state else { return };
        let (interval, times) = (shared.settings.ping_interval, Times::exactly(shared.settings.ping_timeout));
        up.ping_at = interval.map(|interval| Instant::now() + interval);
        // A server that works on a call may have no ear for a ping; the call has its own time-out.
        if self.handle.calls_on_their_way() > 0 {
            return;
        }
        let session = up.session.clone();
        up.ping = Some(Box::pin(async move {
            let started = Instant::now();
            session.ping(times).await.map(|()| started.elapsed())
        }));
    }

    pub(super) async fn pong(&mut self, pong: Result<Duration, WireError>) {
        let State::Up(up) = &mut self.state else { return };
        up.ping = None;
        match pong {
            Ok(latency) => {
                up.pings_missed = 0;
                self.handle.describe(|facts| facts.latency = Some(latency));
            }
            // An answer is a sign of life, whatever it says.
            Err(error) if error.rpc().is_some() => up.pings_missed = 0,
            Err(error) => {
                up.pings_missed += 1;
                if up.pings_missed >= PINGS_MISSED {
                    let gone =
                        WireError::new(ErrorCode::Timeout, "the server no longer answers pings").with_source(error);
                    self.ended(gone).await;
                }
            }
        }
    }

    pub(super) fn take_listing(&self, listing: Listing<ToolDefinition>, session: &Session) -> Arc<ServerCatalog> {
        for warning in &listing.warnings {
            self.warn(warning.clone());
        }
        if let Some(error) = &listing.incomplete {
            self.warn(format!("its list of tools is not whole: {error}"));
        } else if let Some(memory) = self.shared.upgrade().and_then(|shared| shared.memory.clone()) {
            let asker = self.handler.answerer.capabilities();
            memory.keep(Arc::clone(&self.spec), asker, self.greeting(session), &listing);
        }
        self.handle.describe(|facts| facts.list_error = None);
        let instructions = session.greeting().instructions.clone();
        let tools = listing.items.into_iter().map(Listed::Remote).collect();
        let list = ServerCatalog { tools, instructions, more: listing.more, from_cache: false };
        match self.shared.upgrade() {
            Some(shared) => shared.surroundings.common.list(&self.spec.name, list),
            None => Arc::new(list),
        }
    }
}

/// How long the server says that a list counts.
pub(super) fn counts_for(listing: &Listing<ToolDefinition>) -> Option<Duration> {
    listing.cache.map(|cache| Duration::from_millis(cache.ttl_ms))
}
