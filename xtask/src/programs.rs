//! Owns how the chores start other programs: cargo, npm, python. Whatever fails says what was tried and what to do.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Runs `command` with its output shown; an unsuccessful end is an error that carries `advice`.
pub(crate) fn run(command: &mut Command, advice: &str) -> Result<()> {
    let shown = show(command);
    let status = command.status().with_context(|| format!("cannot start {shown}\nhint: {advice}"))?;
    if !status.success() {
        bail!("{shown} failed ({status})\nhint: {advice}");
    }
    Ok(())
}

/// How a program is built.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Profile {
    Dev,
    /// As people run it.
    Release,
    /// With nobody's code favoured: for what is measured beside others in one program.
    Measure,
}

/// Builds binaries of a package and says where they are.
pub(crate) fn build(root: &Path, package: &str, profile: Profile, names: &[&str]) -> Result<Vec<PathBuf>> {
    let mut command = building(package);
    let profile = match profile {
        Profile::Dev => "dev",
        Profile::Release => "release",
        Profile::Measure => "measure",
    };
    command.args(["--profile", profile]);
    built(command, root, names)
}

/// A program that somebody has built already, or the one of this tree.
pub(crate) fn build_unless(given: Option<&Path>, root: &Path, package: &str, name: &str) -> Result<PathBuf> {
    match given {
        Some(program) => program.canonicalize().with_context(|| format!("there is no {}", program.display())),
        None => build(root, package, Profile::Dev, &[name])?.pop().context("nothing was built"),
    }
}

/// The same for tests, with features that are off otherwise.
pub(crate) fn build_with(root: &Path, package: &str, features: &[&str], names: &[&str]) -> Result<Vec<PathBuf>> {
    let mut command = building(package);
    command.args(["--features", &features.join(",")]);
    built(command, root, names)
}

/// The same as it is measured.
pub(crate) fn build_measured(root: &Path, package: &str, feature: &str, names: &[&str]) -> Result<Vec<PathBuf>> {
    let mut command = building(package);
    command.args(["--profile", "measure", "--features", feature]);
    built(command, root, names)
}

/// A program that builds with cargo, as if a person had typed it. What the cargo that runs this chore says of the chore in its
/// environment would be read by build scripts (`ring` has one), which run again then, and everything that is made of them.
pub(crate) fn as_typed(program: impl AsRef<OsStr>) -> Command {
    const OF_THE_CHORE: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| OF_THE_CHORE.iter().any(|prefix| name.starts_with(prefix))) {
            command.env_remove(name);
        }
    }
    command
}

fn building(package: &str) -> Command {
    let mut command = as_typed(env!("CARGO"));
    command.args(["build", "--quiet", "--package", package, "--message-format", "json-render-diagnostics"]);
    command
}

fn built(mut command: Command, root: &Path, names: &[&str]) -> Result<Vec<PathBuf>> {
    for name in names {
        command.args(["--bin", name]);
    }
    let shown = show(&command);
    let output =
        command.current_dir(root).stderr(Stdio::inherit()).output().with_context(|| format!("cannot start {shown}"))?;
    if !output.status.success() {
        bail!("{shown} failed ({})", output.status);
    }
    let messages: Vec<Value> =
        output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    names
        .iter()
        .map(|name| {
            let built =
                messages.iter().find(|message| message["target"]["name"] == *name && message["executable"].is_string());
            let path = built.and_then(|message| message["executable"].as_str());
            path.map(PathBuf::from).with_context(|| format!("{shown} did not say where {name} is"))
        })
        .collect()
}

/// The directory for everything that runs against the outside world is installed into; never part of the tree.
pub(crate) fn interop_directory(root: &Path) -> Result<PathBuf> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root)
        .output()
        .context("cannot run cargo metadata")?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata did not answer")?;
    let target = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
    Ok(Path::new(target).join("interop"))
}

fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
