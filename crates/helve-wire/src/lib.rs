//! Speaking MCP with **one** peer: the envelope, the transports, the two eras of the protocol, the session on top,
//! and the process tree of a server that helve starts.
//!
//! It decides nothing about permission (it takes a `Permit`), reads no configuration and no environment.

mod dispatch;
mod encode;
mod envelope;
mod error;
mod handler;
#[cfg(unix)]
pub mod launch;
mod limits;
mod pending;
mod request;
mod sync;
mod transport;

pub use error::{Error, Result, RpcError};
pub use handler::{
    BoxFuture, ClientCapabilities, Event, EventQueue, NoHandler, Notification, PeerHandler, Progress, Question,
    QuestionKind,
};
pub use limits::Limits;
pub use pending::ProgressCallback;
pub use request::Times;
pub use transport::http::{HeaderSource, HttpTarget};
