//! Which processes are in the tree, read from `/proc`.
//!
//! A list is out of date as soon as it is read: processes start and end meanwhile. Whoever uses it asks again until
//! the kernel says that no child is left.

use std::path::Path;

use rustix::process::{Pid, getpid};

/// All descendants of this process, parents before their children.
pub(super) fn descendants() -> Vec<Pid> {
    breadth_first(getpid(), reader())
}

/// All descendants of another process.
pub(super) fn descendants_of(process: Pid) -> Vec<Pid> {
    breadth_first(process, reader())
}

/// The children of this process.
pub(super) fn direct_children() -> Vec<Pid> {
    reader()(getpid())
}

/// The way to read children that this kernel offers.
fn reader() -> Box<dyn Fn(Pid) -> Vec<Pid>> {
    if Path::new("/proc/thread-self/children").exists() { Box::new(by_lists) } else { Box::new(by_parents()) }
}

fn breadth_first(root: Pid, children: impl Fn(Pid) -> Vec<Pid>) -> Vec<Pid> {
    let mut found = children(root);
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        for child in children(parent) {
            // Numbers read at different times may lie; a circle must not hang us.
            if child != root && !found.contains(&child) {
                found.push(child);
            }
        }
    }
    found
}

/// Every thread lists the children it started, if the kernel was built for that (`CONFIG_PROC_CHILDREN`).
#[expect(clippy::disallowed_methods, reason = "nobody is shown these errors: they mean that the process is gone")]
fn by_lists(parent: Pid) -> Vec<Pid> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{parent}/task")) else { return Vec::new() };
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("children")).ok());
    lists.flat_map(|list| list.split_ascii_whitespace().filter_map(parse).collect::<Vec<_>>()).collect()
}

/// Every process names its parent. Slower, since all processes of the machine have to be asked.
fn by_parents() -> impl Fn(Pid) -> Vec<Pid> {
    let parents = parents();
    move |parent| parents.iter().filter(|(_, its)| *its == parent).map(|(process, _)| *process).collect()
}

/// Every process with its parent.
#[expect(clippy::disallowed_methods, reason = "nobody is shown these errors: they mean that the process is gone")]
fn parents() -> Vec<(Pid, Pid)> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let process = parse(path.file_name()?.to_str()?)?;
            Some((process, parent(&path)?))
        })
        .collect()
}

#[expect(clippy::disallowed_methods, reason = "nobody is shown these errors: they mean that the process is gone")]
fn parent(process: &Path) -> Option<Pid> {
    let stat = std::fs::read(process.join("stat")).ok()?;
    // `number (name) state parent …`, and a name may hold anything, parentheses too.
    let behind_name = stat.rsplit(|byte| *byte == b')').next()?;
    parse(str::from_utf8(behind_name).ok()?.split_ascii_whitespace().nth(1)?)
}

fn parse(number: &str) -> Option<Pid> {
    Pid::from_raw(number.parse().ok()?)
}

#[cfg(test)]
#[path = "descendants_tests.rs"]
mod tests;
