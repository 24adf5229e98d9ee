//! Owns the suite as a program: which version, how it is installed, how it is run and what it leaves behind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::Go;
use super::verdict::{self, Leg, Record};
use crate::install::{Pin, npm};
use crate::programs::interop_directory;

/// The suite and the Node it needs; the suite's `latest` tag knows only the older era.
const SUITE: &[Pin] = &[("@modelcontextprotocol/conformance", "0.2.0-alpha.12"), ("node", "22.23.3")];

/// Scenarios that the suite has but puts into no revision's set, with the revision they are written for.
const BEYOND: &[(Leg, &str, &str)] = &[
    (Leg::Server, "2026-07-28", "sep-2640-skills-directory"),
    (Leg::Server, "2026-07-28", "sep-2640-skills-enumeration"),
    (Leg::Server, "2026-07-28", "sep-2640-skills-manifest"),
    (Leg::Client, "2026-07-28", "auth/client-credentials-basic"),
    (Leg::Client, "2026-07-28", "auth/client-credentials-jwt"),
    (Leg::Client, "2026-07-28", "auth/dpop"),
    (Leg::Client, "2026-07-28", "auth/dpop-nonce"),
    (Leg::Client, "2026-07-28", "auth/enterprise-managed-authorization"),
    (Leg::Client, "2026-07-28", "auth/wif-jwt-bearer"),
    (Leg::Client, "2025-11-25", "auth/2025-03-26-oauth-endpoint-fallback"),
    (Leg::Client, "2025-11-25", "auth/2025-03-26-oauth-metadata-backcompat"),
];

/// The installed suite.
pub(super) struct Suite {
    directory: PathBuf,
    modules: PathBuf,
}

impl Suite {
    pub(super) fn install(root: &Path) -> Result<Self> {
        let directory = interop_directory(root)?.join("conformance");
        let modules = npm(&directory, SUITE)?;
        Ok(Self { directory, modules })
    }

    /// The scenarios that count for a revision, from the requirements the suite ships.
    pub(super) fn scored(&self, leg: Leg, revision: &str) -> Result<Vec<String>> {
        let path = self.package().join("requirements").join(format!("{revision}.yaml"));
        let scored = verdict::list(&fs_err::read_to_string(&path)?, leg.key());
        if scored.is_empty() {
            bail!("{} lists no {leg} scenarios: the suite's format has changed", path.display());
        }
        Ok(scored)
    }

    /// Runs all scenarios of one revision. Also says whether the suite itself was content.
    pub(super) fn run(&self, leg: Leg, go: &Go<'_>, baseline: &Path) -> Result<(BTreeMap<String, Record>, bool)> {
        let label = go.label.replace(", ", "-").replace(' ', "-");
        let results = self.directory.join(format!("results-{label}-{}", go.revision));
        if results.exists() {
            fs_err::remove_dir_all(&results)?;
        }
        fs_err::create_dir_all(&results)?;
        let mut node = self.node(leg, go, &results);
        node.args(["--requirements", go.revision]);
        if baseline.exists() {
            node.arg("--expected-failures").arg(baseline);
        }
        let content = finish(node, &results.join("suite.log"))?;
        if verdict::read(leg, &results)?.is_empty() {
            bail!("the suite ran nothing at {}: see {}", go.revision, results.join("suite.log").display());
        }
        for (_, _, scenario) in BEYOND.iter().filter(|(of, at, _)| *of == leg && *at == go.revision) {
            let mut node = self.node(leg, go, &results);
            node.args(["--scenario", scenario]);
            // Whether it went well is read from what it leaves behind.
            finish(node, &results.join(format!("{scenario}.log")))?;
        }
        Ok((verdict::read(leg, &results)?, content))
    }

    fn node(&self, leg: Leg, go: &Go<'_>, results: &Path) -> Command {
        let mut node = Command::new(self.modules.join("node/bin/node"));
        node.arg(self.package().join("dist/index.js")).arg(leg.key()).args(go.aim);
        node.arg("--output-dir").arg(results).stdin(Stdio::null());
        node
    }

    fn package(&self) -> PathBuf {
        self.modules.join("@modelcontextprotocol/conformance")
    }
}

/// Runs to the end, keeps everything said in `log`, and tells whether it was content.
fn finish(mut node: Command, log: &Path) -> Result<bool> {
    let output =
        node.output().context("cannot start the suite's own node\nhint: remove target/interop and try again")?;
    fs_err::write(log, [output.stdout.as_slice(), output.stderr.as_slice()].concat())?;
    Ok(output.status.success())
}
