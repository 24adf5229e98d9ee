//! Signing in, against a fake authorization server that knows nothing of this crate.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod devices;
mod keeping;
mod logins;
mod quirks;
mod support;
