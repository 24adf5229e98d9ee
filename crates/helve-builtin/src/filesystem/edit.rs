//! `edit_file`: exact replacements in a text file, all of them or none, and what they changed.

use std::fmt::Write as _;

use helve_model::Outcome;
use helve_model::json::RawJson;
use serde::Deserialize;

use super::Files;
use super::read::whole_with_stat;
use super::roots::Place;
use super::write::replace;
use crate::answer::{Answer, Trouble, arguments};
use crate::tool::Cancelled;
use crate::words::counted;

/// How many changed places are shown.
const MAX_HUNKS: usize = 50;

/// How many lines of one changed place are shown.
const MAX_HUNK_LINES: usize = 40;

/// How many lines are named when a text occurs too often.
const MAX_NAMED_LINES: usize = 5;

pub(super) const EDIT_FILE: &str = r#"{
    "name":"edit_file",
    "title":"Edit a file",
    "description":"Replaces exact pieces of text in a file, one after the other; all of them or none. Shows the lines that changed.",
    "inputSchema":{"type":"object","properties":{
        "path":{"type":"string","description":"Relative to the first root, or absolute inside a root"},
        "edits":{"type":"array","minItems":1,"items":{"type":"object","properties":{
            "old_text":{"type":"string","minLength":1,"description":"The exact text to replace, with its spaces and line breaks; it must occur once"},
            "new_text":{"type":"string","description":"What to put there"},
            "replace_all":{"type":"boolean","default":false,"description":"Replace it wherever it occurs"}
        },"required":["old_text","new_text"],"additionalProperties":false}},
        "dry_run":{"type":"boolean","default":false,"description":"Only show what would change"}
    },"required":["path","edits"],"additionalProperties":false},
    "annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false}
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditFile {
    path: String,
    edits: Vec<Edit>,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

/// What the edits changed so far.
#[derive(Default)]
struct Changes {
    replaced: usize,
    /// The first changed places.
    hunks: Vec<Hunk>,
    /// How many more there are.
    unshown: usize,
}

/// A changed place: its first line, and its lines before and after.
struct Hunk {
    line: usize,
    old: String,
    new: String,
}

pub(super) fn edit_file(files: &Files, raw: &RawJson, cancelled: &Cancelled) -> Answer {
    let asked: EditFile = arguments(raw)?;
    if asked.edits.is_empty() {
        return Err(Trouble::invalid("`edits` is empty"));
    }
    let place = files.place("path", 0, &asked.path)?;
    let _changing = files.change();
    let (bytes, before) = whole_with_stat(&place, files.max_file_bytes)?;
    let Ok(mut text) = String::from_utf8(bytes) else {
        return Err(Trouble::failed(format!("{} is not UTF-8 text; it cannot be edited", place.shown())));
    };
    let mut changes = Changes::default();
    for (index, edit) in asked.edits.iter().enumerate() {
        cancelled.check()?;
        let starts = edit.starts(&place, index + 1, &text)?;
        text = edit.apply(&text, &starts, &mut changes);
        if text.len() as u64 > files.max_file_bytes {
            let limit = counted(files.max_file_bytes, "byte");
            return Err(Trouble::failed(format!("{} would grow above {limit} (max_file_bytes)", place.shown())));
        }
    }
    if !asked.dry_run {
        replace(&place, text.as_bytes(), Some(&before))?;
    }
    Ok(Outcome::text(&shown(&place, &changes, asked.dry_run)))
}

impl Edit {
    /// Where the old text begins.
    fn starts(&self, place: &Place<'_>, number: usize, text: &str) -> Result<Vec<usize>, Trouble> {
        if self.old_text.is_empty() || self.old_text == self.new_text {
            return Err(Trouble::invalid(format!("edit {number} changes nothing")));
        }
        let starts: Vec<usize> = text.match_indices(&self.old_text).map(|(start, _)| start).collect();
        match starts.len() {
            0 => Err(Trouble::failed(format!(
                "edit {number}: {} does not contain this text; spaces and line breaks count. Nothing was changed",
                place.shown()
            ))),
            1 => Ok(starts),
            _ if self.replace_all => Ok(starts),
            count => {
                let lines: Vec<String> =
                    starts.iter().take(MAX_NAMED_LINES).map(|start| line_number(text, *start).to_string()).collect();
                let more = if count > MAX_NAMED_LINES { ", …" } else { "" };
                Err(Trouble::failed(format!(
                    "edit {number}: {} contains this text {} (lines {}{more}): take in more of the lines around it, or set replace_all. Nothing was changed",
                    place.shown(),
                    counted(count as u64, "time"),
                    lines.join(", ")
                )))
            }
        }
    }

    fn apply(&self, text: &str, starts: &[usize], changes: &mut Changes) -> String {
        changes.replaced += starts.len();
        let mut result = String::with_capacity(text.len());
        let mut copied = 0;
        let mut rest = starts;
        while let Some(first) = rest.first() {
            // Occurrences that share a line are one place.
            let begin = text.get(..*first).and_then(|before| before.rfind('\n')).map_or(0, |line_break| line_break + 1);
            let mut end = self.end_of_line(text, *first);
            let mut count = 1;
            while let Some(next) = rest.get(count).filter(|next| **next < end) {
                end = self.end_of_line(text, *next);
                count += 1;
            }
            let (here, later) = rest.split_at(count);
            rest = later;

            result.push_str(text.get(copied..begin).unwrap_or_default());
            let mut new = String::new();
            let mut taken = begin;
            for start in here {
                new.push_str(text.get(taken..*start).unwrap_or_default());
                new.push_str(&self.new_text);
                taken = start + self.old_text.len();
            }
            new.push_str(text.get(taken..end).unwrap_or_default());
            result.push_str(&new);
            copied = end;
            if changes.hunks.len() < MAX_HUNKS {
                let old = text.get(begin..end).unwrap_or_default().to_owned();
                changes.hunks.push(Hunk { line: line_number(text, begin), old, new });
            } else {
                changes.unshown += 1;
            }
        }
        result.push_str(text.get(copied..).unwrap_or_default());
        result
    }

    /// The end of the line in which an occurrence ends, without the line break.
    fn end_of_line(&self, text: &str, start: usize) -> usize {
        let end = start + self.old_text.len();
        text.get(end..).and_then(|rest| rest.find('\n')).map_or(text.len(), |line_break| end + line_break)
    }
}

fn line_number(text: &str, position: usize) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes().get(..position).unwrap_or_default()).count() + 1
}

fn shown(place: &Place<'_>, changes: &Changes, dry_run: bool) -> String {
    let what = if dry_run { "would make" } else { "made" };
    let mut text = format!("{what} {} in {}", counted(changes.replaced as u64, "replacement"), place.shown());
    for hunk in &changes.hunks {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n@@ line {} @@", hunk.line);
        for (sign, lines) in [('-', &hunk.old), ('+', &hunk.new)] {
            for line in lines.lines().take(MAX_HUNK_LINES) {
                let _ = write!(text, "\n{sign}{line}");
            }
            if let Some(left) = lines.lines().count().checked_sub(MAX_HUNK_LINES).filter(|left| *left > 0) {
                let _ = write!(text, "\n{sign}[{}]", counted(left as u64, "more line"));
            }
        }
    }
    if changes.unshown > 0 {
        let _ = write!(text, "\n[{}]", counted(changes.unshown as u64, "more place"));
    }
    text
}
