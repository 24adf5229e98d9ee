//! The tools that change directories: writing, making, moving, deleting; there only when the person configured it.
//!
//! Each works on one name in an open directory and follows no link there. A file is replaced as a whole by a finished
//! new one: who reads it meanwhile sees the old or the new, never half of either.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::path::{Component, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use helve_model::Outcome;
use helve_model::json::RawJson;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fchmod, fstat, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use serde::Deserialize;

use super::Files;
use super::read::io;
use super::roots::Place;
use crate::answer::{Answer, Trouble, arguments};
use crate::tool::Cancelled;
use crate::words::counted;

/// How many directories are made at once.
const MAX_NEW_DEPTH: usize = 64;

/// How many names are tried for a file that is being written.
const MAX_NAMES: usize = 100;

pub(super) const WRITE_FILE: &str = r#"{
    "name":"write_file",
    "title":"Write a file",
    "description":"Writes a text file, replacing what was there. Its directory must exist.",
    "inputSchema":{"type":"object","properties":{
        "path":{"type":"string","description":"Relative to the first root, or absolute inside a root"},
        "content":{"type":"string","description":"The whole new content"}
    },"required":["path","content"],"additionalProperties":false},
    "annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}
}"#;

pub(super) const CREATE_DIRECTORY: &str = r#"{
    "name":"create_directory",
    "title":"Create a directory",
    "description":"Creates a directory, and the ones above it that are missing. One that exists already is fine.",
    "inputSchema":{"type":"object","properties":{
        "path":{"type":"string","description":"Relative to the first root, or absolute inside a root"}
    },"required":["path"],"additionalProperties":false},
    "annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
}"#;

pub(super) const MOVE_FILE: &str = r#"{
    "name":"move_file",
    "title":"Move a file",
    "description":"Moves or renames a file or directory. Nothing is replaced: there must be nothing at the destination.",
    "inputSchema":{"type":"object","properties":{
        "source":{"type":"string","description":"Relative to the first root, or absolute inside a root"},
        "destination":{"type":"string","description":"Its new path, its name included"}
    },"required":["source","destination"],"additionalProperties":false},
    "annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false}
}"#;

pub(super) const DELETE_FILE: &str = r#"{
    "name":"delete_file",
    "title":"Delete a file",
    "description":"Deletes a file, a link (not what it points to), or an empty directory. There is no way back.",
    "inputSchema":{"type":"object","properties":{
        "path":{"type":"string","description":"Relative to the first root, or absolute inside a root"}
    },"required":["path"],"additionalProperties":false},
    "annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteFile {
    path: String,
    content: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OnePath {
    path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MoveFile {
    source: String,
    destination: String,
}

/// Whether there was a file before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    New,
    Replaced,
}

pub(super) fn write_file(files: &Files, raw: &RawJson, cancelled: &Cancelled) -> Answer {
    let asked: WriteFile = arguments(raw)?;
    let place = files.place("path", 0, &asked.path)?;
    let _changing = files.change();
    cancelled.check()?;
    let what = match replace(&place, asked.content.as_bytes(), None)? {
        Written::New => "created",
        Written::Replaced => "replaced",
    };
    Ok(Outcome::text(&format!("{what} {}, {}", place.shown(), counted(asked.content.len() as u64, "byte"))))
}

pub(super) fn create_directory(files: &Files, raw: &RawJson, cancelled: &Cancelled) -> Answer {
    let asked: OnePath = arguments(raw)?;
    let place = files.place("path", 0, &asked.path)?;
    if place.relative().components().count() > MAX_NEW_DEPTH {
        let message = format!("{} is deeper than {}", place.shown(), counted(MAX_NEW_DEPTH as u64, "name"));
        return Err(Trouble::failed(message));
    }
    let _changing = files.change();
    cancelled.check()?;
    let mut path = PathBuf::new();
    let mut made = 0;
    for component in place.relative().components() {
        path.push(component);
        if !matches!(component, Component::Normal(_)) {
            continue;
        }
        let here = place.at(path.clone());
        let (parent, name) = here.parent()?;
        match mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => made += 1,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(here.explain(error)),
        }
    }
    // What exists may be something else.
    drop(place.open_directory()?);
    let what = if made == 0 { "there is already a directory" } else { "created" };
    Ok(Outcome::text(&format!("{what} {}", place.shown())))
}

