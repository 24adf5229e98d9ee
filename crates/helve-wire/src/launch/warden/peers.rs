//! Whether a process that holds a socket runs in a sandbox of a warden's: asked by programs that listen on this machine, which a
//! confined server must not use to do by others what it may not do itself.
//!
//! A descendant of a warden stays one: whoever loses a parent becomes the warden's child. So the wardens are found by their
//! name, their descendants by the system's lists, and the socket among what those have open. What a process hides from its
//! own user's other programs counts against it, if nobody else is found who holds the socket.

use std::path::Path;

use rustix::process::Pid;

use super::CONFINING_NAME;
use super::descendants::descendants_of;

/// How many processes of the machine are looked at for wardens.
const MAX_PROCESSES: usize = 65_536;
/// How many open files of one process are looked at; as many as a process usually may have.
const MAX_DESCRIPTORS: usize = 65_536;

/// True when the socket with this inode is held by a process that runs confined below a warden, of whichever host. Reads the
/// list of processes, which takes a few microseconds for each; may block.
#[must_use]
pub fn confines_holder_of(socket: u64) -> bool {
    let name = format!("socket:[{socket}]");
    let processes = processes();
    let wardens: Vec<Pid> = processes.iter().copied().filter(|process| is_confining(*process)).collect();
    let confined: Vec<Pid> = wardens.into_iter().flat_map(descendants_of).collect();
    let mut one_is_hidden = false;
    for process in &confined {
        match holds(*process, &name) {
            Some(true) => return true,
            Some(false) => {}
            None => one_is_hidden = true,
        }
    }
    let is_held_by_another = || {
        processes.iter().filter(|process| !confined.contains(process)).any(|other| holds(*other, &name) == Some(true))
    };
    one_is_hidden && !is_held_by_another()
}

#[expect(clippy::disallowed_methods, reason = "nobody is shown these errors: they mean that the process is gone")]
fn processes() -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let number = |name: std::ffi::OsString| Pid::from_raw(name.to_str()?.parse().ok()?);
    entries.flatten().filter_map(|entry| number(entry.file_name())).take(MAX_PROCESSES).collect()
}

#[expect(clippy::disallowed_methods, reason = "nobody is shown these errors: they mean that the process is gone")]
fn is_confining(process: Pid) -> bool {
    std::fs::read(format!("/proc/{process}/comm"))
        .is_ok_and(|name| name.strip_suffix(b"\n").unwrap_or(&name) == CONFINING_NAME.to_bytes())
}

/// Whether a process holds the socket of this name; `None` when it does not let itself be looked at.
#[expect(clippy::disallowed_methods, reason = "nobody is shown these errors: they are the answer")]
fn holds(process: Pid, name: &str) -> Option<bool> {
    let entries = match std::fs::read_dir(format!("/proc/{process}/fd")) {
        Ok(entries) => entries,
        // Gone, or about to be.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(false),
        Err(_) => return None,
    };
    let leads_there = |path: &Path| std::fs::read_link(path).is_ok_and(|target| target.as_os_str() == name);
    Some(entries.flatten().take(MAX_DESCRIPTORS).any(|entry| leads_there(&entry.path())))
}
