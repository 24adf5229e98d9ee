//! Owns the way back: from the piece of a provider's answer that asks for a tool to the tool and its arguments.

use std::fmt;

use super::{OfferedTool, Provider, ToolArray, strict};
use crate::schema::json::{self, Json, JsonProblem};
use crate::schema::limits::{ArgumentLimits, SCHEMA_CAPS};
use helve_model::text::nearest;
use helve_model::text::{SHOWN_CHARACTERS, named, quoted};

/// A provider's call, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedCall {
    /// Which of the entries is called.
    pub index: usize,
    /// The provider's name for this call, to be sent back with the result.
    pub call_id: Option<String>,
    /// The arguments for the server, as JSON text.
    pub arguments: String,
}

/// Why a provider's call cannot be understood. All of these can be told to the model, which gets one more try.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallProblem {
    /// The piece is not the JSON of a call of this provider; what is missing.
    NotACall(String),
    /// No tool of this name was offered.
    UnknownTool {
        /// The name.
        name: String,
        /// One that was offered and is close.
        nearest: Option<String>,
    },
    /// The arguments are not JSON; models do that.
    Arguments(JsonProblem),
}

impl ToolArray {
    /// Understands one call of the provider this array was made for, given as the JSON of
    ///
    /// | provider | piece |
    /// |---|---|
    /// | Anthropic | a `tool_use` block of `content` |
    /// | OpenAI Chat Completions | an element of `tool_calls` |
    /// | OpenAI Responses | a `function_call` item of `output` |
    /// | Gemini | a part with `functionCall`, or what is in it |
    pub fn resolve(&self, call: &str, limits: ArgumentLimits) -> Result<ResolvedCall, CallProblem> {
        let call = json::parse(call, limits.caps()).map_err(|problem| CallProblem::NotACall(problem.to_string()))?;
        let Piece { call_id, name, arguments } = self.piece(&call)?;
        let Some(tool) = self.tools.iter().find(|tool| tool.name == name) else {
            let nearest = nearest(name, self.tools.iter().map(|tool| tool.name.as_str()));
            return Err(CallProblem::UnknownTool { name: name.to_owned(), nearest: nearest.map(str::to_owned) });
        };
        let arguments = match arguments {
            None => "{}".to_owned(),
            // OpenAI writes arguments as text, and none at all as an empty one.
            Some(Json::String(text)) if text.trim().is_empty() => "{}".to_owned(),
            Some(Json::String(text)) => {
                let parsed = json::parse(text, limits.caps()).map_err(CallProblem::Arguments)?;
                if tool.is_untouched() { text.clone() } else { tool.restored(parsed).to_text() }
            }
            Some(value) => tool.restored(value.clone()).to_text(),
        };
        Ok(ResolvedCall { index: tool.index, call_id: call_id.map(str::to_owned), arguments })
    }

    fn piece<'c>(&self, call: &'c Json) -> Result<Piece<'c>, CallProblem> {
        let (call_id, function, arguments_key) = match self.provider {
            Provider::Anthropic => (call.text("id"), call, "input"),
            Provider::OpenAiChat => (call.text("id"), call.get("function").unwrap_or(call), "arguments"),
            Provider::OpenAiResponses => (call.text("call_id").or_else(|| call.text("id")), call, "arguments"),
            Provider::Gemini | Provider::GeminiJsonSchema => {
                let function = call.get("functionCall").or_else(|| call.get("function_call")).unwrap_or(call);
                (function.text("id"), function, "args")
            }
        };
        match function.text("name") {
            Some(name) => Ok(Piece { call_id, name, arguments: function.get(arguments_key) }),
            None => Err(CallProblem::NotACall("it has no `name`".to_owned())),
        }
    }
}

struct Piece<'c> {
    call_id: Option<&'c str>,
    name: &'c str,
    arguments: Option<&'c Json>,
}

impl OfferedTool {
    fn is_untouched(&self) -> bool {
        self.renamed.is_empty() && self.filled.is_none()
    }

    /// The arguments as the server knows them.
    fn restored(&self, mut arguments: Json) -> Json {
        if let Json::Object(members) = &mut arguments {
            *members = std::mem::take(members)
                .into_iter()
                .map(|(key, value)| match self.renamed.iter().find(|(to, _)| *to == key) {
                    Some((_, from)) => (from.clone(), value),
                    None => (key, value),
                })
                .collect();
        }
        if let Some(schema) = self.filled.as_deref().and_then(|schema| json::parse(schema, SCHEMA_CAPS).ok()) {
            strict::without_nulls(&mut arguments, &schema);
        }
        arguments
    }
}

impl fmt::Display for CallProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotACall(detail) => write!(f, "not a tool call of this provider: {detail}"),
            Self::UnknownTool { name, nearest } => {
                write!(f, "no tool is called {}", quoted(name, SHOWN_CHARACTERS))?;
                match nearest {
                    Some(nearest) => write!(f, "; did you mean {}?", named(nearest)),
                    None => Ok(()),
                }
            }
            Self::Arguments(problem) => write!(f, "the arguments of the call cannot be read: {problem}"),
        }
    }
}

impl std::error::Error for CallProblem {}
