//! Files that count by their content: what they hold when somebody is asked, and whether they still do when a server is
//! started.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use helve_model::StdioSpec;
use sha2::{Digest as _, Sha256};

use super::named_files::{self, NamedFile};
use super::parts::Part;
use super::spelling::{clean, tidy};
use super::{MAX_HASHED, TrustHash, Unhashed, hashing_budget};
use crate::reading::{self, Budget, Identity, Opened, Unread};

/// What a program for the system itself begins with.
const ELF: &[u8] = b"\x7fELF";

/// How much of a file is copied at once.
const COPIED_AT_ONCE: usize = 64 << 10;

/// How much of a file's beginning is looked at: the line that names its interpreter is no longer.
const HEAD: usize = 256;

/// Interpreters that are scripts themselves, whose interpreters are scripts, this deep; the system gives up earlier.
const MAX_INTERPRETERS: usize = 4;

/// The list of one server, and the files in it that are opened when it is started.
#[derive(Debug, Default)]
pub(crate) struct Covered {
    pub(crate) parts: Vec<Part>,
    pub(crate) files: Vec<CoveredFile>,
}

/// A file that counts by its content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CoveredFile {
    /// As the command line names it, absolute.
    pub path: PathBuf,
    /// The hash of its content.
    pub content: TrustHash,
    /// It is the program itself, and no script: it can be run from an open descriptor.
    pub is_program: bool,
}

/// A covered file, open, with the content that is trusted.
#[derive(Debug, Clone)]
pub struct HeldFile {
    covered: CoveredFile,
    file: Arc<File>,
    identity: Identity,
}

/// A covered file does not hold what was trusted, or not any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// The file.
    pub path: PathBuf,
    /// How it differs.
    pub how: Difference,
}

/// How a file differs from the one that was trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// Its content is another one.
    Content,
    /// Somebody replaced or wrote it while the server started, whatever it holds now.
    Touched,
    /// It cannot be read.
    Unread(Unread),
}

impl Covered {
    /// A file whose content became a value.
    pub(super) fn add_value(&mut self, path: &Path, content: Option<TrustHash>, project: &Path) {
        let path = tidy(path);
        let shown = shown(&path, project);
        self.parts.push(match content.filter(|_| is_inside(&path, project)) {
            Some(content) => Part::file(shown, leads_to(&path), content),
            None => Part::outside(shown),
        });
    }

    /// The files that a command line names.
    pub(super) fn add_named(
        &mut self,
        stdio: &StdioSpec,
        directory: &Path,
        project: &Path,
        search_path: Option<&str>,
        budget: &Budget,
    ) -> Result<(), Unhashed> {
        let directory = fs_err::canonicalize(directory).unwrap_or_else(|_| directory.to_path_buf());
        let found = named_files::files(stdio, &directory, project, search_path, budget);
        if !found.is_whole {
            return Err(Unhashed { file: directory, reason: Unread::TooMuch });
        }
        for file in found.files {
            self.add_file(file, &directory, project, budget, 0)?;
        }
        Ok(())
    }

    fn add_file(
        &mut self,
        named: NamedFile,
        directory: &Path,
        project: &Path,
        budget: &Budget,
        depth: usize,
    ) -> Result<(), Unhashed> {
        let NamedFile { path, is_program } = named;
        if self.files.iter().any(|file| file.path == path) {
            return Ok(());
        }
        let read = reading::open(&path).and_then(|mut file| hash(&mut file, budget));
        let (content, head) = read.map_err(|reason| Unhashed { file: path.clone(), reason })?;
        self.parts.push(Part::file(shown(&path, project), leads_to(&path), content));
        let is_program = is_program && head.starts_with(ELF);
        self.files.push(CoveredFile { path, content, is_program });
        // `#!./interpreter`: the system looks it up where the server runs.
        let Some(interpreter) = interpreter(&head).filter(|_| depth < MAX_INTERPRETERS) else { return Ok(()) };
        let path = tidy(&directory.join(&interpreter));
        let is_projects = !interpreter.starts_with('/') || is_inside(&path, project);
        if is_projects && path.is_file() {
            self.add_file(NamedFile { path, is_program: false }, directory, project, budget, depth + 1)?;
        }
        Ok(())
    }
}

