//! Why something could not be set up: a code to branch on where every door knows one, a chain to read, hints to act on.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use helve::CallError;
use helve_model::{ErrorCode, Hint, ServerName, ToolName};

/// Why something could not be set up. [`fmt::Display`] prints one level.
#[derive(Debug)]
pub struct SetupError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    code: Option<ErrorCode>,
    message: String,
    causes: Vec<String>,
    server: Option<ServerName>,
    tool: Option<ToolName>,
    hints: Vec<Hint>,
}

impl SetupError {
    /// One of the kinds that every door knows.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::of(Some(code), message.into())
    }

    /// The machine refuses something that has no code: a file, a socket, a process.
    pub fn machine(message: impl Into<String>) -> Self {
        Self::of(None, message.into())
    }

    /// A file could not be read or written; the error names it.
    #[must_use]
    pub fn file(error: &io::Error) -> Self {
        Self::machine(error.to_string())
    }

    fn of(code: Option<ErrorCode>, message: String) -> Self {
        Self(Box::new(Inner { code, message, causes: Vec::new(), server: None, tool: None, hints: Vec::new() }))
    }

    /// Says what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Hint>) -> Self {
        self.0.hints.push(hint.into());
        self
    }

    /// Says which server it is about.
    #[must_use]
    pub fn at_server(mut self, server: &ServerName) -> Self {
        self.0.server = Some(server.clone());
        self
    }

    /// Adds a cause and the causes of that.
    #[must_use]
    pub fn with_cause(mut self, cause: &(dyn StdError + 'static)) -> Self {
        let mut next = Some(cause);
        while let Some(error) = next {
            self.0.causes.push(error.to_string());
            next = error.source();
        }
        self
    }

    /// What to branch on; `None` where the machine refused something.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        self.0.code
    }

    /// What happened, without its causes.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Why it happened, the nearest cause first.
    #[must_use]
    pub fn causes(&self) -> &[String] {
        &self.0.causes
    }

    /// The server it is about.
    #[must_use]
    pub fn server(&self) -> Option<&ServerName> {
        self.0.server.as_ref()
    }

    /// The tool it is about.
    #[must_use]
    pub fn tool(&self) -> Option<&ToolName> {
        self.0.tool.as_ref()
    }

    /// What somebody can do about it.
    #[must_use]
    pub fn hints(&self) -> &[Hint] {
        &self.0.hints
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.message)
    }
}

impl StdError for SetupError {}

impl From<CallError> for SetupError {
    fn from(error: CallError) -> Self {
        let mut ours = Self::new(error.code(), error.chain());
        ours.0.server = error.server().cloned();
        ours.0.tool = error.tool().cloned();
        ours.0.hints = error.hints().to_vec();
        ours
    }
}
