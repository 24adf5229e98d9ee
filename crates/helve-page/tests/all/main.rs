//! The pages at their border: a view goes in, HTML comes out.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::string_slice,
    reason = "a helper that fails fails its test"
)]

mod hostile;
mod markup;
mod samples;
mod size;
mod snapshots;
mod vendored;
