//! Tests of the crate from outside, in one binary: schemas by enemies, schemas by chance, calls by models, questions by
//! servers.

#![expect(clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

mod hostile;
mod mutated;
mod questions;
mod random;
