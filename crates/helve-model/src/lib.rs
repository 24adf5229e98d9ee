//! The vocabulary every other crate of helve speaks: names in all their spellings, server specs,
//! definitions and content as raw JSON with a lenient typed view, outcomes, status, error codes.
//!
//! This crate performs no input or output, is not async and reads no clock; `cargo xtask tidy` checks that.

#![warn(missing_docs)]

mod content;
mod definition;
mod error;
mod fields;
mod hint;
pub mod json;
mod late_reference;
pub mod method;
pub mod name;
mod origin;
mod outcome;
mod owner;
mod principal;
pub mod protocol;
mod rule;
pub mod sandbox;
mod secret_set;
mod spec;
mod spec_builder;
mod status;
pub mod sync;
pub mod text;
pub mod uri_template;

pub use content::{ContentBlock, ContentBody, Media, ResourceBody, ResourceContents, ResourceLink};
pub use definition::{
    BrokenDefinition, Definition, PromptArgument, PromptDefinition, PromptView, ResourceDefinition,
    ResourceTemplateDefinition, ResourceView, ToolAnnotations, ToolDefinition, ToolView,
};
pub use error::ErrorCode;
pub use hint::{Hint, RuleHolds, ServerKey};
pub use late_reference::{LateReference, LateSource};
pub use name::{NameTable, QualifiedName, ServerName, ToolName};
pub use origin::{Layer, Origin};
pub use outcome::{Outcome, OutcomeView, PromptMessage, PromptOutcome, ReadOutcome};
pub use owner::Owner;
pub use principal::{Principal, PrincipalKind};
pub use rule::{Action, Answerers, CallKind, Risk, Rule, Who};
pub use sandbox::SandboxSpec;
pub use secret_set::{HIDDEN, REDACTED, SecretSet, mark_redacted};
pub use spec::{
    AccessSpec, BuiltinSpec, ConfigText, HttpFlavour, HttpSpec, IdentitySpec, Listed, OAuthSpec, PrivateIdle,
    RecordedBodies, ServerSpec, StdioSpec, TransportSpec, Validation,
};
pub use spec_builder::{HttpServer, StdioServer};
pub use status::{DisabledReason, Failure, PendingReason, ServerStatus};
