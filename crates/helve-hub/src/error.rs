//! Why the hub did not do something: what happened, what to do, and the status that says so over HTTP.

use std::fmt;

use helve::CallError;
use helve_store::StoreError;
use http::StatusCode;

/// Why the hub did not do something.
#[derive(Debug)]
pub struct HubError {
    status: StatusCode,
    code: &'static str,
    message: String,
    hints: Vec<String>,
}

impl HubError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), hints: Vec::new() }
    }

    /// What was asked for cannot be understood.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INVALID", message)
    }

    /// There is no such thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", message)
    }

    /// Whoever asks may not.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "FORBIDDEN", message)
    }

    /// Something else was changed meanwhile, or is taken.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "CONFLICT", message)
    }

    /// It cannot be done now.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "FAILED", message)
    }

    /// The same, with advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The status that says so over HTTP.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// The kind of it, as programs read it.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.code
    }

    /// What happened.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do.
    #[must_use]
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl From<StoreError> for HubError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NameTaken(_) => Self::conflict(error.to_string()),
            StoreError::NotFound(_) => Self::not_found(error.to_string()),
            other => Self::failed(other.to_string()),
        }
    }
}

impl From<CallError> for HubError {
    fn from(error: CallError) -> Self {
        let status = match error.code() {
            helve_model::ErrorCode::Denied => StatusCode::FORBIDDEN,
            helve_model::ErrorCode::ToolNotFound | helve_model::ErrorCode::ServerNotFound => StatusCode::NOT_FOUND,
            _ => StatusCode::BAD_GATEWAY,
        };
        Self { status, code: error.code().as_str(), message: error.chain(), hints: Vec::new() }
    }
}

impl fmt::Display for HubError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for HubError {}
