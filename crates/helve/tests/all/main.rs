//! A host in front of real processes and connections.

#![expect(clippy::disallowed_methods, reason = "tests hand their own PATH to the servers they start")]

mod calls;
mod servers;
mod support;
