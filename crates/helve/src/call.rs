//! The way of a call, in a straight line. Every door joins here: library, command line, prompt tags, polls, faces.

mod arguments;
mod authorize;
mod dispatch;
mod foresee;
mod pages;
pub(crate) mod reading;
mod record;
mod relaying;
mod shape;
#[cfg(feature = "tls")]
mod sign_in;
pub(crate) mod whereabouts;

use std::fmt;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use helve_model::json::RawJson;
use helve_model::{ErrorCode, Outcome, Principal, QualifiedName, RecordedBodies, Validation};
use helve_policy::{Answer, CalledBy, Caller, Decider, Refusal, Scope, Whereabouts};
use helve_wire::{ProgressCallback, Relayed};
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use crate::answerer::Answerer;
use crate::ask::{Approver, RefusalListener, RunApprovals};
use crate::catalog::ToolEntry;
use crate::error::CallError;
use crate::host_core::HostCore;
use crate::record::{CallSource, Door};
use crate::turn::Turns;
use dispatch::Sent;
pub use foresee::Foreseen;
pub use reading::ResourceOutcome;
use record::Recording;
#[cfg(feature = "tls")]
pub use sign_in::SignsIn;

/// What an agent hears behind a refusal that its person can do something about.
const PERSON_WAS_TOLD: &str = "; the person was told";

/// How a call is made, and by whom.
#[derive(Clone)]
#[non_exhaustive]
pub struct CallContext {
    /// The caller.
    pub caller: Caller,
    /// On whose behalf. What is kept of the call is kept for this one alone.
    pub principal: Principal,
    /// What the caller may see and call at most, whatever the rules allow.
    pub scope: Scope,
    /// Where it comes from, for the record.
    pub source: CallSource,
    /// How long it may stay without answer or progress; `None`: as the server or the host says.
    pub timeout: Option<Duration>,
    /// How long all of it may take, from its name to its result, with or without progress; `None`: as the host says.
    pub total: Option<Duration>,
    /// Called with each progress report, in order, before the call returns.
    pub on_progress: Option<ProgressCallback>,
    /// Members of `_meta` that the server is to see.
    pub meta: Option<RawJson>,
    /// Members of the parameters that the server is to see besides those of the call itself, as an object.
    pub more: Option<RawJson>,
    /// Where the arguments are checked, where neither the server's entry nor the host says so.
    pub validation: Validation,
    /// The name that the caller knows the tool by, for what it is told; `None`: `server/tool`.
    pub known_as: Option<String>,
    /// The whole result is wanted, however large it is.
    pub uncut: bool,
    /// The approver for rules that say *ask*; `None`: the host's.
    pub approver: Option<Arc<dyn Approver>>,
    /// What no rule and no list mentions runs: whoever calls asks its person itself.
    pub leaves_unlisted: bool,
    /// Hears that a call was refused, and can change that; `None`: nobody.
    pub refusals: Option<Arc<dyn RefusalListener>>,
    /// Where approvals are kept that last for the run; `None`: with the host, for everybody it calls for.
    pub approvals: Option<RunApprovals>,
    /// The person behind the caller, who may sign in when the server wants it; `None`: the call ends with `AUTH_REQUIRED`.
    #[cfg(feature = "tls")]
    pub signs_in: Option<Arc<dyn SignsIn>>,
    /// Hands out turns at the server; `None`: the host's own limit of calls in flight is all there is.
    pub turns: Option<Arc<dyn Turns>>,
    /// Answers what the server asks in the course of this call, and hears what it logs; `None`: as the host says. A
    /// modern server is told what it may ask; a legacy one was told when it was connected.
    pub answerer: Option<Arc<dyn Answerer>>,
    /// The caller speaks the protocol himself: what a modern server wants to know before it goes on, or the task it made
    /// of the call, is his outcome. See [`CallOutcome::is_unfinished`].
    pub relayed: Option<Relayed>,
}

/// A call of one tool, bound to the definition and the rules of one snapshot.
pub struct PreparedCall {
    host: Arc<HostCore>,
    tool: Arc<ToolEntry>,
}

/// What a call produced.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallOutcome {
    /// What was called.
    pub name: QualifiedName,
    /// What came back: whole, or cut with the rest in [`CallOutcome::kept_in`].
    pub outcome: Outcome,
    /// Where a result that was too large is kept: its images and sounds, then the whole.
    pub kept_in: Vec<PathBuf>,
    /// How long it took.
    pub duration: Duration,
    /// It was kept from an earlier call.
    pub from_cache: bool,
    /// What is not as it should be: arguments that could not be checked, a result that breaks its promise.
    pub warnings: Vec<String>,
}

