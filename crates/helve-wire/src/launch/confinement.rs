//! What is handed from the host to the process that becomes a server: a sandbox's rules, and a command line that is nobody
//! else's business. Each is a sealed memory file, which neither the list of processes nor an environment shows, and which
//! nobody can change.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use helve_sandbox::{Rules, SealedCopy};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, memfd_create};

use super::WardenProgram;
use super::executable::{Executable, Handover};

/// Nothing of it can change.
const SEALS: SealFlags = SealFlags::SEAL.union(SealFlags::SHRINK).union(SealFlags::GROW).union(SealFlags::WRITE);

/// What a process is to put on itself before it becomes a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    rules: Executable,
    /// What lies over the files that it is started from.
    pub(super) sealed: Vec<SealedFile>,
    /// The program that applies them, where the launcher has none of its own.
    pub(super) stage: WardenProgram,
}

impl Confinement {
    /// These rules, to be applied by `stage`.
    ///
    /// # Errors
    /// The system has no room for them.
    pub fn new(rules: &Rules, stage: WardenProgram) -> io::Result<Self> {
        let bytes = rules.to_bytes().map_err(io::Error::other)?;
        Ok(Self { rules: seal(|file| file.write_all(&bytes))?, sealed: Vec::new(), stage })
    }

    /// The same, with these copies over the files that they are of.
    #[must_use]
    pub fn covering(self, sealed: Vec<SealedFile>) -> Self {
        Self { sealed, ..self }
    }

    /// For a process further down, which reads them while this one lives.
    pub(super) fn hand_over(&self) -> Handover {
        self.rules.hand_over()
    }
}

/// A copy of a file that a server is started from, with the content that somebody looked at. Nobody can change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedFile {
    /// Where the file really is: no link on the way.
    path: PathBuf,
    copy: Executable,
}

impl SealedFile {
    /// A copy for the file at `path`, which `write` fills.
    ///
    /// # Errors
    /// `write` failed, or the system has no room for it.
    pub fn new(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<Self> {
        Ok(Self { path: path.canonicalize()?, copy: seal(write)? })
    }

    /// Where the file is, if that can be said in text.
    pub(super) fn spelled_path(&self) -> Option<&str> {
        self.path.to_str()
    }

    pub(super) fn hand_over(&self) -> Handover {
        self.copy.hand_over()
    }
}

fn seal(write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<Executable> {
    let mut file = File::from(memfd_create("helve-sandbox", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    write(&mut file)?;
    fcntl_add_seals(&file, SEALS)?;
    Executable::new(Arc::new(file))
}

/// A command line that only the process it is handed over to reads.
pub(super) fn seal_words(words: &[OsString]) -> io::Result<Executable> {
    seal(|file| file.write_all(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>().join(&0)))
}

/// Reads a command line that was handed over.
pub(super) fn receive_words(handover: &Handover) -> io::Result<Vec<OsString>> {
    let mut bytes = Vec::new();
    open_sealed(handover)?.read_to_end(&mut bytes)?;
    Ok(bytes.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect())
}

/// Reads the rules that were handed over.
pub(super) fn receive(handover: &Handover) -> io::Result<Rules> {
    let mut bytes = Vec::new();
    open_sealed(handover)?.read_to_end(&mut bytes)?;
    Rules::from_bytes(&bytes).map_err(io::Error::other)
}

/// Opens a copy that was handed over.
pub(super) fn receive_copy(path: &str, handover: &Handover) -> io::Result<SealedCopy> {
    Ok(SealedCopy { path: path.into(), content: open_sealed(handover)? })
}

fn open_sealed(handover: &Handover) -> io::Result<File> {
    let file = handover.open()?.file().try_clone()?;
    if !fcntl_get_seals(&file)?.contains(SEALS) {
        return Err(io::Error::other("what was handed over is not sealed"));
    }
    Ok(file)
}
