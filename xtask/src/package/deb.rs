//! Owns the package for Debian: the same files below `/usr`, and the unit, which nobody starts unasked.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Materials, VERSION, date, empty, portable, quietly, tree, try_program};

/// What a unit may cost at most, by `systemd-analyze security`: 10 is unprotected. User namespaces stay, for the sandboxes.
const MOST_EXPOSED: f32 = 4.0;

pub(super) fn make(materials: &Materials<'_>) -> Result<PathBuf> {
    let staging = materials.output.join("staging/deb");
    tree::stage(materials, &staging, "usr")?;
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let mut control = String::new();
    writeln!(control, "Package: helve-mcp\nVersion: {VERSION}\nArchitecture: {architecture}")?;
    let (major, minor) = portable::needed_glibc(&materials.program)?;
    writeln!(
        control,
        "Maintainer: the helve project <helve@localhost>\nDepends: libc6 (>= {major}.{minor}), libgcc-s1"
    )?;
    writeln!(control, "Section: utils\nPriority: optional")?;
    writeln!(control, "Description: the handle between an agent and its tools")?;
    writeln!(control, " Connects to MCP servers, keeps them alive, decides what may be called, and calls it.")?;
    fs_err::create_dir_all(staging.join("DEBIAN"))?;
    fs_err::write(staging.join("DEBIAN/control"), control)?;
    let package = materials.output.join(format!("helve-mcp_{VERSION}_{architecture}.deb"));
    let mut build = Command::new("dpkg-deb");
    build.args(["--build", "--root-owner-group", "-Zxz"]).arg(&staging).arg(&package);
    build.env("SOURCE_DATE_EPOCH", date(materials.root)?);
    quietly(&mut build)?;
    Ok(package)
}

/// Unpacks it as dpkg does, runs what is in it, and looks at the unit.
pub(super) fn try_out(materials: &Materials<'_>, package: &Path) -> Result<()> {
    let root = materials.output.join("deb-test");
    empty(&root)?;
    fs_err::create_dir_all(root.join("dpkg"))?;
    for file in ["status", "available"] {
        fs_err::write(root.join("dpkg").join(file), "")?;
    }
    for directory in ["dpkg/info", "dpkg/updates", "dpkg/triggers", "root"] {
        fs_err::create_dir_all(root.join(directory))?;
    }
    let dpkg = |words: &[&str]| {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg(format!("--admindir={}", root.join("dpkg").display()));
        dpkg.arg(format!("--instdir={}", root.join("root").display()));
        dpkg.args(["--force-depends", "--force-script-chrootless", "--force-not-root"]).args(words);
        quietly(&mut dpkg)
    };
    dpkg(&["--install", &package.to_string_lossy()])?;
    tree::check(&root.join("root/usr"))?;
    try_program(&root.join("root/usr/bin/helve"), &root.join("scratch"))?;
    check_unit(&root.join("root/usr/lib/systemd/system/helve.service"))?;
    dpkg(&["--purge", "helve-mcp"])?;
    let left: Vec<String> = walk(&root.join("root"))?;
    ensure!(left.is_empty(), "left after it was removed: {left:?}");
    Ok(())
}

fn check_unit(unit: &Path) -> Result<()> {
    let mut verify = Command::new("systemd-analyze");
    let said = verify.args(["verify", "--man=no"]).arg(unit).output().context("systemd-analyze cannot be started")?;
    let errors = String::from_utf8_lossy(&said.stderr);
    // The program is not at its place on this machine.
    let others: Vec<&str> =
        errors.lines().filter(|line| line.contains("helve") && !line.contains("is not executable")).collect();
    ensure!(others.is_empty(), "the unit is not valid: {others:?}");
    let mut security = Command::new("systemd-analyze");
    let said = security.args(["security", "--offline=yes", "--no-pager"]).arg(unit).output()?;
    let text = String::from_utf8_lossy(&said.stdout);
    let line = text.lines().find(|line| line.contains("exposure level")).context("systemd-analyze names no level")?;
    let level = line.split_whitespace().find_map(|word| word.parse::<f32>().ok()).context("no number")?;
    ensure!(level <= MOST_EXPOSED, "the unit is exposed: {line}");
    Ok(())
}

/// Every file below a directory.
fn walk(directory: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs_err::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() { files.extend(walk(&path)?) } else { files.push(path.display().to_string()) }
    }
    Ok(files)
}
