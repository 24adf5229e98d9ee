//! The approval queue: calls that a rule wants asked about wait here, and are answered by whoever is first: the agent's own form, the
//! page, a terminal, a token that may. The store decides who was first; the queue only wakes whoever waits.
//!
//! A yes runs nothing. It lets the caller's own call go on or, if the caller has gone, the same call once within a few minutes.

mod binding;
mod held_call;
mod words;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use helve::{ApprovalRequest, Approver};
use helve_model::SecretSet;
use helve_model::sync::lock;
use helve_policy::Decider;
use helve_serve::{ApproverSource, AskedAgent};
use helve_store::{
    Approval, ApprovalState, AskOutcome, DecideOutcome, Moment, NewApproval, SealKey, Store, StoreError, Verdict,
};
use tokio::sync::{Semaphore, mpsc, watch};

use crate::live::Live;
use held_call::HeldCall;
pub(crate) use held_call::OnAsked;
pub(crate) use words::decider as decider_words;

/// So many questions of one principal wait at most: a looping agent is not a thousand questions.
const MOST_PENDING: u64 = 20;

/// How long settled questions are kept.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// So many calls are at the store at once: it has one writer, and a thread for each of a thousand calls would cost more than the
/// calls themselves.
const AT_STORE: usize = 4;

/// So many letters of what a person says reach the agent.
const LONGEST_REASON: usize = 500;

/// How long a call is held, a question stays open and a yes counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalTimes {
    /// A call is held for so long before its agent is told to come back: agents give up after a minute.
    pub hold: Duration,
    /// A question can be answered for so long.
    pub pending: Duration,
    /// A yes counts for so long when its caller has gone.
    pub counts: Duration,
}

/// Where calls wait for a person.
pub struct ApprovalQueue {
    store: Arc<Store>,
    key: SealKey,
    live: Arc<Live>,
    /// Values that are shown to nobody.
    secrets: Arc<SecretSet>,
    clock: fn() -> SystemTime,
    times: ApprovalTimes,
    /// The hub's address, for links.
    address: String,
    waiters: Mutex<HashMap<String, Waiters>>,
    /// Turns at the store, for calls.
    turns: Arc<Semaphore>,
    /// Questions that wait, as far as is known.
    open: AtomicU64,
    /// Hears of every new question.
    announced: OnceLock<mpsc::Sender<Announcement>>,
}

/// A new question, as others hear of it: never with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// What it is called.
    pub id: String,
    /// Whose call waits.
    pub principal: String,
    /// The tool, with its server.
    pub tool: String,
    /// The page where it is answered. It decides nothing by itself.
    pub link: String,
}

/// Callers that wait for the answer to one question.
struct Waiters {
    changed: watch::Sender<u64>,
    callers: usize,
}

/// One caller that waits, until it is dropped.
struct WaitingCaller {
    queue: Arc<ApprovalQueue>,
    id: String,
    changed: watch::Receiver<u64>,
}

impl Default for ApprovalTimes {
    fn default() -> Self {
        Self {
            hold: Duration::from_secs(45),
            pending: Duration::from_secs(15 * 60),
            counts: Duration::from_secs(10 * 60),
        }
    }
}

