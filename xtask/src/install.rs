//! Owns what is installed from the registries for runs against the outside world: exact versions, only under `target/interop/`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use crate::programs::run;

/// A package and its exact version, as the registry spells them.
pub(crate) type Pin = (&'static str, &'static str);

/// Installs npm packages into `directory`, unless exactly these are there already. Returns its `node_modules`.
pub(crate) fn npm(directory: &Path, pins: &[Pin]) -> Result<PathBuf> {
    let dependencies: Map<String, Value> =
        pins.iter().map(|(name, version)| ((*name).to_owned(), json!(version))).collect();
    let manifest = format!("{:#}\n", json!({"name": "interop", "private": true, "dependencies": dependencies}));
    once(directory, &manifest, || {
        fs_err::write(directory.join("package.json"), &manifest)?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--loglevel", "error"]);
        run(
            npm.current_dir(directory).stdout(Stdio::null()),
            "these runs need npm and a registry it can reach: see its message above, and `npm config get registry`",
        )
    })?;
    Ok(directory.join("node_modules"))
}

/// Makes a Python environment of its own in `directory` with the given packages. Returns its `bin`.
pub(crate) fn python(directory: &Path, pins: &[Pin]) -> Result<PathBuf> {
    let requirements: String = pins.iter().map(|(name, version)| format!("{name}=={version}\n")).collect();
    let bin = directory.join("bin");
    once(directory, &requirements, || {
        let need_venv = "these runs need Python 3.11 with its venv module (Debian: apt-get install python3-venv)";
        run(Command::new("python3").args(["-m", "venv", "--clear", "."]).current_dir(directory), need_venv)?;
        fs_err::write(directory.join("requirements.txt"), &requirements)?;
        let mut pip = Command::new(bin.join("python"));
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--requirement",
            "requirements.txt",
        ]);
        run(pip.current_dir(directory), "these runs need pip and an index it can reach: see its message above")
    })?;
    Ok(bin)
}

/// Runs `install` unless an earlier one for the same `wish` went through; a half-finished one counts for nothing.
fn once(directory: &Path, wish: &str, install: impl FnOnce() -> Result<()>) -> Result<()> {
    let receipt = directory.join(".installed");
    if fs_err::read_to_string(&receipt).is_ok_and(|installed| installed == wish) {
        return Ok(());
    }
    if directory.exists() {
        fs_err::remove_dir_all(directory)?;
    }
    fs_err::create_dir_all(directory)?;
    install().with_context(|| format!("cannot install into {}", directory.display()))?;
    fs_err::write(receipt, wish)?;
    Ok(())
}