impl CallContext {
    /// A call by `caller`, with nothing else said.
    #[must_use]
    pub const fn new(caller: Caller) -> Self {
        Self {
            caller,
            principal: Principal::LOCAL,
            scope: Scope::everything(None),
            source: CallSource::new(Door::Library),
            timeout: None,
            total: None,
            on_progress: None,
            meta: None,
            more: None,
            validation: Validation::Strict,
            known_as: None,
            uncut: false,
            approver: None,
            leaves_unlisted: false,
            refusals: None,
            approvals: None,
            #[cfg(feature = "tls")]
            signs_in: None,
            turns: None,
            answerer: None,
            relayed: None,
        }
    }

    /// The caller, as rules ask for it.
    #[must_use]
    pub fn called_by(&self) -> CalledBy<'_> {
        self.source.called_by(self.caller, &self.principal)
    }

    /// A refusal as an error, told to whoever can change it. The agent hears that they were told.
    pub(crate) fn refused(&self, refusal: &Refusal) -> CallError {
        let error = CallError::from_refusal(refusal);
        match &self.refusals {
            // Whoever has just said no knows, and what a program keeps from its agent is not the person's to change.
            Some(listener) if !matches!(refusal.ground().decider, Decider::Declined | Decider::OutOfScope(_)) => {
                listener.refused(&error);
                error.and_agents_hear(PERSON_WAS_TOLD)
            }
            _ => error,
        }
    }

    /// The tool as the caller knows it.
    pub(crate) fn names(&self, name: &QualifiedName) -> String {
        self.known_as.clone().unwrap_or_else(|| name.to_string())
    }

    /// The same with a change. Fields are added in time, so nobody writes out all of them.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The same with a time-out.
    #[must_use]
    pub const fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

impl CallOutcome {
    /// True when this is not the result yet: the server asks for input, or made a task of the call. Only calls that are
    /// relayed end so.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        is_unfinished(&self.outcome)
    }

    /// The same, unless the tool says that it failed: then that is the error, in the tool's own words.
    ///
    /// # Errors
    /// With the code [`ErrorCode::ToolError`].
    pub fn into_result(self) -> Result<Self, CallError> {
        if !self.outcome.is_error() {
            return Ok(self);
        }
        let text = self.to_text();
        let words = if text.trim().is_empty() { "the tool does not say why" } else { text.trim() };
        Err(CallError::new(ErrorCode::ToolError, words).at(&self.name))
    }

    /// The result as one text, for hosts that need a string. Where the server tells apart what is for the assistant and
    /// what is for the user alone, the latter is left out.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self.outcome.open() {
            Ok(view) => view.for_assistant().to_text(),
            Err(_) => self.outcome.raw().as_str().to_owned(),
        }
    }
}

impl PreparedCall {
    pub(crate) const fn new(host: Arc<HostCore>, tool: Arc<ToolEntry>) -> Self {
        Self { host, tool }
    }

    /// The tool.
    #[must_use]
    pub fn tool(&self) -> &ToolEntry {
        &self.tool
    }

    /// Makes the call: arguments checked, permission asked, sent, shaped, recorded.
    ///
    /// Cancel safe: dropping the future cancels the call, and the server is told.
    ///
    /// # Errors
    /// See [`crate::Host::call`].
    pub async fn invoke(self, arguments: impl Into<RawJson>, context: CallContext) -> Result<CallOutcome, CallError> {
        let arguments = arguments.into();
        let mut recording = Recording::begin(&self.host, None, &context, &arguments);
        recording.found(self.tool.name());
        let span = recording.span();
        let result = {
            let work = pin!(self.signed_in(arguments, &context, &mut recording).instrument(span));
            within(context.total, work).await
        };
        let result = result.unwrap_or_else(|total| Err(recording.too_long(total)));
        let result = result.map_err(|error| error.known_as(context.known_as.as_deref()));
        recording.finish(&result);
        result
    }

    /// Makes the call, and once more if its person has signed in to the server because of it.
    async fn signed_in(
        &self,
        arguments: RawJson,
        context: &CallContext,
        recording: &mut Recording<'_>,
    ) -> Result<CallOutcome, CallError> {
        #[cfg(feature = "tls")]
        let again = context.signs_in.as_ref().map(|person| (person, arguments.clone()));
        let result = self.run(arguments, context, recording).await;
        #[cfg(feature = "tls")]
        if let Some((person, arguments)) = again {
            return match result {
                Err(error) if error.needs_login() => {
                    Box::pin(sign_in::sign_in(&self.host, &self.tool, person.as_ref(), error)).await?;
                    Box::pin(self.run(arguments, context, recording)).await
                }
                result => result,
            };
        }
        result
    }