impl ApprovalQueue {
    /// A queue whose questions are kept in this store, their arguments sealed with this key. What is in `secrets` is shown to
    /// nobody.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn new(
        store: Arc<Store>,
        key: SealKey,
        live: Arc<Live>,
        secrets: Arc<SecretSet>,
        address: String,
        times: ApprovalTimes,
        clock: fn() -> SystemTime,
    ) -> Result<Arc<Self>, StoreError> {
        let open = store.open_approvals(Moment::from(clock()))?.count;
        let (waiters, open) = (Mutex::default(), AtomicU64::new(open));
        let (announced, turns) = (OnceLock::new(), Arc::new(Semaphore::new(AT_STORE)));
        Ok(Arc::new(Self { store, key, live, secrets, clock, times, address, waiters, turns, open, announced }))
    }

    /// The approver of a call that is made at the hub itself. `on_asked` is told what its question is called.
    pub(crate) fn approver(self: &Arc<Self>, asked: AskedAgent, on_asked: Option<OnAsked>) -> Arc<dyn Approver> {
        let call = HeldCall::new(Arc::clone(self), asked);
        Arc::new(match on_asked {
            Some(on_asked) => call.telling(on_asked),
            None => call,
        })
    }

    fn now(&self) -> Moment {
        Moment::from((self.clock)())
    }

    /// How many questions wait, as far as is known.
    pub(crate) fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// How many callers wait for the answer to a question; none: they have gone.
    pub(crate) fn callers(&self, id: &str) -> usize {
        lock(&self.waiters).get(id).map_or(0, |waiting| waiting.callers)
    }

    /// Asks about a call. May block.
    fn ask(&self, request: &ApprovalRequest) -> Result<AskOutcome, StoreError> {
        let digest = binding::digest(request);
        let now = self.now();
        let mut random = [0; 16];
        let sealed = self.key.seal(request.arguments.as_str().as_bytes(), &digest);
        let (Some(arguments), Ok(())) = (sealed, getrandom::fill(&mut random)) else {
            return Err(StoreError::NotFound("source of random numbers".to_owned()));
        };
        let agent = request.source.agent.as_ref();
        let new = NewApproval {
            digest,
            principal: request.principal.id().to_owned(),
            agent: agent.map(|agent| format!("{} {}", agent.name, agent.version).trim().to_owned()),
            server: request.name.server.to_string(),
            tool: request.name.tool.to_string(),
            kind: request.kind.to_string(),
            risk: request.risk.to_string(),
            rule: words::rule(request),
            place: request.decider.as_ref().and_then(Decider::origin).map(ToString::to_string),
            needs_page: binding::needs_page(request),
            definition: request.definition.map(|definition| definition.to_string()),
            arguments,
            asked: now,
            ends: now.after(self.times.pending),
            random,
        };
        let asked = self.store.ask_approval(new, MOST_PENDING)?;
        if let AskOutcome::New(approval) = &asked {
            self.announce(approval);
            self.changed();
        }
        Ok(asked)
    }

    /// Tells of every new question from now on. Whoever does not keep up misses some: the page has them all.
    pub fn announce_to(&self, sender: mpsc::Sender<Announcement>) {
        drop(self.announced.set(sender));
    }

    fn announce(&self, approval: &Approval) {
        let Some(announced) = self.announced.get() else { return };
        let asked = &approval.asked;
        drop(announced.try_send(Announcement {
            id: approval.id.clone(),
            principal: asked.principal.clone(),
            tool: format!("{}/{}", asked.server, asked.tool),
            link: self.link(&approval.id),
        }));
    }

    /// Answers a question. May block.
    pub(crate) fn decide(
        &self,
        id: &str,
        is_allowed: bool,
        decider: &str,
        reason: Option<&str>,
    ) -> Result<DecideOutcome, StoreError> {
        let now = self.now();
        let reason = reason.map(words::reason).filter(|reason| !reason.is_empty());
        let verdict =
            if is_allowed { Verdict::Allow { until: now.after(self.times.counts) } } else { Verdict::Deny { reason } };
        let decided = self.store.decide_approval(id, verdict, decider, now)?;
        self.wake(id);
        self.changed();
        Ok(decided)
    }

    /// Uses up the yes to a question. May block.
    fn spend(&self, id: &str) -> Result<bool, StoreError> {
        let spent = self.store.spend_approval(id, self.now())?;
        self.live.touch();
        Ok(spent)
    }

    /// How a question stands. May block.
    fn look(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        let mut found = self.store.approval(id)?;
        if let Some(approval) = &mut found
            && approval.state == ApprovalState::Pending
            && approval.asked.ends <= self.now()
        {
            approval.state = ApprovalState::Expired;
        }
        Ok(found)
    }

    /// A principal may not ask any more: nothing that it asked counts. May block.
    pub(crate) fn withdraw(&self, principal: &str, reason: &str) -> Result<(), StoreError> {
        let ids = self.store.withdraw_approvals(principal, reason, self.now())?;
        ids.iter().for_each(|id| self.wake(id));
        self.changed();
        Ok(())
    }

    /// Ends what is too old. May block.
    pub(crate) fn sweep(&self) -> Result<(), StoreError> {
        let now = self.now();
        let ended = self.store.sweep_approvals(now, now.before(KEPT))?;
        ended.iter().for_each(|id| self.wake(id));
        if !ended.is_empty() {
            self.changed();
        }
        Ok(())
    }

    /// The arguments of a question that waits, without known secrets; `None` where they are not kept any more.
    pub(crate) fn arguments(&self, approval: &Approval) -> Option<String> {
        let opened = self.key.open(&approval.asked.arguments, &approval.asked.digest)?;
        let text = String::from_utf8(opened).ok()?;
        Some(self.secrets.hide_in_message(&text).unwrap_or(text))
    }

    /// The page of a question.
    pub(crate) fn link(&self, id: &str) -> String {
        format!("{}/approvals/{id}", self.address)
    }

    fn wake(&self, id: &str) {
        if let Some(waiting) = lock(&self.waiters).get(id) {
            waiting.changed.send_modify(|number| *number += 1);
        }
    }

    /// Counts again, and tells pages.
    fn changed(&self) {
        if let Ok(open) = self.store.open_approvals(self.now()) {
            self.open.store(open.count, Ordering::Relaxed);
        }
        self.live.touch();
    }

    fn wait_for(self: &Arc<Self>, id: &str) -> WaitingCaller {
        let mut waiters = lock(&self.waiters);
        let waiting =
            waiters.entry(id.to_owned()).or_insert_with(|| Waiters { changed: watch::Sender::new(0), callers: 0 });
        waiting.callers += 1;
        let changed = waiting.changed.subscribe();
        drop(waiters);
        self.live.touch();
        WaitingCaller { queue: Arc::clone(self), id: id.to_owned(), changed }
    }
}

impl Drop for WaitingCaller {
    fn drop(&mut self) {
        let mut waiters = lock(&self.queue.waiters);
        if let Some(waiting) = waiters.get_mut(&self.id) {
            waiting.callers -= 1;
            if waiting.callers == 0 {
                waiters.remove(&self.id);
            }
        }
        drop(waiters);
        // A page that shows who waits shows that nobody does.
        self.queue.live.touch();
    }
}

/// The queue as agents' calls meet it.
#[derive(Debug)]
pub struct AgentApprovers(pub Arc<ApprovalQueue>);

impl ApproverSource for AgentApprovers {
    fn approver(&self, agent: AskedAgent) -> Arc<dyn Approver> {
        self.0.approver(agent, None)
    }
}

impl fmt::Debug for ApprovalQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ApprovalQueue").field("times", &self.times).finish_non_exhaustive()
    }
}
