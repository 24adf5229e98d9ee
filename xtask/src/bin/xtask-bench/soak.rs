//! Owns the long runs: what may not grow when something is done ten thousand times, or when a peer never stops sending.

mod cycles;
pub(crate) mod host;
mod oversized;
pub(crate) mod programs;

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::job::Subject;
use crate::memory;
use crate::subject::{Server, with_http, with_stdio};

/// A run to make.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Soak {
    /// Connect, call, close, this often.
    Cycles(usize),
    /// A call whose answer is one line of this many bytes.
    Line(u64),
    /// A call whose answer is an HTTP body of this many bytes.
    Body(u64),
}

/// Makes one run and says what was seen; a leak is an error.
pub(crate) fn run(soak: Soak, subject: Subject, server: PathBuf) -> Result<String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let program = server.clone();
    let server = Server::stdio(server);
    runtime.block_on(async move {
        match soak {
            Soak::Cycles(count) => with_stdio(subject, cycles::Cycles { server, count }).await,
            Soak::Line(bytes) => with_stdio(subject, oversized::Line { server, bytes }).await,
            Soak::Body(bytes) => with_http(subject, oversized::Body { program, bytes }).await,
        }
    })
}

/// What a process can leak.
#[derive(Debug, Clone, Copy)]
struct Holdings {
    descriptors: usize,
    children: usize,
    tasks: usize,
    resident: f64,
}

impl Holdings {
    fn now() -> Result<Self> {
        let descriptors = fs_err::read_dir("/proc/self/fd")?.count();
        let mut children = 0;
        for thread in fs_err::read_dir("/proc/self/task")? {
            // A thread may end between the listing and the reading.
            let listed = fs_err::read_to_string(thread?.path().join("children")).unwrap_or_default();
            children += listed.split_whitespace().count();
        }
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        Ok(Self { descriptors, children, tasks, resident: memory::resident()? })
    }

    /// Compares with what was held `before`.
    fn check(self, before: Self, memory_allowance: f64) -> Result<String> {
        let grown = self.resident - before.resident;
        let seen = format!(
            "descriptors {} -> {}, children {} -> {}, tasks {} -> {}, memory +{:.1} MB",
            before.descriptors,
            self.descriptors,
            before.children,
            self.children,
            before.tasks,
            self.tasks,
            grown / 1e6
        );
        let leaked = self.descriptors > before.descriptors
            || self.children > before.children
            || self.tasks > before.tasks
            || grown > memory_allowance;
        if leaked {
            bail!("something was left behind: {seen}");
        }
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leak_of_each_kind_is_seen() {
        let before = Holdings { descriptors: 10, children: 1, tasks: 2, resident: 50e6 };
        let after = Holdings { resident: 51e6, ..before };
        insta::assert_snapshot!(after.check(before, 8e6).unwrap(), @"descriptors 10 -> 10, children 1 -> 1, tasks 2 -> 2, memory +1.0 MB");
        for leaked in [
            Holdings { descriptors: 11, ..after },
            Holdings { children: 2, ..after },
            Holdings { tasks: 3, ..after },
            Holdings { resident: 60e6, ..after },
        ] {
            assert!(leaked.check(before, 8e6).is_err(), "{leaked:?}");
        }
    }
}
