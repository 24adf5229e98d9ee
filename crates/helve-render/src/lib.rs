//! Tools for those who read them: signatures for people and programs, arrays and messages for model providers, search.
//!
//! All of it is written by a server, so it is read as one reads a stranger's letter. This crate has no validator in it,
//! performs no input or output, is not async, reads no clock and no environment; all work is bounded by counts, and each
//! count is a constant with a name.
//!
//! | question | answer |
//! |---|---|
//! | How is the tool called? | [`signature`](signature()), [`documented`] |
//! | How is it offered to a model? | [`tool_array`], and back with [`ToolArray::resolve`] |
//! | How is a prompt handed to a model? | [`provider_messages`] |
//! | Which tools fit some words? | [`SearchIndex`], made of one [`ServerIndex`] per server |
//! | What does a model's system prompt say of them? | [`system_prompt`](system_prompt()), within [`estimated_tokens`] |
//! | What does a schema say? | [`schema`]: the tree, its references, its types; `helve-schema` checks with the same |
//!
//! ```
//! use helve_render::{Style, ToolText, signature};
//!
//! let schema = r#"{"type": "object", "required": ["query"], "additionalProperties": false,
//!     "properties": {"query": {"type": "string"}, "count": {"type": "integer", "default": 10}}}"#;
//!
//! let tool = ToolText::new("search", schema);
//! assert_eq!(signature(&tool, Style::Python, 100), "search(query: str, count: int = 10)");
//! ```

#![warn(missing_docs)]

mod parameters;
mod prompt;
mod provider;
pub mod schema;
mod search;
mod signature;
mod system_prompt;
mod tokens;
mod tool_text;

pub use parameters::{Parameter, Parameters, parameters};
pub use prompt::{PromptNotice, PromptNoticeKind, ProviderMessages, provider_messages};
pub use provider::{
    CallProblem, NoticeKind, Provider, ProviderNotice, ResolvedCall, Strictness, ToolArray, tool_array,
};
pub use schema::json::JsonProblem;
pub use schema::limits::{
    ArgumentLimits, MAX_ARGUMENT_BYTES, MAX_ARGUMENT_DEPTH, MAX_ARGUMENT_VALUES, MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH,
};
pub use search::{SearchIndex, SearchQuery, SearchResult, ServerIndex, ToolPlace};
pub use signature::{CHARACTERS_PER_TOKEN, Style, documented, signature, statement, type_in_line, usage};
pub use system_prompt::{ServerText, code_signature, first_line, system_prompt};
pub use tokens::estimated_tokens;
pub use tool_text::ToolText;
