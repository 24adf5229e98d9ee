//! Tests of the whole crate through its public functions.

#![expect(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails loudly")]

mod builtins;
mod carrying;
mod diagnostics;
mod dialects;
mod discovery;
mod documents;
mod edits;
mod hostile;
mod hubs;
mod interpolation;
mod late;
mod layers;
mod mutations;
mod properties;
mod rule_edits;
mod sandbox;
mod schema;
mod support;
mod trust;
mod trust_keys;
mod unreadable;
mod written;
