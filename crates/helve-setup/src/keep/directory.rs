//! Which directory the sockets of kept servers may lie in: one of this user, into which nobody else can look or reach.
//! Whoever could rename it, or what is in it, could put servers of their own in place of the person's.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::process::geteuid;

/// What the group and others may do with it: nothing.
const OTHERS: u32 = 0o077;
/// Anybody may make and rename entries.
const WRITABLE_FOR_ALL: u32 = 0o002;
/// Entries may be renamed and removed by their owners alone.
const STICKY: u32 = 0o1000;
/// The user whom nothing on the machine keeps out.
const SUPERUSER: u32 = 0;

/// Makes the directory where there is none, and closes it to others. One of another user, or below one, is refused.
pub(super) fn ensure(directory: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    check(directory, geteuid().as_raw())?;
    let mut permissions = fs_err::symlink_metadata(directory)?.permissions();
    if permissions.mode() & OTHERS != 0 {
        permissions.set_mode(0o700);
        fs_err::set_permissions(directory, permissions)?;
    }
    Ok(())
}

/// Refuses a directory that `user` cannot rely on.
pub(super) fn check(directory: &Path, user: u32) -> io::Result<()> {
    // Of the entry itself: a link may have been put there by anybody who can write above it.
    let about = fs_err::symlink_metadata(directory)?;
    let above = directory.parent().map(fs_err::metadata).transpose()?;
    match problem(&about, above.as_ref(), user) {
        None => Ok(()),
        Some(problem) => {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} {problem}", directory.display())))
        }
    }
}

fn problem(about: &Metadata, above: Option<&Metadata>, user: u32) -> Option<&'static str> {
    if !about.is_dir() {
        return Some("is not a directory");
    }
    if about.uid() != user {
        return Some("belongs to another user");
    }
    let above = above?;
    if above.uid() != user && above.uid() != SUPERUSER {
        return Some("lies in a directory of another user");
    }
    (above.mode() & WRITABLE_FOR_ALL != 0 && above.mode() & STICKY == 0)
        .then_some("lies in a directory in which every user can rename it")
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    fn refused(directory: &Path, user: u32) -> String {
        match check(directory, user) {
            Ok(()) => "relied on".to_owned(),
            Err(error) => error.to_string().replace(&directory.display().to_string(), "DIRECTORY"),
        }
    }

    #[test]
    fn s16_a_runtime_directory_of_another_user_is_refused() {
        let above = tempfile::tempdir().unwrap();
        let directory = above.path().join("helve");
        let ourselves = geteuid().as_raw();
        ensure(&directory).unwrap();
        assert_eq!(refused(&directory, ourselves), "relied on");
        assert_eq!(refused(&directory, ourselves + 1), "DIRECTORY belongs to another user");
        // The directory above it is what another one could rename it in.
        let (about, root) = (fs_err::metadata(&directory).unwrap(), fs_err::metadata("/").unwrap());
        assert_eq!(problem(&about, Some(&root), ourselves), None);
        for (mode, told) in [
            (0o755, "relied on"),
            (0o1777, "relied on"),
            (0o777, "DIRECTORY lies in a directory in which every user can rename it"),
        ] {
            fs_err::set_permissions(above.path(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(refused(&directory, ourselves), told, "{mode:o}");
        }
    }

    #[test]
    fn s16_it_is_closed_to_others_and_no_link() {
        let above = tempfile::tempdir().unwrap();
        let directory = above.path().join("helve");
        fs_err::create_dir(&directory).unwrap();
        fs_err::set_permissions(&directory, Permissions::from_mode(0o755)).unwrap();
        ensure(&directory).unwrap();
        assert_eq!(fs_err::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
        let link = above.path().join("link");
        std::os::unix::fs::symlink(&directory, &link).unwrap();
        assert_eq!(refused(&link, geteuid().as_raw()), "DIRECTORY is not a directory");
        assert!(ensure(&link).is_err());
    }
}
