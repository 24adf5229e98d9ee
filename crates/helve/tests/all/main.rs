//! A host in front of real processes and connections.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]
#![expect(clippy::panic, reason = "a helper that fails fails its test")]
#![expect(clippy::disallowed_methods, reason = "tests hand their own PATH to the servers they start")]

mod alone;
#[cfg(feature = "blocking")]
mod blocking;
mod broker;
mod cached;
mod calls;
mod fault;
#[cfg(feature = "derive")]
mod functions;
mod limits;
mod lists;
mod native;
mod offers;
mod owners;
mod plan;
mod questions;
mod random;
mod records;
mod registry;
mod servers;
#[cfg(feature = "tls")]
mod signing_in;
mod support;
mod watches;
