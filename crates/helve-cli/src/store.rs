//! What helve remembers between runs: one small JSON file each for trust, approvals and pins.
//!
//! A file is read as a whole and replaced as a whole, under a lock, by a new one that only its owner can read. Fields
//! that this version does not know stay. A file that cannot be understood is reported and left as it is: nothing is
//! ever guessed, and nothing overwritten.

pub(crate) mod approvals;
pub(crate) mod pins;
pub(crate) mod trust;

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use helve_model::ErrorCode;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::printer::json;

/// The version of the files' format; a file of a later one is not touched.
const VERSION: u64 = 1;

/// The content of one file.
pub(crate) trait Stored: Default + Serialize + DeserializeOwned {
    /// The file's name.
    const FILE: &'static str;
}

/// The directory all files are in.
#[derive(Debug, Clone)]
pub(crate) struct Stores {
    directory: PathBuf,
}

impl Stores {
    pub(crate) fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// What is remembered; nothing when there is no file.
    pub(crate) fn read<T: Stored>(&self) -> Result<T, Failure> {
        let path = self.directory.join(T::FILE);
        let text = match fs_err::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(T::default()),
            Err(error) => return Err(Failure::file(&error)),
        };
        parse(&path, &text)
    }

    /// Changes what is remembered. Two programs that do so at once take turns.
    pub(crate) fn update<T: Stored, R>(&self, change: impl FnOnce(&mut T) -> R) -> Result<R, Failure> {
        create_private(&self.directory)?;
        let lock = fs_err::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.directory.join(format!("{}.lock", T::FILE)))
            .map_err(|error| Failure::file(&error))?;
        // Released when the file is closed.
        lock.file().lock().map_err(|error| Failure::file(&error))?;
        let mut content: T = self.read()?;
        let result = change(&mut content);
        self.write(&content)?;
        drop(lock);
        Ok(result)
    }

    fn write<T: Stored>(&self, content: &T) -> Result<(), Failure> {
        let path = self.directory.join(T::FILE);
        let failed =
            |error: std::io::Error| Failure::other(format!("{} cannot be written", path.display())).cause(&error);
        let text = json::render(content).map_err(|error| failed(error.into()))?;
        // A temporary file is readable by its owner alone, and so is what it becomes.
        let mut file = tempfile::NamedTempFile::new_in(&self.directory).map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(())
    }
}

fn parse<T: Stored>(path: &Path, text: &str) -> Result<T, Failure> {
    let shown = path.display();
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| broken(path, &error))?;
    if let Some(version) = value.get("version").and_then(serde_json::Value::as_u64).filter(|found| *found > VERSION) {
        let message = format!("{shown} was written by a later helve (its version is {version})");
        return Err(Failure::new(ErrorCode::Config, message).hint("use that helve, or move the file out of the way"));
    }
    serde_json::from_value(value).map_err(|error| broken(path, &error))
}

fn broken(path: &Path, error: &serde_json::Error) -> Failure {
    Failure::new(ErrorCode::Config, format!("{} cannot be understood", path.display()))
        .cause(&std::io::Error::other(error.to_string()))
        .hint("repair it, or move it out of the way and answer again what it knew")
}

fn create_private(directory: &Path) -> Result<(), Failure> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(directory)
        .map_err(|error| Failure::other(format!("the directory {} cannot be made", directory.display())).cause(&error))
}

const fn version() -> u64 {
    VERSION
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
