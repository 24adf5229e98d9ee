//! Everything about `helve-wire` that needs real processes.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

#[cfg(target_os = "linux")]
mod launch;
