//! What helve remembers between runs: one small JSON file each for trust, approvals and pins.
//!
//! A file is read as a whole and replaced as a whole, under a lock, by a new one that only its owner can read. Fields
//! that this version does not know stay. A file that cannot be understood is reported and left as it is: nothing is
//! ever guessed, and nothing overwritten.

pub mod approvals;
pub mod pins;
pub mod trust;
pub mod written_rules;

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use helve_model::ErrorCode;
use helve_model::text::escape_invisible_json;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::SetupError;

/// What the name of a file begins with that is being written.
const UNFINISHED: &str = ".unfinished-";

/// More entries of the directory are not looked at.
const MAX_SWEPT: usize = 1_000;

/// Nobody writes so small a file for so long.
const SURELY_LEFT: std::time::Duration = std::time::Duration::from_secs(3_600);

/// The content of one file.
pub trait Stored: Default + Serialize + DeserializeOwned {
    /// The file's name.
    const FILE: &'static str;
    /// The version of its format; a file of a later one is not touched.
    const VERSION: u64;

    /// The version it was written in.
    fn version(&mut self) -> &mut u64;

    /// Takes out what an earlier version knew and this one cannot go by; names it.
    fn end_old(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// The directory all files are in.
#[derive(Debug, Clone)]
pub struct Stores {
    directory: PathBuf,
}

impl Stores {
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Where it is remembered.
    pub fn path<T: Stored>(&self) -> PathBuf {
        self.directory.join(T::FILE)
    }

    /// What is remembered; nothing when there is no file.
    pub fn read<T: Stored>(&self) -> Result<T, SetupError> {
        let path = self.path::<T>();
        let text = match fs_err::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(T::default()),
            Err(error) => return Err(SetupError::file(&error)),
        };
        parse(&path, &text)
    }

    /// Changes what is remembered. Two programs that do so at once take turns.
    pub fn update<T: Stored, R>(&self, change: impl FnOnce(&mut T) -> R) -> Result<R, SetupError> {
        create_private(&self.directory)?;
        let lock = fs_err::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.directory.join(format!("{}.lock", T::FILE)))
            .map_err(|error| SetupError::file(&error))?;
        // Released when the file is closed.
        lock.file().lock().map_err(|error| SetupError::file(&error))?;
        let mut content: T = self.read()?;
        if *content.version() < T::VERSION {
            content.end_old();
            *content.version() = T::VERSION;
        }
        let result = change(&mut content);
        self.write(&content)?;
        drop(lock);
        Ok(result)
    }

    /// Ends what an earlier version knew and this one cannot go by; names it, once.
    pub fn retire<T: Stored>(&self) -> Result<Vec<String>, SetupError> {
        let mut content: T = self.read()?;
        if *content.version() >= T::VERSION {
            return Ok(Vec::new());
        }
        let mut ended = content.end_old();
        ended.sort();
        ended.dedup();
        self.update(|_: &mut T| ())?;
        Ok(ended)
    }

    fn write<T: Stored>(&self, content: &T) -> Result<(), SetupError> {
        let path = self.directory.join(T::FILE);
        let failed = |error: std::io::Error| {
            SetupError::machine(format!("{} cannot be written", path.display())).with_cause(&error)
        };
        let text = serde_json::to_string_pretty(content).map_err(|error| failed(error.into()))?;
        let text = format!("{}\n", escape_invisible_json(&text));
        // Readable by its owner alone, and so is what it becomes. Its name has a beginning of our own, by which what a
        // killed writer left is known.
        let prefix = format!("{UNFINISHED}{}.", T::FILE);
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

fn parse<T: Stored>(path: &Path, text: &str) -> Result<T, SetupError> {
    let shown = path.display();
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| broken(path, &error))?;
    if let Some(version) = value.get("version").filter(|version| version.as_u64().is_none_or(|it| it > T::VERSION)) {
        let message = format!("{shown} was written by a later helve (its version is {version})");
        return Err(
            SetupError::new(ErrorCode::Config, message).with_hint("use that helve, or move the file out of the way")
        );
    }
    serde_json::from_value(value).map_err(|error| broken(path, &error))
}

fn broken(path: &Path, error: &serde_json::Error) -> SetupError {
    SetupError::new(ErrorCode::Config, format!("{} cannot be understood", path.display()))
        .with_cause(&std::io::Error::other(error.to_string()))
        .with_hint("repair it, or move it out of the way and answer again what it knew")
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

/// The version of files that do not say theirs.
const fn first_version() -> u64 {
    1
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
