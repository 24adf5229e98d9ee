//! What a host tells those who listen: status, catalog, calls, server logs.

use std::sync::Arc;

use helve_model::json::RawJson;
use helve_model::{ServerName, ServerStatus};
use tokio::sync::broadcast;

use crate::record::CallRecord;

/// More events than this are not kept for anybody.
const MOST_KEPT: usize = 1 << 20;

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
    /// A server that is being connected has come a step further.
    Starting {
        /// Which server.
        server: ServerName,
        /// How far it is.
        step: StartStep,
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

/// How far the connection to a server is that is being made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartStep {
    /// Its program runs.
    Launched,
    /// It has answered the greeting; its tools are listed next.
    Greeted {
        /// The version of the protocol it speaks.
        version: String,
        /// The era of that version.
        era: String,
    },
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
    /// Keeps so many for a listener that is slow. They have their room from the beginning.
    pub(crate) fn new(kept: usize) -> Self {
        Self(broadcast::Sender::new(kept.clamp(1, MOST_KEPT)))
    }

    /// True when somebody listens.
    pub(crate) fn is_heard(&self) -> bool {
        self.0.receiver_count() > 0
    }

    /// Makes and sends an event if anybody listens.
    pub(crate) fn send(&self, event: impl FnOnce() -> HostEvent) {
        if self.is_heard() {
            // That everybody stopped listening meanwhile is not an error.
            drop(self.0.send(event()));
        }
    }

    pub(crate) fn subscribe(&self) -> Events {
        Events(self.0.subscribe())
    }
}
