//! Polls: a tool called or a resource read on an interval, told of only when the content is another one.
//!
//! Permission is asked when the watch is made. Later calls rest on that answer as long as the tool's definition is the
//! same; a changed one is asked about again. Rules are looked at every time.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use helve_model::json::{RawJson, scan};
use helve_model::{CallKind, Definition as _, ErrorCode, QualifiedName};
use helve_policy::Caller;
use helve_policy::pin::DefinitionHash;
use helve_wire::BoxFuture;
use sha2::{Digest as _, Sha256};
use tokio::time::sleep;

use super::{Watch, WatchChange, WatchId, WatchSource, Watcher};
use crate::ask::{ApprovalAnswer, ApprovalRequest, Approver, RunApprovals};
use crate::call::CallContext;
use crate::error::CallError;
use crate::host::{Host, WeakHost};
use crate::random::random_fraction;
use crate::record::{CallSource, Door};
use crate::tool::ToolContext;
use helve_model::sync::lock;

/// No poll is made more often.
pub const MINIMUM_INTERVAL: Duration = Duration::from_millis(1000);
/// How often a poll is made when nobody says.
pub const DEFAULT_INTERVAL: Duration = Duration::from_millis(5000);
/// However often it failed, it is tried again after this.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// An interval is longer or shorter by up to this part of it, so that many polls do not fall together.
const JITTER: f64 = 0.1;

impl Watcher {
    /// Polls a tool, named in any spelling, with these arguments. The first call is made now: its result is what later
    /// ones are compared with. An empty reason is none.
    ///
    /// # Errors
    /// `INVALID_PARAMS` for an interval below [`MINIMUM_INTERVAL`]; otherwise whatever the first call meets.
    pub async fn poll_tool(
        &self,
        name: &str,
        arguments: impl Into<RawJson>,
        every: Duration,
        reason: &str,
    ) -> Result<(WatchId, RawJson), CallError> {
        self.poll_tool_for(&ToolContext::new(Caller::Poll), name, arguments.into(), every, reason).await
    }

    /// The same for a call that came with somebody to ask: the first look asks them.
    pub(crate) async fn poll_tool_for(
        &self,
        asking: &ToolContext,
        name: &str,
        arguments: RawJson,
        every: Duration,
        reason: &str,
    ) -> Result<(WatchId, RawJson), CallError> {
        check(every)?;
        let tool = self.host()?.find_tool(name, None).await?;
        self.poll(WatchSource::PolledTool { name: tool.name().clone(), arguments, every }, asking, every, reason).await
    }

    /// Polls a resource. The first reading is made now. An empty reason is none.
    ///
    /// # Errors
    /// As [`Watcher::poll_tool`].
    pub async fn poll_resource(
        &self,
        server: &str,
        uri: &str,
        every: Duration,
        reason: &str,
    ) -> Result<(WatchId, RawJson), CallError> {
        self.poll_resource_for(&ToolContext::new(Caller::Poll), server, uri, every, reason).await
    }

    /// The same for a call that came with somebody to ask: the first look asks them.
    pub(crate) async fn poll_resource_for(
        &self,
        asking: &ToolContext,
        server: &str,
        uri: &str,
        every: Duration,
        reason: &str,
    ) -> Result<(WatchId, RawJson), CallError> {
        check(every)?;
        let server = self.host()?.handle_of(server)?.server().clone();
        self.poll(WatchSource::PolledResource { server, uri: uri.to_owned(), every }, asking, every, reason).await
    }

    async fn poll(
        &self,
        source: WatchSource,
        asking: &ToolContext,
        every: Duration,
        reason: &str,
    ) -> Result<(WatchId, RawJson), CallError> {
        let watch = self.new_watch(source, reason, None)?;
        let approval = Arc::new(Standing {
            first: Mutex::new(asking.approver.clone()),
            approvals: asking.approvals.clone(),
            ..Standing::new(self.inner.host.clone())
        });
        let first = look(&self.host()?, &watch, &approval).await?;
        // The call it came with is over after this, and so is the way to its person.
        *lock(&approval.first) = None;
        lock(&watch.counts).content = Some(hash(&first));
        Ok((self.begin_polling(watch, approval, every), first))
    }

    pub(super) fn begin_polling(&self, watch: Arc<Watch>, approval: Arc<Standing>, every: Duration) -> WatchId {
        let task = tokio::spawn(run(Arc::downgrade(&watch), self.inner.host.clone(), approval, every));
        *lock(&watch.task) = Some(task.abort_handle());
        self.keep(watch)
    }
}

pub(super) fn check(every: Duration) -> Result<(), CallError> {
    if every >= MINIMUM_INTERVAL {
        return Ok(());
    }
    let (given, least) = (every.as_millis(), MINIMUM_INTERVAL.as_millis());
    Err(CallError::new(ErrorCode::InvalidParams, format!("an interval of {given} ms is too short"))
        .with_hint(format!("the shortest is {least} ms")))
}

