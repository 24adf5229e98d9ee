//! Configuration: every dialect an agent host keeps its MCP servers in, read into one shape.
//!
//! [`load`] finds the files, reads them and merges them into a [`Configuration`]: servers with their specs, settings
//! and rules, each with the file, line and column it was written at. It never fails as a whole: what cannot be used is
//! a [`Diagnostic`], and everything else works.
//!
//! This crate starts no processes, opens no connections and knows nothing it was not handed: variables, home directory
//! and platform come in an [`Environment`]. It reads and writes files, below the paths it is given; [`reading`] says how.

#![warn(missing_docs)]

mod allowance;
mod diagnostic;
mod dialect;
pub mod discover;
pub mod document;
mod dotenv;
pub mod edit;
mod entry;
pub mod environment;
mod field;
mod grants;
mod hub;
mod interpolate;
mod layer;
mod load;
mod reader;
pub mod reading;
pub mod schema;
mod secret;
mod server;
mod settings;
mod source;
pub mod trust;

pub use diagnostic::{Code, Diagnostic, Severity};
pub use dialect::{Dialect, KeySpelling};
pub use environment::{Environment, Platform};
pub use hub::{ConfiguredHub, hub_address};
pub use layer::{CommandLine, Configuration, LoadedFile, ShadowReason, Shadowed, merge};
pub use load::{ExplicitFile, LoadRequest, MAX_FILE_BYTES, MAX_PROJECT_FILE_BYTES, load};
pub use reader::{FileContent, FilePlace, read_text};
pub use secret::{looks_secret, secret_arguments, secrets_of};
pub use server::{Blocker, ConfiguredServer, Input};
pub use settings::{Import, Setting, Settings, SettingsPatch};
pub use source::{Source, Span};
