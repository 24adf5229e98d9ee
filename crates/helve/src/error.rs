//! The one error of the host: what happened, at which server and tool, what to do; a code to branch on.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use helve_model::json::RawJson;
use helve_model::{ErrorCode, Hint, QualifiedName, ServerName, ToolName, text};
use helve_policy::{Decider, Ground, Refusal};
use helve_wire::RpcError;
use serde_json::{Map, Value};

use crate::ask::{AnswerPage, OpenQuestion};
use crate::connect::login_helps;
use crate::tool::ToolFailure;

/// Why there is no outcome.
///
/// `Display` prints one level; walk [`std::error::Error::source`] for the chain.
pub struct CallError(Box<Inner>);

struct Inner {
    code: ErrorCode,
    message: String,
    server: Option<ServerName>,
    tool: Option<ToolName>,
    hints: Vec<Hint>,
    /// Those of the hints that a model may be told: they name no file, no rule and no command.
    agent_hints: Vec<Hint>,
    may_have_run: bool,
    challenge: Option<String>,
    needs_login: bool,
    limit: Option<(&'static str, Duration)>,
    /// What happened, for an agent: without the files, rules and commands behind it.
    agent_message: Option<AgentMessage>,
    /// What a refusal rests on.
    ground: Option<Ground>,
    /// The last line that the server wrote to stderr.
    last_words: Option<String>,
    /// When the server is tried again.
    retry_after: Option<Duration>,
    /// The name that the caller knows the tool by, where that is not `server/tool`.
    known_as: Option<String>,
    /// Where a person can answer what the call needs answered.
    answer_page: Option<AnswerPage>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

#[derive(Clone)]
enum AgentMessage {
    Whole(String),
    /// What is to be said of the tool, which each agent knows by a name of its own.
    OfTool(String),
}

impl CallError {
    /// An error of this kind.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            message: message.into(),
            server: None,
            tool: None,
            hints: Vec::new(),
            agent_hints: Vec::new(),
            may_have_run: false,
            challenge: None,
            needs_login: false,
            limit: None,
            agent_message: None,
            ground: None,
            last_words: None,
            retry_after: None,
            known_as: None,
            answer_page: None,
            source: None,
        }))
    }

    /// Says which server it is about.
    #[must_use]
    pub fn at_server(mut self, server: &ServerName) -> Self {
        self.0.server = Some(server.clone());
        self
    }

    /// Says which tool it is about.
    #[must_use]
    pub fn at(mut self, name: &QualifiedName) -> Self {
        self.0.server = Some(name.server.clone());
        self.0.tool = Some(name.tool.clone());
        self
    }

    /// Says what the person can do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Hint>) -> Self {
        self.0.hints.push(hint.into());
        self
    }

    /// Adds a sentence that tells the caller what to do, be it a person or a model. It must name no file, no rule, no
    /// command, and nothing that is hidden from agents.
    #[must_use]
    pub fn with_agent_hint(mut self, hint: impl Into<String>) -> Self {
        let hint = Hint::text(hint);
        self.0.hints.push(hint.clone());
        self.0.agent_hints.push(hint);
        self
    }

    /// Says what an agent is told instead of the message and its causes.
    #[must_use]
    pub(crate) fn for_agents(mut self, message: impl Into<String>) -> Self {
        self.0.agent_message = Some(AgentMessage::Whole(message.into()));
        self
    }

    /// Says by which name the caller knows the tool.
    #[must_use]
    pub(crate) fn known_as(mut self, name: Option<&str>) -> Self {
        self.0.known_as = name.map(ToOwned::to_owned);
        self
    }

    /// Says more to an agent, behind what it is told instead of the message.
    pub(crate) fn and_agents_hear(mut self, more: &str) -> Self {
        if let Some(AgentMessage::Whole(message) | AgentMessage::OfTool(message)) = &mut self.0.agent_message {
            message.push_str(more);
        }
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    pub(crate) fn with_may_have_run(mut self, may_have_run: bool) -> Self {
        self.0.may_have_run = may_have_run;
        self
    }

    /// Says when the server is tried again. Nothing was sent to it.
    #[must_use]
    pub(crate) fn tried_again_in(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    pub(crate) fn with_challenge(mut self, challenge: &str) -> Self {
        self.0.challenge = Some(challenge.to_owned());
        self
    }

    /// Says that a person has to sign in.
    #[must_use]
    pub(crate) fn with_needs_login(mut self, needs_login: bool) -> Self {
        self.0.needs_login = needs_login;
        self
    }

    /// Says which limit was reached, in a word for programs, and when it is worth trying again.
    #[must_use]
    pub fn with_limit(mut self, limit: &'static str, retry_after: Duration) -> Self {
        self.0.limit = Some((limit, retry_after));
        self
    }

    /// The kind of error, to branch on.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// What happened, in one line.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Which server it is about.
    #[must_use]
    pub fn server(&self) -> Option<&ServerName> {
        self.0.server.as_ref()
    }

    /// Which tool it is about.
    #[must_use]
    pub fn tool(&self) -> Option<&ToolName> {
        self.0.tool.as_ref()
    }

    /// What a refusal rests on; `None` for what was not decided by rules.
    #[must_use]
    pub fn ground(&self) -> Option<&Ground> {
        self.0.ground.as_ref()
    }

    /// What the person can do about it.
    #[must_use]
    pub fn hints(&self) -> &[Hint] {
        &self.0.hints
    }

    /// True when the tool may have run although no answer arrived: repeating the call may do it twice.
    #[must_use]
    pub fn may_have_run(&self) -> bool {
        self.0.may_have_run && self.rpc().is_none()
    }

    /// The last line that the server wrote to stderr before it went.
    #[must_use]
    pub fn last_words(&self) -> Option<&str> {
        self.0.last_words.as_deref()
    }

    /// When the server that is not there is tried again.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after.or_else(|| self.0.limit.map(|(_, retry_after)| retry_after))
    }

    /// What the server wants to be authorised with, as it said it.
    #[must_use]
    pub fn challenge(&self) -> Option<&str> {
        self.0.challenge.as_deref()
    }

    /// True when a person has to sign in to the server, and can.
    #[must_use]
    pub fn needs_login(&self) -> bool {
        self.0.needs_login
    }

    /// The server's refusal exactly as it sent it, where it was the server who refused.
    #[must_use]
    pub fn rpc(&self) -> Option<&RpcError> {
        self.0.source.as_ref()?.downcast_ref::<WireCause>()?.0.rpc()
    }

    /// `{"error": …, "code": …, "server": …, "tool": …, "may_have_run": true, "limit": …, "retryAfterMs": …, "hints": […]}`,
    /// the shape every door gives errors in. The server, the tool, `may_have_run`, the limit and the time are there only
    /// where there is something to tell.
    #[must_use]
    pub fn to_json(&self) -> RawJson {
        let mut object = Map::new();
        object.insert("error".to_owned(), Value::from(self.chain()));
        object.insert("code".to_owned(), Value::from(self.0.code.as_str()));
        if let Some(server) = &self.0.server {
            object.insert("server".to_owned(), Value::from(server.as_str()));
        }
        if let Some(tool) = &self.0.tool {
            object.insert("tool".to_owned(), Value::from(tool.as_str()));
        }
        // Whoever is told when to try again wants to know whether that does it twice.
        if self.may_have_run() || self.0.retry_after.is_some() {
            object.insert("may_have_run".to_owned(), Value::from(self.may_have_run()));
        }
        if let Some((limit, _)) = self.0.limit {
            object.insert("limit".to_owned(), Value::from(limit));
        }
        if let Some(retry_after) = self.retry_after() {
            let milliseconds = u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX);
            object.insert("retryAfterMs".to_owned(), Value::from(milliseconds));
        }
        let hints: Vec<String> = self.0.hints.iter().map(Hint::to_string).collect();
        object.insert("hints".to_owned(), Value::from(hints));
        RawJson::assembled(Value::Object(object).to_string())
    }

    /// The message and its causes, in one line.
    #[must_use]
    pub fn chain(&self) -> String {
        let mut text = self.0.message.clone();
        let mut source = self.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            if !text.contains(&cause_text) {
                text.push_str(": ");
                text.push_str(&cause_text);
            }
            source = cause.source();
        }
        text
    }

    /// An error of the wire, on the way to `name`'s server.
    pub(crate) fn from_wire(error: helve_wire::Error, server: &ServerName) -> Self {
        let mut ours = Self::new(error.code(), error.message()).at_server(server);
        ours.0.hints = error.hints().iter().map(Hint::from).collect();
        ours.0.may_have_run = error.may_have_run();
        ours.0.challenge = error.challenge().map(ToOwned::to_owned);
        ours.0.last_words = error.last_words().map(|line| text::one_line(line).into_owned());
        ours.0.needs_login = login_helps(&error) == Some(true);
        // The message is the wire error's own; its causes follow it.
        match error.source() {
            Some(_) => ours.with_source(WireCause(error)),
            None => ours,
        }
    }

    /// A refusal, in the words of the policy.
    pub(crate) fn from_refusal(refusal: &Refusal) -> Self {
        let mut ours = Self::new(refusal.code(), refusal.to_string()).at(refusal.name());
        ours.0.hints = refusal.hints();
        ours.0.ground = Some(refusal.ground().clone());
        let why = match (refusal.code(), &refusal.ground().decider) {
            (ErrorCode::ApprovalRequired, _) => "it needs the person's yes, and they cannot be asked here",
            (_, Decider::OutOfScope(_)) => "it is not among the tools of this agent",
            (_, Decider::Declined) => "the person was asked and said no",
            _ => "it is not allowed by the person's rules",
        };
        ours.0.agent_message = Some(AgentMessage::OfTool(format!("is refused ({}): {why}", refusal.code())));
        ours
    }

    /// A refusal by a person who said why.
    pub(crate) fn declined(refusal: &Refusal, said: &str) -> Self {
        let mut ours = Self::from_refusal(refusal);
        ours.0.message = format!("{}; {said}", ours.0.message);
        ours.0.agent_message = Some(AgentMessage::OfTool(format!("is refused ({}): {said}", refusal.code())));
        ours
    }

    /// Nobody has answered yet: the call was not made, and can be made again.
    pub(crate) fn still_open(refusal: &Refusal, open: OpenQuestion) -> Self {
        let mut ours = Self::new(refusal.code(), open.said).at(refusal.name());
        ours.0.ground = Some(refusal.ground().clone());
        ours.0.answer_page = open.page;
        ours
    }

    /// What was asked about is not what would run now.
    pub(crate) fn changed_while_asked(refusal: &Refusal) -> Self {
        let said = "not run: the tool's definition or the rule about it changed while the call waited for an answer; \
                    call again, and it is decided anew";
        let mut ours = Self::new(refusal.code(), said).at(refusal.name());
        ours.0.ground = Some(refusal.ground().clone());
        ours
    }

    /// A page where a person can let the call run when it is made again.
    #[must_use]
    pub fn answer_page(&self) -> Option<&AnswerPage> {
        self.0.answer_page.as_ref()
    }

    /// The same for an agent, which is told the code, what happened and what it can do itself, and neither the file, the
    /// rule or the command behind it nor what the person could do.
    #[must_use]
    pub fn to_agent(&self) -> Self {
        let inner = &self.0;
        let message = match &inner.agent_message {
            None => self.chain(),
            Some(AgentMessage::Whole(message)) => message.clone(),
            Some(AgentMessage::OfTool(said)) => match (&inner.known_as, &inner.server, &inner.tool) {
                (Some(name), _, _) => format!("`{name}` {said}"),
                (None, Some(server), Some(tool)) => format!("`{server}/{tool}` {said}"),
                _ => format!("it {said}"),
            },
        };
        Self(Box::new(Inner {
            code: inner.code,
            message,
            server: inner.server.clone(),
            tool: inner.tool.clone(),
            hints: inner.agent_hints.clone(),
            agent_hints: inner.agent_hints.clone(),
            may_have_run: self.may_have_run(),
            challenge: None,
            needs_login: inner.needs_login,
            limit: inner.limit,
            agent_message: None,
            ground: None,
            last_words: None,
            retry_after: inner.retry_after,
            known_as: None,
            answer_page: None,
            source: None,
        }))
    }

    pub(crate) fn from_tool(failure: ToolFailure, name: &QualifiedName) -> Self {
        // A tool of this process speaks to whoever calls it.
        let ours = Self::new(failure.code, failure.message).at(name);
        failure.hints.into_iter().fold(ours, Self::with_agent_hint)
    }

    /// The same error for one more who waited.
    pub(crate) fn again(error: &std::sync::Arc<Self>) -> Self {
        let inner = &error.0;
        Self(Box::new(Inner {
            code: inner.code,
            message: inner.message.clone(),
            server: inner.server.clone(),
            tool: inner.tool.clone(),
            hints: inner.hints.clone(),
            agent_hints: inner.agent_hints.clone(),
            may_have_run: inner.may_have_run,
            challenge: inner.challenge.clone(),
            needs_login: inner.needs_login,
            limit: inner.limit,
            agent_message: inner.agent_message.clone(),
            ground: inner.ground.clone(),
            last_words: inner.last_words.clone(),
            retry_after: inner.retry_after,
            known_as: inner.known_as.clone(),
            answer_page: inner.answer_page.clone(),
            source: error.source().map(|source| source.to_string().into()),
        }))
    }
}

/// Skips the level of the wire's own error, whose message the host's error repeats.
#[derive(Debug)]
struct WireCause(helve_wire::Error);

impl fmt::Display for WireCause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.source() {
            Some(source) => fmt::Display::fmt(source, formatter),
            None => fmt::Display::fmt(&self.0, formatter),
        }
    }
}

impl StdError for WireCause {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source().and_then(StdError::source)
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.message)
    }
}

impl fmt::Debug for CallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.0;
        let mut debug = formatter.debug_struct("CallError");
        debug.field("code", &inner.code).field("message", &inner.message);
        if let Some(server) = &inner.server {
            debug.field("server", server);
        }
        if let Some(tool) = &inner.tool {
            debug.field("tool", tool);
        }
        if !inner.hints.is_empty() {
            debug.field("hints", &inner.hints);
        }
        if let Some(source) = &inner.source {
            debug.field("source", source);
        }
        debug.finish()
    }
}

impl StdError for CallError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}
