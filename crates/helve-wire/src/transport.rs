//! The ways to a peer.

mod line;
pub(crate) mod stream;
mod writer;
