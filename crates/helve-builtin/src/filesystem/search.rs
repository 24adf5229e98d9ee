//! `search_files`: names by glob, contents by text, with an end by count whatever the tree looks like.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use helve_model::json::RawJson;
use memchr::memmem;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, statat};
use serde::{Deserialize, Serialize};

use super::Files;
use super::beneath::{LIST, READ};
use super::list::{here, names};
use super::media::{Media, SNIFFED_BYTES};
use super::read::size_of;
use super::roots::kind_word;
use crate::answer::{Answer, Trouble, arguments, structured};
use crate::tool::Cancelled;
use crate::words::{counted, printable, quoted};

/// How many files and directories a search looks at.
const MAX_VISITED: usize = 200_000;

/// How many bytes of contents a search reads.
const MAX_SEARCHED_BYTES: u64 = 256 * 1024 * 1024;

/// How deep a search goes; each directory on the way is an open file.
const MAX_DEPTH: usize = 64;

/// How many results a search may be asked for.
const MAX_RESULTS: usize = 1_000;

/// How many bytes of a line are shown.
const SHOWN_LINE: usize = 300;

pub(super) const SEARCH_FILES: &str = r#"{
    "name":"search_files",
    "title":"Search files",
    "description":"Finds files and directories by a glob over their paths, files by a text they contain, or both. Links are not followed, and files that are not text are not searched.",
    "inputSchema":{"type":"object","properties":{
        "pattern":{"type":"string","description":"A glob such as *.rs, which fits in every directory, or src/**/*.rs, which is relative to path"},
        "contains":{"type":"string","minLength":1,"description":"The exact text to find; each line with it is a result"},
        "path":{"type":"string","default":".","description":"Where to start: relative to the first root, or absolute inside a root"},
        "exclude":{"type":"array","items":{"type":"string"},"maxItems":100,"default":[".git"],"description":"Globs of what to leave out, directories with all that is in them"},
        "ignore_case":{"type":"boolean","default":false,"description":"Upper and lower case are the same, in contains"},
        "max_results":{"type":"integer","minimum":1,"maximum":1000,"default":100}
    },"additionalProperties":false},
    "outputSchema":{"type":"object","properties":{
        "matches":{"type":"array","items":{"type":"object","properties":{
            "path":{"type":"string"},
            "kind":{"enum":["file","directory","symlink","fifo","socket","device","other"]},
            "line":{"type":"integer","description":"Counted from 1"},
            "text":{"type":"string","description":"The line"},
            "lossy":{"type":"boolean","description":"The path is not UTF-8 and only looks like this"}
        },"required":["path","kind"]}},
        "truncated":{"type":"boolean","description":"There may be more"},
        "stopped_by":{"enum":["results","entries","bytes","depth"],"description":"Which limit left something out"},
        "too_large":{"type":"integer","description":"So many files were too large to search"}
    },"required":["matches","truncated"]},
    "annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchFiles {
    pattern: Option<String>,
    contains: Option<String>,
    #[serde(default = "here")]
    path: String,
    #[serde(default = "version_control")]
    exclude: Vec<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default = "some_results")]
    max_results: usize,
}

#[derive(Serialize)]
struct Found {
    matches: Vec<Match>,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    too_large: Option<u64>,
}

#[derive(Serialize)]
struct Match {
    path: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lossy: bool,
}

/// A search under way.
struct Search<'a> {
    pattern: Option<GlobMatcher>,
    exclude: GlobSet,
    needle: Option<Needle>,
    /// What the paths of results begin with.
    prefix: &'a Path,
    max_results: usize,
    max_file_bytes: u64,
    visited: usize,
    searched_bytes: u64,
    found: Found,
}

struct Needle {
    text: String,
    ignore_case: bool,
}

/// A directory whose entries are being looked at.
struct Level {
    directory: OwnedFd,
    names: std::vec::IntoIter<OsString>,
    relative: PathBuf,
}

/// Whether to look further.
#[derive(PartialEq, Eq)]
enum Next {
    Go,
    Stop,
}

pub(super) fn search_files(files: &Files, raw: &RawJson, cancelled: &Cancelled) -> Answer {
    let asked: SearchFiles = arguments(raw)?;
    let mut search = Search::new(&asked, files.max_file_bytes)?;
    let place = files.place("path", 0, &asked.path)?;
    let directory = place.open_directory()?;
    let (names, all) = names(&directory, MAX_VISITED).map_err(|error| place.explain(error))?;
    search.note_unread(all);
    search.walk(Level { directory, names: names.into_iter(), relative: PathBuf::new() }, cancelled)?;
    structured(&search.found, &shown(&search.found))
}

