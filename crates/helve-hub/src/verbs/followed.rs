//! Work that a page follows: it belongs to the session that began it, goes on whether anybody looks or not, and is kept for a
//! while after its end.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};

use helve_model::sync::lock;
use tokio::sync::Notify;

use super::files::version_of;
use crate::error::HubError;
use crate::tokens::random;

/// How far some work is.
pub(crate) trait WorkState: Clone {
    /// What the work is called where it is not found.
    const WORK: &'static str;
    /// So much of it is kept, whether it runs or has ended; the oldest makes room.
    const MOST: usize;

    fn is_running(&self) -> bool;
}

/// Work that runs, or has ended.
pub(crate) struct Followed<A, S> {
    pub(crate) id: String,
    /// The session it belongs to.
    session: String,
    /// What it is about.
    pub(crate) about: A,
    state: Mutex<S>,
    ended: Notify,
}

/// The work of all sessions.
#[derive(Debug)]
pub(crate) struct FollowedWork<A, S>(Mutex<VecDeque<Arc<Followed<A, S>>>>);

impl<A, S> Default for FollowedWork<A, S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<A, S: WorkState> FollowedWork<A, S> {
    /// Work of a session, as it begins.
    pub(super) fn begin(&self, session: &str, about: A, state: S) -> Result<Arc<Followed<A, S>>, HubError> {
        let (id, session) = (random(16)?, version_of(session));
        let one = Arc::new(Followed { id, session, about, state: Mutex::new(state), ended: Notify::new() });
        let mut kept = lock(&self.0);
        kept.push_back(Arc::clone(&one));
        if kept.len() > S::MOST {
            kept.pop_front();
        }
        Ok(one)
    }

    /// Work of a session.
    pub(crate) fn find(&self, id: &str, session: &str) -> Result<Arc<Followed<A, S>>, HubError> {
        let kept = lock(&self.0);
        let found = kept.iter().find(|one| one.id == id && one.session == version_of(session)).cloned();
        found.ok_or_else(|| HubError::not_found(format!("this {} is not kept any more", S::WORK)))
    }
}

impl<A, S: WorkState> Followed<A, S> {
    pub(crate) fn state(&self) -> S {
        lock(&self.state).clone()
    }

    pub(crate) fn is_running(&self) -> bool {
        lock(&self.state).is_running()
    }

    /// It has come further.
    pub(super) fn update(&self, change: impl FnOnce(&mut S)) {
        change(&mut lock(&self.state));
    }

    /// It has ended so.
    pub(super) fn end(&self, state: S) {
        *lock(&self.state) = state;
        self.ended.notify_waiters();
    }

    /// Waits until it has ended.
    pub(crate) async fn wait(&self) {
        let ended = self.ended.notified();
        tokio::pin!(ended);
        ended.as_mut().enable();
        if self.is_running() {
            ended.await;
        }
    }
}

impl<A, S> fmt::Debug for Followed<A, S> {
    /// Without what was sent and learned: both may hold anything.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Followed").field("id", &self.id).finish_non_exhaustive()
    }
}
