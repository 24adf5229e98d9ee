//! A store that forgets when the process ends: for programs that keep nothing, and for tests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use secrecy::SecretString;
use tokio::sync::Semaphore;

use crate::credential::{Facts, RecordName};
use crate::error::{AuthError, Result};
use crate::ports::{BoxFuture, Store};

/// A store in memory.
#[derive(Default)]
pub struct MemoryStore {
    records: Mutex<HashMap<RecordName, (SecretString, Facts)>>,
    locks: Mutex<HashMap<RecordName, Arc<Semaphore>>>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What may be known about a record.
    #[must_use]
    pub fn facts(&self, name: &RecordName) -> Option<Facts> {
        lock(&self.records).get(name).map(|(_, facts)| facts.clone())
    }
}

impl Store for MemoryStore {
    fn read<'a>(&'a self, name: &'a RecordName) -> BoxFuture<'a, Result<Option<SecretString>>> {
        let record = lock(&self.records).get(name).map(|(secret, _)| secret.clone());
        Box::pin(std::future::ready(Ok(record)))
    }

    fn write<'a>(&'a self, name: &'a RecordName, secret: SecretString, facts: Facts) -> BoxFuture<'a, Result<()>> {
        drop(lock(&self.records).insert(name.clone(), (secret, facts)));
        Box::pin(std::future::ready(Ok(())))
    }

    fn remove<'a>(&'a self, name: &'a RecordName) -> BoxFuture<'a, Result<()>> {
        drop(lock(&self.records).remove(name));
        Box::pin(std::future::ready(Ok(())))
    }

    fn lock<'a>(&'a self, name: &'a RecordName) -> BoxFuture<'a, Result<Box<dyn Send + Sync>>> {
        let semaphore =
            Arc::clone(lock(&self.locks).entry(name.clone()).or_insert_with(|| Arc::new(Semaphore::new(1))));
        Box::pin(async move {
            let permit = semaphore.acquire_owned().await.map_err(|_| AuthError::store("the lock is closed"))?;
            Ok(Box::new(permit) as Box<dyn Send + Sync>)
        })
    }
}

/// A panic elsewhere leaves the map whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("MemoryStore")
    }
}