/// Polls until nobody watches any more.
async fn run(watch: Weak<Watch>, host: WeakHost, approval: Arc<Standing>, every: Duration) {
    // Spread over the whole interval at first: a thousand watches made at once must not fire at once.
    let mut pause = every.mul_f64(JITTER + (1.0 - JITTER) * random_fraction());
    let mut is_down = false;
    loop {
        sleep(pause).await;
        let (Some(watch), Ok(host)) = (watch.upgrade(), host.upgrade()) else { return };
        match look(&host, &watch, &approval).await {
            Ok(content) => {
                is_down = false;
                pause = every.mul_f64(1.0 + JITTER * (2.0 * random_fraction() - 1.0));
                let hash = hash(&content);
                let is_new = lock(&watch.counts).content.replace(hash) != Some(hash);
                if is_new {
                    watch.tell(WatchChange::Content(content));
                }
            }
            Err(error) => {
                lock(&watch.counts).failures += 1;
                if !can_get_better(error.code()) {
                    return watch.tell(WatchChange::Ended(Arc::new(error)));
                }
                pause = (pause * 2).min(LONGEST_PAUSE.max(every));
                // Said once, not at every attempt.
                if !std::mem::replace(&mut is_down, true) {
                    watch.tell(WatchChange::Failed(Arc::new(error)));
                }
            }
        }
    }
}

/// One look at what is watched.
async fn look(host: &Host, watch: &Watch, approval: &Arc<Standing>) -> Result<RawJson, CallError> {
    lock(&watch.counts).polls += 1;
    let mut context = CallContext { source: CallSource::new(Door::Poll), ..CallContext::new(Caller::Poll) };
    context.approvals.clone_from(&approval.approvals);
    let approver: Arc<dyn Approver> = Arc::clone(approval) as Arc<dyn Approver>;
    context.approver = Some(approver);
    // Compared as a whole, and never worth a file of its own.
    context.uncut = true;
    let content = match &watch.source {
        WatchSource::PolledTool { name, arguments, .. } => {
            let called = host.call(&name.to_string(), arguments.clone(), context).await?;
            called.outcome.raw().clone()
        }
        WatchSource::PolledResource { server, uri, .. } | WatchSource::Subscription { server, uri } => {
            host.read_resource(server.as_str(), uri, &context).await?.outcome.raw().clone()
        }
    };
    lock(&watch.counts).last_error = None;
    Ok(content)
}

/// The hash of what was got. Remarks about the answer are not part of it: a server may date them.
fn hash(content: &RawJson) -> [u8; 32] {
    let Ok(members) = scan::members(content.as_str()) else { return Sha256::digest(content.as_str()).into() };
    let mut hash = Sha256::new();
    for member in members.flatten().filter(|member| !member.key_is("_meta")) {
        hash.update(member.raw_key);
        hash.update([0]);
        hash.update(member.value);
        hash.update([0]);
    }
    hash.finalize().into()
}

/// A server that is down may come back; what is refused or gone stays so.
fn can_get_better(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::TransportError
            | ErrorCode::Timeout
            | ErrorCode::ServerUnavailable
            | ErrorCode::LimitExceeded
            | ErrorCode::ProtocolError
            | ErrorCode::ToolError
    )
}

/// The person's answer, for as long as what it was given for is the same.
pub(super) struct Standing {
    host: WeakHost,
    /// The approver asked at the first look, if not the host's.
    first: Mutex<Option<Arc<dyn Approver>>>,
    /// What whoever made the watch said yes to for as long as they are there.
    approvals: Option<RunApprovals>,
    given_for: Mutex<Option<Given>>,
}

#[derive(PartialEq, Eq)]
struct Given {
    name: QualifiedName,
    kind: CallKind,
    definition: Option<DefinitionHash>,
}

impl Standing {
    pub(super) fn new(host: WeakHost) -> Self {
        Self { host, first: Mutex::default(), approvals: None, given_for: Mutex::default() }
    }

    /// Whom to ask now.
    fn approver(&self, host: &Host) -> Arc<dyn Approver> {
        let first = lock(&self.first).clone();
        first.unwrap_or_else(|| Arc::clone(&host.shared().approver))
    }
}

impl Approver for Standing {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move {
            let Ok(host) = self.host.upgrade() else { return ApprovalAnswer::Unavailable };
            let snapshot = host.snapshot();
            let tool = snapshot.find(&request.name).filter(|_| request.kind == CallKind::Tool);
            let definition = tool.map(|tool| DefinitionHash::of(tool.definition().raw().as_str()));
            let asked = Given { name: request.name.clone(), kind: request.kind, definition };
            if lock(&self.given_for).as_ref() == Some(&asked) {
                return ApprovalAnswer::Once;
            }
            let answer = self.approver(&host).approve(request).await;
            let is_yes = matches!(answer, ApprovalAnswer::Once | ApprovalAnswer::Run | ApprovalAnswer::Always { .. });
            *lock(&self.given_for) = is_yes.then_some(asked);
            answer
        })
    }

    fn keep(&self, approval: &helve_policy::Approval) {
        if let Ok(host) = self.host.upgrade() {
            self.approver(&host).keep(approval);
        }
    }
}
