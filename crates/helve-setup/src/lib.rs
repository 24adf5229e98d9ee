//! From files to a running host, without a person in front: which servers there are and what holds each back, what a host
//! is made of, what is remembered between runs, servers that are kept in the background, files that change meanwhile.
//!
//! Everything is handed in by an [`Environment`]; what went wrong is a [`SetupError`], and what a person should hear although
//! nothing failed is a [`Notice`]. Nothing here prints, asks or listens.
//!
//! For programs that want the person's own configuration:
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let environment = helve_setup::Environment::new(std::env::current_dir()?)
//!     .with_variables(std::env::vars_os())
//!     .with_home(std::env::home_dir().ok_or("there is no home directory")?)
//!     .with_clock(std::time::SystemTime::now);
//! let host = helve_setup::from_environment(environment)?.start().await?;
//! for tool in host.snapshot().tools() {
//!     println!("{}", tool.name());
//! }
//! host.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! For all others there is [`helve::Host::builder`].

#![warn(missing_docs)]

mod builtins;
mod code;
mod credentials;
pub mod environment;
mod error;
mod hubs;
mod itself;
pub mod keep;
mod kept_lists;
mod keyring;
mod notice;
mod own_files;
mod plan;
mod program;
mod recipe;
mod reload;
mod roots;
mod secrets;
mod setup;
mod start_guard;
pub mod store;
mod trial;
pub mod vault;

pub use builtins::ShippedTools;
pub use credentials::{Credentials, Logins};
pub use environment::{Environment, OwnDirectories, OwnProgram};
pub use error::SetupError;
pub use hubs::{DEVICE_HEADER, HubAway, HubFollower, HubList, HubServer, KeptHub, hub_record};
pub use itself::Itself;
pub use kept_lists::{Depth, Freshness, KeptLists, KnownTools, ServerWords};
pub use notice::{Notice, NoticeSink};
pub use own_files::{OwnFile, is_sandbox_choosable, name_in_file, place_in_file, server_of_request};
pub use plan::{allow_all, compile, held_text, held_word};
pub use program::{Bounds, Broken, Program, Said};
pub use recipe::{Lifetime, Recipe, Wanted, from_environment};
pub use reload::{Reload, Reloader};
pub use roots::ConfiguredRoots;
pub use secrets::{Secrets, secret_name, secret_record};
pub use setup::{Choices, Setup, file_of};
pub use trial::Trial;
