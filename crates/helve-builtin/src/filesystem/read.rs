//! `read_file` and `read_many`: what of a file is given, and in which form.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::FileExt as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use helve_model::json::RawJson;
use rustix::fs::Stat;
use rustix::io::Errno;
use serde::Deserialize;

use super::Files;
use super::media::{Media, SNIFFED_BYTES};
use super::roots::Place;
use crate::answer::{Answer, Block, Trouble, arguments, blocks};
use crate::tool::Cancelled;
use crate::words::counted;

/// How far into a file lines are counted.
const MAX_SCANNED_BYTES: u64 = 256 * 1024 * 1024;

/// How many files one call reads.
const MAX_FILES: usize = 100;

/// How much is read at once.
const BLOCK: usize = 64 * 1024;

pub(super) const READ_FILE: &str = r#"{
    "name":"read_file",
    "title":"Read a file",
    "description":"Reads a file: text as text, pictures and sound as such. Give head, tail, or offset and limit to read some lines of a long one.",
    "inputSchema":{"type":"object","properties":{
        "path":{"type":"string","description":"Relative to the first root, or absolute inside a root"},
        "head":{"type":"integer","minimum":1,"description":"Only the first lines, so many"},
        "tail":{"type":"integer","minimum":1,"description":"Only the last lines, so many"},
        "offset":{"type":"integer","minimum":1,"description":"Start at this line, counted from 1"},
        "limit":{"type":"integer","minimum":1,"description":"So many lines from offset on"}
    },"required":["path"],"additionalProperties":false},
    "annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
}"#;

pub(super) const READ_MANY: &str = r#"{
    "name":"read_many",
    "title":"Read several files",
    "description":"Reads several files at once, each under a line with its path. A file that cannot be read gives its reason instead and the others still come.",
    "inputSchema":{"type":"object","properties":{
        "paths":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":100,"description":"Relative to the first root, or absolute inside a root"}
    },"required":["paths"],"additionalProperties":false},
    "annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    path: String,
    head: Option<u64>,
    tail: Option<u64>,
    offset: Option<u64>,
    limit: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadMany {
    paths: Vec<String>,
}

/// Which part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    /// From this line on, so many or all.
    Lines(u64, Option<u64>),
    Last(u64),
}

pub(super) fn read_file(files: &Files, raw: &RawJson, cancelled: &Cancelled) -> Answer {
    let asked: ReadFile = arguments(raw)?;
    let part = asked.part()?;
    let place = files.place("path", 0, &asked.path)?;
    let limit = files.max_file_bytes;
    let content = match part {
        Part::Whole => decoded(&place, whole(&place, limit)?)?,
        Part::Lines(first, count) => text_of_lines(&place, lines(&place, first, count, limit, cancelled)?)?,
        Part::Last(count) => text_of_lines(&place, last_lines(&place, count, limit, cancelled)?)?,
    };
    blocks(&content)
}

pub(super) fn read_many(files: &Files, raw: &RawJson, cancelled: &Cancelled) -> Answer {
    let asked: ReadMany = arguments(raw)?;
    if asked.paths.is_empty() || asked.paths.len() > MAX_FILES {
        return Err(Trouble::invalid(format!("`paths` holds 1 to {MAX_FILES} paths")));
    }
    let mut content = Vec::new();
    let mut room = files.max_file_bytes;
    let mut failures = 0;
    for (index, path) in asked.paths.iter().enumerate() {
        cancelled.check()?;
        let read = files.place("paths", index, path).and_then(|place| {
            let bytes = whole(&place, room)?;
            let length = bytes.len() as u64;
            decoded(&place, bytes).map(|blocks| (blocks, length))
        });
        content.push(Block::Text { text: format!("==> {} <==", crate::words::printable(path)) });
        match read {
            Ok((read, length)) => {
                content.extend(read);
                room = room.saturating_sub(length);
            }
            Err(Trouble::Failed(reason)) => {
                failures += 1;
                content.push(Block::Text { text: format!("[not read: {reason}]") });
            }
            Err(other) => return Err(other),
        }
    }
    if failures == asked.paths.len() {
        let reasons = content.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            Block::Image { .. } | Block::Audio { .. } => None,
        });
        return Err(Trouble::failed(reasons.collect::<Vec<_>>().join("\n")));
    }
    blocks(&content)
}

