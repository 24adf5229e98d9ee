//! The ways to a peer over HTTP: Streamable HTTP (2025-03-26 and later) and HTTP+SSE (2024-11-05).

mod background;
mod body;
mod client;
mod events;
#[cfg(test)]
mod fake;
mod feed;
mod headers;
mod in_flight;
mod pool;
mod posting;
pub(crate) mod proxy;
mod refusal;
mod sse;
pub(crate) mod sse_link;
mod standalone;
pub(crate) mod streamable;
mod target;

pub use feed::{Feed, FeedEvent};
pub(crate) use posting::HttpProtocol;
pub use proxy::Proxies;
pub(crate) use sse_link::SseLink;
pub(crate) use streamable::StreamableLink;
pub use target::{AfterRefusal, HeaderSource, HttpTarget, Outgoing, Refused};
