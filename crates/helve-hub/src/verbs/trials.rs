//! Tests of servers that are not saved yet: each belongs to the session that began it, which can follow how far it is.

use std::sync::Arc;

use helve::StartStep;
use helve_setup::Trial;
use helve_store::Moment;

use super::add::{self, AddRequest};
use super::followed::{Followed, FollowedWork, WorkState};
use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::Hub;

/// A test that runs, or has ended.
pub(crate) type RunningTrial = Followed<(), TrialState>;

/// Tests of all sessions.
pub(crate) type Trials = FollowedWork<(), TrialState>;

/// How far a test is.
#[derive(Debug, Clone)]
pub(crate) enum TrialState {
    /// It runs: what it has come to, and when.
    Running(Vec<(StartStep, Moment)>, Moment),
    Ended(Arc<Result<Trial, HubError>>),
}

impl WorkState for TrialState {
    const WORK: &'static str = "test";
    const MOST: usize = 16;

    fn is_running(&self) -> bool {
        matches!(self, Self::Running(..))
    }
}

/// Begins a test that a page follows. It ends by itself, whether anybody looks or not.
pub(crate) fn begin(
    hub: &Arc<Hub>,
    actor: &Actor,
    session: &str,
    request: AddRequest,
) -> Result<Arc<RunningTrial>, HubError> {
    let one = hub.trials.begin(session, (), TrialState::Running(Vec::new(), hub.now()))?;
    let (running, hub, actor) = (Arc::clone(&one), Arc::clone(hub), actor.clone());
    tokio::spawn(async move {
        let ended = add::test(&hub, &actor, &request, |step| {
            running.update(|state| {
                if let TrialState::Running(steps, _) = state {
                    steps.push((step, hub.now()));
                }
            });
            hub.live.touch();
        })
        .await;
        running.end(TrialState::Ended(Arc::new(ended)));
        hub.live.touch();
    });
    Ok(one)
}