/// All bytes of a file that has at most `limit`, and what the file was before they were read.
pub(super) fn whole_with_stat(place: &Place<'_>, limit: u64) -> Result<(Vec<u8>, Stat), Trouble> {
    let (file, stat) = place.open_file()?;
    let size = size_of(&stat);
    if size > limit {
        return Err(too_large(place, size, limit));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| io(place, &error))?;
    // Files of `/proc` have no size, and others grow while they are read.
    if bytes.len() as u64 > limit {
        return Err(too_large(place, bytes.len() as u64, limit));
    }
    Ok((bytes, stat))
}

fn whole(place: &Place<'_>, limit: u64) -> Result<Vec<u8>, Trouble> {
    whole_with_stat(place, limit).map(|(bytes, _)| bytes)
}

pub(super) fn size_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}

/// What a system error of the standard library means.
pub(super) fn io(place: &Place<'_>, error: &std::io::Error) -> Trouble {
    match Errno::from_io_error(error) {
        Some(error) => place.explain(error),
        None => Trouble::failed(format!("{} changed while it was read; try again", place.shown())),
    }
}

impl ReadFile {
    fn part(&self) -> Result<Part, Trouble> {
        match (self.head, self.tail, self.offset, self.limit) {
            (None, None, None, None) => Ok(Part::Whole),
            (Some(0), ..) | (_, Some(0), ..) | (.., Some(0), _) | (.., Some(0)) => {
                Err(Trouble::invalid("lines are counted from 1"))
            }
            (Some(head), None, None, None) => Ok(Part::Lines(1, Some(head))),
            (None, Some(tail), None, None) => Ok(Part::Last(tail)),
            (None, None, offset, limit) => Ok(Part::Lines(offset.unwrap_or(1), limit)),
            _ => Err(Trouble::invalid("give one of `head`, `tail`, or `offset` and `limit`")),
        }
    }
}

/// A file as content: text, a picture or sound.
fn decoded(place: &Place<'_>, bytes: Vec<u8>) -> Result<Vec<Block>, Trouble> {
    match Media::of(bytes.get(..SNIFFED_BYTES).unwrap_or(&bytes)) {
        Media::Text => {
            let size = bytes.len() as u64;
            text(bytes).ok_or_else(|| binary(place, Media::Other("binary data"), size))
        }
        Media::Image(mime_type) => Ok(vec![Block::Image { data: STANDARD.encode(bytes), mime_type }]),
        Media::Audio(mime_type) => Ok(vec![Block::Audio { data: STANDARD.encode(bytes), mime_type }]),
        media @ Media::Other(_) => Err(binary(place, media, bytes.len() as u64)),
    }
}

fn text_of_lines(place: &Place<'_>, bytes: Vec<u8>) -> Result<Vec<Block>, Trouble> {
    text(bytes).ok_or_else(|| Trouble::failed(format!("these lines of {} are binary data", place.shown())))
}

/// Bytes that should be text. Some that are not UTF-8 are forgiven, and said; `None` when it is not text at all.
fn text(bytes: Vec<u8>) -> Option<Vec<Block>> {
    if memchr::memchr(0, &bytes).is_some() {
        return None;
    }
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return Some(vec![Block::Text { text }]),
        Err(error) => error.into_bytes(),
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let replaced = text.chars().filter(|character| *character == '\u{fffd}').count();
    if replaced * 3 > text.chars().count() {
        return None;
    }
    let note = "[bytes that are not UTF-8 are shown as \u{fffd}]".to_owned();
    Some(vec![Block::Text { text }, Block::Text { text: note }])
}

