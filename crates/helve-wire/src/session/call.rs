//! Calling tools, reading resources, getting prompts: with a permit, through as many rounds of questions as it takes.

use helve_model::protocol::methods;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use helve_model::json::{RawJson, scan};
use helve_model::{CallKind, ErrorCode, Outcome, PromptOutcome, ReadOutcome};
use helve_policy::Permit;
use tokio::time::Instant;

use super::{LogLevel, Session, Shared};
use crate::channel::Ask;
use crate::encode::{Params, object, quoted};
use crate::era::modern::{self, ResultKind};
use crate::era::param_headers;
use crate::error::{Error, Result};
use crate::handler::{ClientCapabilities, PeerHandler, PeerQuestion, QuestionKind};
use crate::pending::{Listener, ProgressCallback};
use crate::request::Times;
use helve_model::sync::lock;

/// How a call is made.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// How long it may take.
    pub times: Times,
    /// Called with each progress report, in order, before the call returns.
    pub on_progress: Option<ProgressCallback>,
    /// Members of `_meta` that the server is to see.
    pub meta: Option<RawJson>,
    /// Members of the parameters that the server is to see besides those of the call itself, as an object.
    pub more: Option<RawJson>,
    /// A legacy server that offers tasks may answer with one, kept for so long; modern servers may always.
    pub as_task: Option<Duration>,
    /// Answers what the server asks in the course of this call, and hears what it logs: a modern server is told its
    /// capabilities, a legacy one was told those of the connection's handler.
    pub handler: Option<Arc<dyn PeerHandler>>,
    /// Somebody else deals with what is not the result yet.
    pub relayed: Option<Relayed>,
}

/// A call made for somebody who speaks the protocol himself: what a modern server wants to know, and the task a server
/// made of the call, come back as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Relayed {
    /// The capabilities a modern server is told, as he wrote them; `None`: those of the handler.
    pub capabilities: Option<RawJson>,
    /// His answers to what the server asked in an earlier round (`inputResponses`).
    pub responses: Option<RawJson>,
    /// What the server wants to be reminded of (`requestState`).
    pub state: Option<RawJson>,
    /// How a legacy server is to keep the call as a task (`task`).
    pub task: Option<RawJson>,
}

impl Session {
    /// Calls a tool. The only way to send `tools/call`.
    ///
    /// Cancel safe: dropping the future tells the server in its era's way.
    ///
    /// # Errors
    /// A tool that reports a failure of its own is an [`Outcome`], not an error. See [`Error::may_have_run`] before
    /// repeating a call.
    pub async fn call_tool(&self, permit: &Permit, options: CallOptions) -> Result<Outcome> {
        let tool = self.shared.subject(permit, CallKind::Tool)?;
        let name = quoted(tool);
        let members = [("name", name.as_str()), ("arguments", permit.arguments().as_str())];
        let call = Call { method: methods::TOOLS_CALL, subject: tool, members: &members, permit, options: &options };
        match self.shared.call(&call).await {
            // The tool has changed since it was listed: look again, and repeat what was not accepted.
            Err(error) if modern::is_header_mismatch(&error) => {
                Box::pin(self.list_tools(options.times)).await?;
                Box::pin(self.shared.call(&call)).await.map(Outcome::new)
            }
            outcome => outcome.map(Outcome::new),
        }
    }

    /// Reads a resource; the permit's subject is its URI.
    ///
    /// # Errors
    /// `RESOURCE_NOT_FOUND` when the server has none of that URI; otherwise whatever the peer or the way to it does.
    pub async fn read_resource(&self, permit: &Permit, options: CallOptions) -> Result<ReadOutcome> {
        let uri = self.shared.subject(permit, CallKind::Resource)?;
        let quoted_uri = quoted(uri);
        let members = [("uri", quoted_uri.as_str())];
        let call = Call { method: methods::RESOURCES_READ, subject: uri, members: &members, permit, options: &options };
        self.shared.call(&call).await.map(ReadOutcome::new)
    }

