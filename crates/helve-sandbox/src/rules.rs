//! What is put in force: paths with rights, system calls, network, limits; and how rules travel to the process that applies
//! them. Rules are exact: whoever applies them applies all of them or ends.

use std::path::{Path, PathBuf};

use helve_model::sandbox::Limits;
use serde::{Deserialize, Serialize};

/// How rules are written; another number is not understood.
const VERSION: u32 = 2;

/// The longest rules that are read: a thousand long paths.
const MAX_BYTES: usize = 4 << 20;

/// Everything a process puts on itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    version: u32,
    /// What can be reached by path. Nothing else can.
    pub grants: Vec<Grant>,
    /// The version of Landlock that the kernel must have.
    pub landlock_abi: u8,
    /// A mount namespace in which everything is read-only but what may be written.
    pub mounts: bool,
    /// The network.
    pub network: NetworkRule,
    /// Unix sockets may be made and connected to.
    pub unix: bool,
    /// What a process may use.
    pub limits: Limits,
    /// Which system calls there are.
    pub calls: Calls,
    /// A directory of this program alone, which covered copies pass through. Without one nothing is covered.
    #[serde(default, with = "optional_path_bytes")]
    pub(crate) scratch: Option<PathBuf>,
}

/// Which system calls a process may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calls {
    /// All but a list: for programs that nobody knows.
    Most,
    /// A list and nothing else: for an interpreter that computes and talks over its pipes. See [`crate::engine()`].
    Engine,
}

/// One path, and all below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Where it really is: no link on the way.
    #[serde(with = "path_bytes")]
    pub path: PathBuf,
    /// What may be done there.
    pub access: Access,
}

/// What may be done below a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// See the names in directories, and read nothing.
    List,
    /// Read.
    Read,
    /// Read, and run what is there.
    Run,
    /// Read and write, not run.
    Write,
    /// Read, write, and run.
    WriteRun,
}

/// How the network is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkRule {
    /// Not at all.
    Open,
    /// No sockets.
    Closed,
    /// A network of its own, with one listener: its other end is sent to the abstract Unix socket of this name.
    Proxy {
        /// The socket's name.
        hand_over_to: String,
    },
}

/// What a machine can enforce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The version of Landlock that this build and the kernel both know; 0 for none.
    pub landlock_abi: u8,
    /// Filters of system calls.
    pub seccomp: bool,
    /// Read-only mounts, in a user namespace.
    pub mounts: bool,
    /// A network of one's own, in a user namespace.
    pub network: bool,
    /// Limits of processes count for this user; they do not for root.
    pub counts_processes: bool,
}

/// These bytes are not rules.
#[derive(Debug, thiserror::Error)]
#[error("the sandbox's rules cannot be read: {0}")]
pub struct BadRules(String);

impl Rules {
    pub(crate) fn new(landlock_abi: u8) -> Self {
        Self {
            version: VERSION,
            grants: Vec::new(),
            landlock_abi,
            mounts: false,
            network: NetworkRule::Closed,
            unix: false,
            limits: Limits::default(),
            calls: Calls::Most,
            scratch: None,
        }
    }

    /// As they travel.
    ///
    /// # Errors
    /// There are too many.
    pub fn to_bytes(&self) -> Result<Vec<u8>, BadRules> {
        let bytes = serde_json::to_vec(self).map_err(|error| BadRules(error.to_string()))?;
        if bytes.len() > MAX_BYTES { Err(BadRules("they are too long".to_owned())) } else { Ok(bytes) }
    }

    /// From what arrived.
    ///
    /// # Errors
    /// They are not of this version of helve, or broken.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadRules> {
        if bytes.len() > MAX_BYTES {
            return Err(BadRules("they are too long".to_owned()));
        }
        let rules: Self = serde_json::from_slice(bytes).map_err(|error| BadRules(error.to_string()))?;
        if rules.version != VERSION {
            return Err(BadRules(format!("they are of version {}, this is {VERSION}", rules.version)));
        }
        Ok(rules)
    }

    /// The right that holds at this path: that of the widest grant above it.
    #[must_use]
    pub fn access(&self, path: &Path) -> Option<Access> {
        self.grants.iter().filter(|grant| path.starts_with(&grant.path)).map(|grant| grant.access).max()
    }
}

impl Access {
    /// True when something can be changed there.
    #[must_use]
    pub const fn is_writable(self) -> bool {
        matches!(self, Self::Write | Self::WriteRun)
    }

    /// As it is configured.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Read => "read",
            Self::Run => "read, run",
            Self::Write => "read, write",
            Self::WriteRun => "read, write, run",
        }
    }
}

/// A path is bytes; one that is not text travels as numbers.
mod path_bytes {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize as _, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Bytes {
        Text(String),
        Raw(Vec<u8>),
    }

    pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => text.serialize(serializer),
            None => path.as_os_str().as_bytes().serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        Ok(match Bytes::deserialize(deserializer)? {
            Bytes::Text(text) => PathBuf::from(text),
            Bytes::Raw(bytes) => PathBuf::from(OsString::from_vec(bytes)),
        })
    }
}

/// The same for a path that may be missing.
mod optional_path_bytes {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Spelled(#[serde(with = "super::path_bytes")] PathBuf);

    #[expect(clippy::ref_option, reason = "the signature is the derive's")]
    pub(super) fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.clone().map(Spelled).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<Spelled>::deserialize(deserializer)?.map(|Spelled(path)| path))
    }
}