/// So many lines from `first` on.
fn lines(
    place: &Place<'_>,
    first: u64,
    count: Option<u64>,
    limit: u64,
    cancelled: &Cancelled,
) -> Result<Vec<u8>, Trouble> {
    let (file, stat) = place.open_file()?;
    require_text(place, &file, &stat)?;
    let mut reader = BufReader::with_capacity(BLOCK, file);
    let end = count.map(|count| first.saturating_add(count));
    let (mut line, mut scanned, mut kept, mut last_byte) = (1, 0, Vec::new(), b'\n');
    while end.is_none_or(|end| line < end) {
        cancelled.check()?;
        let block = reader.fill_buf().map_err(|error| io(place, &error))?;
        let is_kept = line >= first;
        let until = if is_kept { end } else { Some(first) };
        let (used, passed) = up_to_lines(block, until.map_or(u64::MAX, |until| until - line));
        let part = block.get(..used).unwrap_or_default();
        let Some(last) = part.last() else { break };
        last_byte = *last;
        if is_kept {
            kept.extend_from_slice(part);
        }
        if kept.len() as u64 > limit {
            return Err(too_many_lines(place, limit));
        }
        line += passed;
        scanned += used as u64;
        reader.consume(used);
        if scanned > MAX_SCANNED_BYTES && line < first {
            let far = counted(MAX_SCANNED_BYTES, "byte");
            return Err(Trouble::failed(format!("line {first} of {} is not within its first {far}", place.shown())));
        }
    }
    if kept.is_empty() && first > 1 {
        let lines = counted(line - u64::from(last_byte == b'\n'), "line");
        return Err(Trouble::failed(format!("{} has {lines}; it has no line {first}", place.shown())));
    }
    Ok(kept)
}

/// The end of the `count`-th line in `block`, or of the block; and how many lines ended before it.
fn up_to_lines(block: &[u8], count: u64) -> (usize, u64) {
    let mut passed = 0;
    for position in memchr::memchr_iter(b'\n', block) {
        passed += 1;
        if passed == count {
            return (position + 1, passed);
        }
    }
    (block.len(), passed)
}

/// The last lines, read from the end.
fn last_lines(place: &Place<'_>, count: u64, limit: u64, cancelled: &Cancelled) -> Result<Vec<u8>, Trouble> {
    let (file, stat) = place.open_file()?;
    require_text(place, &file, &stat)?;
    let size = size_of(&stat);
    if size == 0 {
        return Ok(end_of(whole(place, limit)?, count));
    }
    let mut tail: Vec<u8> = Vec::new();
    let mut start = size;
    while start > 0 {
        cancelled.check()?;
        // Twice as much each time, so that what was read already is copied only a few times.
        let length = start.min(BLOCK.max(tail.len()) as u64);
        start -= length;
        let mut block = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut block, start).map_err(|error| io(place, &error))?;
        block.extend_from_slice(&tail);
        tail = block;
        if start_of_last_lines(&tail, count).is_some() {
            break;
        }
        if tail.len() as u64 > limit {
            return Err(too_many_lines(place, limit));
        }
    }
    let kept = end_of(tail, count);
    if kept.len() as u64 > limit { Err(too_many_lines(place, limit)) } else { Ok(kept) }
}

fn end_of(mut bytes: Vec<u8>, count: u64) -> Vec<u8> {
    match start_of_last_lines(&bytes, count) {
        Some(start) => bytes.split_off(start),
        None => bytes,
    }
}

/// Where the last `count` lines begin; `None` when there are not more than that.
fn start_of_last_lines(bytes: &[u8], count: u64) -> Option<usize> {
    // The line break at the very end ends the last line; it does not begin another.
    let inner = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let skipped = usize::try_from(count - 1).ok()?;
    memchr::memrchr_iter(b'\n', inner).nth(skipped).map(|position| position + 1)
}

fn require_text(place: &Place<'_>, file: &File, stat: &Stat) -> Result<(), Trouble> {
    let mut start = vec![0; SNIFFED_BYTES];
    let length = file.read_at(&mut start, 0).map_err(|error| io(place, &error))?;
    match Media::of(start.get(..length).unwrap_or_default()) {
        Media::Text => Ok(()),
        media => Err(Trouble::failed(format!(
            "{} is {}, {}: it has no lines",
            place.shown(),
            media.name(),
            counted(size_of(stat), "byte")
        ))),
    }
}

fn binary(place: &Place<'_>, media: Media, size: u64) -> Trouble {
    Trouble::failed(format!(
        "{} is {}, {}: only text, pictures and sound can be read",
        place.shown(),
        media.name(),
        counted(size, "byte")
    ))
}

fn too_large(place: &Place<'_>, size: u64, limit: u64) -> Trouble {
    Trouble::failed(format!(
        "{} has {}, more than the {} that fit (max_file_bytes): read some of its lines with head, tail, or offset and limit",
        place.shown(),
        counted(size, "byte"),
        counted(limit, "byte")
    ))
}

fn too_many_lines(place: &Place<'_>, limit: u64) -> Trouble {
    Trouble::failed(format!(
        "these lines of {} have more than {} (max_file_bytes): ask for fewer",
        place.shown(),
        counted(limit, "byte")
    ))
}
