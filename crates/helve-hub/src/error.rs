//! Why the hub did not do something: what happened, what to do, and the status that says so over HTTP.

use std::fmt;

use helve::CallError;
use helve_setup::SetupError;
use helve_setup::vault::VaultError;
use helve_store::StoreError;
use http::StatusCode;

/// Why the hub did not do something.
#[derive(Debug)]
pub struct HubError {
    status: StatusCode,
    code: &'static str,
    message: String,
    hints: Vec<String>,
    details: Details,
}

/// What an edit that was refused comes with.
#[derive(Debug, Default)]
pub(crate) enum Details {
    #[default]
    None,
    /// The file has changed since: what it says now, and what was to be written.
    Conflict(Box<ConflictingTexts>),
    /// What is wrong with the text.
    Problems(Vec<TextProblem>),
}

/// Two texts of one file, both without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConflictingTexts {
    /// The file, as people write it.
    pub(crate) file: String,
    /// The version it has now.
    pub(crate) version: String,
    pub(crate) theirs: String,
    pub(crate) mine: String,
}

/// What is wrong with a text, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextProblem {
    /// Line and column, counted from 1.
    pub(crate) at: Option<(u32, u32)>,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
    pub(crate) is_warning: bool,
}

impl HubError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), hints: Vec::new(), details: Details::None }
    }

    /// The file cannot be written here.
    pub(crate) fn locked(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "LOCKED", reason)
    }

    /// The file has changed since an edit was made.
    pub(crate) fn changed_meanwhile(texts: ConflictingTexts) -> Self {
        let message = format!("{} was changed since: nothing was written", texts.file);
        let error = Self::conflict(message).hint("look at both texts, then save again");
        Self { details: Details::Conflict(Box::new(texts)), ..error }
    }

    /// A text has mistakes.
    pub(crate) fn mistakes(problems: Vec<TextProblem>) -> Self {
        let first = problems.iter().find(|problem| !problem.is_warning).or(problems.first());
        let message = match first {
            Some(TextProblem { at: Some((line, _)), message, .. }) => format!("line {line}: {message}"),
            Some(problem) => problem.message.clone(),
            None => "the text has mistakes".to_owned(),
        };
        Self { details: Details::Problems(problems), ..Self::invalid(message) }
    }

    /// What an edit that was refused comes with.
    pub(crate) const fn details(&self) -> &Details {
        &self.details
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
            helve_model::ErrorCode::Denied | helve_model::ErrorCode::ApprovalRequired => StatusCode::FORBIDDEN,
            helve_model::ErrorCode::ToolNotFound | helve_model::ErrorCode::ServerNotFound => StatusCode::NOT_FOUND,
            _ => StatusCode::BAD_GATEWAY,
        };
        let mut hints: Vec<String> = error.hints().iter().map(ToString::to_string).collect();
        hints.extend(error.answer_page().map(|page| format!("a person can answer at {}", page.url)));
        Self { hints, ..Self::new(status, error.code().as_str(), error.chain()) }
    }
}

impl From<SetupError> for HubError {
    fn from(error: SetupError) -> Self {
        let hints = error.hints().iter().map(ToString::to_string).collect();
        Self { hints, ..Self::failed(error.to_string()) }
    }
}

impl From<VaultError> for HubError {
    fn from(error: VaultError) -> Self {
        SetupError::from(error).into()
    }
}

impl fmt::Display for HubError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for HubError {}
