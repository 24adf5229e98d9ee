//! What can be wrong with a vault, what is lost, and the way out.

use std::fmt;
use std::io;
use std::path::Path;

use super::Vault;
use super::file::Content;

/// Most names that an error lists.
const LISTED: usize = 8;

/// Why the vault cannot be used.
#[derive(Debug)]
pub struct VaultError {
    message: String,
    hint: Option<String>,
}

impl VaultError {
    /// What happened.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    pub(super) fn file(what: &str, path: &Path, error: &io::Error) -> Self {
        Self::new(format!("{} cannot be {what}: {error}", path.display()))
    }

    /// The key is not the one the vault was sealed with.
    pub(super) fn wrong_key(vault: &Vault, content: &Content) -> Self {
        Self::new(format!("{} was sealed with another key: {}", vault.shown_place(), lost(content)))
            .with_hint("bring back the key it was sealed with, or move the vault away and sign in again")
    }

    /// The key is gone.
    pub(super) fn no_key(place: &str) -> Self {
        Self::new(format!("the logins and secrets cannot be opened: {place}"))
            .with_hint("bring the key back, or move credentials.vault away and sign in again")
    }

    pub(super) fn damaged(vault: &Vault, name: &str) -> Self {
        Self::new(format!("the record `{name}` of {} is damaged, or was moved there", vault.shown_place()))
            .with_hint("give this one up and make it anew; the others are not affected")
    }

    pub(super) fn too_large(name: &str) -> Self {
        Self::new(format!("`{name}` is longer than 256 KiB"))
    }

    pub(super) fn full() -> Self {
        Self::new("the vault holds 10,000 records and takes no more")
    }
}

/// What cannot be opened any more.
fn lost(content: &Content) -> String {
    let mut names: Vec<&str> = content.records.keys().map(String::as_str).collect();
    let more = names.len().saturating_sub(LISTED);
    names.truncate(LISTED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("without it {}{rest} cannot be opened", names.join(", "))
}

impl fmt::Display for VaultError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for VaultError {}
