//! What agents get through helve, against fake peers as servers.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a helper that fails fails its test")]

mod stream;
mod support;
