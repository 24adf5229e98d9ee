//! `connections.json`: the entries that `helve connect` wrote into other applications' files, so that exactly those can be taken back.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Stored, first_version};

/// The entries that were written.
#[derive(Debug, Serialize, Deserialize)]
pub struct Connections {
    #[serde(default = "first_version")]
    version: u64,
    #[serde(default)]
    entries: Vec<ApplicationConnection>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// One entry as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationConnection {
    /// The application.
    pub application: String,
    /// The file it stands in.
    pub file: PathBuf,
    /// Its name there.
    pub server: String,
    /// The program and its arguments, or the address, as they were written.
    pub words: Vec<String>,
    /// The servers that moved from that file into a file of helve's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<Moved>,
    /// The whole file before anything was changed, where that is needed to put it back as it was: servers were moved, or it had none.
    /// Secrets that went into the vault are referred to in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The secrets of moved servers that went into the vault, by their names there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sealed: Vec<String>,
    /// There was no file before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_new_file: bool,
    /// The hash of the file when everything had been changed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub after: String,
}

/// A server that moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Its name.
    pub server: String,
    /// The file it stands in now.
    pub file: PathBuf,
    /// The hash of its entry there, as it was written.
    pub entry: String,
}

impl Connections {
    /// Remembers an entry, in the place of the one of the same file and name.
    pub fn add(&mut self, connection: ApplicationConnection) {
        self.forget(&connection.file, &connection.server);
        self.entries.push(connection);
    }

    /// The entry that was written into this file under this name.
    #[must_use]
    pub fn find(&self, file: &Path, server: &str) -> Option<&ApplicationConnection> {
        self.entries.iter().find(|entry| entry.file == file && entry.server == server)
    }

    /// Forgets it.
    pub fn forget(&mut self, file: &Path, server: &str) {
        self.entries.retain(|entry| entry.file != file || entry.server != server);
    }
}

impl Stored for Connections {
    const FILE: &'static str = "connections.json";
    const VERSION: u64 = 1;

    fn version(&mut self) -> &mut u64 {
        &mut self.version
    }
}

impl Default for Connections {
    fn default() -> Self {
        Self { version: Self::VERSION, entries: Vec::new(), unknown: Map::new() }
    }
}
