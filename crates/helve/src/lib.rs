//! The handle between an agent and its tools.
//!
//! A [`Toolbox`] holds tools written in Rust, beside the MCP servers.

#![warn(missing_docs)]

mod backoff;
mod error;
mod private_directory;
mod result_cache;
mod schema_cache;
mod spill;
pub mod tags;
mod tool;

pub use error::CallError;
pub use schema_cache::{CacheKey, CachedIndex, CachedServer, IndexedTool, SchemaCache};
pub use tool::{Tool, ToolContext, ToolFailure, Toolbox, definition};
