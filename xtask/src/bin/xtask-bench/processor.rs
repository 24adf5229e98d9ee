//! Owns what this process knows about processor time: its own, and that of children it has waited for, from the kernel; and on
//! which processors it runs.

use anyhow::{Context, Result};
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// The kernel counts processor time in hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;

/// Seconds this process has used, its children not counted.
pub(crate) fn own() -> Result<f64> {
    read("/proc/self/stat", 11)
}

/// Seconds another process has used, its children not counted.
pub(crate) fn of(process: u32) -> Result<f64> {
    read(&format!("/proc/{process}/stat"), 11)
}

/// Seconds the children that were waited for have used.
pub(crate) fn of_children() -> Result<f64> {
    read("/proc/self/stat", 13)
}

/// One processor for this thread and for what it starts, until it is dropped. Two who wake each other by turns cost what they do
/// there; on two processors they cost what a wake-up from one to the other happens to cost, however little they do.
#[derive(Debug)]
pub(crate) struct OneProcessor(CpuSet);

impl OneProcessor {
    pub(crate) fn take() -> Result<Self> {
        let all = sched_getaffinity(None).context("the kernel does not say on which processors this runs")?;
        let mut one = CpuSet::new();
        one.set(sched_getcpu());
        sched_setaffinity(None, &one).context("this thread cannot be kept on one processor")?;
        Ok(Self(all))
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.0);
    }
}

fn read(file: &str, field: usize) -> Result<f64> {
    let stat = fs_err::read_to_string(file)?;
    seconds_in(&stat, field).context("the kernel does not say what processes cost")
}

/// Two fields, the first of which comes so many after the name: user and system time. The name is in parentheses and
/// may contain anything.
fn seconds_in(stat: &str, field: usize) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(field);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_processes_cost_is_read() {
        let stat = "77 (a) b) S 1 77 77 0 -1 4194304 1 2 3 4 10 20 150 50 20 0 1 0 9 9 9";
        assert_eq!(seconds_in(stat, 11), Some(0.3));
        assert_eq!(seconds_in(stat, 13), Some(2.0));
        assert_eq!(seconds_in("77 (a", 11), None);
    }
}
