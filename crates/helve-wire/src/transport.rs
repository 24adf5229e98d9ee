//! The ways to a peer, behind one enum.

#[cfg(feature = "http")]
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
#[cfg(feature = "http")]
use crate::transport::http::HttpLink;
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
    /// A server over HTTP.
    #[cfg(feature = "http")]
    Http(HttpLink),
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
            #[cfg(feature = "http")]
            Self::Http(link) => Box::pin(link.exchange(request, times, listener)).await,
        }
    }

    pub(crate) async fn notify(&self, message: Vec<u8>) -> Result<()> {
        match self {
            Self::Stream(link) => link.notify(message).await,
            #[cfg(unix)]
            Self::Stdio(link) => link.stream().notify(message).await,
            #[cfg(feature = "http")]
            Self::Http(link) => Box::pin(link.notify(message)).await,
        }
    }

    /// How many notifications were left out because the peer did not read.
    pub(crate) fn dropped(&self) -> u64 {
        match self {
            Self::Stream(link) => link.dropped(),
            #[cfg(unix)]
            Self::Stdio(link) => link.stream().dropped(),
            #[cfg(feature = "http")]
            Self::Http(_) => 0,
        }
    }

    /// What both sides speak from now on.
    pub(crate) fn agree(&self, negotiated: &NegotiatedVersion) {
        match self {
            #[cfg(feature = "http")]
            Self::Http(link) => link.agree(negotiated),
            // On a stream every message is written the same way in all versions.
            _ => {
                let _: &NegotiatedVersion = negotiated;
            }
        }
    }

    /// Opens the stream on which a legacy HTTP server speaks unasked, if it has one.
    pub(crate) async fn open_stream(&self) {
        match self {
            #[cfg(feature = "http")]
            Self::Http(link) => Box::pin(link.open_stream()).await,
            _ => {}
        }
    }

    pub(crate) const fn is_http(&self) -> bool {
        match self {
            #[cfg(feature = "http")]
            Self::Http(link) => link.is_streamable(),
            _ => false,
        }
    }

    /// Is it the older of the two HTTP transports?
    pub(crate) const fn is_sse(&self) -> bool {
        match self {
            #[cfg(feature = "http")]
            Self::Http(link) => !link.is_streamable(),
            _ => false,
        }
    }

    /// Is there a session that the server could forget?
    pub(crate) fn has_session(&self) -> bool {
        match self {
            #[cfg(feature = "http")]
            Self::Http(link) => link.session_id().is_some(),
            _ => false,
        }
    }

    /// The id of the server's session, which from now on outlives the connection.
    pub(crate) fn leave_session_open(&self) -> Option<String> {
        match self {
            #[cfg(feature = "http")]
            Self::Http(link) => {
                let id = link.session_id()?;
                link.leave_open();
                Some(id)
            }
            _ => None,
        }
    }

    /// The newest part of a program's stderr.
    pub(crate) fn stderr(&self) -> String {
        match self {
            #[cfg(unix)]
            Self::Stdio(link) => link.stderr().text(),
            _ => String::new(),
        }
    }

    /// How a program has ended, if it has.
    #[cfg(unix)]
    pub(crate) fn exit(&self) -> Option<ExitReport> {
        match self {
            Self::Stdio(link) => link.exit(),
            _ => None,
        }
    }

    /// Ends it at once; what has to be said or waited for stays unsaid.
    pub(crate) fn abandon(&self) {
        match self {
            Self::Stream(link) => link.close(),
            #[cfg(unix)]
            Self::Stdio(link) => link.abandon(),
            #[cfg(feature = "http")]
            Self::Http(link) => link.abandon(),
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Stream(link) => link.close(),
            #[cfg(unix)]
            Self::Stdio(link) => link.close().await,
            #[cfg(feature = "http")]
            Self::Http(link) => Box::pin(link.close()).await,
        }
    }
}
