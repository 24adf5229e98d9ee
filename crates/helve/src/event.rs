//! What a host tells those who listen: status, catalog, calls, server logs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// Listens to a host. See [`crate::Host::events`] and [`crate::Host::changes`].
#[derive(Debug)]
pub struct Events {
    receiver: broadcast::Receiver<HostEvent>,
    /// `None`: calls are left out.
    calls: Option<CallListener>,
}

/// While there is one, calls are told.
#[derive(Debug)]
struct CallListener(Arc<AtomicUsize>);

impl Events {
    /// The next event; `None` when the host is gone. Cancel safe.
    pub async fn next(&mut self) -> Option<HostEvent> {
        loop {
            match self.receiver.recv().await {
                // Told because of another listener.
                Ok(HostEvent::Call(_)) if self.calls.is_none() => {}
                Ok(event) => return Some(event),
                Err(broadcast::error::RecvError::Lagged(lost)) => return Some(HostEvent::Lost(lost)),
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// The next event, if one is waiting.
    pub fn try_next(&mut self) -> Option<HostEvent> {
        loop {
            match self.receiver.try_recv() {
                Ok(HostEvent::Call(_)) if self.calls.is_none() => {}
                Ok(event) => return Some(event),
                Err(broadcast::error::TryRecvError::Lagged(lost)) => return Some(HostEvent::Lost(lost)),
                Err(broadcast::error::TryRecvError::Empty | broadcast::error::TryRecvError::Closed) => return None,
            }
        }
    }
}

impl CallListener {
    fn new(listeners: &Arc<AtomicUsize>) -> Self {
        listeners.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(listeners))
    }
}

impl Drop for CallListener {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Where events go.
#[derive(Debug, Clone)]
pub(crate) struct EventSink {
    sender: broadcast::Sender<HostEvent>,
    /// Listeners that hear of calls: most do not, and are not to be woken by every one.
    call_listeners: Arc<AtomicUsize>,
}

impl EventSink {
    /// Keeps so many for a listener that is slow. They have their room from the beginning.
    pub(crate) fn new(kept: usize) -> Self {
        Self { sender: broadcast::Sender::new(kept.clamp(1, MOST_KEPT)), call_listeners: Arc::default() }
    }

    /// True when somebody listens to calls.
    pub(crate) fn hears_calls(&self) -> bool {
        self.call_listeners.load(Ordering::Relaxed) > 0
    }

    /// Makes and sends an event if anybody listens.
    pub(crate) fn send(&self, event: impl FnOnce() -> HostEvent) {
        if self.sender.receiver_count() > 0 {
            // That everybody stopped listening meanwhile is not an error.
            drop(self.sender.send(event()));
        }
    }

    /// Tells of a call that has ended, if anybody wants to hear of calls.
    pub(crate) fn send_call(&self, record: Arc<CallRecord>) {
        if self.hears_calls() {
            self.send(|| HostEvent::Call(record));
        }
    }

    pub(crate) fn subscribe(&self) -> Events {
        Events { receiver: self.sender.subscribe(), calls: Some(CallListener::new(&self.call_listeners)) }
    }

    pub(crate) fn subscribe_to_changes(&self) -> Events {
        Events { receiver: self.sender.subscribe(), calls: None }
    }
}
