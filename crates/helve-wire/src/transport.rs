//! The ways to a peer, behind one enum.

mod line;
#[cfg(unix)]
pub(crate) mod stdio;
pub(crate) mod stream;
mod writer;

use crate::era::Verdict;
use crate::error::Result;
use crate::pending::{Answer, Listener};
use crate::request::{Outgoing, Times};

/// A connection to one peer.
#[derive(Debug)]
pub(crate) enum Link {
    /// A byte stream handed in.
    Stream(stream::StreamLink),
    /// A program that was started.
    #[cfg(unix)]
    Stdio(stdio::StdioLink),
}

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
        }
    }

    pub(crate) async fn notify(&self, message: Vec<u8>) -> Result<()> {
        match self {
            Self::Stream(link) => link.notify(message),
            #[cfg(unix)]
            Self::Stdio(link) => link.stream().notify(message),
        }
    }

    /// What both sides speak from now on.
    pub(crate) fn agree(&self, verdict: &Verdict) {
        match self {
            Self::Stream(_) => {}
            #[cfg(unix)]
            Self::Stdio(_) => {}
        }
        let _ = verdict;
    }

    pub(crate) async fn open_stream(&self) {
        match self {
            Self::Stream(_) => {}
            #[cfg(unix)]
            Self::Stdio(_) => {}
        }
    }

    pub(crate) const fn is_http(&self) -> bool {
        match self {
            Self::Stream(_) => false,
            #[cfg(unix)]
            Self::Stdio(_) => false,
        }
    }

    /// The newest part of a program's stderr.
    pub(crate) fn stderr(&self) -> String {
        match self {
            Self::Stream(_) => String::new(),
            #[cfg(unix)]
            Self::Stdio(link) => link.stderr().text(),
        }
    }

    /// How a program has ended, if it has.
    #[cfg(unix)]
    pub(crate) fn exit(&self) -> Option<crate::launch::ExitReport> {
        match self {
            Self::Stream(_) => None,
            Self::Stdio(link) => link.exit(),
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Stream(link) => link.close(),
            #[cfg(unix)]
            Self::Stdio(link) => link.close().await,
        }
    }
}
