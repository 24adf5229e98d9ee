//! What people changed, and taking a change back: an edit like any other, made of the difference that was kept. A value that
//! may have been secret was never kept, so it is not put back.

use helve_store::Change;

use super::files::{self, Edit, FileText};
use super::redaction::{HIDDEN, redacted};
use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::Hub;

/// A difference of more lines was not kept whole.
const WHOLE: usize = 400;

/// The newest changes, those before a number.
pub(crate) fn list(hub: &Hub, _actor: &Actor, before: Option<i64>, limit: usize) -> Result<Vec<Change>, HubError> {
    Ok(hub.store.changes(before, limit)?)
}

/// One change.
pub(crate) fn one(hub: &Hub, _actor: &Actor, seq: i64) -> Result<Change, HubError> {
    hub.store.change(seq)?.ok_or_else(|| HubError::not_found(format!("there is no change {seq}")))
}

/// What taking a change back would do.
#[derive(Debug)]
pub(crate) struct Undo {
    pub(crate) file: FileText,
    /// Both without secrets.
    pub(crate) before: String,
    pub(crate) after: String,
    /// Values that are not put back.
    pub(crate) left_out: usize,
}

/// What taking a change back would do to its file as it is now.
pub(crate) fn foresee_undo(hub: &Hub, actor: &Actor, seq: i64) -> Result<Undo, HubError> {
    let change = one(hub, actor, seq)?;
    let file = file_of(hub, &change)?;
    let (after, left_out) = taken_back(&change, file.plain())?;
    Ok(Undo { before: redacted(file.plain()), after: redacted(&after), left_out, file })
}

/// Takes a change back, if its file is still in this version.
pub(crate) fn undo(hub: &Hub, actor: &Actor, seq: i64, version: &str) -> Result<Option<i64>, HubError> {
    let change = one(hub, actor, seq)?;
    let file = file_of(hub, &change)?;
    let edit = Edit {
        place: &file.place,
        version: Some(version),
        make: &|text| taken_back(&change, text).map(|(text, _)| text),
        verb: "took back",
        object: format!("change {seq}: {} {}", change.change.verb, change.change.object),
        undoes: Some(seq),
        sandbox: None,
        sent: None,
    };
    files::write(hub, actor, &edit)
}

fn file_of(hub: &Hub, change: &Change) -> Result<FileText, HubError> {
    let name =
        change.change.file.as_deref().ok_or_else(|| HubError::conflict("only a change of a file can be undone"))?;
    if let Some(by) = change.undone_by {
        return Err(HubError::conflict(format!("it was undone already, by change {by}")));
    }
    files::find(hub, &hub.setup.read_configuration(), name)
}

/// A text without a change, and how many values of it could not be put back.
fn taken_back(change: &Change, text: &str) -> Result<(String, usize), HubError> {
    let noted = &change.change;
    let lines: Vec<&str> = noted.diff.lines().collect();
    if lines.len() > WHOLE {
        return Err(HubError::conflict("the change is too large to be undone here"));
    }
    let is_as_left = noted.after.as_deref() == Some(files::version_of(text).as_str());
    let (current, hidden) = (text.lines().collect::<Vec<_>>(), redacted(text));
    let seen: Vec<&str> = hidden.lines().collect();
    let mut result: Vec<String> = Vec::new();
    let (mut at, mut left_out) = (0, 0);
    let mut rest = lines.as_slice();
    while let Some((first, behind)) = rest.split_first() {
        if let Some(skipped) = first.strip_prefix('~') {
            rest = behind;
            if is_as_left && !behind.is_empty() {
                let count = skipped.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
                result.extend(current.iter().skip(at).take(count).map(|line| (*line).to_owned()));
                at += count;
            }
            continue;
        }
        let end = rest.iter().position(|line| line.starts_with('~')).unwrap_or(rest.len());
        let (hunk, behind) = rest.split_at(end);
        rest = behind;
        let expected: Vec<&str> =
            hunk.iter().filter(|line| !line.starts_with('-')).map(|line| line.get(1..).unwrap_or_default()).collect();
        let start = place_of(&seen, at, &expected, is_as_left)?;
        result.extend(current.iter().skip(at).take(start - at).map(|line| (*line).to_owned()));
        at = start;
        for line in hunk {
            match line.split_at_checked(1) {
                Some(("-", removed)) => {
                    left_out += removed.matches(HIDDEN).count();
                    result.push(removed.replace(HIDDEN, ""));
                }
                Some(("+", _)) => at += 1,
                _ => {
                    result.extend(current.get(at).map(|line| (*line).to_owned()));
                    at += 1;
                }
            }
        }
    }
    result.extend(current.iter().skip(at).map(|line| (*line).to_owned()));
    let mut text = result.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    Ok((text, left_out))
}

/// Where lines stand, from a line on.
fn place_of(seen: &[&str], from: usize, expected: &[&str], is_as_left: bool) -> Result<usize, HubError> {
    if is_as_left || expected.is_empty() {
        return Ok(from.min(seen.len()));
    }
    let found: Vec<usize> = (from..seen.len())
        .filter(|start| seen.get(*start..*start + expected.len()).is_some_and(|lines| lines == expected))
        .collect();
    match found.as_slice() {
        [start] => Ok(*start),
        _ => Err(HubError::conflict("the file has changed in the same place since: it cannot be undone by itself")
            .hint("edit the file: the change shows what it was")),
    }
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
