//! The ways to a peer over HTTP.

mod headers;
mod sse;
