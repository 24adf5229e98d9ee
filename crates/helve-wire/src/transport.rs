//! The ways to a peer.

pub(crate) mod http;
mod line;
pub(crate) mod stream;
mod writer;
