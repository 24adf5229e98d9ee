//! The handle between an agent and its tools.
//!
//! A [`Host`] connects to any number of MCP servers, keeps them alive, decides what may be called, and calls it. A
//! [`Toolbox`] holds tools written in Rust, beside the MCP servers and under the same rules.

#![warn(missing_docs)]

mod ask;
mod backoff;
pub mod blocking;
pub mod broker;
mod builder;
mod call;
mod catalog;
mod connect;
mod error;
mod event;
mod handler;
mod host;
mod link;
mod memory;
mod private_directory;
mod random;
mod registry;
mod result_cache;
mod schema_cache;
mod settings;
mod spill;
mod status;
mod supervisor;
mod sync;
pub mod tags;
mod tool;

pub use ask::{ApprovalAnswer, ApprovalRequest, ApproveAll, Approver, ElicitationAnswer, ElicitationRequest, Elicitor};
pub use builder::HostBuilder;
pub use call::{CallContext, CallOutcome, PreparedCall};
pub use catalog::{ServerEntry, Snapshot, ToolEntry};
pub use error::CallError;
pub use event::{CallEnd, CallRecord, Events, HostEvent};
pub use host::{Host, ServerChanges};
pub use registry::{Clash, Definitions, Narrowing, Registry, Scope};
pub use schema_cache::{CacheKey, CachedIndex, CachedServer, IndexedTool, SchemaCache};
pub use settings::{Builtins, HostSettings, Plan, Planned, Surroundings};
pub use status::ServerReport;
pub use tool::{Tool, ToolContext, ToolFailure, Toolbox, definition};
