//! The handle between an agent and its tools.
//!
//! A [`Host`] connects to any number of MCP servers, keeps them alive, decides what may be called, and calls it. A
//! [`Toolbox`] holds tools written in Rust, beside the MCP servers and under the same rules.
//!
//! ```
//! # #[cfg(feature = "derive")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use helve::{CallContext, Caller, FunctionTool, Host, Toolbox};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use serde_json::json;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Greet {
//!     who: String,
//! }
//!
//! let greet = |arguments: Greet, _| async move { format!("hello, {}", arguments.who) };
//! let greet = FunctionTool::new("greet", "Greets somebody", greet).only_reads();
//!
//! let host = Host::builder().toolbox(Toolbox::new("manners").with(greet)).start().await?;
//! let called = host.call("manners/greet", json!({"who": "you"}), CallContext::new(Caller::Agent)).await?;
//! assert_eq!(called.to_text(), "hello, you");
//!
//! // Wrong arguments never reach a tool.
//! let error = host.call("manners/greet", json!({}), CallContext::new(Caller::Agent)).await.unwrap_err();
//! assert_eq!(error.code().as_str(), "INVALID_PARAMS");
//! host.shutdown().await;
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "derive"))]
//! # fn main() {}
//! ```
//!
//! A tool that needs more than a function (a state that outlives its calls, places that rules may speak of) is an
//! implementation of [`Tool`].
//!
//! An MCP server is put in with [`HostBuilder::server`]: `ServerSpec::stdio("files", "npx").args([…])`,
//! `ServerSpec::http("github", "https://…")`, or what the crate `helve-config` reads from a configuration file.
//!
//! Servers offer more than tools: [`Host::resources`], [`Host::read_resource`], [`Host::prompts`] and
//! [`Host::get_prompt`]; a [`Watcher`] hears of changes; an [`Elicitor`], a [`Sampler`] and a [`RootsProvider`] answer
//! what servers ask; [`Host::save`] keeps it all over a restart.
//!
//! Where to go from here: [`Registry`] offers all tools to a model and runs what it asks for; [`AgentTools::narrow`] gives a
//! sub-agent fewer of them; an [`Approver`] is asked where no rule decides; [`broker`] is the form action brokers like;
//! [`blocking`] is all of it without async; [`tags`] are calls in the middle of a text. The crate's `examples/` have a
//! small program for each.

#![warn(missing_docs)]

mod answerer;
mod ask;
mod backoff;
#[cfg(feature = "blocking")]
pub mod blocking;
pub mod broker;
mod builder;
mod call;
mod catalog;
mod common_parts;
#[cfg_attr(not(sandbox), path = "confine_nowhere.rs")]
mod confine;
mod connect;
mod error;
mod event;
mod function_tool;
mod handler;
mod host;
mod host_core;
mod keeping;
mod late_references;
mod listings;
mod manage;
mod memory;
mod missed_variables;
mod offers;
mod places;
mod private_directory;
mod question_router;
mod random;
mod record;
mod registry;
mod result_cache;
mod save;
mod schema_cache;
mod search;
mod server_handle;
mod settings;
#[cfg(feature = "tls")]
mod sign_in;
mod slots;
mod spill;
mod start_guard;
mod startup;
mod status;
mod supervisor;
pub mod tags;
mod tool;
mod tool_facts;
mod turn;
mod watch;

/// Getting and keeping tokens: the ports a program fills, the errors of a login.
#[cfg(feature = "tls")]
pub use helve_auth as auth;
/// The vocabulary: names, specs, definitions, content, outcomes.
pub use helve_model as model;
/// Rules, decisions, approvals.
pub use helve_policy as policy;
/// Signatures, tool arrays and messages for model providers, search.
pub use helve_render as render;
/// What a confined program may touch: policies, plans, what is enforced.
pub use helve_sandbox as sandbox;
/// Validation, defaults, forms.
pub use helve_schema as schema;
/// Speaking with one peer: launchers, progress, sessions.
pub use helve_wire as wire;

pub use answerer::{
    Answerer, ElicitationAnswer, ElicitationRequest, Elicitor, LogLine, LogSink, Root, RootsProvider, Sampler,
    SamplingCall, SamplingLimits,
};
pub use helve_model::json::RawJson;
pub use helve_model::{
    ErrorCode, Hint, Outcome, Principal, QualifiedName, ServerName, ServerSpec, ToolDefinition, ToolName,
};
pub use helve_policy::{Approval, Caller, Narrowing, Permit, Scope};
pub use helve_render::Provider;
pub use helve_wire::BoxFuture;

pub use ask::{
    AnswerPage, ApprovalAnswer, ApprovalRequest, ApproveAll, Approver, OpenQuestion, RefusalListener, RunApprovals,
};
pub use builder::HostBuilder;
#[cfg(feature = "tls")]
pub use call::SignsIn;
pub use call::whereabouts::directories as server_directories;
pub use call::{CallContext, CallOutcome, Foreseen, PreparedCall, ResourceOutcome};
pub use catalog::{ServerEntry, Snapshot, ToolEntry};
pub use confine::{Confining, sandbox_hints, sandbox_plan};
pub use error::CallError;
pub use event::{Events, HostEvent, StartStep};
pub use function_tool::{FunctionTool, Structured, ToolOutput};
pub use host::{Host, ServerChanges, WeakHost};
pub use keeping::{Duplex, Keeper, KeeperConnection, KeptProgram, fingerprint, lease};
pub use late_references::{SecretSource, fill, late_sources};
pub use listings::ListAge;
pub use manage::management_tools;
pub use offers::{Offered, Offers};
pub use record::{AgentInfo, CallBodies, CallEnd, CallId, CallRecord, CallSource, Door, Recorder};
pub use registry::{AgentTools, Clash, Definitions, Registry};
pub use save::SavedHost;
pub use schema_cache::{CacheKey, CachedIndex, CachedServer, IndexedTool, SchemaCache};
pub use search::{FoundTool, FoundTools, Matches, ToolQuery, ToolSearch};
pub use settings::{Builtins, HostSettings, Plan, Planned, Surroundings};
#[cfg(feature = "tls")]
pub use sign_in::{SignIns, from_auth};
pub use start_guard::{ChangedStartFile, GuardedStart, SharedStartGuard, StartGuard};
pub use status::ServerReport;
pub use tool::{Tool, ToolContext, ToolFailure, Toolbox, definition};
pub use turn::{Turn, Turns};
pub use watch::{
    DEFAULT_INTERVAL, MINIMUM_INTERVAL, SavedWatch, WatchChange, WatchEvent, WatchFilter, WatchId, WatchKind,
    WatchReport, WatchSource, Watcher,
};

#[cfg(all(doctest, feature = "derive"))]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../docs/embedding.md")]
struct PagesWithExamples;
