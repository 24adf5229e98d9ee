//! What planning asks about the file system: a trait, so that a plan is a function of what it is told.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt as _;

/// How much of a script's first line is looked at, as much as the kernel does.
const FIRST_LINE: u64 = 256;

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
        let about = fs_err::symlink_metadata(&path).ok()?;
        if about.is_symlink() {
            return self.resolve(&path);
        }
        Some((path, if about.is_dir() { FileKind::Directory } else { FileKind::File }))
    }

    fn interpreter(&self, path: &Path) -> Option<Vec<String>> {
        // A named pipe must not keep us waiting.
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let file = fs_err::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut beginning = Vec::new();
        file.take(FIRST_LINE).read_to_end(&mut beginning).ok()?;
        let line = beginning.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
        let words: Vec<String> = std::str::from_utf8(line).ok()?.split_whitespace().map(str::to_owned).collect();
        (!words.is_empty()).then_some(words)
    }
}

/// Files as they were when they were first looked at: one plan asks for the same directories hundreds of times.
pub(crate) struct Remembered<'a> {
    files: &'a dyn Files,
    known: RefCell<HashMap<PathBuf, Option<(PathBuf, FileKind)>>>,
}

impl<'a> Remembered<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self { files, known: RefCell::default() }
    }

    fn look(&self, path: &Path) -> Option<(PathBuf, FileKind)> {
        // `..` behind a link leads elsewhere than its spelling says.
        let is_plain = path.is_absolute() && path.components().all(|part| part != Component::ParentDir);
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if is_plain => match self.resolve(parent)? {
                (directory, FileKind::Directory) => self.files.resolve_in(&directory, name),
                (_, FileKind::File) => None,
            },
            _ => self.files.resolve(path),
        }
    }
}

impl Files for Remembered<'_> {
    fn resolve(&self, path: &Path) -> Option<(PathBuf, FileKind)> {
        if let Some(known) = self.known.borrow().get(path) {
            return known.clone();
        }
        let found = self.look(path);
        self.known.borrow_mut().insert(path.to_owned(), found.clone());
        found
    }

    fn interpreter(&self, path: &Path) -> Option<Vec<String>> {
        self.files.interpreter(path)
    }
}
