//! The one error of this crate: a kind to branch on, a sentence that names who said what, advice as data.

use std::error::Error as StdError;
use std::fmt;

/// What these functions return.
pub type Result<T, E = AuthError> = std::result::Result<T, E>;

/// Why there is no token. `Display` prints one level.
pub struct AuthError(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    advice: Option<Advice>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The kinds of error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Nobody is signed in, or the login is no longer accepted: a person has to sign in.
    LoginRequired,
    /// An address could not be reached, or did not answer in time. What is kept stays as it is.
    Unreachable,
    /// The egress policy does not let this address be asked.
    EgressDenied,
    /// Somebody answered with something that cannot be used.
    BadAnswer,
    /// The authorization server refused; its error code.
    Refused(String),
    /// Going on would be unsafe: an issuer, a resource or a state is not the one it has to be.
    Unsafe,
    /// The authorization server wants a client that was registered beforehand.
    ClientNeeded,
    /// The settings contradict themselves or cannot be used.
    Settings,
    /// What is kept cannot be read or written.
    Store,
    /// Nobody came back from the page in time.
    TimedOut,
}

/// What a person can do about an error. Each door renders it in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// Sign in.
    LogIn,
    /// If this issuer is right, name it in the entry of the server, in a file of the person's own.
    NameIssuer {
        /// The issuer that was found.
        issuer: String,
    },
    /// Say that the authorization server supports PKCE although it does not say so.
    AssumePkce,
    /// Leave the resource parameter out.
    OmitResource,
    /// Register a client with the authorization server by hand and name it in the entry.
    RegisterClient {
        /// The issuer: the host of the authorization server.
        issuer: String,
        /// The redirect address to register.
        redirect: String,
    },
    /// Sign in again with a new registration.
    StartAfresh,
    /// Another program listens on the port for the redirect.
    FreePort {
        /// The port.
        port: u16,
    },
    /// Wait, then try again.
    TryLater,
}

impl AuthError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, message: message.into(), advice: None, source: None }))
    }

    /// The person does not want to sign in.
    #[must_use]
    pub fn declined(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::LoginRequired, message).with_advice(Advice::LogIn)
    }

    /// An error of a store that somebody else wrote.
    pub fn store(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Store, message)
    }

    /// An error of a person's port: nobody answered.
    pub fn timed_out(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::TimedOut, message)
    }

    /// Settings that cannot be used.
    pub fn settings(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Settings, message)
    }

    /// Says what can be done about it.
    #[must_use]
    pub fn with_advice(mut self, advice: Advice) -> Self {
        self.0.advice = Some(advice);
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The kind of error.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// What happened, in one line.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What a person can do.
    #[must_use]
    pub fn advice(&self) -> Option<&Advice> {
        self.0.advice.as_ref()
    }

    /// True when the same request may succeed later although nothing was changed.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match &self.0.kind {
            ErrorKind::Unreachable => true,
            ErrorKind::Refused(error) => matches!(error.as_str(), "temporarily_unavailable" | "slow_down"),
            _ => false,
        }
    }

    /// The same error for one more who waited.
    pub(crate) fn again(&self) -> Self {
        let mut again = Self::new(self.0.kind.clone(), self.0.message.clone());
        again.0.advice = self.0.advice.clone();
        again.0.source = self.0.source.as_ref().map(|source| source.to_string().into());
        again
    }
}

impl fmt::Display for AuthError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.message)
    }
}

impl fmt::Debug for AuthError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("AuthError");
        debug.field("kind", &self.0.kind).field("message", &self.0.message);
        if let Some(advice) = &self.0.advice {
            debug.field("advice", advice);
        }
        if let Some(source) = &self.0.source {
            debug.field("source", source);
        }
        debug.finish()
    }
}

impl StdError for AuthError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

/// Longest excerpt of a stranger's text in an error.
const EXCERPT: usize = 200;

/// A stranger's text in one line, without anything that could act on a terminal.
pub(crate) fn excerpt(text: &str) -> String {
    let mut words = String::new();
    for character in text.chars().take(EXCERPT) {
        match character {
            character if character.is_whitespace() => {
                if !words.ends_with(' ') && !words.is_empty() {
                    words.push(' ');
                }
            }
            character if character.is_ascii_graphic() || character.is_alphanumeric() => words.push(character),
            _ => words.push('\u{fffd}'),
        }
    }
    if text.chars().nth(EXCERPT).is_some() {
        words.push('…');
    }
    words.trim_end().to_owned()
}
