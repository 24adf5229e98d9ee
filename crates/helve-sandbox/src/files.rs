//! What planning asks about the file system: a trait, so that a plan is a function of what it is told.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt as _;
use rustix::fs::{FileType, lstat};

/// How much of a script's first line is looked at, as much as the kernel does.
const FIRST_LINE: usize = 256;

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A directory.
    Directory,
    /// Anything else.
    File,
}

/// What planning wants to know about the file system.
pub trait Files {
    /// Where a path leads when every link is followed, and what is there. `None` when nothing is.
    fn resolve(&self, path: &Path) -> Option<(PathBuf, FileKind)>;

    /// The same for a name in a directory that is spelled without links.
    fn resolve_in(&self, directory: &Path, name: &OsStr) -> Option<(PathBuf, FileKind)> {
        self.resolve(&directory.join(name))
    }

    /// The words behind `#!` in the first line of a script.
    fn interpreter(&self, path: &Path) -> Option<Vec<String>>;
}

/// The file system of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Files for Disk {
    fn resolve(&self, path: &Path) -> Option<(PathBuf, FileKind)> {
        let path = fs_err::canonicalize(path).ok()?;
        let kind = if fs_err::metadata(&path).ok()?.is_dir() { FileKind::Directory } else { FileKind::File };
        Some((path, kind))
    }

    fn resolve_in(&self, directory: &Path, name: &OsStr) -> Option<(PathBuf, FileKind)> {
        let path = directory.join(name);
        // Most of what is asked for is not there, and nobody reads why.
        match FileType::from_raw_mode(lstat(&path).ok()?.st_mode) {
            FileType::Symlink => self.resolve(&path),
            FileType::Directory => Some((path, FileKind::Directory)),
            _ => Some((path, FileKind::File)),
        }
    }

    fn interpreter(&self, path: &Path) -> Option<Vec<String>> {
        // A named pipe must not keep us waiting.
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut file = fs_err::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut beginning = [0; FIRST_LINE];
        // A file gives at once what it has.
        let length = file.read(&mut beginning).ok()?;
        let line = beginning.get(..length)?.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
        let words: Vec<String> = std::str::from_utf8(line).ok()?.split_whitespace().map(str::to_owned).collect();
        (!words.is_empty()).then_some(words)
    }
}

/// Files as they were when they were first looked at: one plan asks for the same directories hundreds of times.
pub(crate) struct Remembered<'a> {
    files: &'a dyn Files,
    /// By spelling: a path's own equality takes it apart each time.
    known: RefCell<HashMap<OsString, Option<(PathBuf, FileKind)>>>,
}

impl<'a> Remembered<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self { files, known: RefCell::default() }
    }

    fn look(&self, path: &Path) -> Option<(PathBuf, FileKind)> {
        match split(path) {
            Some((parent, name)) => match self.resolve(parent)? {
                (directory, FileKind::Directory) => self.files.resolve_in(&directory, name),
                (_, FileKind::File) => None,
            },
            None => self.files.resolve(path),
        }
    }
}

impl Files for Remembered<'_> {
    fn resolve(&self, path: &Path) -> Option<(PathBuf, FileKind)> {
        if let Some(known) = self.known.borrow().get(path.as_os_str()) {
            return known.clone();
        }
        let found = self.look(path);
        self.known.borrow_mut().insert(path.as_os_str().to_owned(), found.clone());
        found
    }

    fn interpreter(&self, path: &Path) -> Option<Vec<String>> {
        self.files.interpreter(path)
    }
}

/// The directory and the name in it, of an absolute path whose spelling says both: `..` behind a link leads elsewhere than it says.
fn split(path: &Path) -> Option<(&Path, &OsStr)> {
    let bytes = path.as_os_str().as_bytes();
    let mut parts = bytes.strip_prefix(b"/")?.split(|byte| *byte == b'/');
    if parts.any(|part| matches!(part, b"" | b"." | b"..")) {
        return None;
    }
    let slash = bytes.iter().rposition(|byte| *byte == b'/')?;
    let (parent, name) = (bytes.get(..slash.max(1))?, bytes.get(slash + 1..)?);
    Some((Path::new(OsStr::from_bytes(parent)), OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::{Disk, Files as _, Remembered, split};

    #[test]
    fn only_a_plain_spelling_is_taken_apart() {
        let of = |path: &str| split(Path::new(path)).map(|(parent, name)| (parent.to_owned(), name.to_owned()));
        assert_eq!(of("/a/b"), Some(("/a".into(), "b".into())));
        assert_eq!(of("/a"), Some(("/".into(), "a".into())));
        for path in ["/", "", "a/b", "/a/", "/a/../b", "/a//b", "/./a", "/a/.."] {
            assert_eq!(of(path), None, "{path}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// What is remembered is what the disk says, links and `..` among it.
        #[test]
        fn remembered_is_what_is_there(
            paths in prop::collection::vec("/(a|b|c|\\.\\.)(/(a|b|c|\\.\\.)){0,3}", 1..8),
            links in prop::collection::vec(("(a|b|c)(/(a|b|c))?", "(a|b|c|\\.\\.)(/(a|b|c))?"), 0..4),
        ) {
            let directory = tempfile::tempdir().unwrap();
            fs_err::create_dir_all(directory.path().join("a/b/c")).unwrap();
            fs_err::create_dir_all(directory.path().join("b/a")).unwrap();
            for (from, to) in links {
                fs_err::os::unix::fs::symlink(to, directory.path().join(from)).ok();
            }
            let remembered = Remembered::new(&Disk);
            for path in paths {
                let path = Path::new(&format!("{}{path}", directory.path().display())).to_owned();
                prop_assert_eq!(remembered.resolve(&path), Disk.resolve(&path), "{}", path.display());
            }
        }
    }
}
