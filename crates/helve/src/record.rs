//! What is known of one call once it has ended, and who is told of each: a recorder, at once and without loss.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use helve_model::json::RawJson;
use helve_model::{ErrorCode, Principal, QualifiedName, SecretSet};
use helve_policy::{CalledBy, Caller, Ground};

/// Is told of every call that ended, whichever way: done, refused, invalid, unknown, cancelled, out of time.
///
/// It is called once for each call, on the task that made the call, before the caller has its result. So it must not
/// block: what takes long is handed to somebody else.
pub trait Recorder: fmt::Debug + Send + Sync {
    /// A call has ended.
    fn record(&self, call: &CallRecord);

    /// True when records are to carry a digest of the arguments. Making one costs each call some time.
    fn wants_digest(&self) -> bool {
        false
    }
}

/// What a call is known by: unique among all hosts of all processes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId {
    host: u64,
    number: u64,
}

/// By which way a call came in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Door {
    /// A program that embeds the library.
    #[default]
    Library,
    /// A command line.
    CommandLine,
    /// A tag in a prompt.
    PromptTag,
    /// A watch that repeats the call.
    Poll,
    /// An agent at the other end of a stream, such as standard input and output.
    Stream,
    /// An agent that comes by HTTP.
    Http,
    /// A program that a model wrote.
    Code,
    /// A page that a person looks at.
    Page,
}

/// The program that an agent is, as it calls itself. It is its own word, and decides nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Where a call comes from.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CallSource {
    /// By which way it came in.
    pub door: Door,
    /// Which agent made it.
    pub agent: Option<Arc<AgentInfo>>,
    /// In which session of that agent.
    pub session: Option<Arc<str>>,
    /// The call in the course of which it was made.
    pub parent: Option<CallId>,
}

/// One call, from its first to its last moment.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallRecord {
    /// What it is known by.
    pub id: CallId,
    /// On whose behalf it was made.
    pub principal: Principal,
    /// The caller.
    pub caller: Caller,
    /// Where it came from.
    pub source: CallSource,
    /// What was called; `None` when what was asked for names no tool.
    pub name: Option<QualifiedName>,
    /// The name the caller gave, where it is spelled otherwise than [`CallRecord::name`].
    pub(crate) asked: Option<String>,
    /// What the permission or refusal rests on, with the rule and its place; `None` when it did not come to a decision.
    pub ground: Option<Ground>,
    /// How it ended.
    pub end: CallEnd,
    /// When it began.
    pub started: SystemTime,
    /// How long it took.
    pub duration: Duration,
    /// How often it was sent.
    pub attempts: u32,
    /// Bytes of the arguments.
    pub argument_bytes: usize,
    /// SHA-256 of the arguments as they were sent, where a recorder wants it.
    pub argument_digest: Option<[u8; 32]>,
    /// Bytes of the result.
    pub result_bytes: usize,
    /// What was sent and came back, where the server's entry asks for that to be recorded.
    pub bodies: Option<Arc<CallBodies>>,
    /// The trace that the caller counts it to (W3C `traceparent`), 32 hexadecimal digits.
    pub trace: Option<String>,
}

/// What was sent and what came back. Whoever reads it gets it without the server's secrets.
pub struct CallBodies {
    pub(crate) arguments: Option<RawJson>,
    pub(crate) result: Option<RawJson>,
    pub(crate) secrets: Option<Arc<SecretSet>>,
}

impl CallBodies {
    /// The arguments as they were sent, without secrets.
    #[must_use]
    pub fn arguments(&self) -> Option<String> {
        self.arguments.as_ref().map(|text| self.hidden(text))
    }

    /// The result as it came, without secrets.
    #[must_use]
    pub fn result(&self) -> Option<String> {
        self.result.as_ref().map(|text| self.hidden(text))
    }

    fn hidden(&self, text: &RawJson) -> String {
        let hidden = self.secrets.as_ref().and_then(|secrets| secrets.hide_in_message(text.as_str()));
        hidden.unwrap_or_else(|| text.as_str().to_owned())
    }
}

