//! Directories for the files of results that nobody named a place for: readable by their owner alone, and limited in
//! number and bytes over all runs. The oldest are removed first.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::process::geteuid;

/// How their names begin.
const PREFIX: &str = "helve-results-";
/// A directory is removed after so long.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// So many stay, the newest.
const KEPT_DIRECTORIES: usize = 256;
/// So many bytes stay in all of them together.
const KEPT_BYTES: u64 = 1024 * 1024 * 1024;
/// So many entries of the temporary directory are looked at.
const LOOKED_AT: usize = 20_000;
/// So many files of one directory are counted and removed; helve writes fewer.
const FILES: usize = 4_096;

struct Saved {
    path: PathBuf,
    modified: SystemTime,
    bytes: u64,
}

/// A new directory in `temporary`. Makes room for it first.
pub(crate) fn make(temporary: &Path, now: SystemTime) -> io::Result<PathBuf> {
    if let Err(error) = sweep(temporary, now) {
        tracing::debug!(%error, "old results stay");
    }
    let made =
        tempfile::Builder::new().prefix(PREFIX).permissions(Permissions::from_mode(0o700)).tempdir_in(temporary)?;
    Ok(made.keep())
}

/// Removes the oldest until the limits hold with one more.
fn sweep(temporary: &Path, now: SystemTime) -> io::Result<()> {
    let mut saved = list(temporary)?;
    saved.sort_by_key(|directory| directory.modified);
    let mut bytes: u64 = saved.iter().map(|directory| directory.bytes).sum();
    let mut count = saved.len();
    for directory in saved {
        let age = now.duration_since(directory.modified).unwrap_or_default();
        if age <= KEPT_FOR && count < KEPT_DIRECTORIES && bytes <= KEPT_BYTES {
            break;
        }
        match remove(&directory.path) {
            Ok(()) => {
                count -= 1;
                bytes -= directory.bytes;
            }
            // Another run may have been first, or somebody keeps something in it.
            Err(error) => tracing::debug!(%error, "an old result stays"),
        }
    }
    Ok(())
}

fn list(temporary: &Path) -> io::Result<Vec<Saved>> {
    let user = geteuid().as_raw();
    let mut saved = Vec::new();
    for entry in fs_err::read_dir(temporary)?.take(LOOKED_AT) {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)) {
            continue;
        }
        // Of the entry itself: others may put links and directories of this name here.
        let Ok(about) = entry.metadata() else { continue };
        if about.is_dir() && about.uid() == user {
            let bytes = files(&entry.path())?.iter().map(|(_, bytes)| bytes).sum();
            saved.push(Saved { path: entry.path(), modified: about.modified()?, bytes });
        }
    }
    Ok(saved)
}

fn files(directory: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let entries = fs_err::read_dir(directory)?.take(FILES).filter_map(Result::ok);
    let about = |entry: fs_err::DirEntry| Some((entry.path(), entry.metadata().ok()?));
    Ok(entries
        .filter_map(about)
        .filter(|(_, about)| about.is_file())
        .map(|(path, about)| (path, about.len()))
        .collect())
}

/// Files alone are removed: a directory that the person made in it stays, and so does the whole.
fn remove(directory: &Path) -> io::Result<()> {
    for (file, _) in files(directory)? {
        fs_err::remove_file(file)?;
    }
    fs_err::remove_dir(directory)
}

#[cfg(test)]
#[path = "result_directories_tests.rs"]
mod tests;
