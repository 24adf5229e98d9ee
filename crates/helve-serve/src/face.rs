//! The ways agents come in.

pub mod stream;
