//! Directories that only their owner may look into.

use std::io;
use std::path::Path;

/// Makes a directory, and those above it, where there is none. One that exists stays as it is.
#[cfg(unix)]
pub(crate) fn create(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;

    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|error| io::Error::new(error.kind(), format!("cannot make {}: {error}", directory.display())))
}

/// Makes a directory, and those above it, where there is none. One that exists stays as it is.
#[cfg(not(unix))]
pub(crate) fn create(directory: &Path) -> io::Result<()> {
    fs_err::create_dir_all(directory)
}

/// Takes away what others may do with a directory. Only its owner can: somebody else's is refused.
#[cfg(unix)]
pub(crate) fn close_to_others(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    let mut permissions = fs_err::metadata(directory)?.permissions();
    if permissions.mode() & 0o077 != 0 {
        permissions.set_mode(0o700);
        fs_err::set_permissions(directory, permissions)?;
    }
    Ok(())
}

/// Takes away what others may do with a directory: here its place in the person's own files does.
#[cfg(not(unix))]
pub(crate) fn close_to_others(_directory: &Path) -> io::Result<()> {
    Ok(())
}
