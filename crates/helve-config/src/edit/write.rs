//! Writing a changed file: all or nothing, with the owner and the permissions it had, and never over somebody else's change.

use std::fmt;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Change, EditError, edit_text};
use crate::reader::FilePlace;
use crate::trust::{TrustHash, hash_content};

/// How often an edit is made again because another program was faster. Other helves wait for their turn.
const MAX_ATTEMPTS: usize = 20;

/// So many temporary files beside one configuration mean that something else is wrong.
const MAX_TEMPORARY_FILES: usize = 100;

/// Nobody takes so long to write a configuration.
const SURELY_LEFT: Duration = Duration::from_secs(600);

/// What an edit did.
#[derive(Clone, PartialEq, Eq)]
pub struct Edited {
    /// The file that was written; where a symbolic link points, when the configuration is one.
    pub path: PathBuf,
    /// The text before.
    pub before: String,
    /// The text after; the same when there was nothing to do.
    pub after: String,
}

/// Changes one server in a file.
///
/// With `expected`, the hash of the content that the caller loaded, a file that is not that one any more is refused.
/// The file is replaced by renaming a new one over it, after a last look whether it is still what was read; if it is not,
/// and the caller expected nothing, the edit is made anew of what is there now. Edits that helve makes at the same time
/// take turns. A link to a file stays a link.
///
/// # Errors
/// Why nothing was written.
pub fn edit_file(
    place: &FilePlace,
    expected: Option<TrustHash>,
    server: &str,
    change: &Change,
) -> Result<Edited, EditError> {
    change_file(place, expected, &|text| edit_text(place, text, server, change))
}

/// Makes a file what it was once, if it still is what the caller expects. Mode and owner stay.
///
/// # Errors
/// Why nothing was written.
pub fn restore_file(place: &FilePlace, expected: TrustHash, text: &str) -> Result<Edited, EditError> {
    change_file(place, Some(expected), &|_| Ok(text.to_owned()))
}

/// Changes a file in whatever way.
pub(super) fn change_file(
    place: &FilePlace,
    expected: Option<TrustHash>,
    edit: &dyn Fn(&str) -> Result<String, EditError>,
) -> Result<Edited, EditError> {
    let path = match fs_err::canonicalize(&place.path) {
        Ok(path) => path,
        Err(error) if error.kind() == ErrorKind::NotFound => place.path.clone(),
        Err(error) => return Err(EditError::File(error)),
    };
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !directory.is_dir() {
        // An edit that is refused leaves no directory behind.
        edit("")?;
        fs_err::create_dir_all(directory).map_err(EditError::File)?;
    }
    let turn = turn(directory)?;
    if turn.is_some() {
        sweep(&path, directory);
    }
    for _ in 1..MAX_ATTEMPTS {
        match edit_once(&path, expected, edit) {
            Err(EditError::ChangedMeanwhile(_)) if expected.is_none() => {}
            done => return done,
        }
    }
    edit_once(&path, expected, edit)
}

fn edit_once(
    path: &Path,
    expected: Option<TrustHash>,
    edit: &dyn Fn(&str) -> Result<String, EditError>,
) -> Result<Edited, EditError> {
    let before = read_if_exists(path)?;
    let is_expected = |hash: TrustHash| hash == hash_content(before.as_deref().unwrap_or_default().as_bytes());
    if !expected.is_none_or(is_expected) {
        return Err(EditError::ChangedMeanwhile(path.to_path_buf()));
    }
    let text = before.clone().unwrap_or_default();
    let after = edit(&text)?;
    if after != text {
        replace(path, before.as_deref(), &after)?;
    }
    Ok(Edited { path: path.to_path_buf(), before: text, after })
}

/// Waits until no other helve edits a file of this directory, for as long as the result lives. The directory itself is
/// locked: a file for it would lie about in somebody's project.
fn turn(directory: &Path) -> Result<Option<fs_err::File>, EditError> {
    if !cfg!(unix) {
        return Ok(None);
    }
    let directory = fs_err::File::open(directory).map_err(EditError::File)?;
    // Where the file system has no locks, the last look before the rename has to do.
    Ok(directory.file().lock().is_ok().then_some(directory))
}

