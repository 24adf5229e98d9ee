//! Where the store's files are, who may read them, and that one process at a time has them open.

use std::fs::File;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::error::StoreError;

/// The database.
const DATABASE: &str = "hub.db";

/// What the process that has the store open holds.
const LOCK: &str = "hub.lock";

/// The store's directory, held by this process.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) database: PathBuf,
    /// Which file was opened, by device and number.
    opened: std::sync::OnceLock<(u64, u64)>,
    _lock: File,
}

impl Files {
    /// Makes the directory where there is none, and takes it for this process.
    pub(crate) fn hold(directory: &Path) -> Result<Self, StoreError> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let lock_path = directory.join(LOCK);
        let lock = std::fs::OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&lock_path)?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(StoreError::InUse(lock_path));
        }
        let database = directory.join(DATABASE);
        // Made here and not by SQLite, so that nobody else may ever read it; its journals get the same mode.
        drop(std::fs::OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&database)?);
        fs_err::set_permissions(&database, std::fs::Permissions::from_mode(0o600))?;
        let files = Self { database, opened: std::sync::OnceLock::new(), _lock: lock };
        if let Some(identity) = files.identity() {
            files.opened.get_or_init(|| identity);
        }
        Ok(files)
    }

    fn identity(&self) -> Option<(u64, u64)> {
        fs_err::metadata(&self.database).ok().map(|metadata| (metadata.dev(), metadata.ino()))
    }

    /// False when the file was deleted or replaced since it was opened: what is written goes nowhere.
    pub(crate) fn are_in_place(&self) -> bool {
        self.identity().is_some_and(|now| self.opened.get() == Some(&now))
    }
}
