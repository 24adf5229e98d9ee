//! The vocabulary every other crate of helve speaks: names in all their spellings, server specs,
//! definitions and content as raw JSON with a lenient typed view, outcomes, status, error codes.
//!
//! This crate performs no input or output, is not async and reads no clock; `cargo xtask tidy` checks that.

#![warn(missing_docs)]

mod error;

pub use error::ErrorCode;
