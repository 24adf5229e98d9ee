//! Owns counting: instructions and allocations of one call, by running many under callgrind, from the first warm one to the last.
//!
//! Counts repeat within a fraction of a percent on any machine, so they are what gates. What a start takes is not the same each
//! time (hashes have seeds, heaps have holes), so it is left out, and so is the end.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::job::{Job, Work};

const CALLS: usize = 5_000;

/// Called where counting begins: callgrind knows the function by its name.
#[inline(never)]
pub(crate) fn begin() {
    std::hint::black_box("begin");
}

/// Called where it ends.
#[inline(never)]
pub(crate) fn end() {
    std::hint::black_box("end");
}

/// What a process did in all, or in one call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Counts {
    pub(crate) instructions: f64,
    pub(crate) allocations: f64,
    /// Instructions from where the gateway's gate is entered to where it is left, with all that it calls.
    pub(crate) gate: f64,
}

impl Counts {
    /// What each of all calls took.
    fn of_one(self) -> Self {
        let of_one = |count: f64| count / CALLS as f64;
        Self { instructions: of_one(self.instructions), allocations: of_one(self.allocations), gate: of_one(self.gate) }
    }
}

/// How the functions of the gateway's gate begin.
const GATE: &str = "helve_serve::gate::";

/// Counts one small call of the job's subject.
pub(crate) fn count_echo(job: &Job) -> Result<Counts> {
    Ok(count(&Job { work: Work::Echo { calls: CALLS }, ..job.clone() })?.of_one())
}

/// Counts one small call over HTTP.
pub(crate) fn count_http(job: &Job) -> Result<Counts> {
    Ok(count(&Job { work: Work::Http { calls: CALLS }, ..job.clone() })?.of_one())
}

fn count(job: &Job) -> Result<Counts> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("profile");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--compress-pos=no"])
        .args(["--zero-before=xtask_bench::callgrind::begin*", "--dump-before=xtask_bench::callgrind::end*"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(std::env::current_exe()?)
        .arg("child")
        .arg(serde_json::to_string(job)?)
        .stdin(Stdio::null())
        .output()
        .context("cannot start valgrind\nhint: apt-get install valgrind")?;
    if !output.status.success() {
        bail!("the child failed under valgrind: {}", String::from_utf8_lossy(&output.stderr));
    }
    // The first is what was written at the end of counting, the last what was done after it.
    parse(&fs_err::read_to_string(file.with_extension("1"))?)
}

/// Reads a profile: the total, how often anything called the allocator, and what the gate took when others called it.
fn parse(profile: &str) -> Result<Counts> {
    const ALLOCATORS: &[&str] = &["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"];
    let mut allocator_ids = Vec::new();
    let mut calls_allocator = false;
    let mut allocations = 0.0;
    let mut gate_ids = Vec::new();
    let (mut is_in_gate, mut enters_gate, mut costs_gate) = (false, false, false);
    let mut gate = 0.0;
    let mut instructions = None;
    for line in profile.lines() {
        // The line behind `calls=` has what the calls took in all.
        if std::mem::take(&mut costs_gate) {
            let cost: f64 = line.rsplit(' ').next().unwrap_or_default().parse()?;
            gate += cost;
        }
        if let Some(function) = line.strip_prefix("cfn=").or_else(|| line.strip_prefix("fn=")) {
            // A name is spelled out where its number first occurs: `cfn=(12) malloc`, later `cfn=(12)`.
            let (id, name) = function.split_once(' ').unwrap_or((function, ""));
            if ALLOCATORS.contains(&name) {
                allocator_ids.push(id.to_owned());
            }
            if name.starts_with(GATE) {
                gate_ids.push(id.to_owned());
            }
            let (is_call, is_gate) = (line.starts_with("cfn="), gate_ids.iter().any(|known| known == id));
            calls_allocator = is_call && allocator_ids.iter().any(|known| known == id);
            if is_call {
                enters_gate = is_gate && !is_in_gate;
            } else {
                is_in_gate = is_gate;
            }
        } else if let Some(calls) = line.strip_prefix("calls=") {
            costs_gate = enters_gate;
            if calls_allocator {
                let count: f64 = calls.split(' ').next().unwrap_or_default().parse()?;
                allocations += count;
            }
        } else if let Some(total) = line.strip_prefix("totals: ").or_else(|| line.strip_prefix("summary: ")) {
            instructions = Some(total.trim().parse::<f64>()?);
        }
    }
    if allocator_ids.is_empty() {
        bail!("the profile names no allocator: was the program linked statically?");
    }
    Ok(Counts { instructions: instructions.context("the profile has no total")?, allocations, gate })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_read() {
        let profile = "version: 1\nfl=(1) a.rs\nfn=(1) main\n1 10\ncfi=(2) libc\ncfn=(2) malloc\ncalls=3 0\n1 300\ncfn=(3) free\ncalls=9 0\n1 5\n\
            fn=(4) other\ncfn=(2)\ncalls=2 0\n1 20\ncfn=(5) realloc\ncalls=1 7\n\nfn=(2)\n0 55\ntotals: 12345\n";
        assert_eq!(parse(profile).unwrap(), Counts { instructions: 12345.0, allocations: 6.0, gate: 0.0 });
    }

    /// What the gate calls of its own is in what it took already.
    #[test]
    fn what_the_gate_takes_is_counted_where_it_is_entered() {
        let profile = "fn=(1) main\n1 10\ncfn=(2) malloc\ncalls=1 0\n1 3\ncfn=(3) helve_serve::gate::read\ncalls=2 0\n1 700\n\
            fn=(3)\n1 500\ncfn=(4) helve_serve::gate::request::read\ncalls=2 0\n1 200\n\nfn=(5) other\ncfn=(4)\ncalls=1 9\n7 30\ntotals: 999\n";
        assert_eq!(parse(profile).unwrap().gate, 730.0);
    }

    #[test]
    fn a_profile_without_an_allocator_is_refused() {
        assert!(parse("fn=(1) main\ntotals: 1\n").is_err());
    }
}
