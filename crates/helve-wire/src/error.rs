//! The one error type of the wire: a code to branch on, a chain to read, hints to act on, and whether
//! the request may have run on the server (so that nobody repeats it blindly).

use std::error::Error as StdError;
use std::fmt;

use helve_model::ErrorCode;
use helve_model::json::RawJson;
use serde::Deserialize;

/// The result of everything that talks to a peer.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong between us and one peer.
///
/// `Display` prints one level; walk [`std::error::Error::source`] for the chain.
pub struct Error(Box<Inner>);

struct Inner {
    code: ErrorCode,
    message: String,
    hints: Vec<String>,
    may_have_run: bool,
    challenge: Option<String>,
    http_status: Option<u16>,
    session_expired: bool,
    last_words: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// What the peer answered instead of a result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RpcError {
    /// The JSON-RPC error code.
    pub code: i64,
    /// What the peer says.
    pub message: String,
    /// What it adds.
    #[serde(default)]
    pub data: Option<RawJson>,
}

impl Error {
    /// An error of this code; `may_have_run` starts out false.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            message: message.into(),
            hints: Vec::new(),
            may_have_run: false,
            challenge: None,
            http_status: None,
            session_expired: false,
            last_words: None,
            source: None,
        }))
    }

    /// Adds a sentence that tells the person what to do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hints.push(hint.into());
        self
    }

    /// The same with every text of its own changed, to leave out what must not be shown.
    #[must_use]
    pub fn reworded(mut self, reword: impl Fn(&str) -> String) -> Self {
        self.0.message = reword(&self.0.message);
        self.0.hints = self.0.hints.iter().map(|hint| reword(hint)).collect();
        self.0.last_words = self.0.last_words.as_deref().map(&reword);
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Says whether the request may have been executed by the peer.
    #[must_use]
    pub fn with_may_have_run(mut self, may_have_run: bool) -> Self {
        self.0.may_have_run = may_have_run;
        self
    }

    /// Keeps what the server wants to be authorised with.
    #[must_use]
    pub fn with_challenge(mut self, challenge: Option<String>) -> Self {
        self.0.challenge = challenge;
        self
    }

    /// Keeps the HTTP status the server answered with.
    #[must_use]
    #[cfg(feature = "http")]
    pub(crate) fn with_http_status(mut self, status: u16) -> Self {
        self.0.http_status = Some(status);
        self
    }

    /// Keeps the last line that the server wrote to stderr.
    #[must_use]
    pub(crate) fn with_last_words(mut self, line: Option<String>) -> Self {
        self.0.last_words = line;
        self
    }

    /// Marks that the server no longer knows the session.
    #[must_use]
    pub(crate) fn with_session_expired(mut self) -> Self {
        self.0.session_expired = true;
        self
    }

    /// The code to branch on.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// The message alone, as `Display` prints it.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What the person can do about it.
    #[must_use]
    pub fn hints(&self) -> &[String] {
        &self.0.hints
    }

    /// The `WWW-Authenticate` header of a refusal, if it had one.
    #[must_use]
    pub fn challenge(&self) -> Option<&str> {
        self.0.challenge.as_deref()
    }

    /// The HTTP status the server answered with, where that is what went wrong.
    #[must_use]
    pub fn http_status(&self) -> Option<u16> {
        self.0.http_status
    }

    /// The last line that the server wrote to stderr before it went.
    #[must_use]
    pub fn last_words(&self) -> Option<&str> {
        self.0.last_words.as_deref()
    }

    /// True when the server no longer knows the session: a new one is needed. Whether the request can be repeated in it
    /// is what [`Error::may_have_run`] tells.
    #[must_use]
    pub fn is_session_expired(&self) -> bool {
        self.0.session_expired
    }

    /// What the peer answered, when this error is its answer.
    #[must_use]
    pub fn rpc(&self) -> Option<&RpcError> {
        self.0.source.as_deref()?.downcast_ref()
    }

    /// True when the peer may have executed the request although no answer arrived: repeating it may do it twice.
    #[must_use]
    pub fn may_have_run(&self) -> bool {
        self.0.may_have_run
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("Error");
        debug.field("code", &self.0.code).field("message", &self.0.message);
        if !self.0.hints.is_empty() {
            debug.field("hints", &self.0.hints);
        }
        if self.0.may_have_run {
            debug.field("may_have_run", &true);
        }
        if let Some(source) = &self.0.source {
            debug.field("source", source);
        }
        debug.finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

impl RpcError {
    /// The refusal of a method nobody offers.
    #[must_use]
    pub fn method_not_found(method: &str) -> Self {
        Self {
            code: helve_model::protocol::code::METHOD_NOT_FOUND,
            message: format!("method not found: {method}"),
            data: None,
        }
    }

    /// Reads the `error` member of an answer; a missing message is an empty one.
    pub(crate) fn from_raw(error: &RawJson) -> Option<Self> {
        if let Ok(error) = error.parse() {
            return Some(error);
        }
        let code = error.member("code")?.parse().ok()?;
        Some(Self { code, message: error.member_str("message").unwrap_or_default(), data: error.member("data") })
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.message, self.code)
    }
}

impl StdError for RpcError {}
