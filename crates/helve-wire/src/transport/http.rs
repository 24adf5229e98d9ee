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
#[cfg_attr(not(feature = "tls"), path = "http/no_tls.rs")]
mod tls;

pub use feed::{Feed, FeedEvent};
pub use proxy::Proxies;
pub(crate) use sse_link::SseLink;
pub(crate) use streamable::StreamableLink;
pub use target::{AfterRefusal, HeaderSource, HttpTarget, Outgoing, Refused};

use crate::era::NegotiatedVersion;
use crate::error::Result;
use crate::pending::{Answer, Listener};
use crate::request::{self, Times};
use posting::HttpProtocol;

/// A connection over HTTP.
#[derive(Debug)]
pub(crate) enum HttpLink {
    /// Streamable HTTP.
    Streamable(StreamableLink),
    /// HTTP+SSE.
    Sse(SseLink),
}

impl HttpLink {
    pub(crate) async fn exchange(
        &self,
        request: request::Outgoing<'_>,
        times: Times,
        listener: Option<Listener>,
    ) -> Result<Answer> {
        match self {
            Self::Streamable(link) => link.exchange(request, times, listener).await,
            Self::Sse(link) => Box::pin(link.exchange(request, times, listener)).await,
        }
    }

    pub(crate) async fn notify(&self, message: Vec<u8>) -> Result<()> {
        match self {
            Self::Streamable(link) => link.notify(message).await,
            Self::Sse(link) => link.notify(message).await,
        }
    }

    /// What both sides speak from now on.
    pub(crate) fn agree(&self, negotiated: &NegotiatedVersion) {
        if let Self::Streamable(link) = self {
            let speech = negotiated.era.speech();
            link.set_protocol(HttpProtocol { version: negotiated.version.clone(), speech });
        }
    }

    /// Opens the stream on which a legacy server speaks unasked, if it has one.
    pub(crate) async fn open_stream(&self) {
        if let Self::Streamable(link) = self {
            link.open_stream().await;
        }
    }

    /// Does it repeat in headers what requests are about?
    pub(crate) const fn is_streamable(&self) -> bool {
        matches!(self, Self::Streamable(_))
    }

    /// The id of the server's session, if there is one.
    pub(crate) fn session_id(&self) -> Option<String> {
        match self {
            Self::Streamable(link) => link.session_id(),
            Self::Sse(_) => None,
        }
    }

    /// The session outlives the connection from now on.
    pub(crate) fn leave_open(&self) {
        if let Self::Streamable(link) = self {
            link.leave_open();
        }
    }

    pub(crate) fn abandon(&self) {
        match self {
            Self::Streamable(link) => link.abandon(),
            Self::Sse(link) => link.abandon(),
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Streamable(link) => link.close().await,
            Self::Sse(link) => link.close().await,
        }
    }
}
