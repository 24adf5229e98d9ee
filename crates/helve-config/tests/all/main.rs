//! Tests of the whole crate through its public functions.

mod dialects;
mod edits;
mod support;
