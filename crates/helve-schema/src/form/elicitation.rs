//! Owns which kind of question an elicitation is: the protocol's `mode`, absent in its first revision.

use std::fmt;

use super::{Form, FormProblem, UrlProblem, UrlRequest};
use helve_model::text::{SHOWN_CHARACTERS, quoted, several_lines};
use helve_render::schema::json::{self, Caps, Json, JsonProblem, RepeatedKeys};
use helve_render::schema::limits::MAX_SCHEMA_DEPTH;

/// Bytes of the parameters of an elicitation.
pub const MAX_ELICITATION_BYTES: usize = 128 * 1024;
/// Characters of a message shown.
const MESSAGE_CHARACTERS: usize = 4_000;

/// What a server asks a person.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Elicitation {
    /// To fill in a form.
    Form(FormRequest),
    /// To open a URL.
    Url(UrlRequest),
}

/// A server's request to fill in a form.
#[derive(Debug, Clone, PartialEq)]
pub struct FormRequest {
    message: String,
    form: Form,
}

/// Why a question cannot be put to a person. The honest answer to the server is to decline.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElicitationProblem {
    /// The parameters are not JSON, or too large to be looked at.
    Json(JsonProblem),
    /// A mode that this version does not know.
    UnknownMode(String),
    /// A form that cannot be shown.
    Form(FormProblem),
    /// A URL that nobody should be asked about.
    Url(UrlProblem),
}

impl Elicitation {
    /// Reads the parameters of `elicitation/create`, of either era.
    ///
    /// # Errors
    /// When it cannot be put to a person.
    pub fn read(params: &str) -> Result<Self, ElicitationProblem> {
        let params = parse(params).map_err(ElicitationProblem::Json)?;
        match params.get("mode") {
            None | Some(Json::Null) => {}
            Some(Json::String(mode)) if mode == "form" => {}
            Some(Json::String(mode)) if mode == "url" => {
                return UrlRequest::from_params(&params).map(Self::Url).map_err(ElicitationProblem::Url);
            }
            Some(other) => {
                let mode = other.as_str().map_or_else(|| other.to_text(), str::to_owned);
                return Err(ElicitationProblem::UnknownMode(mode));
            }
        }
        let schema = params.get("requestedSchema").map_or_else(|| "null".to_owned(), Json::to_text);
        let form = Form::read(&schema).map_err(ElicitationProblem::Form)?;
        let message = params.text("message").unwrap_or_default().to_owned();
        Ok(Self::Form(FormRequest { message, form }))
    }

    /// Why the server asks, as it may be shown.
    pub fn message(&self) -> String {
        match self {
            Self::Form(request) => request.message(),
            Self::Url(request) => request.message(),
        }
    }
}

impl FormRequest {
    /// Why the server asks, as it may be shown.
    pub fn message(&self) -> String {
        several_lines(&self.message, MESSAGE_CHARACTERS)
    }

    /// The form.
    pub fn form(&self) -> &Form {
        &self.form
    }
}

impl fmt::Display for ElicitationProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(problem) => write!(f, "the question cannot be read: {problem}"),
            Self::UnknownMode(mode) => {
                write!(f, "a question of the unknown mode {}", quoted(mode, SHOWN_CHARACTERS))
            }
            Self::Form(problem) => problem.fmt(f),
            Self::Url(problem) => problem.fmt(f),
        }
    }
}

impl std::error::Error for ElicitationProblem {}

/// Reads the parameters under the caps of all elicitations.
pub(super) fn parse(params: &str) -> Result<Json, JsonProblem> {
    let caps = Caps {
        bytes: MAX_ELICITATION_BYTES,
        depth: MAX_SCHEMA_DEPTH,
        values: MAX_ELICITATION_BYTES,
        repeated_keys: RepeatedKeys::LastWins,
    };
    json::parse(params, caps)
}
