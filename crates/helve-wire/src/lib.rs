//! Speaking MCP with **one** peer: the envelope, the transports, the two eras of the protocol, the session on top,
//! and the process tree of a server that helve starts.
//!
//! It decides nothing about permission (it takes a `Permit`), reads no configuration and no environment.

mod error;
#[cfg(unix)]
pub mod launch;

pub use error::{Error, Result};
