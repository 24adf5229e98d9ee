//! What the screens of changes and of the hub itself show.

use super::{Diff, FileVersion, Moment, Paging, Tone};

/// What people changed. At `/changes`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// The changes, newest first, 100 at most.
    pub rows: Vec<ChangeRow>,
    /// Where the list is cut.
    pub paging: Paging,
}

/// One change of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChangeRow {
    /// Its number.
    pub number: u64,
    /// When.
    pub at: Moment,
    /// Who.
    pub who: String,
    /// As in `added the server github`.
    pub what: String,
    /// The file, if one was changed.
    pub file: Option<String>,
    /// Lines that came and went.
    pub added: u64,
    /// Lines that went.
    pub removed: u64,
}

/// One change. At `/changes/NUMBER`; undoing posts `version` to `/changes/NUMBER/undo`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    /// The change.
    pub row: ChangeRow,
    /// What changed.
    pub diff: Diff,
    /// What undoing would change now; `None` when it cannot be undone.
    pub undo: Option<Diff>,
    /// The file as it is now.
    pub file: FileVersion,
    /// Why it cannot be undone, or what undoing does not bring back.
    pub said: Option<String>,
}

/// An edit of a file that has changed since: nothing was written. Status 409.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conflict {
    /// The file, in the version it has now.
    pub file: FileVersion,
    /// The person who changed it, if it was done here.
    pub changed_by: Option<String>,
    /// The text as it is now.
    pub theirs: String,
    /// The text that was to be saved.
    pub mine: String,
    /// From theirs to mine.
    pub diff: Diff,
    /// Where `text` and `version` are posted to save nevertheless.
    pub action: String,
    /// Where to go without saving.
    pub back: String,
}

/// The hub itself. At `/hub`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hub {
    /// Versions and addresses.
    pub facts: Vec<Fact>,
    /// What the store holds, against its limits.
    pub meters: Vec<Meter>,
    /// What is in the store, and how old.
    pub store: Vec<Fact>,
    /// Limits in force.
    pub limits: Vec<Fact>,
    /// What was looked at, and how it is.
    pub checks: Vec<Check>,
    /// The files of the configuration, in the order in which they count.
    pub files: Vec<FileVersion>,
    /// Sessions of this page that are open. Posts to `/sign-out` and `/sign-out-everywhere`.
    pub sessions: u64,
}

/// A name and a value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fact {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
    /// Whether somebody should look.
    pub tone: Tone,
}

/// How full something is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Meter {
    /// As in `Records`.
    pub name: String,
    /// As in `1.2 of 4 GB`.
    pub said: String,
    /// How much.
    pub value: u64,
    /// Of how much.
    pub limit: u64,
}

/// Something that was looked at.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Check {
    /// How it is.
    pub tone: Tone,
    /// What was looked at.
    pub what: String,
    /// What was found.
    pub said: String,
    /// What to do.
    pub advice: Option<String>,
}
