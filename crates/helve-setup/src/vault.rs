//! Logins and secrets between runs: one file, `credentials.vault`, sealed record by record, or a document of whoever keeps state.
//!
//! Beside each sealed record stands in clear what may be known of it (its name, and facts that are not secret), bound to it,
//! so that lists and states never ask for the key. The file is replaced whole under a lock; a file that cannot be understood,
//! or whose key is not there, is reported and left as it is.

mod error;
mod file;
mod key;
mod locks;
mod place;
mod records;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

pub use error::VaultError;
pub use records::VaultStore;

use crate::keyring::Keyring;
use crate::store::StateStore;
use file::{Content, Record};
use key::{Key, SealedBy};
use place::Place;

/// Longest record that is kept.
const RECORD_BYTES: usize = 256 << 10;
/// Most records that are kept.
const MOST_RECORDS: usize = 10_000;

/// Where the vault is, and where its key may be.
#[derive(Debug)]
pub struct Vault {
    place: Place,
    /// Where a key is kept if nobody gives one: in another directory than what it seals.
    key_file: Option<PathBuf>,
    given: Option<GivenKey>,
    /// Where a new key goes if it takes one.
    keyring: Option<Arc<Keyring>>,
    /// Why it did not.
    no_keyring: OnceLock<String>,
    clock: fn() -> SystemTime,
    key: OnceLock<Arc<Key>>,
}

/// What opening a vault asks somebody else for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpeningAsks {
    /// A program of the person's own.
    Program,
    /// The system's keyring.
    Keyring,
}

/// A key that the person hands over (32 bytes as base64 or hex), and where it comes from.
pub enum GivenKey {
    /// A variable of this name.
    Variable(&'static str, SecretString),
    /// A program that prints it, asked when something is opened.
    Printed(Box<dyn Fn() -> Result<SecretString, VaultError> + Send + Sync>),
}

/// What may be known of a record without its key.
#[derive(Debug, Clone, PartialEq)]
pub struct CredentialSummary {
    /// What it is kept under.
    pub name: String,
    /// What may be shown of it.
    pub facts: Value,
    /// Seconds since 1970.
    pub written: u64,
}

/// What became of what another machine sealed.
#[derive(Debug, Default)]
pub struct Imported {
    /// The names of what is here now.
    pub taken: Vec<String>,
    /// The names of what was here already.
    pub left: Vec<String>,
    /// A key file was made for it.
    pub made_key: bool,
}

impl Vault {
    /// Without a key that is given, one is made and kept in `key_file`.
    pub const fn new(
        directory: PathBuf,
        key_file: PathBuf,
        given: Option<GivenKey>,
        clock: fn() -> SystemTime,
    ) -> Self {
        Self::at(Place::Directory(directory), Some(key_file), given, clock)
    }

    /// In a document of whoever keeps state for many. Without a key that is given, one goes into the system's keyring, or into
    /// this file, if there is one.
    pub fn in_documents(
        store: Arc<dyn StateStore>,
        key_file: Option<PathBuf>,
        given: Option<GivenKey>,
        clock: fn() -> SystemTime,
    ) -> Self {
        Self::at(Place::Documents(store, Mutex::default()), key_file, given, clock)
    }

    const fn at(place: Place, key_file: Option<PathBuf>, given: Option<GivenKey>, clock: fn() -> SystemTime) -> Self {
        Self { place, key_file, given, keyring: None, no_keyring: OnceLock::new(), clock, key: OnceLock::new() }
    }

    /// Without a key that is given, one is made and kept in the system's keyring, if that takes it.
    #[must_use]
    pub fn with_keyring(mut self, keyring: Arc<Keyring>) -> Self {
        self.keyring = Some(keyring);
        self
    }

    /// Why a key that was made is not in the system's keyring, in words that follow "the system's keyring".
    pub fn no_keyring(&self) -> Option<&str> {
        self.no_keyring.get().map(String::as_str)
    }

    /// What opening the vault asks somebody else for; nobody where its key is known already, or lies in a file. A vault that cannot
    /// be read asks nobody.
    pub fn opening_asks(&self) -> Option<OpeningAsks> {
        if self.key.get().is_some() {
            return None;
        }
        match (self.place.read().ok()??.sealed_by, &self.given) {
            (SealedBy::Keyring(_), _) => Some(OpeningAsks::Keyring),
            (SealedBy::Given, Some(GivenKey::Printed(_))) => Some(OpeningAsks::Program),
            (SealedBy::Given | SealedBy::KeyFile, _) => None,
        }
    }

