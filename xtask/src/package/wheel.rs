//! Owns the wheel: the extension module and the program in one file, built by maturin, tried by pytest in an environment that has nothing
//! but it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{Materials, made, tree};
use crate::install::{self, Pin};
use crate::programs::run;

const TOOLS: &[Pin] = &[("maturin", "1.16.0")];
/// The oldest glibc that the wheel for people runs on.
const COMPATIBILITY: &str = "manylinux_2_28";

/// What the tests need beside the wheel.
const FOR_TESTS: &[Pin] = &[("pytest", "9.2.0"), ("uvloop", "0.23.0"), ("mypy", "2.4.1"), ("pyright", "1.1.414")];

pub(super) fn package(materials: &Materials<'_>, test: bool) -> Result<()> {
    let tools = install::python(&materials.output.join("tools"), TOOLS)?;
    let binding = materials.root.join("bindings/python");
    tree::put_program(materials, &binding.join("data/scripts/helve"))?;
    let wheels = materials.output.join(if materials.quick { "quick" } else { "wheel" });
    if wheels.exists() {
        fs_err::remove_dir_all(&wheels)?;
    }
    let mut maturin = Command::new(tools.join("maturin"));
    maturin.args(["build", "--quiet", "--locked", "--manifest-path"]).arg(binding.join("Cargo.toml"));
    maturin.args(["--interpreter", "python3", "--out"]).arg(&wheels);
    if materials.quick {
        maturin.args(["--profile", "dev", "--compatibility", "linux"]);
    } else {
        maturin.args(["--profile", "release", "--compatibility", COMPATIBILITY]);
    }
    run(&mut maturin, "see maturin's message above")?;
    let wheel = only_file(&wheels)?;
    made(&wheel)?;
    if test { try_out(materials, &wheel) } else { Ok(()) }
}

/// Installs the wheel where nothing else is, and runs its tests there: nothing of the sources can be imported.
fn try_out(materials: &Materials<'_>, wheel: &Path) -> Result<()> {
    let place = materials.output.join("wheel-test");
    let bin = install::python(&place, FOR_TESTS)?;
    let mut pip = Command::new(bin.join("python"));
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--force-reinstall"]).arg(wheel);
    run(&mut pip, "the wheel cannot be installed: see pip's message above")?;
    let tests = materials.root.join("bindings/python/tests");
    let mut pytest = Command::new(bin.join("python"));
    pytest.args(["-P", "-m", "pytest", "-q", "-p", "no:cacheprovider"]).arg(&tests).current_dir(&place);
    run(&mut pytest, "the tests of the wheel failed")?;
    let mut uninstall = Command::new(bin.join("python"));
    uninstall.args(["-m", "pip", "uninstall", "--quiet", "--yes", "helve-mcp"]);
    run(&mut uninstall, "the wheel cannot be uninstalled")?;
    let left = bin.join("helve");
    if left.exists() {
        bail!("{} is left after the wheel was uninstalled", left.display());
    }
    Ok(())
}

fn only_file(directory: &Path) -> Result<PathBuf> {
    let mut files: Vec<PathBuf> = fs_err::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    match files.len() {
        1 => files.pop().context("nothing was made"),
        count => bail!("{count} files in {}, where one was made", directory.display()),
    }
}
