//! Owns when a conformance run is good: every required scenario passes for a reason, expected failures still fail.
//!
//! The suite alone is too kind: it forgets the client's exit status, and a client that does nothing passes `initialize`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use xtask::CLIENT_DONE;

/// Scenarios that a revision runs without scoring them, but that we hold ourselves to.
const ALSO_REQUIRED: &[&str] = &["json-schema-2020-12-preservation"];

/// Length of `-2026-11-15T20-48-37-782Z`, which the suite puts behind a scenario's name.
const TIMESTAMP: usize = 25;

/// What the suite wrote down about one scenario.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) checks: Vec<Check>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Check {
    pub(crate) id: String,
    pub(crate) status: String,
    #[serde(rename = "errorMessage")]
    pub(crate) error: Option<String>,
}

/// How one scenario counts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed {
        checks: usize,
    },
    FailedAsExpected,
    /// Failed, optional and not ours.
    NotScored,
    /// In the file of expected failures, but it passes.
    Stale,
    Failed(Vec<String>),
}

impl Verdict {
    pub(crate) fn is_good(&self) -> bool {
        match self {
            Self::Passed { .. } | Self::FailedAsExpected | Self::NotScored => true,
            Self::Stale | Self::Failed(_) => false,
        }
    }
}

/// Judges everything that ran and everything that should have run.
pub(crate) fn judge(
    scored: &[String],
    expected: &[String],
    records: &BTreeMap<String, Record>,
) -> BTreeMap<String, Verdict> {
    let nothing = Record::default();
    let required = |name: &str| scored.iter().any(|scored| scored == name) || ALSO_REQUIRED.contains(&name);
    let names = records.keys().chain(scored);
    names
        .map(|name| {
            let record = records.get(name).unwrap_or(&nothing);
            let verdict = match (required(name), expected.contains(name)) {
                (false, _) => optional(record),
                (true, true) => expected_to_fail(record),
                (true, false) => required_to_pass(record),
            };
            (name.clone(), verdict)
        })
        .collect()
}

/// Reads the suite's output directory: one folder per scenario, `/` in a scenario's name nests.
pub(crate) fn read(directory: &Path) -> Result<BTreeMap<String, Record>> {
    let mut records = BTreeMap::new();
    let mut folders = vec![directory.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs_err::read_dir(&folder)? {
            let path = entry?.path();
            if !path.is_dir() {
                continue;
            }
            if !path.join("checks.json").exists() {
                folders.push(path);
                continue;
            }
            let inside = path.strip_prefix(directory)?.to_string_lossy().into_owned();
            let name = inside.len().checked_sub(TIMESTAMP).and_then(|end| inside.get(..end));
            let name = name.with_context(|| format!("{inside} is not <scenario>-<timestamp>"))?;
            let checks = fs_err::read(path.join("checks.json"))?;
            let record = Record {
                checks: serde_json::from_slice(&checks).with_context(|| format!("checks of {name}"))?,
                stdout: fs_err::read_to_string(path.join("stdout.txt"))?,
                stderr: fs_err::read_to_string(path.join("stderr.txt"))?,
            };
            records.insert(name.to_owned(), record);
        }
    }
    Ok(records)
}

/// The entries of the list `key` in a YAML file of plain lists, as the suite writes and takes them.
pub(crate) fn list(yaml: &str, key: &str) -> Vec<String> {
    let mut inside = false;
    let mut entries = Vec::new();
    for line in yaml.lines() {
        let line = line.split(" #").next().unwrap_or_default().trim_end();
        if let Some(entry) = line.strip_prefix("  - ") {
            if inside {
                entries.push(entry.trim().to_owned());
            }
        } else if !line.is_empty() && !line.starts_with(['#', ' ']) {
            inside = line == format!("{key}:");
        }
    }
    entries
}

fn optional(record: &Record) -> Verdict {
    if complaints(record).is_empty() { passed(record) } else { Verdict::NotScored }
}

fn expected_to_fail(record: &Record) -> Verdict {
    if complaints(record).is_empty() && !record.checks.is_empty() { Verdict::Stale } else { Verdict::FailedAsExpected }
}

fn required_to_pass(record: &Record) -> Verdict {
    let mut complaints = complaints(record);
    if !record.stdout.lines().any(|line| line == CLIENT_DONE) {
        let last = record.stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        complaints.push(format!("the client did not get to its end: {last}"));
    }
    match passed(record) {
        Verdict::Passed { checks: 0 } => complaints.push("not one check succeeded".to_owned()),
        verdict if complaints.is_empty() => return verdict,
        _ => {}
    }
    Verdict::Failed(complaints)
}

fn passed(record: &Record) -> Verdict {
    Verdict::Passed { checks: record.checks.iter().filter(|check| check.status == "SUCCESS").count() }
}

fn complaints(record: &Record) -> Vec<String> {
    let bad = record.checks.iter().filter(|check| matches!(check.status.as_str(), "FAILURE" | "WARNING"));
    bad.map(|check| format!("{}: {}", check.id, check.error.as_deref().unwrap_or("failed"))).collect()
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
