//! Speaking MCP with **one** peer: the envelope, the transports, the two eras of the protocol, the session on top,
//! and the process tree of a server that helve starts.
//!
//! It decides nothing about permission (it takes a `Permit`), reads no configuration and no environment.

mod channel;
mod client_info;
mod connect;
mod dispatch;
mod encode;
mod envelope;
mod era;
mod error;
mod handler;
#[cfg(unix)]
pub mod launch;
mod limits;
mod nesting;
mod pending;
mod request;
mod session;
mod transport;
mod wire_log;

/// The message plane, for those who stand on the other side of it: what a message is, and where a line ends.
pub mod plane {
    pub use crate::encode::quoted;
    pub use crate::envelope::{AnswerId, Incoming, batch, read, read_outlined};
    pub use crate::era::param_headers::mirrored as param_headers;
    pub use crate::transport::line::{Line, LineBuffer};
}

pub use client_info::ClientInfo;
#[cfg(feature = "http")]
pub use connect::connect_http;
#[cfg(unix)]
pub use connect::connect_stdio;
pub use connect::{ConnectOptions, SavedSession, connect_stream};
pub use era::{Era, EraPreference, Greeting, NegotiatedVersion, OtherEra, ProtocolChoice};
pub use error::{Error, Result, RpcError};
pub use handler::{
    BoxFuture, ClientCapabilities, Event, EventQueue, NoHandler, Notification, PeerHandler, PeerQuestion, Progress,
    QuestionKind, TaskQuestion,
};
pub use limits::Limits;
pub use nesting::Nesting;
pub use pending::ProgressCallback;
pub use request::Times;
pub use session::{
    CacheHint, CacheScope, CallOptions, Changes, CompletionSubject, Diagnostics, Listing, LogLevel, Relayed, Session,
};
#[cfg(feature = "http")]
pub use transport::http::{AfterRefusal, Feed, FeedEvent, HeaderSource, HttpTarget, Outgoing, Proxies, Refused};
