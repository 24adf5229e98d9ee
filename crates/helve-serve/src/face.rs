//! The ways agents come in.

pub mod http;
pub mod stream;