fn version_control() -> Vec<String> {
    vec![".git".to_owned()]
}

const fn some_results() -> usize {
    100
}

impl<'a> Search<'a> {
    fn new(asked: &'a SearchFiles, max_file_bytes: u64) -> Result<Self, Trouble> {
        if asked.pattern.is_none() && asked.contains.is_none() {
            return Err(Trouble::invalid("give `pattern`, `contains`, or both"));
        }
        if asked.contains.as_ref().is_some_and(String::is_empty) {
            return Err(Trouble::invalid("`contains` is empty"));
        }
        if !(1..=MAX_RESULTS).contains(&asked.max_results) {
            return Err(Trouble::invalid(format!("`max_results` is 1 to {MAX_RESULTS}")));
        }
        let mut exclude = GlobSetBuilder::new();
        for text in &asked.exclude {
            exclude.add(glob(text)?);
        }
        let exclude = exclude.build().map_err(|error| Trouble::invalid(format!("`exclude`: {error}")))?;
        let fold = |text: &String| if asked.ignore_case { text.to_lowercase() } else { text.clone() };
        Ok(Self {
            pattern: asked.pattern.as_deref().map(glob).transpose()?.map(|glob| glob.compile_matcher()),
            exclude,
            needle: asked.contains.as_ref().map(|text| Needle { text: fold(text), ignore_case: asked.ignore_case }),
            prefix: Path::new(if asked.path == "." { "" } else { &asked.path }),
            max_results: asked.max_results,
            max_file_bytes,
            visited: 0,
            searched_bytes: 0,
            found: Found { matches: Vec::new(), truncated: false, stopped_by: None, too_large: None },
        })
    }

