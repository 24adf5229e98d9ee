//! What went wrong with the store: what happened, where, and what to do about it.

use std::fmt;
use std::path::PathBuf;

/// Why the store could not do what it was asked to.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process has the store open.
    InUse(PathBuf),
    /// A later version wrote it.
    Newer {
        /// The file.
        file: PathBuf,
        /// The version of its schema.
        found: u32,
        /// The version this program knows.
        known: u32,
    },
    /// The database refused.
    Database(rusqlite::Error),
    /// A file cannot be read or written.
    File(std::io::Error),
    /// A name that must be used once is taken, maybe by something that has ended.
    NameTaken(String),
    /// There is nothing of that name or number.
    NotFound(String),
    /// The thread that writes has ended.
    Closed,
}

impl fmt::Display for StoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse(lock) => write!(
                formatter,
                "another hub uses this store: it holds {}; end that one, or give this one a state directory of its own",
                lock.display()
            ),
            Self::Newer { file, found, known } => write!(
                formatter,
                "{} was written by a later version (schema {found}, this program knows {known}); use that version, or move the file away",
                file.display()
            ),
            Self::Database(error) => write!(formatter, "the store failed: {error}"),
            Self::File(error) => error.fmt(formatter),
            Self::NameTaken(name) => write!(formatter, "the name {name:?} was used before; names are never used twice"),
            Self::NotFound(what) => write!(formatter, "there is no {what}"),
            Self::Closed => formatter.write_str("the store is closed"),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Database(error) => Some(error),
            Self::File(error) => Some(error),
            _ => None,
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        Self::File(error)
    }
}