    /// Gets a prompt; the permit's subject is its name.
    ///
    /// # Errors
    /// `PROMPT_NOT_FOUND` when the server has none of that name; otherwise whatever the peer or the way to it does.
    pub async fn get_prompt(&self, permit: &Permit, options: CallOptions) -> Result<PromptOutcome> {
        let prompt = self.shared.subject(permit, CallKind::Prompt)?;
        let name = quoted(prompt);
        let members = [("name", name.as_str()), ("arguments", permit.arguments().as_str())];
        let call = Call { method: methods::PROMPTS_GET, subject: prompt, members: &members, permit, options: &options };
        self.shared.call(&call).await.map(PromptOutcome::new)
    }
}

/// A call that needs a permit, with all that stays the same from round to round.
pub(super) struct Call<'a> {
    method: &'a str,
    subject: &'a str,
    members: &'a [(&'a str, &'a str)],
    permit: &'a Permit,
    pub(super) options: &'a CallOptions,
}

/// The metadata of calls in somebody's name, and whose it is.
#[derive(Debug)]
pub(super) struct OwnMeta {
    declared: Declared,
    log_level: Option<LogLevel>,
    rendered: Arc<str>,
}

/// Parameters that a call has of its own: nobody else sets them.
const OWN_MEMBERS: [&str; 7] = ["name", "arguments", "uri", "_meta", "task", "inputResponses", "requestState"];

impl CallOptions {
    /// The same with a change. Fields are added in time, so nobody writes out all of them.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// What the server is to see besides, member by member, as it is written.
    fn more_members(&self) -> impl Iterator<Item = (&str, &str)> {
        let more = self.more.as_ref().map_or("", RawJson::as_str);
        let members = scan::members(more).into_iter().flatten().map_while(std::result::Result::ok);
        members
            .filter(|member| !OWN_MEMBERS.iter().any(|own| member.key_is(own)))
            .map(|member| (member.raw_key, member.value))
    }
}

/// What somebody can do for a server.
#[derive(Debug, PartialEq, Eq)]
enum Declared {
    /// In his own words.
    AsWritten(RawJson),
    Here(ClientCapabilities),
}

impl Declared {
    fn to_json(&self) -> String {
        match self {
            Self::AsWritten(capabilities) => capabilities.as_str().to_owned(),
            Self::Here(capabilities) => modern::declared(capabilities.clone()),
        }
    }
}

