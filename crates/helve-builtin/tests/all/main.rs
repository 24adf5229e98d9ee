//! The built-in servers as a host uses them: opened from a spec, called with permits.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]
#![expect(clippy::panic, reason = "a helper that fails fails its test")]

mod configured;
mod definitions;
mod editing;
mod opening;
mod places;
mod reading;
mod searching;
mod sqlite;
mod sqlite_attacks;
mod support;
mod time;
mod writing;