impl fmt::Debug for Edited {
    /// Without the texts: they may hold secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, before, after } = self;
        write!(formatter, "Edited({}, {} to {} bytes)", path.display(), before.len(), after.len())
    }
}

fn read_if_exists(path: &Path) -> Result<Option<String>, EditError> {
    match fs_err::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(EditError::File(error)),
    }
}

/// Puts `after` in the place of `before`; `None` is not a file.
fn replace(path: &Path, before: Option<&str>, after: &str) -> Result<(), EditError> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (mut file, temporary) = temporary_file(path, directory)?;
    let replaced = fill(&mut file, path, before, after).and_then(|()| put(&temporary.0, path, before));
    drop(file);
    // The name is free again, whatever happened; after a rename there is nothing left to remove.
    drop(temporary);
    replaced
}

/// Writes and syncs the new file, and gives it the owner and the permissions of the old one.
fn fill(file: &mut fs_err::File, path: &Path, before: Option<&str>, after: &str) -> Result<(), EditError> {
    file.write_all(after.as_bytes()).and_then(|()| file.sync_all()).map_err(EditError::File)?;
    if before.is_some() {
        let old = fs_err::metadata(path).map_err(EditError::File)?;
        #[cfg(unix)]
        keep_owner(file, path, &old)?;
        file.set_permissions(old.permissions()).map_err(EditError::File)?;
    }
    Ok(())
}

/// A file stays its owner's, also when the superuser edits it. Its group stays where the system allows that.
#[cfg(unix)]
fn keep_owner(file: &fs_err::File, path: &Path, old: &std::fs::Metadata) -> Result<(), EditError> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let new = file.metadata().map_err(EditError::File)?;
    if new.uid() != old.uid() {
        fchown(file.file(), Some(old.uid()), None).map_err(|error| {
            let message = format!("{} belongs to another user, and would not any more: {error}", path.display());
            EditError::File(std::io::Error::new(error.kind(), message))
        })?;
    }
    if new.gid() != old.gid() {
        // A group that the user is not in cannot be given; who may read the file never widens by it.
        drop(fchown(file.file(), None, Some(old.gid())));
    }
    Ok(())
}

/// The last look, and the rename. A file that must not exist yet is linked, which fails when it does.
fn put(temporary: &Path, path: &Path, before: Option<&str>) -> Result<(), EditError> {
    if read_if_exists(path)?.as_deref() != before {
        return Err(EditError::ChangedMeanwhile(path.to_path_buf()));
    }
    let placed = match before {
        Some(_) => fs_err::rename(temporary, path),
        None => fs_err::hard_link(temporary, path),
    };
    placed.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => EditError::ChangedMeanwhile(path.to_path_buf()),
        _ => EditError::File(error),
    })
}

/// The new file beside the old one, readable by its owner alone until it gets the old one's permissions.
fn temporary_file(path: &Path, directory: &Path) -> Result<(fs_err::File, Temporary), EditError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut options = fs_err::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    fs_err::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    for number in 0..MAX_TEMPORARY_FILES {
        let temporary = directory.join(format!(".{name}.helve-{number}"));
        match options.open(&temporary) {
            Ok(file) => return Ok((file, Temporary(temporary))),
            // Somebody else's, or left behind by a machine that went down.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(EditError::File(error)),
        }
    }
    Err(EditError::ChangedMeanwhile(path.to_path_buf()))
}

/// Removes what killed writers left beside a file. No other helve edits a file of this directory meanwhile; what is not an
/// old file of the directory's owner is left alone.
fn sweep(path: &Path, directory: &Path) {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(owner) = directory.metadata().map(|about| about.uid()) else { return };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for number in 0..MAX_TEMPORARY_FILES {
        let left = directory.join(format!(".{name}.helve-{number}"));
        let Ok(about) = left.symlink_metadata() else { continue };
        let is_old = about.modified().is_ok_and(|time| time.elapsed().is_ok_and(|age| age > SURELY_LEFT));
        if about.is_file() && about.uid() == owner && is_old {
            drop(fs_err::remove_file(&left));
        }
    }
}

/// A file that is removed when it is no longer needed.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename there is none; a file that cannot be removed does no harm.
        drop(fs_err::remove_file(&self.0));
    }
}