impl fmt::Debug for CallBodies {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CallBodies")
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallEnd {
    /// With an outcome.
    Done,
    /// With an outcome by which the tool says that it failed.
    ToolError,
    /// With a kept outcome, without asking the server.
    FromCache,
    /// With an error.
    Failed(ErrorCode),
}

impl CallId {
    pub(crate) const fn new(host: u64, number: u64) -> Self {
        Self { host, number }
    }
}

impl CallSource {
    /// A call that came by this way, and nothing else is known.
    #[must_use]
    pub const fn new(door: Door) -> Self {
        Self { door, agent: None, session: None, parent: None }
    }

    /// The caller of a call that comes from here.
    pub(crate) fn called_by<'a>(&'a self, caller: Caller, principal: &'a Principal) -> CalledBy<'a> {
        let agent = self.agent.as_ref().map(|agent| agent.name.as_str());
        CalledBy { agent, ..CalledBy::new(caller, principal) }
    }

    /// The same, made by this agent in this session.
    #[must_use]
    pub fn by(mut self, agent: Option<Arc<AgentInfo>>, session: Option<Arc<str>>) -> Self {
        (self.agent, self.session) = (agent, session);
        self
    }

    /// The same, made in the course of another call.
    #[must_use]
    pub const fn within(mut self, parent: CallId) -> Self {
        self.parent = Some(parent);
        self
    }
}

impl CallRecord {
    /// The name the caller gave, in its spelling.
    #[must_use]
    pub fn asked(&self) -> Cow<'_, str> {
        match (&self.asked, &self.name) {
            (Some(asked), _) => Cow::Borrowed(asked),
            (None, Some(name)) => Cow::Owned(name.to_string()),
            (None, None) => Cow::Borrowed(""),
        }
    }
}

/// The trace id of a W3C `traceparent`: `00-<32 digits>-<16 digits>-<2 digits>`. Anything else names no trace.
pub(crate) fn trace_id(traceparent: &str) -> Option<&str> {
    let is_hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let mut parts = traceparent.split('-');
    let (version, trace) = (parts.next()?, parts.next()?);
    let (span, flags) = (parts.next()?, parts.next()?);
    // Later versions may have more parts; "ff" is none, and neither is a trace of zeros.
    let is_valid = is_hex(version, 2)
        && version != "ff"
        && is_hex(trace, 32)
        && is_hex(span, 16)
        && is_hex(flags, 2)
        && (version != "00" || parts.next().is_none())
        && trace.bytes().any(|byte| byte != b'0');
    is_valid.then_some(trace)
}

impl fmt::Display for CallId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "c1-{:016x}-{}", self.host, self.number)
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for Door {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Library => "library",
            Self::CommandLine => "command line",
            Self::PromptTag => "prompt tag",
            Self::Poll => "poll",
            Self::Stream => "stream",
            Self::Http => "http",
            Self::Code => "code",
            Self::Page => "page",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_traceparent_names_a_trace() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        assert_eq!(trace_id(&format!("00-{trace}-00f067aa0ba902b7-01")), Some(trace));
        assert_eq!(trace_id(&format!("01-{trace}-00f067aa0ba902b7-01-more")), Some(trace));
        let zeros = "0".repeat(32);
        for wrong in [
            String::new(),
            trace.to_owned(),
            format!("00-{trace}-00f067aa0ba902b7"),
            format!("00-{trace}-00f067aa0ba902b7-01-more"),
            format!("ff-{trace}-00f067aa0ba902b7-01"),
            format!("00-{}-00f067aa0ba902b7-01", trace.to_uppercase()),
            format!("00-{zeros}-00f067aa0ba902b7-01"),
            format!("00-{trace}é-00f067aa0ba902b7-01"),
        ] {
            assert_eq!(trace_id(&wrong), None, "{wrong}");
        }
    }
}
