//! What a host tells those who listen: status, catalog, calls, server logs.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use helve_model::json::RawJson;
use helve_model::{ErrorCode, QualifiedName, ServerName, ServerStatus};
use helve_policy::{Caller, Ground};
use tokio::sync::broadcast;

/// How many events a slow listener may lag behind before it misses some.
const EVENTS_KEPT: usize = 1024;

/// Something happened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum HostEvent {
    /// A server's status changed.
    Status {
        /// Which server.
        server: ServerName,
        /// Its new status.
        status: ServerStatus,
    },
    /// There is a new snapshot.
    Catalog {
        /// Its number; numbers grow.
        generation: u64,
    },
    /// A call ended, whichever way.
    Call(Arc<CallRecord>),
    /// A server logs something (`notifications/message`).
    Log {
        /// Which server.
        server: ServerName,
        /// The notification's parameters.
        params: RawJson,
    },
    /// A server's list of resources or templates is another one.
    ResourcesChanged {
        /// Which server.
        server: ServerName,
    },
    /// A server's list of prompts is another one.
    PromptsChanged {
        /// Which server.
        server: ServerName,
    },
    /// A server says something else without being asked, such as `notifications/resources/updated`.
    Notification {
        /// Which server.
        server: ServerName,
        /// The protocol's name of it.
        method: String,
        /// Its parameters.
        params: RawJson,
    },
    /// Something is not as it should be, and everything goes on.
    Warning {
        /// Which server it is about.
        server: ServerName,
        /// One line.
        message: String,
    },
    /// The listener was too slow: so many events are lost here.
    Lost(u64),
}

/// One call, from its first to its last moment.
#[derive(Debug, Clone)]
pub struct CallRecord {
    /// What was called; `None` when what was asked for names no tool.
    pub name: Option<QualifiedName>,
    /// The name the caller gave, where it is spelled otherwise than [`CallRecord::name`].
    pub(crate) asked: Option<String>,
    /// Who called.
    pub caller: Caller,
    /// What the permission or refusal rests on; `None` when it did not come to a decision.
    pub ground: Option<Ground>,
    /// How it ended.
    pub end: CallEnd,
    /// How long it took.
    pub duration: Duration,
    /// How often it was sent.
    pub attempts: u32,
    /// Bytes of the arguments.
    pub argument_bytes: usize,
    /// Bytes of the result.
    pub result_bytes: usize,
}

impl CallRecord {
    /// The name the caller gave, in his spelling.
    #[must_use]
    pub fn asked(&self) -> Cow<'_, str> {
        match (&self.asked, &self.name) {
            (Some(asked), _) => Cow::Borrowed(asked),
            (None, Some(name)) => Cow::Owned(name.to_string()),
            (None, None) => Cow::Borrowed(""),
        }
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    /// With an outcome.
    Done,
    /// With an outcome by which the tool says that it failed.
    ToolError,
    /// With a kept outcome, without asking the server.
    FromCache,
    /// With an error.
    Failed(ErrorCode),
}

/// Listens to a host. See [`crate::Host::events`].
#[derive(Debug)]
pub struct Events(broadcast::Receiver<HostEvent>);

impl Events {
    /// The next event; `None` when the host is gone. Cancel safe.
    pub async fn next(&mut self) -> Option<HostEvent> {
        match self.0.recv().await {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(lost)) => Some(HostEvent::Lost(lost)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// The next event, if one is waiting.
    pub fn try_next(&mut self) -> Option<HostEvent> {
        match self.0.try_recv() {
            Ok(event) => Some(event),
            Err(broadcast::error::TryRecvError::Lagged(lost)) => Some(HostEvent::Lost(lost)),
            Err(broadcast::error::TryRecvError::Empty | broadcast::error::TryRecvError::Closed) => None,
        }
    }
}

/// Where events go.
#[derive(Debug, Clone)]
pub(crate) struct EventSink(broadcast::Sender<HostEvent>);

impl EventSink {
    pub(crate) fn new() -> Self {
        Self(broadcast::Sender::new(EVENTS_KEPT))
    }

    /// Makes and sends an event if anybody listens.
    pub(crate) fn send(&self, event: impl FnOnce() -> HostEvent) {
        if self.0.receiver_count() > 0 {
            // Nobody listening any more is no error.
            drop(self.0.send(event()));
        }
    }

    pub(crate) fn subscribe(&self) -> Events {
        Events(self.0.subscribe())
    }
}
