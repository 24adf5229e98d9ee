//! How long kept results stay: by age, by number and by what they take together. Looked at whenever a host starts, and
//! before each one that is kept.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::RANDOM_CHARACTERS;

/// A kept result goes after so long.
pub(crate) const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The oldest go until all that is left takes no more bytes than this.
pub(crate) const KEPT_BYTES: u64 = 1024 * 1024 * 1024;
/// And no more files than this.
pub(crate) const KEPT_FILES: usize = 4_096;
/// What is younger stays in any case: somebody may be about to read what was just named to him.
pub(crate) const NEVER_BEFORE: Duration = Duration::from_secs(60 * 60);

struct Kept {
    modified: SystemTime,
    bytes: u64,
    path: PathBuf,
}

/// Removes kept results that are too old or too many. Files of other names, directories and links are left alone; what
/// cannot be removed is tried again at the next start.
pub(crate) fn sweep(directory: &Path, now: SystemTime) -> io::Result<()> {
    make_room(directory, 0, now)
}

/// Removes the oldest until `more` bytes and one more file fit.
fn make_room(directory: &Path, more: u64, now: SystemTime) -> io::Result<()> {
    let mut kept = list(directory)?;
    kept.sort_by_key(|file| file.modified);
    let (mut bytes, mut count) = (taken(&kept), kept.len());
    for file in kept {
        let age = now.duration_since(file.modified).unwrap_or_default();
        if age < NEVER_BEFORE || (age <= KEPT_FOR && bytes.saturating_add(more) <= KEPT_BYTES && count < KEPT_FILES) {
            break;
        }
        match fs_err::remove_file(&file.path) {
            Ok(()) => {
                bytes -= file.bytes;
                count -= 1;
            }
            // Another host may have been first.
            Err(error) => tracing::debug!(%error, "a kept result stays"),
        }
    }
    Ok(())
}

/// True when one more file of so many bytes may be kept. Makes room where something is old enough to go; where all of it is
/// young, the new one is not kept: no flood of results fills the disk, and none takes away what was just named.
pub(super) fn has_room(directory: &Path, bytes: u64, now: SystemTime) -> io::Result<bool> {
    let fits = || {
        let kept = list(directory)?;
        Ok::<_, io::Error>(kept.len() < KEPT_FILES && taken(&kept).saturating_add(bytes) <= KEPT_BYTES)
    };
    if fits()? {
        return Ok(true);
    }
    make_room(directory, bytes, now)?;
    fits()
}

fn taken(kept: &[Kept]) -> u64 {
    kept.iter().map(|file| file.bytes).sum()
}

fn list(directory: &Path) -> io::Result<Vec<Kept>> {
    let mut kept = Vec::new();
    for entry in fs_err::read_dir(directory)? {
        let entry = entry?;
        // Of the entry itself, not of what a link leads to.
        let about = entry.metadata()?;
        if about.is_file() && entry.file_name().to_str().is_some_and(is_ours) {
            kept.push(Kept { modified: about.modified()?, bytes: about.len(), path: entry.path() });
        }
    }
    Ok(kept)
}

/// `server-tool-random.extension`, as results are kept.
fn is_ours(name: &str) -> bool {
    let Some((stem, _)) = name.split_once('.') else { return false };
    let Some((before, random)) = stem.rsplit_once('-') else { return false };
    before.contains('-') && random.len() == RANDOM_CHARACTERS && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
