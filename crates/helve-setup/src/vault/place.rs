//! Where a vault lies: in a file of the person's own with locks beside it, or in a document that somebody else keeps.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

use super::error::VaultError;
use super::file::{self, Content};
use super::locks;
use crate::error::SetupError;
use crate::store::StateStore;

/// The document's name, where somebody else keeps it.
const DOCUMENT: &str = "credentials.vault";

/// Where a vault lies.
#[derive(Debug)]
pub(super) enum Place {
    /// A directory of the person's own.
    Directory(PathBuf),
    /// Whoever keeps documents. What is renewed is renewed once for all in this process; who shares documents between
    /// processes has to see to it that only one of them signs in.
    Documents(Arc<dyn StateStore>, Turns),
}

/// Whose turn it is to renew a record.
type Turns = Mutex<HashMap<String, Arc<Semaphore>>>;

impl Place {
    /// What is there; `None` when nothing is.
    pub(super) fn read(&self) -> Result<Option<Content>, VaultError> {
        match self {
            Self::Directory(directory) => file::read(directory),
            Self::Documents(store, _) => self.understood(store.read(DOCUMENT).map_err(|error| unkept(&error))?),
        }
    }

    /// Puts what `change` makes of it in its place, one at a time; where it makes nothing, or fails, all stays as it is.
    pub(super) fn change<R>(
        &self,
        change: impl FnOnce(Option<Content>) -> Result<(Option<Content>, R), VaultError>,
    ) -> Result<R, VaultError> {
        match self {
            Self::Directory(directory) => {
                let held = locks::whole(directory)?;
                let (changed, result) = change(file::read(directory)?)?;
                if let Some(content) = &changed {
                    file::replace(directory, content)?;
                }
                drop(held);
                Ok(result)
            }
            Self::Documents(store, _) => {
                let (mut change, mut outcome, mut stays) = (Some(change), None, false);
                let updated = store.update(DOCUMENT, &mut |text| {
                    let unchanged = || SetupError::machine("nothing changed");
                    let change = change.take().ok_or_else(unchanged)?;
                    let made = self.understood(text).and_then(change);
                    let (written, made) = match made {
                        Ok((Some(content), result)) => (Ok(file::to_text(&content)), Ok(result)),
                        Ok((None, result)) => (Err(unchanged()), Ok(result)),
                        Err(error) => (Err(unchanged()), Err(error)),
                    };
                    stays = written.is_err();
                    outcome = Some(made);
                    written
                });
                match (outcome, updated) {
                    (Some(outcome), Ok(())) => outcome,
                    (Some(outcome), Err(_)) if stays => outcome,
                    (_, Err(error)) => Err(unkept(&error)),
                    (None, Ok(())) => Err(VaultError::new(format!("{} was not changed", self.shown()))),
                }
            }
        }
    }

    /// Waits until nobody else renews this record, then holds it until the guard is dropped.
    pub(super) async fn turn(&self, record: &str) -> Result<Box<dyn Send + Sync>, VaultError> {
        match self {
            Self::Directory(directory) => Ok(Box::new(locks::record(directory, record).await?)),
            Self::Documents(_, turns) => {
                let turn = {
                    let mut turns = turns.lock().unwrap_or_else(PoisonError::into_inner);
                    Arc::clone(turns.entry(record.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(1))))
                };
                let held = turn.acquire_owned().await;
                Ok(Box::new(held.map_err(|_| VaultError::new("whose turn it is cannot be told any more"))?))
            }
        }
    }

    /// Where it is, for whoever has to repair it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Directory(directory) => file::path(directory).display().to_string(),
            Self::Documents(store, _) => store.place(DOCUMENT),
        }
    }

    fn understood(&self, text: Option<String>) -> Result<Option<Content>, VaultError> {
        text.map(|text| file::from_text(&text, &self.shown())).transpose()
    }
}

fn unkept(error: &SetupError) -> VaultError {
    VaultError::new(error.to_string())
}
