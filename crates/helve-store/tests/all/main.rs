//! What the store promises, on real files.

#![expect(clippy::expect_used, reason = "a helper that fails fails its test")]

mod calls;
mod keeping;
