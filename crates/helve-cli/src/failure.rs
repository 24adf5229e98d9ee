//! Why a command did not do what it was asked, and the exit status that says so to scripts.
//!
//! | status | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | anything else |
//! | 2 | wrong usage, wrong arguments of a tool, or a wrong configuration |
//! | 3 | a server cannot be started or reached, or does not speak the protocol |
//! | 4 | no answer in time |
//! | 5 | the tool failed, or there is no such tool, server, resource or prompt |
//! | 6 | the server wants credentials |
//! | 7 | denied, not trusted, or somebody has to approve or answer first |
//! | 130 | interrupted |

use std::error::Error as StdError;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

use helve_config::edit::EditError;
use helve_model::{ErrorCode, Hint, ServerName};
use serde::Serialize;

use crate::hint_words::HintWords;
use crate::printer::write_talk;

/// An error on its way to the person.
#[derive(Debug)]
pub(crate) struct Failure(Box<Inner>);

#[derive(Debug)]
struct Inner {
    code: Code,
    message: String,
    causes: Vec<String>,
    server: Option<String>,
    tool: Option<String>,
    may_have_run: bool,
    challenge: Option<String>,
    hints: Vec<Hint>,
    is_said: bool,
}

/// A failure as JSON; server and tool only where there is one, `may_have_run` only where it is so.
#[derive(Debug, Serialize)]
pub(crate) struct JsonFailure<'a> {
    error: String,
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    /// The tool may have run although no answer arrived.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    may_have_run: bool,
    /// What the server wants to be authorised with, as it said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    challenge: Option<&'a str>,
    hints: Vec<String>,
}

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// The command line makes no sense.
    Usage,
    /// One of the kinds every door of helve knows.
    Error(ErrorCode),
    /// None of them.
    Other,
    /// Nobody reads stdout any more; that is their good right.
    NobodyReads,
}