pub(super) fn move_file(files: &Files, raw: &RawJson, cancelled: &Cancelled) -> Answer {
    let asked: MoveFile = arguments(raw)?;
    let source = files.place("source", 0, &asked.source)?;
    let destination = files.place("destination", 0, &asked.destination)?;
    let _changing = files.change();
    cancelled.check()?;
    let (old_parent, old_name) = source.parent()?;
    let (new_parent, new_name) = destination.parent()?;
    rename_to_nothing((&old_parent, old_name), (&new_parent, new_name)).map_err(|error| match error {
        Errno::NOENT => source.explain(error),
        Errno::XDEV => Trouble::failed(format!(
            "{} and {} are on different file systems; write it anew and delete the old one",
            source.shown(),
            destination.shown()
        )),
        Errno::INVAL => Trouble::failed(format!("{} cannot be moved into itself", source.shown())),
        other => destination.explain(other),
    })?;
    Ok(Outcome::text(&format!("moved {} to {}", source.shown(), destination.shown())))
}

pub(super) fn delete_file(files: &Files, raw: &RawJson, cancelled: &Cancelled) -> Answer {
    let asked: OnePath = arguments(raw)?;
    let place = files.place("path", 0, &asked.path)?;
    let _changing = files.change();
    cancelled.check()?;
    let (parent, name) = place.parent()?;
    let deleted = match unlinkat(&parent, name, AtFlags::empty()) {
        // Unlinking a directory is one error on Linux and the other elsewhere.
        Err(Errno::ISDIR | Errno::PERM) => unlinkat(&parent, name, AtFlags::REMOVEDIR),
        answer => answer,
    };
    deleted.map_err(|error| place.explain(error))?;
    Ok(Outcome::text(&format!("deleted {}", place.shown())))
}

/// Puts `content` where `place` is. With `before`, only if the file is still the one it was then.
pub(super) fn replace(place: &Place<'_>, content: &[u8], before: Option<&Stat>) -> Result<Written, Trouble> {
    let (parent, name) = place.parent()?;
    let existing = existing(place, &parent, name)?;
    if let Some(before) = before
        && existing.as_ref().is_none_or(|now| !is_same(before, now))
    {
        return Err(Trouble::failed(format!("{} was changed meanwhile; read it again", place.shown())));
    }
    let (temporary, file) = temporary(&parent).map_err(|error| place.explain(error))?;
    let finished = fill(place, file, content, existing.as_ref())
        .and_then(|()| renameat(&parent, &temporary, &parent, name).map_err(|error| place.explain(error)));
    if let Err(trouble) = finished {
        // It may be gone already; there is nothing else to do about it.
        let _ = unlinkat(&parent, &temporary, AtFlags::empty());
        return Err(trouble);
    }
    Ok(if existing.is_some() { Written::Replaced } else { Written::New })
}

/// The file that is there now, if it is one that may be written.
fn existing(place: &Place<'_>, parent: &OwnedFd, name: &OsStr) -> Result<Option<Stat>, Trouble> {
    let stat = match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(place.explain(error)),
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => {
            let message = format!("{} is a symbolic link; name the file it points to", place.shown());
            return Err(Trouble::failed(message));
        }
        kind => return Err(place.not_a_file(kind)),
    }
    // A file that may not be written could still be replaced; who protected it did not mean that.
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = openat(parent, name, flags, Mode::empty()).map_err(|error| place.explain(error))?;
    fstat(opened).map(Some).map_err(|error| place.explain(error))
}

/// A new file beside the one it will replace.
fn temporary(parent: &OwnedFd) -> Result<(OsString, File), Errno> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..MAX_NAMES {
        let name = OsString::from(format!(".helve-{}.tmp", COUNTER.fetch_add(1, Ordering::Relaxed)));
        match openat(parent, &name, flags, Mode::from_raw_mode(0o666)) {
            Ok(opened) => return Ok((name, File::from(opened))),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Errno::EXIST)
}

fn fill(place: &Place<'_>, mut file: File, content: &[u8], existing: Option<&Stat>) -> Result<(), Trouble> {
    if let Some(existing) = existing {
        // Before the content: it may be for few eyes.
        fchmod(&file, Mode::from_raw_mode(existing.st_mode)).map_err(|error| place.explain(error))?;
    }
    file.write_all(content).and_then(|()| file.sync_all()).map_err(|error| io(place, &error))
}

fn is_same(before: &Stat, now: &Stat) -> bool {
    let identity = |stat: &Stat| (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
    identity(before) == identity(now)
}

/// Renames only if nothing is there.
fn rename_to_nothing(old: (&OwnedFd, &OsStr), new: (&OwnedFd, &OsStr)) -> Result<(), Errno> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        match renameat_with(old.0, old.1, new.0, new.1, RenameFlags::NOREPLACE) {
            // Some file systems cannot; for them there is a look before.
            Err(Errno::NOSYS | Errno::INVAL | Errno::NOTSUP) => {}
            answer => return answer,
        }
    }
    match statat(new.0, new.1, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Err(Errno::EXIST),
        Err(Errno::NOENT) => renameat(old.0, old.1, new.0, new.1),
        Err(error) => Err(error),
    }
}
