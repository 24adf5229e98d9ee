//! From a home directory to a host that runs real programs, as an embedding program has it.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod embedding;
mod states;
mod support;
