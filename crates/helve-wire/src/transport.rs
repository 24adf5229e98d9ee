//! The ways to a peer, behind one enum.

pub(crate) mod http;
pub(crate) mod line;
#[cfg(unix)]
pub(crate) mod stdio;
pub(crate) mod stream;
mod writer;

use crate::era::NegotiatedVersion;
use crate::error::Result;
#[cfg(unix)]
use crate::launch::ExitReport;
use crate::pending::{Answer, Listener};
use crate::request::{Outgoing, Times};
use crate::transport::http::{HttpProtocol, SseLink, StreamableLink};
#[cfg(unix)]
use crate::transport::stdio::StdioLink;
use crate::transport::stream::StreamLink;

/// A connection to one peer.
#[derive(Debug)]
pub(crate) enum Link {
    /// A byte stream handed in.
    Stream(StreamLink),
    /// A program that was started.
    #[cfg(unix)]
    Stdio(StdioLink),
    /// Streamable HTTP.
    Streamable(StreamableLink),
    /// HTTP+SSE.
    Sse(SseLink),
}

/// What goes over HTTP is kept apart: its futures are the larger ones by far, and no call to a program shall carry room for
/// them from hand to hand.
impl Link {
    pub(crate) async fn exchange(
        &self,
        request: Outgoing<'_>,
        times: Times,
        listener: Option<Listener>,
    ) -> Result<Answer> {
        match self {
            Self::Stream(link) => link.exchange(request, times, listener).await,
            #[cfg(unix)]
            Self::Stdio(link) => link.stream().exchange(request, times, listener).await,
            Self::Streamable(link) => Box::pin(link.exchange(request, times, listener)).await,
            Self::Sse(link) => Box::pin(link.exchange(request, times, listener)).await,
        }
    }

    pub(crate) async fn notify(&self, message: Vec<u8>) -> Result<()> {
        match self {
            Self::Stream(link) => link.notify(message).await,
            #[cfg(unix)]
            Self::Stdio(link) => link.stream().notify(message).await,
            Self::Streamable(link) => Box::pin(link.notify(message)).await,
            Self::Sse(link) => Box::pin(link.notify(message)).await,
        }
    }

    /// How many notifications were left out because the peer did not read.
    pub(crate) fn dropped(&self) -> u64 {
        match self {
            Self::Stream(link) => link.dropped(),
            #[cfg(unix)]
            Self::Stdio(link) => link.stream().dropped(),
            Self::Streamable(_) | Self::Sse(_) => 0,
        }
    }

    /// What both sides speak from now on.
    pub(crate) fn agree(&self, negotiated: &NegotiatedVersion) {
        if let Self::Streamable(link) = self {
            let speech = negotiated.era.speech();
            link.set_protocol(HttpProtocol { version: negotiated.version.clone(), speech });
        }
    }

    /// Opens the stream on which a legacy HTTP server speaks unasked, if it has one.
    pub(crate) async fn open_stream(&self) {
        if let Self::Streamable(link) = self {
            Box::pin(link.open_stream()).await;
        }
    }

    pub(crate) const fn is_http(&self) -> bool {
        matches!(self, Self::Streamable(_))
    }

    /// Is there a session that the server could forget?
    pub(crate) fn has_session(&self) -> bool {
        matches!(self, Self::Streamable(link) if link.session_id().is_some())
    }

    /// The id of the server's session, which from now on outlives the connection.
    pub(crate) fn leave_session_open(&self) -> Option<String> {
        let Self::Streamable(link) = self else { return None };
        let id = link.session_id()?;
        link.leave_open();
        Some(id)
    }

    /// The newest part of a program's stderr.
    pub(crate) fn stderr(&self) -> String {
        match self {
            #[cfg(unix)]
            Self::Stdio(link) => link.stderr().text(),
            Self::Stream(_) | Self::Streamable(_) | Self::Sse(_) => String::new(),
        }
    }

    /// How a program has ended, if it has.
    #[cfg(unix)]
    pub(crate) fn exit(&self) -> Option<ExitReport> {
        match self {
            Self::Stdio(link) => link.exit(),
            Self::Stream(_) | Self::Streamable(_) | Self::Sse(_) => None,
        }
    }

    /// Ends it at once; what has to be said or waited for stays unsaid.
    pub(crate) fn abandon(&self) {
        match self {
            Self::Stream(link) => link.close(),
            #[cfg(unix)]
            Self::Stdio(link) => link.abandon(),
            Self::Streamable(link) => link.abandon(),
            Self::Sse(link) => link.abandon(),
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Stream(link) => link.close(),
            #[cfg(unix)]
            Self::Stdio(link) => link.close().await,
            Self::Streamable(link) => Box::pin(link.close()).await,
            Self::Sse(link) => Box::pin(link.close()).await,
        }
    }
}
