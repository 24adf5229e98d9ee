//! The file itself: private, replaced whole, read only if nobody else could have written it.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::error::VaultError;
use super::key::SealedBy;

const FILE: &str = "credentials.vault";
const UNFINISHED: &str = ".unfinished-credentials.";
const VERSION: u64 = 1;
/// More entries of the directory are not looked at.
const MAX_SWEPT: usize = 1_000;
/// A vault that is larger is not read.
const MAX_BYTES: u64 = 64 << 20;

/// What the file says.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) sealed_by: SealedBy,
    /// A known text, sealed: by it a wrong key is told from a damaged record.
    pub(super) check: String,
    pub(super) records: BTreeMap<String, Record>,
}

#[derive(Debug)]
pub(super) struct Record {
    pub(super) facts: Value,
    pub(super) written: u64,
    pub(super) sealed: String,
}

impl Content {
    pub(super) const fn new(sealed_by: SealedBy, check: String) -> Self {
        Self { sealed_by, check, records: BTreeMap::new() }
    }
}

pub(super) fn path(directory: &Path) -> PathBuf {
    directory.join(FILE)
}

/// Reads the vault; `None` when there is none.
pub(super) fn read(directory: &Path) -> Result<Option<Content>, VaultError> {
    let path = path(directory);
    match read_private(&path)? {
        Some(text) => from_text(&text, &path.display().to_string()).map(Some),
        None => Ok(None),
    }
}

/// Reads what a vault says.
pub(super) fn from_text(text: &str, place: &str) -> Result<Content, VaultError> {
    let broken = |what: &str| {
        VaultError::new(format!("{place} cannot be understood: {what}"))
            .with_hint("repair it, or move it away and sign in again")
    };
    let value: Value = serde_json::from_str(text).map_err(|error| broken(&error.to_string()))?;
    if value.get("version").and_then(Value::as_u64).is_none_or(|version| version > VERSION) {
        return Err(VaultError::new(format!("{place} was written by a later helve"))
            .with_hint("use that helve, or move the file away"));
    }
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let sealed_by = text("sealed_by").and_then(|name| SealedBy::from_name(&name, text("keyring_item")));
    let mut content = Content {
        sealed_by: sealed_by.ok_or_else(|| broken("it does not say what it is sealed by"))?,
        check: text("check").ok_or_else(|| broken("`check` is missing"))?,
        records: BTreeMap::new(),
    };
    for (name, record) in value.get("records").and_then(Value::as_object).into_iter().flatten() {
        let sealed = record.get("sealed").and_then(Value::as_str).ok_or_else(|| broken("a record is not sealed"))?;
        let written = record.get("written").and_then(Value::as_u64).unwrap_or_default();
        let facts = record.get("facts").cloned().unwrap_or(Value::Null);
        let record = Record { facts, written, sealed: sealed.to_owned() };
        drop(content.records.insert(name.clone(), record));
    }
    Ok(content)
}

/// Puts a new vault in the place of the old one. The lock of the whole is held, so whatever is unfinished was left by somebody who
/// was killed.
pub(super) fn replace(directory: &Path, content: &Content) -> Result<(), VaultError> {
    sweep(directory);
    write_private(&path(directory), &to_text(content))
}

/// Removes what killed writers left. What cannot be removed does no harm.
fn sweep(directory: &Path) {
    let Ok(entries) = fs_err::read_dir(directory) else { return };
    for entry in entries.filter_map(Result::ok).take(MAX_SWEPT) {
        let is_left = entry.file_name().to_str().is_some_and(|name| name.starts_with(UNFINISHED));
        if is_left && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            drop(fs_err::remove_file(entry.path()));
        }
    }
}

/// What a vault says, as text.
pub(super) fn to_text(content: &Content) -> String {
    let records: Map<String, Value> = content
        .records
        .iter()
        .map(|(name, record)| {
            let value = json!({"facts": record.facts, "written": record.written, "sealed": record.sealed});
            (name.clone(), value)
        })
        .collect();
    let mut value = json!({
        "version": VERSION,
        "sealed_by": content.sealed_by.as_str(),
        "check": content.check,
        "records": records,
    });
    if let (Some(item), Some(head)) = (content.sealed_by.item(), value.as_object_mut()) {
        drop(head.insert("keyring_item".to_owned(), json!(item)));
    }
    format!("{value:#}\n")
}

/// Reads a file that is its owner's alone; `None` when there is none.
pub(super) fn read_private(path: &Path) -> Result<Option<String>, VaultError> {
    // Not through a link: somebody else could have put it there.
    let no_links = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let opened =
        fs_err::os::unix::fs::OpenOptionsExt::custom_flags(fs_err::OpenOptions::new().read(true), no_links).open(path);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(VaultError::file("opened", path, &error)),
    };
    let facts = file.metadata().map_err(|error| VaultError::file("read", path, &error))?;
    let is_ours = facts.uid() == rustix::process::geteuid().as_raw();
    if !facts.is_file() || !is_ours || facts.mode() & 0o077 != 0 {
        return Err(VaultError::new(format!("{} is not a file of yours alone", path.display()))
            .with_hint(format!("look at who could have read or changed it; then: chmod 600 {}", path.display())));
    }
    if facts.len() > MAX_BYTES {
        return Err(VaultError::new(format!("{} is larger than 64 MiB", path.display())));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|error| VaultError::file("read", path, &error))?;
    Ok(Some(text))
}

/// Writes a file that is its owner's alone, whole or not at all.
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), VaultError> {
    let failed = |error: std::io::Error| VaultError::file("written", path, &error);
    let directory = path.parent().unwrap_or_else(|| Path::new("."));
    create_private(directory)?;
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(directory).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    // The name is on the disk as well: a login that was rotated must not be lost with the power.
    if let Ok(directory) = fs_err::File::open(directory) {
        drop(directory.sync_all());
    }
    Ok(())
}

pub(super) fn create_private(directory: &Path) -> Result<(), VaultError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(directory).map_err(|error| VaultError::file("made", directory, &error))
}
