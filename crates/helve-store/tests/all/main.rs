//! What the store promises, on real files.

#![expect(clippy::expect_used, reason = "a test that cannot go on says so")]

mod approvals;
mod calls;
mod keeping;
