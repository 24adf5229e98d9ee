//! Owns when a conformance run is good: every required scenario passes for a reason, expected failures still fail.
//!
//! The suite alone is too kind: it forgets the client's exit status, a client that does nothing passes `initialize`, and a
//! server may ignore every warning.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use xtask::CLIENT_DONE;

/// Client scenarios that a revision runs without scoring them, but that we hold ourselves to.
const ALSO_REQUIRED: &[&str] = &[
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/client-credentials-basic",
    "auth/client-credentials-jwt",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/enterprise-managed-authorization",
    "auth/wif-jwt-bearer",
    "json-schema-2020-12-preservation",
];

/// Length of `-2026-11-15T20-48-37-782Z`, which the suite puts behind a scenario's name.
const TIMESTAMP: usize = 25;

/// Which side is under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leg {
    Client,
    Server,
}

/// What a run is measured by.
#[derive(Debug)]
pub(crate) struct Demands<'a> {
    pub(crate) leg: Leg,
    /// The scenarios that count for the revision.
    pub(crate) scored: &'a [String],
    /// Those that may fail.
    pub(crate) expected: &'a [String],
}

/// What the suite wrote down about one scenario.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) checks: Vec<Check>,
    /// What a client said; servers say nothing here.
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
    /// The suite checks nothing, and nothing is demanded.
    Skipped,
    /// In the file of expected failures, but it passes.
    Stale,
    Failed(Vec<String>),
}

impl Verdict {
    pub(crate) fn is_good(&self) -> bool {
        match self {
            Self::Passed { .. } | Self::FailedAsExpected | Self::NotScored | Self::Skipped => true,
            Self::Stale | Self::Failed(_) => false,
        }
    }
}

/// Judges everything that ran and everything that should have run.
pub(crate) fn judge(demands: &Demands<'_>, records: &BTreeMap<String, Record>) -> BTreeMap<String, Verdict> {
    let nothing = Record::default();
    let names = records.keys().chain(demands.scored);
    names.map(|name| (name.clone(), demands.judge(name, records.get(name).unwrap_or(&nothing)))).collect()
}

/// Reads the suite's output directory: one folder per scenario, `/` in a scenario's name nests.
pub(crate) fn read(leg: Leg, directory: &Path) -> Result<BTreeMap<String, Record>> {
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
            let name = name.and_then(|name| name.strip_prefix(leg.folder_prefix()));
            let name =
                name.with_context(|| format!("{inside} is not {}<scenario>-<timestamp>", leg.folder_prefix()))?;
            let checks = fs_err::read(path.join("checks.json"))?;
            let mut record = Record {
                checks: serde_json::from_slice(&checks).with_context(|| format!("checks of {name}"))?,
                ..Record::default()
            };
            if leg == Leg::Client {
                record.stdout = fs_err::read_to_string(path.join("stdout.txt"))?;
                record.stderr = fs_err::read_to_string(path.join("stderr.txt"))?;
            }
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

impl Leg {
    /// The name of the suite's subcommand, and of the list in its files.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }

    /// What the suite puts before a scenario's name.
    fn folder_prefix(self) -> &'static str {
        match self {
            Self::Client => "",
            Self::Server => "server-",
        }
    }
}

impl fmt::Display for Leg {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.key())
    }
}

impl Demands<'_> {
    fn judge(&self, name: &str, record: &Record) -> Verdict {
        let required = self.scored.iter().any(|scored| scored == name) || ALSO_REQUIRED.contains(&name);
        let passed = complaints(record).is_empty() && !record.checks.is_empty();
        // Of our server everything is demanded, scored or not.
        let counts = required || self.leg == Leg::Server;
        if counts && self.expected.iter().any(|expected| expected == name) {
            return if passed { Verdict::Stale } else { Verdict::FailedAsExpected };
        }
        let checks = record.checks.iter().filter(|check| check.status == "SUCCESS").count();
        match (counts, passed) {
            (false, false) => Verdict::NotScored,
            (_, true) if checks == 0 && !required => Verdict::Skipped,
            (false, true) => Verdict::Passed { checks },
            (true, _) => self.required_to_pass(record, checks),
        }
    }

    fn required_to_pass(&self, record: &Record, checks: usize) -> Verdict {
        let mut complaints = complaints(record);
        if self.leg == Leg::Client && !record.stdout.lines().any(|line| line == CLIENT_DONE) {
            let last = record.stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
            complaints.push(format!("the client did not get to its end: {last}"));
        }
        if checks == 0 {
            complaints.push("not one check succeeded".to_owned());
        }
        if complaints.is_empty() { Verdict::Passed { checks } } else { Verdict::Failed(complaints) }
    }
}

fn complaints(record: &Record) -> Vec<String> {
    let bad = record.checks.iter().filter(|check| matches!(check.status.as_str(), "FAILURE" | "WARNING"));
    bad.map(|check| format!("{}: {}", check.id, check.error.as_deref().unwrap_or("failed"))).collect()
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
