//! Logins and secrets between runs: one file, `credentials.vault`, sealed record by record.
//!
//! Beside each sealed record stands in clear what may be known of it (its name, and facts that are not secret), bound to it,
//! so that lists and states never ask for the key. The file is replaced whole under a lock; a file that cannot be understood,
//! or whose key is not there, is reported and left as it is.

mod error;
mod file;
mod key;
mod locks;
mod records;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

pub use error::VaultError;
pub use records::VaultStore;

use file::{Content, Record};
use key::{Key, SealedBy};

/// Longest record that is kept.
const RECORD_BYTES: usize = 256 << 10;
/// Most records that are kept.
const MOST_RECORDS: usize = 10_000;

/// Where the vault is, and where its key may be.
#[derive(Debug)]
pub struct Vault {
    directory: PathBuf,
    /// Where a key is kept if nobody gives one: in another directory than what it seals.
    key_file: PathBuf,
    given: Option<SecretString>,
    clock: fn() -> SystemTime,
    key: OnceLock<Arc<Key>>,
}

/// What may be known of a record without its key.
#[derive(Debug, Clone, PartialEq)]
pub struct CredentialSummary {
    pub name: String,
    pub facts: Value,
    /// Seconds since 1970.
    pub written: u64,
}

impl Vault {
    /// `given` is a key that the person hands over (32 bytes as base64 or hex).
    pub fn new(directory: PathBuf, key_file: PathBuf, given: Option<SecretString>, clock: fn() -> SystemTime) -> Self {
        Self { directory, key_file, given, clock, key: OnceLock::new() }
    }

    /// The record of this name.
    pub fn read(&self, name: &str) -> Result<Option<SecretString>, VaultError> {
        let Some(content) = file::read(&self.directory)? else { return Ok(None) };
        let Some(record) = content.records.get(name) else { return Ok(None) };
        let key = self.key(&content)?;
        let text = key.open(&record.sealed, &bound(name, record)).ok_or_else(|| VaultError::damaged(self, name))?;
        Ok(Some(text))
    }

    /// Replaces a record, or makes it. Says whether a key was made for it.
    pub fn write(&self, name: &str, secret: &SecretString, facts: Value) -> Result<bool, VaultError> {
        if secret.expose_secret().len() > RECORD_BYTES {
            return Err(VaultError::too_large(name));
        }
        let held = locks::whole(&self.directory)?;
        let existing = file::read(&self.directory)?;
        let is_new = existing.is_none();
        let mut content = match existing {
            Some(content) => content,
            None => {
                let (key, sealed_by) = Key::for_new_vault(self)?;
                let content = Content::new(sealed_by, key.check()?);
                // Set once; whoever else was first has the same key, which lies in the same place.
                drop(self.key.set(Arc::new(key)));
                content
            }
        };
        if content.records.len() >= MOST_RECORDS && !content.records.contains_key(name) {
            return Err(VaultError::full());
        }
        let key = self.key(&content)?;
        let written = (self.clock)().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut record = Record { facts, written, sealed: String::new() };
        record.sealed = key.seal(secret, &bound(name, &record))?;
        drop(content.records.insert(name.to_owned(), record));
        file::replace(&self.directory, &content)?;
        drop(held);
        Ok(is_new && content.sealed_by == SealedBy::KeyFile)
    }

    /// Forgets a record; false when there was none. Takes no key.
    pub fn remove(&self, name: &str) -> Result<bool, VaultError> {
        if file::read(&self.directory)?.is_none() {
            return Ok(false);
        }
        let held = locks::whole(&self.directory)?;
        let Some(mut content) = file::read(&self.directory)? else { return Ok(false) };
        if content.records.remove(name).is_none() {
            return Ok(false);
        }
        file::replace(&self.directory, &content)?;
        drop(held);
        Ok(true)
    }

    /// What is kept, without opening it.
    pub fn list(&self) -> Result<Vec<CredentialSummary>, VaultError> {
        let records = file::read(&self.directory)?.map(|content| content.records).unwrap_or_default();
        let listed =
            |(name, record): (String, Record)| CredentialSummary { name, facts: record.facts, written: record.written };
        Ok(records.into_iter().map(listed).collect())
    }

    pub fn path(&self) -> PathBuf {
        file::path(&self.directory)
    }

    pub const fn key_file(&self) -> &PathBuf {
        &self.key_file
    }

    /// The key of what is there, checked against it.
    fn key(&self, content: &Content) -> Result<Arc<Key>, VaultError> {
        if let Some(key) = self.key.get() {
            return Ok(Arc::clone(key));
        }
        let key = Key::find(self, content.sealed_by)?;
        if !key.fits(&content.check) {
            return Err(VaultError::wrong_key(self, content));
        }
        Ok(Arc::clone(self.key.get_or_init(|| Arc::new(key))))
    }
}

/// What a sealed record is bound to: nobody can put it under another name, or other facts beside it.
fn bound(name: &str, record: &Record) -> String {
    format!("{name}\n{}\n{}", record.written, record.facts)
}

#[cfg(test)]
#[path = "vault_tests.rs"]
mod tests;
