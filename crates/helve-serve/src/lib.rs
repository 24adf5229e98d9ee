//! A [`helve::Host`] shown as one MCP server, so that any agent gets all servers, one policy and one record through one
//! entry.
//!
//! [`Gateway`] holds what does not depend on how an agent comes in; [`face`] has the ways in. Payloads are relayed as bytes:
//! a field nobody here knows survives the trip.
//!
//! Nothing here listens, reads configuration, or looks at the environment.

#![warn(missing_docs)]

mod catalog;
mod era;
pub mod face;
mod gateway;
mod limits;
mod message;
mod naming;
mod news;
mod outbox;
mod refusal;
mod request;
mod running;
mod session;
mod sync;
mod tools;

pub use gateway::{Gateway, Options};
pub use limits::Limits;
pub use naming::Naming;