/// What few calls need is kept apart, here and below: a call is moved from hand to hand, and so is the room for all that it
/// may come to.
impl Shared {
    /// What a permit is for, if it is for this server and this kind of call.
    fn subject<'permit>(&self, permit: &'permit Permit, kind: CallKind) -> Result<&'permit str> {
        if permit.kind() == kind && permit.name().server == self.options.server {
            return Ok(permit.name().tool.as_str());
        }
        let (given, server) = (permit.name(), &self.options.server);
        Err(Error::new(
            ErrorCode::Denied,
            format!("the permit is for the {} {given}, not for a {kind} of {server}", permit.kind()),
        ))
    }

    async fn call(self: &Arc<Self>, call: &Call<'_>) -> Result<RawJson> {
        let is_task = call.options.as_task.is_some() && !self.speech.calls_in_rounds();
        match &call.options.relayed {
            // For a caller that cannot ask for the task, it is made and followed here.
            Some(relayed) if is_task && relayed.task.is_none() => {}
            Some(relayed) => return self.call_relayed(call, relayed).await,
            None => {}
        }
        if self.speech.calls_in_rounds() {
            return self.call_in_rounds(call).await;
        }
        let Some(ttl) =
            call.options.as_task.filter(|_| call.method == methods::TOOLS_CALL && self.greeting.offers("tasks"))
        else {
            return self.ask(self.ask_for(call, Params::Members(&with(call, &[])), "", call.options.times)).await;
        };
        let task = object(&[("ttl", &ttl.as_millis().to_string())]);
        let members = with(call, &[("task", task.as_str())]);
        let result = self.ask(self.ask_for(call, Params::Members(&members), "", call.options.times)).await?;
        match result.member("task") {
            Some(task) => Box::pin(self.follow_legacy_task(&task, call.options)).await,
            None => Ok(result),
        }
    }

    /// One round, whatever comes of it.
    async fn call_relayed(&self, call: &Call<'_>, relayed: &Relayed) -> Result<RawJson> {
        let extra = self.speech.relayed_members(relayed);
        let extra: Vec<_> = extra.iter().filter_map(|(key, value)| Some((*key, value.as_ref()?.as_str()))).collect();
        let members = with(call, &extra);
        let meta = self.own_meta(call.options);
        let meta = meta.as_deref().unwrap_or_default();
        self.ask(self.ask_for(call, Params::Members(&members), meta, call.options.times)).await
    }

    /// The modern way: as long as the server needs to know more, the same call is made again with the answers.
    ///
    /// All rounds share the call's total; the time that our own side takes for its answers is not the server's.
    async fn call_in_rounds(self: &Arc<Self>, call: &Call<'_>) -> Result<RawJson> {
        let mut answers: Option<RawJson> = None;
        let mut state: Option<RawJson> = None;
        let mut times = call.options.times;
        let meta = self.own_meta(call.options);
        let meta = meta.as_deref().unwrap_or_default();
        let mut rounds = 0..self.options.limits.rounds;
        loop {
            let mut extra = Vec::with_capacity(2);
            extra.extend(answers.as_ref().map(|answers| ("inputResponses", answers.as_str())));
            extra.extend(state.as_ref().map(|state| ("requestState", state.as_str())));
            let members = with(call, &extra);
            let started = Instant::now();
            let result = self.ask(self.ask_for(call, Params::Members(&members), meta, times)).await?;
            times.total = times.total.saturating_sub(started.elapsed());
            match modern::result_kind(&result) {
                ResultKind::Complete => return Ok(result),
                ResultKind::Task => return Box::pin(self.follow_modern_task(&result, call.options)).await,
                ResultKind::InputRequired => {
                    if rounds.next().is_none() {
                        return Err(self.too_many_rounds());
                    }
                    let questions = result.member("inputRequests");
                    state = result.member("requestState").filter(|state| state.as_str() != "null");
                    answers = match questions {
                        Some(questions) => {
                            Some(Box::pin(self.answer(&questions, call.options.handler.as_ref())).await?)
                        }
                        None if state.is_some() => None,
                        None => return Err(broken_result("asks for input but says neither which nor in which state")),
                    };
                }
                ResultKind::Unknown(kind) => {
                    return Err(broken_result(&format!("is of the type {kind}, which the protocol does not have")));
                }
            }
        }
    }

    fn too_many_rounds(&self) -> Error {
        let rounds = self.options.limits.rounds;
        Error::new(ErrorCode::LimitExceeded, format!("the server asked for input more than {rounds} times in one call"))
            .with_hint("the server may be asking in circles; raise the limit `rounds` if it is not")
            .with_may_have_run(true)
    }

    /// The metadata of a call that is made in somebody else's name; `None` when it is made in the connection's.
    fn own_meta(&self, options: &CallOptions) -> Option<Arc<str>> {
        if !self.speech.has_request_meta() {
            return None;
        }
        let capabilities = options.relayed.as_ref().and_then(|relayed| relayed.capabilities.as_ref());
        let (declared, log_level) = match (capabilities, &options.handler) {
            // What is to be logged is his to say, in his own metadata.
            (Some(capabilities), _) => (Declared::AsWritten(capabilities.clone()), None),
            (None, Some(handler)) => (Declared::Here(handler.capabilities()), *lock(&self.log_level)),
            (None, None) => return None,
        };
        // Whoever calls calls again, and can do then what he can do now.
        let mut last = lock(&self.own_meta);
        match &*last {
            Some(last) if last.declared == declared && last.log_level == log_level => Some(Arc::clone(&last.rendered)),
            _ => {
                let version = &self.greeting.negotiated.version;
                let level = log_level.map(LogLevel::as_str);
                let rendered =
                    self.speech.request_meta(version, &self.options.client, &declared.to_json(), level).into();
                *last = Some(OwnMeta { declared, log_level, rendered: Arc::clone(&rendered) });
                Some(rendered)
            }
        }
    }

    fn ask_for<'call>(
        &self,
        call: &Call<'call>,
        params: Params<'call>,
        era_meta: &'call str,
        times: Times,
    ) -> Ask<'call> {
        let (on_progress, handler) = (call.options.on_progress.clone(), call.options.handler.clone());
        let is_heard = on_progress.is_some() || handler.is_some();
        let listener = is_heard.then_some(Listener::Call { on_progress, handler });
        let known = lock(&self.param_headers).get(call.subject).cloned();
        let headers = match known {
            Some(known) if call.method == methods::TOOLS_CALL => param_headers::values(&known, call.permit.arguments()),
            _ => Vec::new(),
        };
        Ask {
            subject: Some(call.subject),
            params,
            era_meta,
            headers,
            caller_meta: call.options.meta.as_ref(),
            wants_progress: true,
            listener,
            times,
            ..Ask::new(call.method, &[])
        }
    }

    /// Asks the handler each question of a result, one after another, and gives the answers under the same keys.
    pub(super) async fn answer(&self, questions: &RawJson, handler: Option<&Arc<dyn PeerHandler>>) -> Result<RawJson> {
        let (handler, capabilities) = match handler {
            Some(own) => (own, &own.capabilities()),
            None => (self.channel.dispatcher().handler(), self.channel.capabilities()),
        };
        let mut answers: Vec<(String, RawJson)> = Vec::new();
        let members =
            scan::members(questions.as_str()).map_err(|_| broken_result("asks in a form that is not an object"))?;
        for member in members {
            let member = member.map_err(|_| broken_result("asks in a form that is not valid JSON"))?;
            let question = RawJson::part_of(questions.shared(), member.value);
            let Some(method) = question.member_str("method") else {
                return Err(broken_result("asks something without a method"));
            };
            let kind = QuestionKind::of_method(&method).filter(|kind| capabilities.allow(*kind));
            let Some(kind) = kind else {
                return Err(broken_result(&format!("asks for `{method}`, which it was not offered")));
            };
            let question = PeerQuestion { kind, params: question.member("params"), during: None };
            let answer = handler.question(question).await.map_err(|refusal| {
                Error::new(ErrorCode::Denied, format!("the server asked for `{method}` and was refused"))
                    .with_may_have_run(true)
                    .with_source(refusal)
            })?;
            answers.push((member.raw_key.to_owned(), answer));
        }
        let answers: Vec<(&str, &str)> = answers.iter().map(|(key, answer)| (key.as_str(), answer.as_str())).collect();
        Ok(object(&answers))
    }
}

/// The error of a call whose result cannot be used.
pub(super) fn broken_result(problem: &str) -> Error {
    Error::new(ErrorCode::ProtocolError, format!("the server's result {problem}"))
        .with_hint("the server does not follow the protocol; report it to its authors")
        .with_may_have_run(true)
}

/// The parameters of a call: its own, what the server is to see besides, and what this round adds. Most calls have but
/// their own.
fn with<'a>(call: &Call<'a>, extra: &[(&'a str, &'a str)]) -> Cow<'a, [(&'a str, &'a str)]> {
    if call.options.more.is_none() && extra.is_empty() {
        return Cow::Borrowed(call.members);
    }
    call.members.iter().copied().chain(call.options.more_members()).chain(extra.iter().copied()).collect()
}

impl fmt::Debug for CallOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CallOptions")
            .field("times", &self.times)
            .field("on_progress", &self.on_progress.is_some())
            .field("meta", &self.meta)
            .field("more", &self.more)
            .field("as_task", &self.as_task)
            .field("handler", &self.handler)
            .field("relayed", &self.relayed)
            .finish()
    }
}
