//! Locks between processes: one for the file while it is replaced, one for each record while it is renewed.

use std::path::Path;
use std::time::Duration;

use ring::digest::{SHA256, digest};

use super::error::VaultError;
use super::file::create_private;

/// How long a record's lock is waited for: a renewal takes ten seconds at most.
const RECORD_TIME: Duration = Duration::from_secs(30);
/// How often it is asked for meanwhile.
const PAUSE: Duration = Duration::from_millis(10);

/// A lock, until it is dropped.
#[derive(Debug)]
pub(super) struct Held(#[expect(dead_code, reason = "closing it gives the lock back")] fs_err::File);

/// The lock of the whole file, held for as long as it takes to replace it.
pub(super) fn whole(directory: &Path) -> Result<Held, VaultError> {
    let file = open(directory, "credentials.vault.lock")?;
    file.file().lock().map_err(|error| VaultError::file("locked", file.path(), &error))?;
    Ok(Held(file))
}

/// The lock of one record, held over a request to an authorization server.
pub(super) async fn record(directory: &Path, name: &str) -> Result<Held, VaultError> {
    let name: String =
        digest(&SHA256, name.as_bytes()).as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let file = open(&directory.join("locks"), &name)?;
    let until = tokio::time::Instant::now() + RECORD_TIME;
    loop {
        match file.file().try_lock() {
            Ok(()) => return Ok(Held(file)),
            Err(std::fs::TryLockError::WouldBlock) if tokio::time::Instant::now() < until => {
                tokio::time::sleep(PAUSE).await;
            }
            Err(std::fs::TryLockError::WouldBlock) => {
                return Err(VaultError::new(format!("another helve has held {} for 30 s", file.path().display())));
            }
            Err(std::fs::TryLockError::Error(error)) => return Err(VaultError::file("locked", file.path(), &error)),
        }
    }
}

fn open(directory: &Path, name: &str) -> Result<fs_err::File, VaultError> {
    create_private(directory)?;
    let path = directory.join(name);
    fs_err::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|error| VaultError::file("opened", &path, &error))
}
