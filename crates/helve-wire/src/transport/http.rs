//! The ways to a peer over HTTP: Streamable HTTP (2025-03-26 and later) and HTTP+SSE (2024-11-05).

mod background;
mod body;
mod client;
mod events;
#[cfg(test)]
mod fake;
mod headers;
mod pool;
mod posting;
mod refusal;
mod sse;
mod standalone;
pub(crate) mod streamable;
mod target;

pub(crate) use headers::header_value;
pub(crate) use posting::HttpProtocol;
pub(crate) use streamable::StreamableLink;
pub use target::{HeaderSource, HttpTarget};
