//! What a project decides, as a list and as a hash of that list, and whether the person trusts exactly that.
//!
//! A name or a folder is not enough: the same name can start another program tomorrow. `parts.rs` lists everything that
//! decides what runs, with which rights, and where values go; the hash and the question to the person are both made of
//! that list. `named.rs` finds the files of the project that a command line runs or names, which count by their content.
//! Values of variables are not in it: a rotated token is still the same server.
//!
//! This crate computes and compares; where approvals are kept is the caller's business.

mod files;
mod interpreters;
mod named_files;
mod parts;
mod shell;
mod spelling;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use helve_model::sandbox::Choice;
use sha2::{Digest as _, Sha256};

use crate::reading::{Budget, Unread};

pub(crate) use files::Covered;
pub use files::{ChangedFile, CoveredFile, Difference, HeldFile};
pub use parts::Part;
pub(crate) use parts::{of_rules, of_server};

/// Changed with the recipe, so that hashes of different recipes never meet.
const RECIPE: &str = "helve trust 2";

/// What is said with every question about a program, because it is not in the list.
pub const NOT_COVERED: &str = "what the program imports or loads beyond this, and what a package runner downloads";

/// What the files that a project would run may have together, and each of them: a program, not an image of a disk.
const MAX_HASHED: u64 = 128 * 1024 * 1024;

/// Hashing them takes no longer than this.
const MAX_HASHING: Duration = Duration::from_secs(2);

/// What may be read to hash everything that a project would run.
#[must_use]
pub const fn hashing_budget() -> Budget {
    Budget::new(MAX_HASHED, MAX_HASHING)
}

/// Does the person stand behind a server?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerTrust {
    /// It comes from the person's own files.
    Own,
    /// It comes from a project, and the person trusts exactly this.
    Trusted,
    /// It comes from a project, and nobody has said anything.
    Untrusted,
}

/// The hash of what would run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrustHash([u8; 32]);

/// What the person is asked to trust.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TrustRequest {
    /// The project's directory, with symbolic links resolved.
    pub project: PathBuf,
    /// The file that says so.
    pub file: PathBuf,
    /// What in that file.
    pub subject: TrustSubject,
    /// Everything a yes would be for.
    pub parts: Vec<Part>,
    /// The hash of that.
    pub hash: TrustHash,
}

/// What in a file is trusted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TrustSubject {
    /// The server of that name.
    Server(String),
    /// The file's settings, and its rules.
    Rules,
}

/// Where approvals are kept.
pub trait TrustStore {
    /// True when the person has trusted exactly this. Whoever cannot tell says no.
    fn is_trusted(&self, request: &TrustRequest) -> bool;

    /// The sandbox that the person chose with their yes, for a program whose entry says nothing about one. `None` when they
    /// were not asked.
    fn sandbox(&self, _request: &TrustRequest) -> Option<Choice> {
        None
    }
}

/// A store without any approval.
#[derive(Debug, Clone, Copy, Default)]
pub struct NothingTrusted;

/// A text was not 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAHash;

/// A file of a project that would run cannot be read, so nobody can say what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unhashed {
    /// The file.
    pub file: PathBuf,
    /// Why.
    pub reason: Unread,
}

impl TrustStore for NothingTrusted {
    fn is_trusted(&self, _: &TrustRequest) -> bool {
        false
    }
}

impl<F: Fn(&TrustRequest) -> bool> TrustStore for F {
    fn is_trusted(&self, request: &TrustRequest) -> bool {
        self(request)
    }
}

/// The hash of a file's whole content, to notice that it changed.
#[must_use]
pub fn hash_content(content: &[u8]) -> TrustHash {
    TrustHash::of_content(content)
}

impl TrustRequest {
    /// A request for these parts.
    #[must_use]
    pub fn new(project: PathBuf, file: PathBuf, subject: TrustSubject, parts: Vec<Part>) -> Self {
        let hash = TrustHash::of_parts(&parts);
        Self { project, file, subject, parts, hash }
    }
}

impl TrustHash {
    /// The hash of a list. Every field goes in with its length, so that no two lists look alike.
    #[must_use]
    pub fn of_parts(parts: &[Part]) -> Self {
        let mut hasher = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(RECIPE.as_bytes());
        for part in parts {
            add(part.label.as_bytes());
            add(&(part.fields.len() as u64).to_le_bytes());
            part.fields.iter().for_each(|field| add(field.as_bytes()));
            add(part.digest.as_ref().map_or(&[], |digest| digest.0.as_slice()));
        }
        Self(hasher.finalize().into())
    }

    /// That of a file's content.
    #[must_use]
    pub fn of_content(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// Enough of it to tell two apart by eye.
    pub(crate) fn beginning(&self) -> String {
        self.to_string().chars().take(12).collect()
    }
}

impl fmt::Display for TrustHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for TrustHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for TrustHash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(NotAHash);
        }
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| NotAHash)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| NotAHash)?;
        }
        Ok(Self(hash))
    }
}

impl fmt::Display for NotAHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a trust hash is 64 hexadecimal digits")
    }
}

impl std::error::Error for NotAHash {}
