//! What a tool gives back: an outcome, a failure the model reads, or no outcome at all.

use helve::ToolFailure;
use helve_model::json::RawJson;
use helve_model::{ErrorCode, Outcome};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What a tool gives back.
pub(crate) type Answer = Result<Outcome, Trouble>;

/// Why a tool did not do what it was asked for.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// It ran and failed; the model reads why and can do better.
    Failed(String),
    /// It did not run.
    NotRun(ToolFailure),
}

impl Trouble {
    pub(crate) fn failed(reason: impl Into<String>) -> Self {
        Self::Failed(reason.into())
    }

    /// Arguments that fit the schema and still make no sense.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::NotRun(ToolFailure::new(ErrorCode::InvalidParams, message))
    }

    pub(crate) fn cancelled() -> Self {
        Self::NotRun(ToolFailure::new(ErrorCode::Cancelled, "the caller gave up"))
    }

    /// What came of it, for the caller of the tool.
    pub(crate) fn into_result(self) -> Result<Outcome, ToolFailure> {
        match self {
            Self::Failed(reason) => Ok(Outcome::failure(&reason)),
            Self::NotRun(failure) => Err(failure),
        }
    }
}

/// The arguments of a call as a type.
pub(crate) fn arguments<T: DeserializeOwned>(raw: &RawJson) -> Result<T, Trouble> {
    raw.parse().map_err(|error| Trouble::invalid(format!("the arguments do not fit: {error}")))
}

/// A structured result with the same as text.
pub(crate) fn structured(value: &impl Serialize, text: &str) -> Answer {
    Ok(Outcome::structured(&json(value)?, text))
}

/// A value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<RawJson, Trouble> {
    RawJson::from_value(value).map_err(|error| Trouble::failed(format!("the result cannot be written: {error}")))
}

/// One block of content.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Block {
    Text {
        text: String,
    },
    Image {
        data: String,
        #[serde(rename = "mimeType")]
        mime_type: &'static str,
    },
    Audio {
        data: String,
        #[serde(rename = "mimeType")]
        mime_type: &'static str,
    },
}

/// A result of several blocks.
pub(crate) fn blocks(content: &[Block]) -> Answer {
    #[derive(Serialize)]
    struct Blocks<'a> {
        content: &'a [Block],
    }
    Ok(Outcome::new(json(&Blocks { content })?))
}
