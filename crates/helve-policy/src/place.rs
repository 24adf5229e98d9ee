//! What is known about the places that a call's arguments name: the directories of its server, and what the tool found.

use std::path::Path;

use helve_model::{ServerSpec, TransportSpec};

use crate::place_spellings::{MAX_DECODINGS, file_paths, folded, percent_decoded, scheme, without_detours};

/// The directories that a server's paths may be relative to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Directories {
    /// In the form in which they are compared.
    all: Vec<String>,
    home: Option<String>,
}

/// A place that one argument of a native tool names, as the tool found it.
///
/// Patterns that restrict match any of its spellings, besides those that the argument's text has by itself. A pattern
/// that allows must match the text and one of the spellings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentPlace {
    /// The argument, by the name of a member of the arguments. An argument that is a list has a place for each element,
    /// in order.
    pub argument: String,
    /// What the place is called: the absolute path that the tool will open first, links resolved; then others, such as
    /// the path below a root. Empty: the tool could not find out, and no pattern allows it.
    pub spellings: Vec<String>,
    /// What else the argument may be taken for, such as its path with links unresolved: patterns that restrict match
    /// these too, and no pattern allows by them.
    pub other_spellings: Vec<String>,
}

/// What is known about one call beside its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Whereabouts {
    /// Further directories of its server: the roots it was given.
    pub roots: Directories,
    /// The places that the tool itself found.
    pub places: Vec<ArgumentPlace>,
}

impl Directories {
    /// A server that works in these directories. What is not text, or not absolute, is left out.
    #[must_use]
    pub fn new<'path>(paths: impl IntoIterator<Item = &'path Path>) -> Self {
        let mut directories = Self::default();
        for path in paths {
            directories.add(path);
        }
        directories
    }

    /// The directory that a server's entry says it works in.
    #[must_use]
    pub fn of(spec: &ServerSpec) -> Self {
        match &spec.transport {
            TransportSpec::Stdio(stdio) => Self::new(stdio.working_directory.as_deref()),
            TransportSpec::Http(_) | TransportSpec::Builtin(_) => Self::default(),
        }
    }

    /// The same with the directory that `~` means to the server.
    #[must_use]
    pub fn with_home(mut self, home: Option<&Path>) -> Self {
        self.home = home.and_then(comparable);
        self
    }

    /// One directory more.
    pub fn add(&mut self, path: &Path) {
        if let Some(path) = comparable(path).filter(|path| !self.all.contains(path)) {
            self.all.push(path);
        }
    }

    /// One directory more, by its `file:` URI. Any other URI is left out.
    pub fn add_uri(&mut self, uri: &str) {
        let mut decoded = uri.to_owned();
        for _ in 0..MAX_DECODINGS {
            let Some(next) = percent_decoded(&decoded) else { break };
            decoded = next;
        }
        let Some((_, rest)) = scheme(&decoded).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("file")) else {
            return;
        };
        file_paths(rest, &mut |path| self.add(Path::new(path)));
    }

    /// No directory is known.
    pub(crate) const fn nowhere() -> Self {
        Self { all: Vec::new(), home: None }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.all.is_empty() && self.home.is_none()
    }

    pub(crate) fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(String::as_str)
    }

    /// Those of both.
    pub(crate) fn joined(&self, others: &Self) -> Self {
        let mut joined = self.clone();
        joined.all.extend(others.all.iter().filter(|other| !self.all.contains(other)).cloned());
        joined.home = joined.home.or_else(|| others.home.clone());
        joined
    }
}

fn comparable(path: &Path) -> Option<String> {
    let path = path.to_str().filter(|path| path.starts_with('/'))?;
    Some(folded(&without_detours(path)).into_owned())
}

/// The argument that a pattern means when it speaks of a path: restricting patterns mean by it whatever names a place.
pub(crate) const PATH: &str = "path";

/// Words that a place is called by, by their length: by themselves, or as the last word of a name such as `output_file`.
const PLACE_WORDS: [&[&str]; 13] = [
    &[],
    &[],
    &["to"],
    &["dir", "src", "dst", "cwd", "uri", "url"],
    &["path", "file", "dirs", "dest", "from", "root", "uris", "urls"],
    &["paths", "files", "roots"],
    &["folder", "source", "target"],
    &["folders", "sources", "targets"],
    &["filename", "filepath", "location"],
    &["directory", "filenames", "filepaths", "locations"],
    &[],
    &["directories", "destination"],
    &["destinations"],
];

/// The last two letters of these words.
const ENDS: [[u8; 2]; 24] = [
    *b"th", *b"hs", *b"le", *b"es", *b"me", *b"ir", *b"rs", *b"ry", *b"er", *b"ce", *b"rc", *b"on", *b"ns", *b"st",
    *b"et", *b"ts", *b"om", *b"to", *b"ot", *b"wd", *b"ri", *b"is", *b"rl", *b"ls",
];

/// True when the name of an argument says that it is a place.
pub(crate) fn is_place(argument: &str) -> bool {
    let bytes = argument.as_bytes();
    // Every call asks this of all its arguments: most are told by how they end.
    let may_be = bytes.last_chunk::<2>().is_some_and(|end| ENDS.contains(&end.map(|byte| byte.to_ascii_lowercase())));
    if !may_be {
        return false;
    }
    let (mut start, mut begins_low) = (bytes.len(), true);
    // Back to where the last word begins: behind a sign, or at a capital behind a small letter.
    while let Some(byte) = start.checked_sub(1).and_then(|before| bytes.get(before)) {
        let is_end = !byte.is_ascii_alphanumeric() || (!begins_low && !byte.is_ascii_uppercase());
        if is_end && start < bytes.len() {
            break;
        }
        begins_low = !byte.is_ascii_uppercase();
        start -= 1;
    }
    let word = bytes.get(start..).unwrap_or_default();
    let (Some(words), Some(first)) = (PLACE_WORDS.get(word.len()), word.first()) else { return false };
    words.iter().any(|known| {
        known.as_bytes().first() == Some(&first.to_ascii_lowercase()) && known.as_bytes().eq_ignore_ascii_case(word)
    })
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
