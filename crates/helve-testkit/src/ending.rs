//! Owns how a peer ends itself, which depends on whether it is a process or a task.

use std::sync::Arc;

use tokio::sync::watch;

use crate::recorder::{RecordedEvent, Recorder};

/// Ends the peer a connection belongs to.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    /// The peer is this process.
    Process,
    /// The peer is a task; it and its streams end when the flag is raised.
    Task(Arc<watch::Sender<bool>>),
}

impl Ending {
    pub(crate) fn task() -> Self {
        Self::Task(Arc::new(watch::Sender::new(false)))
    }

    /// Ends the peer now, without a word to the client.
    pub(crate) fn exit(&self, recorder: &Recorder, status: i32) {
        recorder.add(RecordedEvent::Exited { status });
        match self {
            Self::Process => std::process::exit(status),
            Self::Task(flag) => {
                flag.send_replace(true);
            }
        }
    }

    /// Whether the peer is a process of its own, with signals, stderr and children.
    pub(crate) fn is_process(&self) -> bool {
        matches!(self, Self::Process)
    }

    /// Resolves when the peer has ended itself. Never for a process.
    pub(crate) async fn ended(&self) {
        match self {
            Self::Process => std::future::pending().await,
            Self::Task(flag) => {
                // The sender lives in `self`, so waiting cannot fail.
                drop(flag.subscribe().wait_for(|ended| *ended).await);
            }
        }
    }
}
