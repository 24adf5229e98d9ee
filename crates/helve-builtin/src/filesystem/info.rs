//! `file_info`: what is known about one path without reading it whole.

use std::os::unix::fs::FileExt as _;

use helve_model::json::RawJson;
use jiff::Timestamp;
use rustix::fs::{FileType, Stat, readlinkat};
use serde::{Deserialize, Serialize};

use super::Files;
use super::media::{Media, SNIFFED_BYTES};
use super::read::size_of;
use super::roots::{Place, kind_word};
use crate::answer::{Answer, Trouble, arguments, structured};
use crate::tool::Cancelled;
use crate::words::{counted, printable};

pub(super) const FILE_INFO: &str = r#"{
    "name":"file_info",
    "title":"Describe a file",
    "description":"Says what is at a path: kind, size, when it was changed, permissions, and the type of a file's content. A link is described itself.",
    "inputSchema":{"type":"object","properties":{
        "path":{"type":"string","description":"Relative to the first root, or absolute inside a root"}
    },"required":["path"],"additionalProperties":false},
    "outputSchema":{"type":"object","properties":{
        "path":{"type":"string"},
        "kind":{"enum":["file","directory","symlink","fifo","socket","device","other"]},
        "size":{"type":"integer","description":"Bytes"},
        "modified":{"type":"string","description":"When it was changed, in UTC"},
        "mode":{"type":"string","description":"Permissions, octal"},
        "type":{"type":"string","description":"The media type of a file's content, by its first bytes"},
        "target":{"type":"string","description":"Where a link points"}
    },"required":["path","kind","size","mode"]},
    "annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileInfo {
    path: String,
}

#[derive(Serialize)]
struct Described {
    path: String,
    kind: &'static str,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
    mode: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

pub(super) fn file_info(files: &Files, raw: &RawJson, _: &Cancelled) -> Answer {
    let asked: FileInfo = arguments(raw)?;
    let place = files.place("path", 0, &asked.path)?;
    let stat = place.look()?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    let described = Described {
        kind: kind_word(kind),
        size: size_of(&stat),
        modified: modified(&stat),
        mode: format!("{:04o}", stat.st_mode & 0o7777),
        mime_type: if kind == FileType::RegularFile { mime_type(&place) } else { None },
        target: if kind == FileType::Symlink { Some(target(&place)?) } else { None },
        path: asked.path,
    };
    structured(&described, &shown(&described))
}

#[expect(clippy::useless_conversion, reason = "the fields of a stat have other types on other systems")]
fn modified(stat: &Stat) -> Option<String> {
    Timestamp::from_second(i64::try_from(stat.st_mtime).ok()?).ok().map(|time| time.to_string())
}

/// `None` for a file that may not be read.
fn mime_type(place: &Place<'_>) -> Option<&'static str> {
    let (file, _) = place.open_file().ok()?;
    let mut start = vec![0; SNIFFED_BYTES];
    let length = file.read_at(&mut start, 0).ok()?;
    Some(Media::of(start.get(..length)?).mime_type())
}

fn target(place: &Place<'_>) -> Result<String, Trouble> {
    let (parent, name) = place.parent()?;
    let target = readlinkat(&parent, name, Vec::new()).map_err(|error| place.explain(error))?;
    Ok(target.to_string_lossy().into_owned())
}

fn shown(described: &Described) -> String {
    let mut lines = vec![format!("{}: {}", printable(&described.path), described.kind)];
    lines.push(format!("size: {}", counted(described.size, "byte")));
    lines.extend(described.modified.as_ref().map(|modified| format!("modified: {modified}")));
    lines.push(format!("mode: {}", described.mode));
    lines.extend(described.mime_type.map(|mime_type| format!("type: {mime_type}")));
    lines.extend(described.target.as_ref().map(|target| format!("target: {}", printable(target))));
    lines.join("\n")
}
