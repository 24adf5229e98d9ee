//! Documents as files of one directory: read whole, and replaced whole under a lock by a new one that only its owner can read.

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::StateStore;
use crate::error::SetupError;

/// What the name of a file begins with that is being written.
const UNFINISHED: &str = ".unfinished-";

/// More entries of the directory are not looked at.
const MAX_SWEPT: usize = 1_000;

/// Nobody writes so small a file for so long.
const SURELY_LEFT: Duration = Duration::from_secs(3_600);

/// Files of one directory.
#[derive(Debug, Clone)]
pub struct FileStore {
    directory: PathBuf,
}

impl FileStore {
    /// In this directory, which is made when something is first kept.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    fn path(&self, document: &str) -> PathBuf {
        self.directory.join(document)
    }

    fn write(&self, document: &str, text: &str) -> Result<(), SetupError> {
        let path = self.path(document);
        let failed = |error: std::io::Error| {
            SetupError::machine(format!("{} cannot be written", path.display())).with_cause(&error)
        };
        // Readable by its owner alone, and so is what it becomes. Its name has a beginning of our own, by which what a
        // killed writer left is known.
        let prefix = format!("{UNFINISHED}{document}.");
        self.sweep(&prefix);
        let mut file = tempfile::Builder::new().prefix(&prefix).tempfile_in(&self.directory).map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Removes what killed writers left. The lock of this file is held, so nobody else is writing one of its kind; those of
    /// earlier versions do not say whose they are, and have to be old. What cannot be removed does no harm.
    fn sweep(&self, prefix: &str) {
        let Ok(entries) = fs_err::read_dir(&self.directory) else { return };
        for entry in entries.filter_map(Result::ok).take(MAX_SWEPT) {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let is_file = || entry.file_type().is_ok_and(|kind| kind.is_file());
            let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
            let is_old = || age().is_some_and(|age| age > SURELY_LEFT);
            if (name.starts_with(prefix) || (is_unnamed(name) && is_old())) && is_file() {
                drop(fs_err::remove_file(entry.path()));
            }
        }
    }
}

impl StateStore for FileStore {
    fn read(&self, document: &str) -> Result<Option<String>, SetupError> {
        match fs_err::read_to_string(self.path(document)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(SetupError::file(&error)),
        }
    }

    fn update(
        &self,
        document: &str,
        change: &mut dyn FnMut(Option<String>) -> Result<String, SetupError>,
    ) -> Result<(), SetupError> {
        create_private(&self.directory)?;
        let lock = fs_err::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.directory.join(format!("{document}.lock")))
            .map_err(|error| SetupError::file(&error))?;
        // Released when the file is closed.
        lock.file().lock().map_err(|error| SetupError::file(&error))?;
        let text = change(self.read(document)?)?;
        self.write(document, &text)?;
        drop(lock);
        Ok(())
    }

    fn place(&self, document: &str) -> String {
        self.path(document).display().to_string()
    }

    /// When the file was changed, how long it is, and which one it is.
    fn mark(&self, document: &str) -> Option<String> {
        file_mark(&self.path(document))
    }
}

/// Another text for another content of a file, found without reading it; `None` when there is none.
pub(crate) fn file_mark(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let about = fs_err::metadata(path).ok()?;
    Some(format!("{:?} {} {}", about.modified().ok()?, about.len(), about.ino()))
}

/// The names that earlier versions gave unfinished files: `.tmp` and six letters or digits.
fn is_unnamed(name: &str) -> bool {
    let random = name.strip_prefix(".tmp");
    random.is_some_and(|random| random.len() == 6 && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn create_private(directory: &Path) -> Result<(), SetupError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory).map_err(|error| {
        SetupError::machine(format!("the directory {} cannot be made", directory.display())).with_cause(&error)
    })
}
