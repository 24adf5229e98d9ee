//! The one thread that writes: it takes what waits, as much as there is, and makes one transaction of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use helve_model::sync::lock;
use rusqlite::Connection;

use crate::calls::{self, Call, IntoCall};
use crate::chain::Head;
use crate::error::StoreError;
use crate::names::Names;
use crate::traffic;

/// So many calls may wait to be written.
const QUEUE: usize = 65_536;

/// How long the first of a batch waits for others. Whoever hands in a call wakes the thread at most so often.
const GATHER: Duration = Duration::from_millis(20);

/// So many calls are written in one transaction.
const BATCH: usize = 2_048;

/// What the thread is told.
pub(crate) enum Order {
    Call(Box<dyn IntoCall>),
    /// Something else, done between two batches.
    Do(Box<dyn FnOnce(&mut Connection) + Send>),
    End,
}

/// What is known of the thread from outside.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) waiting: AtomicU64,
    pub(crate) written: AtomicU64,
    pub(crate) lost: AtomicU64,
    /// What went wrong last, until a batch succeeds.
    pub(crate) trouble: std::sync::Mutex<Option<String>>,
}

/// The way to the thread.
#[derive(Debug)]
pub(crate) struct Writer {
    orders: SyncSender<Order>,
    pub(crate) progress: Arc<Progress>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Writer {
    /// Begins to write. `on_written` is told every batch that is in the file.
    pub(crate) fn start(
        connection: Connection,
        on_written: impl Fn(&[Call]) + Send + 'static,
    ) -> Result<Self, StoreError> {
        let (orders, receiver) = sync_channel(QUEUE);
        let progress = Arc::new(Progress::default());
        let writing = Writing {
            names: Names::load(&connection)?,
            head: Head::load(&connection)?,
            connection,
            progress: Arc::clone(&progress),
            on_written: Box::new(on_written),
        };
        let thread = std::thread::Builder::new().name("store".to_owned()).spawn(move || writing.run(&receiver))?;
        Ok(Self { orders, progress, thread: Some(thread) })
    }

    /// Hands in a call. It never waits: without room the call is lost, and counted.
    pub(crate) fn record(&self, call: Box<dyn IntoCall>) {
        self.progress.waiting.fetch_add(1, Ordering::Relaxed);
        match self.orders.try_send(Order::Call(call)) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.progress.waiting.fetch_sub(1, Ordering::Relaxed);
                self.progress.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Has something done between two batches, and waits for it.
    pub(crate) fn perform<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = sync_channel(1);
        let order = Order::Do(Box::new(move |connection| {
            // Whoever asked may have gone.
            drop(answer.send(work(connection)));
        }));
        self.orders.send(order).map_err(|_| StoreError::Closed)?;
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
        answered.recv().map_err(|_| StoreError::Closed)?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // What waits is written before the end.
        drop(self.orders.send(Order::End));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Is told every batch that is in the file.
type OnWritten = Box<dyn Fn(&[Call]) + Send>;

struct Writing {
    connection: Connection,
    names: Names,
    head: Head,
    progress: Arc<Progress>,
    on_written: OnWritten,
}

impl Writing {
    fn run(mut self, orders: &Receiver<Order>) {
        while let Ok(first) = orders.recv() {
            // Parked and not waiting for the queue, so that handing in a call needs to wake nobody; whoever waits for
            // something to be done does wake it. Only once: however many come meanwhile, the first has waited long enough.
            if matches!(first, Order::Call(_)) {
                std::thread::park_timeout(GATHER);
            }
            let mut batch: Vec<Box<dyn IntoCall>> = Vec::new();
            let mut next = Some(first);
            while let Some(order) = next {
                match order {
                    Order::Call(call) => batch.push(call),
                    Order::Do(work) => {
                        self.write(std::mem::take(&mut batch));
                        work(&mut self.connection);
                    }
                    Order::End => return self.write(batch),
                }
                if batch.len() >= BATCH {
                    self.write(std::mem::take(&mut batch));
                }
                next = orders.try_recv().ok();
            }
            self.write(batch);
        }
    }

    fn write(&mut self, batch: Vec<Box<dyn IntoCall>>) {
        if batch.is_empty() {
            return;
        }
        let count = batch.len() as u64;
        let written = self.transact(batch);
        self.progress.waiting.fetch_sub(count, Ordering::Relaxed);
        match written {
            Ok(rows) => {
                self.progress.written.fetch_add(count, Ordering::Relaxed);
                *lock(&self.progress.trouble) = None;
                (self.on_written)(&rows);
            }
            Err(error) => {
                self.names.forget(&self.connection);
                self.progress.lost.fetch_add(count, Ordering::Relaxed);
                tracing::warn!(%error, count, "calls could not be recorded");
                *lock(&self.progress.trouble) = Some(error.to_string());
            }
        }
    }

    fn transact(&mut self, batch: Vec<Box<dyn IntoCall>>) -> Result<Vec<Call>, StoreError> {
        let transaction = self.connection.transaction()?;
        let mut rows = Vec::with_capacity(batch.len());
        for (seq, call) in (self.head.last + 1..).zip(batch) {
            rows.push(calls::insert(&transaction, &mut self.names, seq, call.into_call())?);
        }
        traffic::count(&transaction, &mut self.names, &rows)?;
        let at = rows.iter().map(|row| row.call.at).max().unwrap_or_default();
        let head = self.head.add(&transaction, &rows, at)?;
        transaction.commit()?;
        self.head = head;
        Ok(rows)
    }
}

impl std::fmt::Debug for Order {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Call(_) => "Call",
            Self::Do(_) => "Do",
            Self::End => "End",
        })
    }
}