    fn walk(&mut self, start: Level, cancelled: &Cancelled) -> Result<(), Trouble> {
        let mut levels = vec![start];
        while let (depth, Some(level)) = (levels.len(), levels.last_mut()) {
            let Some(name) = level.names.next() else {
                levels.pop();
                continue;
            };
            cancelled.check()?;
            self.visited += 1;
            if self.visited > MAX_VISITED {
                self.stop("entries");
                return Ok(());
            }
            let relative = level.relative.join(&name);
            // What is gone by now, or may not be looked at, is left out.
            let Ok(stat) = statat(&level.directory, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if self.exclude.is_match(&relative) {
                continue;
            }
            let kind = FileType::from_raw_mode(stat.st_mode);
            if self.consider(&level.directory, &name, &relative, kind) == Next::Stop {
                return Ok(());
            }
            if kind == FileType::Directory {
                let inner = self.enter(&level.directory, &name, relative, depth);
                levels.extend(inner);
            }
        }
        Ok(())
    }

    /// Opens a directory of a directory, which cannot lead out: one name, and no link is followed.
    fn enter(&mut self, parent: &OwnedFd, name: &OsStr, relative: PathBuf, depth: usize) -> Option<Level> {
        if depth >= MAX_DEPTH {
            self.stop("depth");
            return None;
        }
        let directory = openat(parent, name, LIST | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let (names, all) = names(&directory, MAX_VISITED).ok()?;
        self.note_unread(all);
        Some(Level { directory, names: names.into_iter(), relative })
    }

    fn consider(&mut self, directory: &OwnedFd, name: &OsStr, relative: &Path, kind: FileType) -> Next {
        if self.pattern.as_ref().is_some_and(|pattern| !pattern.is_match(relative)) {
            return Next::Go;
        }
        if self.needle.is_none() {
            return self.add(relative, kind, None);
        }
        if kind != FileType::RegularFile {
            return Next::Go;
        }
        let Some(text) = self.read(directory, name) else { return Next::Go };
        if self.searched_bytes > MAX_SEARCHED_BYTES {
            self.stop("bytes");
            return Next::Stop;
        }
        let lines = self.needle.as_ref().map(|needle| needle.lines(&text)).unwrap_or_default();
        for (number, line) in lines {
            if self.add(relative, kind, Some((number, line))) == Next::Stop {
                return Next::Stop;
            }
        }
        Next::Go
    }

    /// The text of a file; `None` for what is not text, too large or unreadable.
    fn read(&mut self, directory: &OwnedFd, name: &OsStr) -> Option<String> {
        let opened = openat(directory, name, READ | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let stat = fstat(&opened).ok()?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return None;
        }
        if size_of(&stat) > self.max_file_bytes {
            *self.found.too_large.get_or_insert(0) += 1;
            return None;
        }
        let mut bytes = Vec::new();
        File::from(opened).take(self.max_file_bytes).read_to_end(&mut bytes).ok()?;
        self.searched_bytes += bytes.len() as u64;
        let is_text = Media::of(bytes.get(..SNIFFED_BYTES).unwrap_or(&bytes)) == Media::Text;
        if !is_text || memchr::memchr(0, &bytes).is_some() {
            return None;
        }
        Some(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    fn add(&mut self, relative: &Path, kind: FileType, line: Option<(usize, String)>) -> Next {
        if self.found.matches.len() == self.max_results {
            self.stop("results");
            return Next::Stop;
        }
        let path = self.prefix.join(relative);
        let (line, text) = line.unzip();
        self.found.matches.push(Match {
            path: path.to_string_lossy().into_owned(),
            kind: kind_word(kind),
            line,
            text,
            lossy: path.to_str().is_none(),
        });
        Next::Go
    }

    fn note_unread(&mut self, all: bool) {
        if !all {
            self.stop("entries");
        }
    }

    fn stop(&mut self, by: &'static str) {
        self.found.truncated = true;
        self.found.stopped_by = Some(by);
    }
}

impl Needle {
    /// The lines it begins in, with their numbers.
    fn lines(&self, text: &str) -> Vec<(usize, String)> {
        let folded = self.ignore_case.then(|| text.to_lowercase());
        let searched = folded.as_deref().unwrap_or(text).as_bytes();
        let finder = memmem::Finder::new(&self.text);
        let mut found = Vec::new();
        // Folding changes no line breaks, so lines keep their numbers.
        let mut originals = text.split('\n').enumerate();
        let (mut line, mut start) = (0, 0);
        while let Some(position) = searched.get(start..).and_then(|rest| finder.find(rest)) {
            line += memchr::memchr_iter(b'\n', searched.get(start..start + position).unwrap_or_default()).count();
            let original = originals.find(|(number, _)| *number == line).map_or("", |(_, text)| text);
            let found_at = start + position;
            let before = searched.get(..found_at).unwrap_or_default();
            let column = found_at - memchr::memrchr(b'\n', before).map_or(0, |line_break| line_break + 1);
            found.push((line + 1, excerpt(original, column)));
            if found.len() > MAX_RESULTS {
                break;
            }
            // One result for each line: go on behind its end.
            let Some(end) = searched.get(start + position..).and_then(|rest| memchr::memchr(b'\n', rest)) else {
                break;
            };
            start += position + end + 1;
            line += 1;
        }
        found
    }
}

/// A line, or what of a long one is around `column`.
fn excerpt(line: &str, column: usize) -> String {
    let line = line.trim_end_matches('\r');
    if line.len() <= SHOWN_LINE {
        return line.to_owned();
    }
    let start = line.floor_char_boundary(column.saturating_sub(SHOWN_LINE / 3));
    let end = line.floor_char_boundary(start + SHOWN_LINE);
    let dots = |is_cut| if is_cut { "…" } else { "" };
    format!("{}{}{}", dots(start > 0), line.get(start..end).unwrap_or_default(), dots(end < line.len()))
}

/// A pattern without a slash fits in every directory.
fn glob(text: &str) -> Result<globset::Glob, Trouble> {
    let anchored = text.strip_prefix("./").or_else(|| text.strip_prefix('/')).unwrap_or(text);
    let anchored = anchored.strip_suffix('/').unwrap_or(anchored);
    let is_name = anchored == text.strip_suffix('/').unwrap_or(text) && !anchored.contains('/');
    let whole = if is_name { format!("**/{anchored}") } else { anchored.to_owned() };
    GlobBuilder::new(&whole)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(|error| Trouble::invalid(format!("{} is not a glob: {}", quoted(text), error.kind())))
}

fn shown(found: &Found) -> String {
    let mut lines: Vec<String> = found.matches.iter().map(line).collect();
    if lines.is_empty() {
        lines.push("[nothing found]".to_owned());
    }
    if let Some(count) = found.too_large {
        lines.push(format!("[not searched, too large: {}]", counted(count, "file")));
    }
    if let Some(by) = found.stopped_by {
        let hint = match by {
            "results" => "there is more: narrow the search, or raise max_results",
            "depth" => "directories too deep were left out: start the search further down",
            _ => "the search was too large and ended early: start it further down, or exclude more",
        };
        lines.push(format!("[{hint}]"));
    }
    lines.join("\n")
}

fn line(found: &Match) -> String {
    let path = printable(&found.path);
    match (found.line, &found.text, found.kind) {
        (Some(number), Some(text), _) => format!("{path}:{number}: {}", printable(text)),
        (_, _, "directory") => format!("{path}/"),
        _ => path,
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
