//! One piece of work at a time, for all who want its result; done in a task of its own, so that a caller who goes away takes
//! nothing with it.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::error::{AuthError, ErrorKind, Result};

/// Work that is done once for all who ask while it runs.
#[derive(Debug)]
pub(crate) struct Flight<T> {
    running: Mutex<Option<watch::Receiver<Option<Landed<T>>>>>,
}

type Landed<T> = Arc<Result<T>>;

impl<T> Default for Flight<T> {
    fn default() -> Self {
        Self { running: Mutex::new(None) }
    }
}

impl<T: Clone + Send + Sync + 'static> Flight<T> {
    /// Waits for the work that is under way, or begins it.
    pub(crate) async fn join<F>(&self, work: impl FnOnce() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let mut receiver = self.receiver(work);
        let landed = receiver.wait_for(Option::is_some).await;
        match landed.ok().and_then(|landed| landed.clone()) {
            Some(landed) => match landed.as_ref() {
                Ok(value) => Ok(value.clone()),
                Err(error) => Err(error.again()),
            },
            None => Err(AuthError::new(ErrorKind::Unreachable, "getting a token was broken off")),
        }
    }

    fn receiver<F>(&self, work: impl FnOnce() -> F) -> watch::Receiver<Option<Landed<T>>>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(receiver) = running.as_ref()
            && receiver.borrow().is_none()
            && receiver.has_changed().is_ok()
        {
            return receiver.clone();
        }
        let (sender, receiver) = watch::channel(None);
        let work = work();
        drop(tokio::spawn(async move {
            let landed = work.await;
            drop(sender.send_replace(Some(Arc::new(landed))));
        }));
        *running = Some(receiver.clone());
        receiver
    }
}
