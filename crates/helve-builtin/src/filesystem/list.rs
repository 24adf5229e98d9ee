//! `list_directory`: what is in a directory, in a fixed order and bounded; and how any directory is read.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use helve_model::json::RawJson;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, statat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::Files;
use super::read::size_of;
use super::roots::kind_word;
use crate::answer::{Answer, arguments, structured};
use crate::tool::Cancelled;
use crate::words::{counted, printable};

/// How many entries of a directory are read.
const MAX_READ: usize = 100_000;

/// How many entries are shown.
const MAX_SHOWN: usize = 1_000;

pub(super) const LIST_DIRECTORY: &str = r#"{
    "name":"list_directory",
    "title":"List a directory",
    "description":"Lists what is in a directory, sorted by name, with the kind of each entry and the size of files. Links are shown, not followed.",
    "inputSchema":{"type":"object","properties":{
        "path":{"type":"string","default":".","description":"Relative to the first root, or absolute inside a root"}
    },"additionalProperties":false},
    "outputSchema":{"type":"object","properties":{
        "entries":{"type":"array","items":{"type":"object","properties":{
            "name":{"type":"string"},
            "kind":{"enum":["file","directory","symlink","fifo","socket","device","other"]},
            "size":{"type":"integer","description":"Bytes, of files"},
            "lossy":{"type":"boolean","description":"The name is not UTF-8 and only looks like this"}
        },"required":["name","kind"]}},
        "truncated":{"type":"boolean","description":"There is more than is listed"}
    },"required":["entries","truncated"]},
    "annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListDirectory {
    #[serde(default = "here")]
    path: String,
}

#[derive(Serialize)]
struct Listing {
    entries: Vec<Entry>,
    truncated: bool,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lossy: bool,
}

pub(super) fn list_directory(files: &Files, raw: &RawJson, cancelled: &Cancelled) -> Answer {
    let asked: ListDirectory = arguments(raw)?;
    let place = files.place("path", 0, &asked.path)?;
    let directory = place.open_directory()?;
    let (names, all_read) = names(&directory, MAX_READ).map_err(|error| place.explain(error))?;
    let mut listing = Listing { entries: Vec::new(), truncated: !all_read || names.len() > MAX_SHOWN };
    for name in names.iter().take(MAX_SHOWN) {
        cancelled.check()?;
        // What is gone by now is left out.
        let Ok(stat) = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let kind = FileType::from_raw_mode(stat.st_mode);
        listing.entries.push(Entry {
            name: name.to_string_lossy().into_owned(),
            kind: kind_word(kind),
            size: (kind == FileType::RegularFile).then(|| size_of(&stat)),
            lossy: name.to_str().is_none(),
        });
    }
    let left = names.len().saturating_sub(MAX_SHOWN);
    structured(&listing, &shown(&listing, left))
}

pub(super) fn here() -> String {
    ".".to_owned()
}

/// The names in a directory, sorted, without `.` and `..`; and whether these are all.
pub(super) fn names(directory: &OwnedFd, limit: usize) -> Result<(Vec<OsString>, bool), Errno> {
    let mut names = Vec::new();
    let mut all = true;
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name == b"." || name == b".." {
            continue;
        }
        if names.len() == limit {
            all = false;
            break;
        }
        names.push(OsString::from_vec(name));
    }
    names.sort_unstable();
    Ok((names, all))
}

fn shown(listing: &Listing, left: usize) -> String {
    let mut lines: Vec<String> = listing.entries.iter().map(line).collect();
    if lines.is_empty() {
        lines.push("[empty]".to_owned());
    }
    if left > 0 {
        lines.push(format!("[{}]", counted(left as u64, "more name")));
    } else if listing.truncated {
        lines.push("[more than can be read]".to_owned());
    }
    lines.join("\n")
}

fn line(entry: &Entry) -> String {
    let name = printable(&entry.name);
    match (entry.kind, entry.size) {
        ("directory", _) => format!("{name}/"),
        (_, Some(size)) => format!("{name}  ({})", counted(size, "byte")),
        (kind, None) => format!("{name}  ({kind})"),
    }
}
