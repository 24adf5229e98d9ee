//! What helve remembers between runs: one small JSON document each for trust, approvals and pins. Where they are kept is for
//! a [`StateStore`] to say; by default that is a directory of the person's own.
//!
//! A document is read as a whole and replaced as a whole, by one writer at a time. Fields that this version does not know
//! stay. One that cannot be understood is reported and left as it is: nothing is ever guessed, and nothing overwritten.

pub mod approvals;
pub mod connections;
mod files;
mod memory;
pub mod pins;
pub mod trust;
pub mod written_rules;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use helve_model::ErrorCode;
use helve_model::text::escape_invisible_json;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::SetupError;
pub use files::FileStore;
pub(crate) use files::file_mark;
pub use memory::MemoryStateStore;

/// Keeps documents by name. Whoever serves many people brings one of their own.
pub trait StateStore: fmt::Debug + Send + Sync {
    /// The document of this name; `None` when there is none.
    ///
    /// # Errors
    /// It is there and cannot be read.
    fn read(&self, document: &str) -> Result<Option<String>, SetupError>;

    /// Puts what `change` makes of a document in its place. Of several who do so at once each sees what the one before
    /// made; when `change` fails, nothing changes.
    ///
    /// # Errors
    /// That of `change`, or why the document cannot be read or written.
    fn update(
        &self,
        document: &str,
        change: &mut dyn FnMut(Option<String>) -> Result<String, SetupError>,
    ) -> Result<(), SetupError>;

    /// Where a document is, for whoever has to repair it.
    fn place(&self, document: &str) -> String;

    /// Another text for another content, found without reading it; `None` when there is no document.
    fn mark(&self, document: &str) -> Option<String>;
}

/// The content of one document.
pub trait Stored: Default + Serialize + DeserializeOwned {
    /// The document's name.
    const FILE: &'static str;
    /// The version of its format; a document of a later one is not touched.
    const VERSION: u64;

    /// The version it was written in.
    fn version(&mut self) -> &mut u64;

    /// Takes out what an earlier version knew and this one cannot go by; names it.
    fn end_old(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// All documents, by what they hold.
#[derive(Debug, Clone)]
pub struct Stores {
    documents: Arc<dyn StateStore>,
}

impl Stores {
    /// In whatever keeps documents.
    pub fn new(documents: Arc<dyn StateStore>) -> Self {
        Self { documents }
    }

    /// As files of a directory.
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        Self::new(Arc::new(FileStore::new(directory)))
    }

    /// Another text for another content; `None` when nothing is remembered.
    #[must_use]
    pub fn mark<T: Stored>(&self) -> Option<String> {
        self.documents.mark(T::FILE)
    }

    /// What is remembered; nothing when there is no document.
    ///
    /// # Errors
    /// It is there, and cannot be read or understood.
    pub fn read<T: Stored>(&self) -> Result<T, SetupError> {
        self.parse(self.documents.read(T::FILE)?)
    }

    /// Changes what is remembered. Two programs that do so at once take turns.
    ///
    /// # Errors
    /// It cannot be read, understood or written; then nothing changes.
    pub fn update<T: Stored, R>(&self, change: impl FnOnce(&mut T) -> R) -> Result<R, SetupError> {
        let (mut change, mut result) = (Some(change), None);
        self.documents.update(T::FILE, &mut |text| {
            let mut content: T = self.parse(text)?;
            if *content.version() < T::VERSION {
                content.end_old();
                *content.version() = T::VERSION;
            }
            if let Some(change) = change.take() {
                result = Some(change(&mut content));
            }
            let text = serde_json::to_string_pretty(&content).map_err(|error| self.broken(T::FILE, &error))?;
            Ok(format!("{}\n", escape_invisible_json(&text)))
        })?;
        result.ok_or_else(|| SetupError::machine(format!("{} was not changed", self.documents.place(T::FILE))))
    }

    /// Ends what an earlier version knew and this one cannot go by; names it, once.
    ///
    /// # Errors
    /// It cannot be read, understood or written.
    pub fn retire<T: Stored>(&self) -> Result<Vec<String>, SetupError> {
        let mut content: T = self.read()?;
        if *content.version() >= T::VERSION {
            return Ok(Vec::new());
        }
        let mut ended = content.end_old();
        ended.sort();
        ended.dedup();
        self.update(|_: &mut T| ())?;
        Ok(ended)
    }

    fn parse<T: Stored>(&self, text: Option<String>) -> Result<T, SetupError> {
        let Some(text) = text else { return Ok(T::default()) };
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| self.broken(T::FILE, &error))?;
        let is_later = |version: &&serde_json::Value| version.as_u64().is_none_or(|it| it > T::VERSION);
        if let Some(version) = value.get("version").filter(is_later) {
            let place = self.documents.place(T::FILE);
            let message = format!("{place} was written by a later helve (its version is {version})");
            return Err(SetupError::new(ErrorCode::Config, message)
                .with_hint("use that helve, or move the file out of the way"));
        }
        serde_json::from_value(value).map_err(|error| self.broken(T::FILE, &error))
    }

    fn broken(&self, document: &str, error: &serde_json::Error) -> SetupError {
        SetupError::new(ErrorCode::Config, format!("{} cannot be understood", self.documents.place(document)))
            .with_cause(&std::io::Error::other(error.to_string()))
            .with_hint("repair it, or move it out of the way and answer again what it knew")
    }
}

/// The version of files that do not say theirs.
const fn first_version() -> u64 {
    1
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