    async fn run(
        &self,
        arguments: RawJson,
        context: &CallContext,
        recording: &mut Recording<'_>,
    ) -> Result<CallOutcome, CallError> {
        let host = &*self.host;
        let timeout = dispatch::timeout(host, &self.tool, context);
        let checked;
        let tool = if self.tool.from_cache {
            checked = Box::pin(dispatch::listed_by_server(host, &self.tool, Instant::now() + timeout)).await?;
            &checked
        } else {
            &self.tool
        };

        if tool.record != RecordedBodies::None {
            recording.keep_arguments(tool, &arguments);
        }
        authorize::in_scope(tool.policy(), context, recording)?;
        let mut warnings = arguments::check(host, tool, &arguments, context)?;
        authorize::as_pinned(tool, context)?;
        let whereabouts = match tool.native() {
            _ if !whereabouts::matter(tool, context) => Whereabouts::default(),
            Some(native) => Box::pin(whereabouts::find(tool, native.as_ref(), &arguments, timeout)).await?,
            None => whereabouts::given(tool, context),
        };
        let permit = match authorize::decide(host, tool.policy(), arguments, &whereabouts, context, recording)? {
            Answer::Approved(permit) => permit,
            Answer::Open(question) => {
                Box::pin(authorize::ask(host, tool.policy(), context, question, &whereabouts)).await?
            }
        };
        let mut cache_key = shape::cache_key(host, tool, &permit, context);
        if let Some(outcome) = shape::from_cache(host, cache_key.as_ref()) {
            return Ok(CallOutcome {
                name: tool.name().clone(),
                outcome,
                kept_in: Vec::new(),
                duration: recording.elapsed(),
                from_cache: true,
                warnings,
            });
        }
        let asked = |tool: &ToolEntry| tool.handle.as_ref().map(|handle| handle.questions());
        let asked_before = asked(tool);
        let Sent { outcome, warning } = dispatch::send(host, tool, &permit, context, timeout, recording).await?;
        warnings.extend(warning);
        if asked(tool) != asked_before {
            cache_key = None;
        }
        recording.took_bytes(outcome.raw().as_str().len());
        if tool.record == RecordedBodies::All {
            recording.keep_result(tool, outcome.raw());
        }
        if context.relayed.is_none() || !is_unfinished(&outcome) {
            warnings.extend(shape::broken_promise(tool, &outcome));
            shape::into_cache(host, tool, cache_key, context, &outcome);
        }
        let (outcome, kept_in) = shape::cut(host, tool, outcome, context, &mut warnings).await;
        Ok(CallOutcome {
            name: tool.name().clone(),
            outcome,
            kept_in,
            duration: recording.elapsed(),
            from_cache: false,
            warnings,
        })
    }
}

fn is_unfinished(outcome: &Outcome) -> bool {
    let kind = outcome.raw().member_str("resultType");
    matches!(kind.as_deref(), Some("input_required" | "task")) || outcome.raw().member("task").is_some()
}

/// A call of which only a text is known yet: recorded from here on, whether there is such a tool or not.
pub(crate) async fn invoke_named(
    host: &Arc<HostCore>,
    asked: &str,
    find: Pin<&mut impl Future<Output = Result<Arc<ToolEntry>, CallError>>>,
    arguments: RawJson,
    context: &CallContext,
) -> Result<CallOutcome, CallError> {
    let mut recording = Recording::begin(host, Some(asked), context, &arguments);
    let span = recording.span();
    let result = {
        let work = async {
            let tool = find.await?;
            recording.found(tool.name());
            PreparedCall::new(Arc::clone(host), tool).signed_in(arguments, context, &mut recording).await
        };
        let work = pin!(work.instrument(span));
        within(context.total, work).await
    };
    let result = result.unwrap_or_else(|total| Err(recording.too_long(total)));
    let result = result.map_err(|error| error.known_as(context.known_as.as_deref()));
    recording.finish(&result);
    result
}

/// Connects to the tool of a call that is yet to get its arguments. That there is none is recorded: it is how the call ended.
pub(crate) async fn connect(
    host: &Arc<HostCore>,
    asked: &str,
    find: impl Future<Output = Result<Arc<ToolEntry>, CallError>>,
    context: &CallContext,
) -> Result<PreparedCall, CallError> {
    let mut recording = Recording::begin(host, Some(asked), context, &RawJson::empty_object());
    let found = find.await;
    match &found {
        Ok(_) => recording.goes_on(),
        Err(error) => recording.end_with(Err(error)),
    }
    Ok(PreparedCall::new(Arc::clone(host), found?))
}

/// What a call comes to within its total, which is the error. The work is pinned by the caller: a call is a large future,
/// and moving it costs as much as deciding it.
async fn within<T>(total: Option<Duration>, work: Pin<&mut impl Future<Output = T>>) -> Result<T, Duration> {
    match total {
        None => Ok(work.await),
        Some(total) => timeout(total, work).await.map_err(|_| total),
    }
}

impl fmt::Debug for PreparedCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PreparedCall").field("tool", self.tool.name()).finish_non_exhaustive()
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CallContext")
            .field("caller", &self.caller)
            .field("principal", &self.principal)
            .field("source", &self.source)
            .field("timeout", &self.timeout)
            .field("meta", &self.meta)
            .finish_non_exhaustive()
    }
}