    /// The record of this name.
    pub fn read(&self, name: &str) -> Result<Option<SecretString>, VaultError> {
        let Some(content) = self.place.read()? else { return Ok(None) };
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
        self.place.change(|existing| {
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
            let made_key_file = is_new && content.sealed_by == SealedBy::KeyFile;
            Ok((Some(content), made_key_file))
        })
    }

    /// Forgets a record; false when there was none. Takes no key.
    pub fn remove(&self, name: &str) -> Result<bool, VaultError> {
        if self.place.read()?.is_none() {
            return Ok(false);
        }
        self.place.change(|existing| {
            let Some(mut content) = existing else { return Ok((None, false)) };
            let was_there = content.records.remove(name).is_some();
            Ok((was_there.then_some(content), was_there))
        })
    }

    /// What is kept, without opening it.
    pub fn list(&self) -> Result<Vec<CredentialSummary>, VaultError> {
        let records = self.place.read()?.map(|content| content.records).unwrap_or_default();
        let listed =
            |(name, record): (String, Record)| CredentialSummary { name, facts: record.facts, written: record.written };
        Ok(records.into_iter().map(listed).collect())
    }

    /// Everything that is kept, sealed with a key of its own for another machine; logins that are only under way stay here.
    pub fn export(&self) -> Result<(String, SecretString), VaultError> {
        let Some(content) = self.place.read()? else {
            return Err(VaultError::new("nothing is kept that could be taken along"));
        };
        let ours = self.key(&content)?;
        let (theirs, key) = Key::fresh()?;
        let mut bundle = Content::new(SealedBy::Given, theirs.check()?);
        for (name, record) in content.records.into_iter().filter(|(name, _)| !name.starts_with("pending ")) {
            let bound = bound(&name, &record);
            let text = ours.open(&record.sealed, &bound).ok_or_else(|| VaultError::damaged(self, &name))?;
            let sealed = theirs.seal(&text, &bound)?;
            drop(bundle.records.insert(name, Record { sealed, ..record }));
        }
        Ok((file::to_text(&bundle), key))
    }

    /// Takes over what another machine sealed; gives the names of what was taken, and of what is here already and stays unless
    /// it is to be `replaced`.
    pub fn import(&self, bundle: &str, key: &SecretString, replaces: bool) -> Result<Imported, VaultError> {
        let bundle = file::from_text(bundle, "what is to be imported")?;
        let theirs = Key::parse(key, "what was given as the key")?;
        if !theirs.fits(&bundle.check) {
            return Err(
                VaultError::new("this was sealed with another key").with_hint("the key was shown when it was exported")
            );
        }
        let here: Vec<String> = self.list()?.into_iter().map(|listed| listed.name).collect();
        let mut imported = Imported::default();
        for (name, record) in bundle.records {
            if here.contains(&name) && !replaces {
                imported.left.push(name);
                continue;
            }
            let text = theirs.open(&record.sealed, &bound(&name, &record));
            let text = text.ok_or_else(|| VaultError::new(format!("the record `{name}` is damaged")))?;
            imported.made_key |= self.write(&name, &text, record.facts)?;
            imported.taken.push(name);
        }
        Ok(imported)
    }

    /// Where it is, for whoever has to repair it.
    #[must_use]
    pub fn shown_place(&self) -> String {
        self.place.shown()
    }

    /// Where a key is kept if nobody gives one and the system's keyring takes none.
    #[must_use]
    pub const fn key_file(&self) -> Option<&PathBuf> {
        self.key_file.as_ref()
    }

    /// The key of what is there, checked against it.
    fn key(&self, content: &Content) -> Result<Arc<Key>, VaultError> {
        if let Some(key) = self.key.get() {
            return Ok(Arc::clone(key));
        }
        let key = Key::find(self, &content.sealed_by)?;
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

impl std::fmt::Debug for GivenKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("GivenKey")
    }
}

#[cfg(test)]
#[path = "vault_tests.rs"]
mod tests;