impl Failure {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::of(Code::Error(code), message)
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::of(Code::Usage, message)
    }

    pub(crate) fn other(message: impl Into<String>) -> Self {
        Self::of(Code::Other, message)
    }

    /// A file could not be read or written; the error names it.
    pub(crate) fn file(error: &io::Error) -> Self {
        Self::other(error.to_string())
    }

    pub(crate) fn stdout(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self::of(Code::NobodyReads, "nobody reads the output"),
            _ => Self::other("the output cannot be written").cause(&error),
        }
    }

    /// An edit of `file` that was refused.
    pub(crate) fn edit(error: &EditError, file: &str) -> Self {
        let message = match error {
            EditError::NoSuchServer { .. }
            | EditError::Exists(_)
            | EditError::ByHand { .. }
            | EditError::RulesByHand { .. } => {
                format!("{file}: {error}")
            }
            EditError::Broken(diagnostic) => {
                let broken = Self::new(ErrorCode::Config, format!("{file} has to be repaired first"));
                return broken.cause(&**diagnostic);
            }
            _ => error.to_string(),
        };
        let code = match error {
            EditError::NoSuchServer { .. } => Code::Error(ErrorCode::ServerNotFound),
            EditError::File(_) | EditError::ChangedMeanwhile(_) => Code::Other,
            _ => Code::Error(ErrorCode::Config),
        };
        Self::of(code, message)
    }

    fn of(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            message: message.into(),
            causes: Vec::new(),
            server: None,
            tool: None,
            may_have_run: false,
            challenge: None,
            hints: Vec::new(),
            is_said: false,
        }))
    }

    /// Says what to do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.0.hints.push(hint.into());
        self
    }

    /// Says what to do about it, in the place of what was said before.
    #[must_use]
    pub(crate) fn advising(mut self, hints: impl IntoIterator<Item = String>) -> Self {
        self.0.hints = hints.into_iter().map(Hint::from).collect();
        self
    }

    /// Says which server it is about.
    #[must_use]
    pub(crate) fn at_server(mut self, server: impl Into<String>) -> Self {
        self.0.server = Some(server.into());
        self
    }

    /// Says which tool it is about.
    #[must_use]
    pub(crate) fn at_tool(mut self, tool: impl Into<String>) -> Self {
        self.0.tool = Some(tool.into());
        self
    }

    /// Says whether the tool may have run although no answer arrived.
    #[must_use]
    pub(crate) fn with_may_have_run(mut self, may_have_run: bool) -> Self {
        self.0.may_have_run = may_have_run;
        self
    }

    /// Says what the server wants to be authorised with.
    #[must_use]
    pub(crate) fn with_challenge(mut self, challenge: Option<&str>) -> Self {
        self.0.challenge = challenge.map(str::to_owned);
        self
    }

    /// The server that a person can sign in to, where that is the way out.
    pub(crate) fn wants_login(&self) -> Option<&ServerName> {
        self.0.hints.iter().find_map(|hint| match hint {
            Hint::SignIn { server } => Some(server),
            _ => None,
        })
    }

    /// True when a project has to be trusted first.
    pub(crate) fn is_untrusted(&self) -> bool {
        self.0.code == Code::Error(ErrorCode::Untrusted)
    }

    /// The server whose configuration has mistakes, where that is the whole failure.
    pub(crate) fn mistaken_server(&self) -> Option<&str> {
        self.0.server.as_deref().filter(|_| self.0.code == Code::Error(ErrorCode::Config))
    }

    /// The code that every door of helve knows, where it has one.
    pub(crate) fn code(&self) -> Option<ErrorCode> {
        match self.0.code {
            Code::Error(code) => Some(code),
            Code::Usage | Code::Other | Code::NobodyReads => None,
        }
    }

    /// True when something took too long.
    pub(crate) fn is_timeout(&self) -> bool {
        self.0.code == Code::Error(ErrorCode::Timeout)
    }

    /// True when somebody wanted it so: nothing to warn about.
    pub(crate) fn is_a_choice(&self) -> bool {
        self.0.code == Code::Error(ErrorCode::ServerDisabled)
    }

    /// Adds a cause and the causes of that.
    #[must_use]
    pub(crate) fn cause(mut self, cause: &(dyn StdError + 'static)) -> Self {
        let mut next = Some(cause);
        while let Some(error) = next {
            self.0.causes.push(error.to_string());
            next = error.source();
        }
        self
    }

    /// Adds causes that are words already.
    #[must_use]
    pub(crate) fn because_of(mut self, causes: &[String]) -> Self {
        self.0.causes.extend_from_slice(causes);
        self
    }

    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    pub(crate) fn causes(&self) -> &[String] {
        &self.0.causes
    }

    pub(crate) fn hints(&self) -> &[Hint] {
        &self.0.hints
    }

    /// True when there is nothing left to say, or nobody to say it to.
    pub(crate) fn is_silent(&self) -> bool {
        self.0.is_said || self.0.code == Code::NobodyReads
    }

    pub(crate) fn exit_status(&self) -> u8 {
        exit_status(self.0.code)
    }

    /// The same, when it comes of questions that nobody was there to answer. JSON output has the hints in it;
    /// others have read them already.
    #[must_use]
    pub(crate) fn unanswered(mut self, hints: Vec<String>, is_json: bool) -> Self {
        let is_own = matches!(
            self.0.code,
            Code::Usage | Code::NobodyReads | Code::Error(ErrorCode::Cancelled | ErrorCode::Timeout)
        );
        if hints.is_empty() || is_own {
            return self;
        }
        self.0.code = Code::Error(ErrorCode::ApprovalRequired);
        if is_json {
            self.0.hints.extend(hints.into_iter().map(Hint::from));
        }
        self
    }

    /// The same, when the person has been told already.
    #[must_use]
    pub(crate) fn said(mut self) -> Self {
        self.0.is_said = true;
        self
    }

    /// The shape of errors for scripts.
    pub(crate) fn to_json(&self, words: &HintWords) -> JsonFailure<'_> {
        let inner = &self.0;
        let chain: Vec<&str> = std::iter::once(&inner.message).chain(&inner.causes).map(String::as_str).collect();
        JsonFailure {
            error: chain.join(": "),
            code: inner.code.as_str(),
            server: inner.server.as_deref(),
            tool: inner.tool.as_deref(),
            may_have_run: inner.may_have_run,
            challenge: inner.challenge.as_deref(),
            hints: words.say_all(&inner.hints),
        }
    }
}

impl Code {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "USAGE",
            Self::Error(code) => code.as_str(),
            Self::Other | Self::NobodyReads => "OTHER",
        }
    }
}

/// The exit status of each kind of failure.
pub(crate) const fn exit_status(code: Code) -> u8 {
    match code {
        Code::NobodyReads => 0,
        Code::Other => 1,
        Code::Usage => 2,
        Code::Error(code) => match code {
            ErrorCode::LimitExceeded => 1,
            ErrorCode::Config | ErrorCode::InvalidParams => 2,
            ErrorCode::TransportError
            | ErrorCode::ProtocolError
            | ErrorCode::ServerUnavailable
            | ErrorCode::ServerDisabled => 3,
            ErrorCode::Timeout => 4,
            ErrorCode::ToolError
            | ErrorCode::ToolNotFound
            | ErrorCode::ServerNotFound
            | ErrorCode::ResourceNotFound
            | ErrorCode::PromptNotFound => 5,
            ErrorCode::AuthRequired => 6,
            ErrorCode::Denied | ErrorCode::ApprovalRequired | ErrorCode::Untrusted => 7,
            ErrorCode::Cancelled => 130,
        },
    }
}

/// The one failure before there is a printer: the current directory is gone.
pub(crate) fn without_surroundings(error: &io::Error) -> ExitCode {
    write_talk(&format!(
        "error: the current directory cannot be read: {error}\nhint: it may have been removed: `cd` to another one\n"
    ));
    ExitCode::FAILURE
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
