//! What servers are given and ask for, checked: arguments against the schemas of tools, results, arguments of prompts, forms
//! and pages for people, requests to a model.
//!
//! All of it is written by a server, so it is read as one reads a stranger's letter. This crate performs no
//! input or output, is not async, reads no clock and no environment, and never fetches what a `$ref` names; all work is
//! bounded by counts, and each count is a constant with a name.
//!
//! | question | answer |
//! |---|---|
//! | Do these arguments fit? | [`LazyValidator::check`] → [`ArgumentVerdict`] |
//! | What is wrong with them? | [`InvalidArguments`]: place, expectation, what came, the name probably meant, usage |
//! | Does the result fit what was promised? | [`check_output`] |
//! | What do these words of a command line mean? | [`coerce`](coerce()) |
//! | What would the server assume? | [`with_defaults`] |
//! | What does a server ask a person? | [`Elicitation::read`] → [`Form`] or [`UrlRequest`] |
//! | Does the answer fit? | [`Form::check_field`], [`Form::check`], [`Form::from_words`] |
//! | Are these the arguments of the prompt? | [`check_prompt_arguments`] |
//! | What does a server ask a model? | [`SamplingRequest::read`], answered with [`SamplingResult::read`] |
//!
//! ```
//! use helve_schema::{ArgumentLimits, LazyValidator, ArgumentVerdict};
//!
//! let schema = r#"{"type": "object", "required": ["query"], "additionalProperties": false,
//!     "properties": {"query": {"type": "string"}, "count": {"type": "integer", "default": 10}}}"#;
//!
//! let validator = LazyValidator::new(schema);
//! assert_eq!(validator.check("search", r#"{"query": "rust"}"#, ArgumentLimits::default()), ArgumentVerdict::Valid);
//! let ArgumentVerdict::Invalid(problem) = validator.check("search", r#"{"quer": "rust"}"#, ArgumentLimits::default()) else {
//!     unreachable!()
//! };
//! assert_eq!(
//!     problem.to_string(),
//!     "invalid arguments for search: 2 problems
//!   missing property `query` (string), got `quer` instead
//!   /quer: unknown property; did you mean `query`?
//! usage: search(query: string, count?: integer = 10)"
//! );
//! ```
//!
//! # When there is no answer
//!
//! | what is wrong | verdict | why |
//! |---|---|---|
//! | the schema needs another document | [`ArgumentVerdict::Refused`] | the protocol forbids fetching it, and asks not to treat it as permissive |
//! | the arguments are too large, too deep, or name a key twice | [`ArgumentVerdict::Refused`] | nobody could say what was checked |
//! | the schema is not a valid schema | [`ArgumentVerdict::Unvalidated`] | the server's mistake; the person keeps the tool and gets a warning |
//! | the schema, or the schema with these arguments, is beyond the budget | [`ArgumentVerdict::Unvalidated`] | the same: a bomb harms nobody here, and a large schema is not a crime |
//! | a `pattern` has look-around, back-references, or is huge | checked but for that pattern, with a [`SchemaNotice`] | patterns run on an engine that cannot explode |
//!
//! In the schema of a tool `format` describes and is never checked, in any draft: the protocol's dialect says so, and no
//! two libraries agree on what a URI is. In a form, the four formats the protocol names are checked, to help the person.
//!
//! # What a stranger's schema can cost
//!
//! A schema is counted before it is compiled (bytes, depth, subschemas as written and as they are once every local
//! `$ref` is followed, nesting, enum values, pattern sizes), and each look the validator takes at a value is counted
//! while it runs. Both counts are the same on every machine. Together they hold every hostile schema of the test table
//! under fifty milliseconds, and under a stack of two megabytes.

#![warn(missing_docs)]

mod coerce;
mod defaults;
mod form;
mod output;
mod prompt_arguments;
mod sampling;
mod tool_form;
mod validate;

pub use coerce::{Coerced, WordError, coerce};
pub use defaults::with_defaults;
pub use form::{
    Bound, Choice, Elicitation, ElicitationProblem, Field, FieldKind, FieldProblem, FieldProblemKind, Form, FormNotice,
    FormProblem, FormRequest, LeftEmpty, MAX_ELICITATION_BYTES, MAX_FIELD_PROBLEMS, MAX_FORM_BYTES, MAX_FORM_CHOICES,
    MAX_FORM_FIELDS, MAX_URL_BYTES, NumberRules, TextFormat, TextRules, UrlProblem, UrlRequest, UrlWarning,
};
/// How much is looked at, the same for those who show a schema.
pub use helve_render::{
    ArgumentLimits, JsonProblem, MAX_ARGUMENT_BYTES, MAX_ARGUMENT_DEPTH, MAX_ARGUMENT_VALUES, MAX_SCHEMA_BYTES,
    MAX_SCHEMA_DEPTH,
};
pub use output::{
    MAX_CHECKED_RESULT_BYTES, MAX_CHECKED_RESULT_VALUES, OutputCheck, OutputProblem, OutputVerdict, check_output,
};
pub use prompt_arguments::{InvalidPromptArguments, PromptArgumentProblem, check_prompt_arguments};
pub use sampling::{
    DEFAULT_SAMPLING_TOKENS, IncludeContext, MAX_MODEL_HINTS, MAX_SAMPLING_BLOCKS, MAX_SAMPLING_BYTES,
    MAX_SAMPLING_MESSAGES, MAX_SAMPLING_TOKENS, MAX_SAMPLING_TOOLS, MAX_STOP_SEQUENCES, ModelPreferences,
    SamplingContent, SamplingMessage, SamplingProblem, SamplingRequest, SamplingResult, SamplingRole, ToolChoice,
    ToolResult, ToolUse,
};
pub use tool_form::{
    Control, FilledForm, FormEntry, FormField, FormOption, LineKind, MAX_FORM_ITEMS, Switch, ToolForm,
};
pub use validate::{
    ArgumentVerdict, CheckRefusal, Excess, InvalidArguments, LazyValidator, MAX_EMBEDDED_RESOURCES, MAX_ENUM_VALUES,
    MAX_EXPANDED_SUBSCHEMAS, MAX_NESTED_SUBSCHEMAS, MAX_PATTERN_ATOMS, MAX_PATTERN_ATOMS_IN_SCHEMA, MAX_SUBSCHEMAS,
    MAX_VIOLATIONS, SchemaNotice, Unvalidated, Violation,
};
