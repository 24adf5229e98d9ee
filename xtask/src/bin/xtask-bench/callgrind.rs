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
}

/// Counts one small call of the job's subject.
pub(crate) fn count_echo(job: &Job) -> Result<Counts> {
    let all = count(&Job { work: Work::Echo { calls: CALLS }, ..job.clone() })?;
    Ok(Counts { instructions: all.instructions / CALLS as f64, allocations: all.allocations / CALLS as f64 })
}

/// Counts one small call over HTTP.
pub(crate) fn count_http(job: &Job) -> Result<Counts> {
    let all = count(&Job { work: Work::Http { calls: CALLS }, ..job.clone() })?;
    Ok(Counts { instructions: all.instructions / CALLS as f64, allocations: all.allocations / CALLS as f64 })
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

/// Reads a profile: the total, and how often anything called the allocator.
fn parse(profile: &str) -> Result<Counts> {
    const ALLOCATORS: &[&str] = &["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"];
    let mut allocator_ids = Vec::new();
    let mut calls_allocator = false;
    let mut allocations = 0.0;
    let mut instructions = None;
    for line in profile.lines() {
        if let Some(function) = line.strip_prefix("cfn=").or_else(|| line.strip_prefix("fn=")) {
            // A name is spelled out where its number first occurs: `cfn=(12) malloc`, later `cfn=(12)`.
            let (id, name) = function.split_once(' ').unwrap_or((function, ""));
            if ALLOCATORS.contains(&name) {
                allocator_ids.push(id.to_owned());
            }
            calls_allocator = line.starts_with("cfn=") && allocator_ids.iter().any(|known| known == id);
        } else if let Some(calls) = line.strip_prefix("calls=") {
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
    Ok(Counts { instructions: instructions.context("the profile has no total")?, allocations })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_read() {
        let profile = "version: 1\nfl=(1) a.rs\nfn=(1) main\n1 10\ncfi=(2) libc\ncfn=(2) malloc\ncalls=3 0\n1 300\ncfn=(3) free\ncalls=9 0\n1 5\n\
            fn=(4) other\ncfn=(2)\ncalls=2 0\n1 20\ncfn=(5) realloc\ncalls=1 7\n\nfn=(2)\n0 55\ntotals: 12345\n";
        assert_eq!(parse(profile).unwrap(), Counts { instructions: 12345.0, allocations: 6.0 });
    }

    #[test]
    fn a_profile_without_an_allocator_is_refused() {
        assert!(parse("fn=(1) main\ntotals: 1\n").is_err());
    }
}
