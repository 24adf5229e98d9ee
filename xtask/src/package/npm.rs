//! Owns the package for npm: the program, for one system and architecture. It runs no script when it is installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{Materials, VERSION, empty, quietly, tree, try_program};

pub(super) fn make(materials: &Materials<'_>) -> Result<PathBuf> {
    let staging = materials.output.join("staging/npm");
    empty(&staging)?;
    tree::put_program(materials, &staging.join("bin/helve"))?;
    let cpu = if std::env::consts::ARCH == "x86_64" { "x64" } else { "arm64" };
    let manifest = json!({
        "name": "helve-mcp",
        "version": VERSION,
        "description": "The handle between an agent and its tools: connect to MCP servers, decide what may be called, call it fast",
        "license": "MIT OR Apache-2.0",
        "bin": { "helve": "bin/helve" },
        "files": ["bin", "LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY-LICENSES"],
        "os": ["linux"],
        "cpu": [cpu],
        "libc": ["glibc"],
    });
    fs_err::write(staging.join("package.json"), format!("{manifest:#}\n"))?;
    for name in ["README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        fs_err::copy(materials.root.join(name), staging.join(name))?;
    }
    fs_err::write(staging.join("THIRD-PARTY-LICENSES"), tree::licences(materials.root)?)?;
    let mut pack = Command::new("npm");
    pack.args(["pack", "--silent", "--pack-destination"]).arg(&materials.output).current_dir(&staging);
    quietly(&mut pack)?;
    Ok(materials.output.join(format!("helve-mcp-{VERSION}.tgz")))
}

/// Installs it into an empty folder, without a registry, and uninstalls it.
pub(super) fn try_out(materials: &Materials<'_>, package: &Path) -> Result<()> {
    let place = materials.output.join("npm-test");
    empty(&place)?;
    fs_err::write(place.join("package.json"), "{\"private\": true}\n")?;
    let npm = |words: &[&str]| quietly(Command::new("npm").args(words).current_dir(&place));
    npm(&["install", "--offline", "--no-audit", "--no-fund", "--silent", &package.to_string_lossy()])
        .context("the package cannot be installed")?;
    try_program(&place.join("node_modules/.bin/helve"), &place.join("scratch"))?;
    npm(&["uninstall", "--silent", "helve-mcp"])?;
    for left in ["node_modules/.bin/helve", "node_modules/helve-mcp"] {
        ensure!(!place.join(left).exists(), "{left} is left after the package was uninstalled");
    }
    Ok(())
}
