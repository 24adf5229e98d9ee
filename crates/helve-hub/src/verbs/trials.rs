//! Tests of servers that are not saved yet: each belongs to the session that began it, which can follow how far it is.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use helve::StartStep;
use helve_model::sync::lock;
use helve_setup::Trial;
use helve_store::Moment;
use tokio::sync::Notify;

use super::add::{self, AddRequest};
use super::files::version_of;
use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::Hub;
use crate::tokens::random;

/// So many tests are kept, whether they run or have ended; the oldest makes room.
const MOST: usize = 16;

/// A test that runs, or has ended.
pub(crate) struct RunningTrial {
    pub(crate) id: String,
    /// The session it belongs to.
    session: String,
    state: Mutex<TrialState>,
    ended: Notify,
}

/// How far a test is.
#[derive(Debug, Clone)]
pub(crate) enum TrialState {
    /// It runs: what it has come to, and when.
    Running(Vec<(StartStep, Moment)>, Moment),
    Ended(Arc<Result<Trial, HubError>>),
}

/// Tests of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Trials(Mutex<VecDeque<Arc<RunningTrial>>>);

impl Trials {
    /// A test of a session.
    pub(crate) fn find(&self, id: &str, session: &str) -> Result<Arc<RunningTrial>, HubError> {
        let trials = lock(&self.0);
        let found = trials.iter().find(|one| one.id == id && one.session == version_of(session)).cloned();
        found.ok_or_else(|| HubError::not_found("this test is not kept any more"))
    }
}

/// Begins a test that a page follows. It ends by itself, whether anybody looks or not.
pub(crate) fn begin(
    hub: &Arc<Hub>,
    actor: &Actor,
    session: &str,
    request: AddRequest,
) -> Result<Arc<RunningTrial>, HubError> {
    let one = Arc::new(RunningTrial {
        id: random(16)?,
        session: version_of(session),
        state: Mutex::new(TrialState::Running(Vec::new(), hub.now())),
        ended: Notify::new(),
    });
    {
        let mut trials = lock(&hub.trials.0);
        trials.push_back(Arc::clone(&one));
        if trials.len() > MOST {
            trials.pop_front();
        }
    }
    let (running, hub, actor) = (Arc::clone(&one), Arc::clone(hub), actor.clone());
    tokio::spawn(async move {
        let ended = add::test(&hub, &actor, &request, |step| {
            if let TrialState::Running(steps, _) = &mut *lock(&running.state) {
                steps.push((step, hub.now()));
            }
            hub.live.touch();
        })
        .await;
        *lock(&running.state) = TrialState::Ended(Arc::new(ended));
        running.ended.notify_waiters();
        hub.live.touch();
    });
    Ok(one)
}

impl RunningTrial {
    pub(crate) fn state(&self) -> TrialState {
        lock(&self.state).clone()
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(*lock(&self.state), TrialState::Running(..))
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

impl std::fmt::Debug for RunningTrial {
    /// Without what was learned: a server's words may hold anything.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RunningTrial").field("id", &self.id).finish_non_exhaustive()
    }
}
