//! Owns the dependency rules: who reaches whom, from `cargo metadata`, held against the table of absences.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::Finding;
use crate::layers::{DEVELOPMENT_ONLY, KEPT_TO, LAYERS};

/// The packages of the workspace and everything behind them.
#[derive(Debug, Deserialize)]
pub(super) struct Graph {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    resolve: Resolve,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    id: String,
    manifest_path: PathBuf,
    dependencies: Vec<Declared>,
}

#[derive(Debug, Deserialize)]
struct Declared {
    name: String,
    kind: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Debug, Deserialize)]
struct EdgeKind {
    kind: Option<String>,
}

impl Graph {
    /// Asks cargo, for this machine's platform only: a table about what is linked needs no Windows packages.
    pub(super) fn of_workspace(root: &Path) -> Result<Self> {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--filter-platform", "host-tuple"])
            .current_dir(root)
            .output()
            .context("cannot run cargo metadata")?;
        if !output.status.success() {
            bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Self::from_json(&output.stdout)
    }

    pub(super) fn from_json(json: &[u8]) -> Result<Self> {
        serde_json::from_slice(json).context("cargo metadata answered something unexpected")
    }

    pub(super) fn check(&self, root: &Path, findings: &mut Vec<Finding>) {
        for member in self.members() {
            let manifest = relative(root, &member.manifest_path);
            check_folder(member, &manifest, findings);
            self.check_row(member, &manifest, findings);
            check_declared(member, &manifest, findings);
        }
    }

    fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    fn check_row(&self, member: &Package, manifest: &Path, findings: &mut Vec<Finding>) {
        let Some(layer) = LAYERS.iter().find(|layer| layer.name == member.name) else {
            if manifest.starts_with("crates") {
                findings.push(Finding::new(
                    manifest,
                    format!("{} has no row in the table of absences", member.name),
                    "add one line to LAYERS in xtask/src/layers.rs saying what this crate never contains, \
                     or make it a module of the crate it belongs to",
                ));
            }
            return;
        };
        let paths = self.shortest_paths(member);
        for forbidden in layer.must_not_reach.iter().flat_map(|group| group.iter()) {
            if let Some(path) = paths.get(*forbidden) {
                findings.push(Finding::new(
                    manifest,
                    format!("{} must not reach {forbidden} ({})", layer.name, path.join(" -> ")),
                    format!("{} never contains {}: drop the dependency or move the code", layer.name, layer.absence),
                ));
            }
        }
    }

    /// Every package that ends up in `member` when it is built as a dependency, with the way there.
    fn shortest_paths<'graph>(&'graph self, member: &'graph Package) -> BTreeMap<&'graph str, Vec<&'graph str>> {
        let from = member.id.as_str();
        let names: BTreeMap<&str, &str> =
            self.packages.iter().map(|package| (package.id.as_str(), package.name.as_str())).collect();
        let nodes: BTreeMap<&str, &Node> = self.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
        let mut seen = BTreeSet::from([from]);
        let mut queue: VecDeque<(&str, Vec<&str>)> = VecDeque::from([(from, Vec::new())]);
        let mut found = BTreeMap::new();
        while let Some((id, mut way)) = queue.pop_front() {
            let name = names.get(id).copied().unwrap_or(id);
            way.push(name);
            if id != from {
                found.entry(name).or_insert_with(|| way.clone());
            }
            let edges = nodes.get(id).map_or(&[][..], |node| node.deps.as_slice());
            for edge in edges.iter().filter(|edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none())) {
                if seen.insert(&edge.pkg) {
                    queue.push_back((&edge.pkg, way.clone()));
                }
            }
        }
        found
    }
}

fn check_folder(member: &Package, manifest: &Path, findings: &mut Vec<Finding>) {
    let folder = manifest.parent().and_then(Path::file_name).unwrap_or_default();
    // A binding is called after its language.
    let is_binding =
        manifest.starts_with("bindings") && member.name.strip_prefix("helve-").is_some_and(|name| folder == name);
    if folder != member.name.as_str() && !is_binding {
        findings.push(Finding::new(
            manifest,
            format!("the folder {} holds the package {}", folder.display(), member.name),
            "name the folder like the package",
        ));
    }
}

/// Rules about what a manifest may name, whatever the section.
fn check_declared(member: &Package, manifest: &Path, findings: &mut Vec<Finding>) {
    for declared in &member.dependencies {
        for rule in KEPT_TO {
            if declared.name == rule.dependency && !rule.packages.contains(&member.name.as_str()) {
                findings.push(Finding::new(
                    manifest,
                    format!("{} must not depend on {}", member.name, rule.dependency),
                    format!("{}: only {} may name it", rule.because, rule.packages.join(" and ")),
                ));
            }
        }
        let in_product = declared.kind.is_none() && manifest.starts_with("crates");
        if in_product
            && DEVELOPMENT_ONLY.contains(&declared.name.as_str())
            && !DEVELOPMENT_ONLY.contains(&member.name.as_str())
        {
            findings.push(Finding::new(
                manifest,
                format!("{} must not link {}", member.name, declared.name),
                format!("{} is for development: move it to [dev-dependencies]", declared.name),
            ));
        }
        let forbidden_in_tests = LAYERS.iter().any(|layer| {
            let forbidden = layer.must_not_reach.iter().any(|group| group.contains(&declared.name.as_str()));
            layer.name == member.name && layer.tests_too && forbidden
        });
        if forbidden_in_tests && declared.kind.is_some() {
            findings.push(Finding::new(
                manifest,
                format!("{} must not depend on {}, not even in its tests", member.name, declared.name),
                "one misunderstanding must not sit on both ends of a test: keep the two apart",
            ));
        }
    }
}

fn relative(root: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(root).unwrap_or(path).to_path_buf()
}
