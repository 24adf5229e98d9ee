//! Owns looking at processes from outside, on Linux: who descends from whom, who lives, what they hold.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How often a condition on processes is looked at: the kernel tells nobody when a stranger's process ends.
const POLL: Duration = Duration::from_millis(2);

/// All living descendants of a process by parentage, nearest first. A process that was given to another parent is not among
/// them.
pub fn descendants_of(pid: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (child, status) in all_processes() {
        if status.state != 'Z' {
            children.entry(status.parent).or_default().push(child);
        }
    }
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        found.extend(children.get(parent).cloned().unwrap_or_default());
        next += 1;
    }
    found.split_off(1)
}

/// Whether the process exists and is not a zombie.
pub fn alive(pid: u32) -> bool {
    status_of(pid).is_some_and(|status| status.state != 'Z')
}

/// Waits until none of these processes lives; returns those that still do at the deadline.
pub async fn wait_until_dead(pids: &[u32], deadline: Duration) -> Vec<u32> {
    let end = Instant::now() + deadline;
    loop {
        let living: Vec<u32> = pids.iter().copied().filter(|pid| alive(*pid)).collect();
        if living.is_empty() || Instant::now() >= end {
            return living;
        }
        tokio::time::sleep(POLL).await;
    }
}

/// How many file descriptors the process has open.
pub fn open_fds(pid: u32) -> std::io::Result<usize> {
    Ok(fs_err::read_dir(format!("/proc/{pid}/fd"))?.count())
}

/// How much memory the process has in use now.
pub fn rss_bytes(pid: u32) -> std::io::Result<u64> {
    memory(pid, "VmRSS:")
}

/// The most memory the process has had in use.
pub fn peak_rss_bytes(pid: u32) -> std::io::Result<u64> {
    memory(pid, "VmHWM:")
}

/// How many threads the process has.
pub fn threads(pid: u32) -> std::io::Result<usize> {
    Ok(fs_err::read_dir(format!("/proc/{pid}/task"))?.count())
}

fn memory(pid: u32, field: &str) -> std::io::Result<u64> {
    let text = fs_err::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    let kilobytes = kilobytes.ok_or_else(|| std::io::Error::other(format!("no {field} for process {pid}")))?;
    Ok(kilobytes * 1024)
}

struct Status {
    state: char,
    parent: u32,
}

fn all_processes() -> Vec<(u32, Status)> {
    let Ok(entries) = fs_err::read_dir("/proc") else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    names.filter_map(|pid| Some((pid, status_of(pid)?))).collect()
}

fn status_of(pid: u32) -> Option<Status> {
    let text = fs_err::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain anything, blanks and brackets too; what follows its last bracket may not.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    Some(Status { state: fields.next()?.chars().next()?, parent: fields.next()?.parse().ok()? })
}