impl CoveredFile {
    /// Opens it, if it still holds what is trusted.
    ///
    /// # Errors
    /// It does not.
    pub fn hold(&self) -> Result<HeldFile, ChangedFile> {
        let (opened, content) = self.read()?;
        if content != self.content {
            return Err(self.changed(Difference::Content));
        }
        let identity = opened.identity();
        Ok(HeldFile { covered: self.clone(), file: Arc::new(opened.into_file()), identity })
    }

    fn read(&self) -> Result<(Opened, TrustHash), ChangedFile> {
        let read = reading::open(&self.path).and_then(|mut file| {
            let (content, _) = hash(&mut file, &hashing_budget())?;
            Ok((file, content))
        });
        read.map_err(|reason| self.changed(Difference::Unread(reason)))
    }

    fn changed(&self, how: Difference) -> ChangedFile {
        ChangedFile { path: self.path.clone(), how }
    }
}

impl HeldFile {
    /// Looks again: the same file, untouched, with the same content?
    ///
    /// # Errors
    /// It is not.
    pub fn check(&self) -> Result<(), ChangedFile> {
        let (opened, content) = self.covered.read()?;
        if content != self.covered.content {
            return Err(self.covered.changed(Difference::Content));
        }
        // Another file with the same content may have been a third one in between.
        if opened.identity() != self.identity {
            return Err(self.covered.changed(Difference::Touched));
        }
        Ok(())
    }

    /// Where it is, as the command line names it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.covered.path
    }

    /// Writes a copy of what is trusted.
    ///
    /// # Errors
    /// The file holds something else by now, or the copy cannot be written.
    pub fn copy_to(&self, copy: &mut dyn std::io::Write) -> Result<(), ChangedFile> {
        use std::os::unix::fs::FileExt as _;
        let mut hasher = Sha256::new();
        let mut piece = vec![0; COPIED_AT_ONCE];
        let mut length: u64 = 0;
        let failed = |_| self.covered.changed(Difference::Touched);
        while length <= MAX_HASHED {
            let count = self.file.read_at(&mut piece, length).map_err(failed)?;
            let read = piece.get(..count).unwrap_or_default();
            if read.is_empty() {
                break;
            }
            hasher.update(read);
            copy.write_all(read).map_err(failed)?;
            length = length.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        }
        let content: [u8; 32] = hasher.finalize().into();
        if TrustHash(content) == self.covered.content { Ok(()) } else { Err(self.covered.changed(Difference::Content)) }
    }

    /// The descriptor whose content was hashed.
    #[must_use]
    pub const fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// It is the program itself, to be run from the descriptor.
    #[must_use]
    pub const fn is_program(&self) -> bool {
        self.covered.is_program
    }
}

/// True when a file is the project's: it lies inside, before links are followed or after.
pub(super) fn is_inside(path: &Path, project: &Path) -> bool {
    clean(path).starts_with(project) || fs_err::canonicalize(path).is_ok_and(|real| real.starts_with(project))
}

/// The hash of a file's content, and how it begins.
fn hash(file: &mut Opened, budget: &Budget) -> Result<(TrustHash, Vec<u8>), Unread> {
    if let Some((content, head)) = budget.known(file.identity()) {
        return Ok((TrustHash(content), head));
    }
    let mut hasher = Sha256::new();
    let mut head = Vec::new();
    file.pieces(MAX_HASHED, budget, |piece| {
        let missing = HEAD.saturating_sub(head.len()).min(piece.len());
        head.extend_from_slice(piece.get(..missing).unwrap_or_default());
        hasher.update(piece);
    })?;
    let content: [u8; 32] = hasher.finalize().into();
    budget.keep(file.identity(), (content, head.clone()));
    Ok((TrustHash(content), head))
}

/// The interpreter that a script's first line names.
fn interpreter(head: &[u8]) -> Option<String> {
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    line.split_whitespace().next().map(ToOwned::to_owned)
}

/// A file as the project would write it.
fn shown(path: &Path, project: &Path) -> String {
    path.strip_prefix(project).unwrap_or(path).to_string_lossy().into_owned()
}

/// Where links lead, if that is elsewhere.
fn leads_to(path: &Path) -> Option<String> {
    let real = fs_err::canonicalize(path).ok()?;
    (real != path).then(|| real.to_string_lossy().into_owned())
}
