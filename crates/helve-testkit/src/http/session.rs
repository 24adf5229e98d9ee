//! Owns the sessions of the legacy era: their ids, their streams, their end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Shared;
use super::event_log::{EventLog, EventStyle};
use crate::frame::Out;
use crate::peer::Connection;

/// All sessions of a server.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: Mutex<BTreeMap<String, Arc<Session>>>,
    opened: AtomicU64,
}

/// One client of the legacy era.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) connection: Arc<Connection>,
    /// What belongs to no request; stream number 0.
    pub(crate) standalone: Arc<EventLog>,
    /// The answers' streams by number, for resumption.
    streams: Mutex<BTreeMap<u64, Arc<EventLog>>>,
    next_stream: AtomicU64,
}

impl Sessions {
    /// Opens a session whose standalone stream has this style.
    pub(crate) fn create(&self, shared: &Shared, style: EventStyle) -> Arc<Session> {
        let number = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
        let (out, queue) = Out::new();
        let standalone = EventLog::new(style);
        tokio::spawn(Arc::clone(&standalone).pump(None, queue));
        let session = Arc::new(Session {
            id: format!("session-{number}"),
            connection: Connection::new(out, shared.ending.clone()),
            standalone,
            streams: Mutex::default(),
            next_stream: AtomicU64::new(1),
        });
        self.table().insert(session.id.clone(), Arc::clone(&session));
        session
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<Session>> {
        self.table().get(id).cloned()
    }

    /// Some session: the one that all share when they are not told apart.
    pub(crate) fn only(&self) -> Option<Arc<Session>> {
        self.table().values().next().cloned()
    }

    /// Ends a session; everything that runs in it is dropped.
    pub(crate) fn forget(&self, id: &str) -> bool {
        let session = self.table().remove(id);
        if let Some(session) = &session {
            session.end();
        }
        session.is_some()
    }

    pub(crate) fn forget_all(&self) {
        for session in std::mem::take(&mut *self.table()).into_values() {
            session.end();
        }
    }

    pub(crate) fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    pub(crate) fn open(&self) -> usize {
        self.table().len()
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// A new stream for one answer.
    pub(crate) fn new_stream(&self, resumable: bool, retry_ms: Option<u64>) -> Arc<EventLog> {
        if !resumable {
            return EventLog::new(EventStyle::Plain);
        }
        let number = self.next_stream.fetch_add(1, Ordering::Relaxed);
        let log = EventLog::new(EventStyle::Numbered { stream: number, retry_ms });
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).insert(number, Arc::clone(&log));
        log
    }

    /// The stream an event id `<stream>-<number>` belongs to, and the place after that event.
    pub(crate) fn resume(&self, event_id: &str) -> Option<(Arc<EventLog>, usize)> {
        let (stream, number) = event_id.split_once('-')?;
        let (stream, number) = (stream.parse::<u64>().ok()?, number.parse::<usize>().ok()?);
        if stream == 0 {
            return Some((Arc::clone(&self.standalone), number + 1));
        }
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        Some((Arc::clone(streams.get(&stream)?), number + 1))
    }

    fn end(&self) {
        self.connection.abort_all();
        self.standalone.end();
        for log in self.streams.lock().unwrap_or_else(PoisonError::into_inner).values() {
            log.end();
        }
    }
}
