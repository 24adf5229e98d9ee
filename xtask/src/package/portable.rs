//! Owns which systems the packages run on: the program and the module are linked by zig against an old glibc, so that they start on every
//! Linux since then, whatever this machine has.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::install::{self, Pin};
use crate::programs::{as_typed, run};

/// The oldest glibc that packages for people run on: that of Debian 10, RHEL 8 and Ubuntu 18.10.
pub(super) const GLIBC: (u32, u32) = (2, 28);

const MATURIN: Pin = ("maturin", "1.16.0");

/// The programs that build packages for people, from the Python registry. Gives their directory.
pub(super) fn tools(output: &Path) -> Result<PathBuf> {
    install::python(&output.join("tools"), &[MATURIN, ("cargo-zigbuild", "0.24.0"), ("ziglang", "0.17.0")])
}

/// The same for packages that this machine alone runs: its own linker will do.
pub(super) fn quick_tools(output: &Path) -> Result<PathBuf> {
    install::python(&output.join("quick-tools"), &[MATURIN])
}

/// The target of this machine, as Rust names it.
pub(super) fn target() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

/// A `PATH` on which zig is found before anything else.
pub(super) fn path_with(tools: &Path) -> Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Ok(std::env::join_paths(std::iter::once(tools.to_owned()).chain(std::env::split_paths(&path)))?)
}

/// The program as people run it.
pub(super) fn program(root: &Path, output: &Path) -> Result<PathBuf> {
    let tools = tools(output)?;
    let (target, (major, minor)) = (target(), GLIBC);
    let mut build = as_typed(tools.join("cargo-zigbuild"));
    build.args([
        "zigbuild",
        "--quiet",
        "--locked",
        "--release",
        "--package",
        "helve-cli",
        "--bin",
        "helve",
        "--target",
    ]);
    build.arg(format!("{target}.{major}.{minor}")).env("PATH", path_with(&tools)?).current_dir(root);
    run(&mut build, "the program is linked by zig: see the message above, and `rustup target add` for another target")?;
    let program = root.join("target").join(&target).join("release/helve");
    let needed = needed_glibc(&program)?;
    ensure!(needed <= GLIBC, "the program needs glibc {}.{}", needed.0, needed.1);
    Ok(program)
}

/// The newest glibc that a program asks for.
pub(super) fn needed_glibc(program: &Path) -> Result<(u32, u32)> {
    let advice = "packages need `objdump` (Debian: apt-get install binutils)";
    let said = Command::new("objdump").arg("--dynamic-syms").arg(program).output().context(advice)?;
    ensure!(said.status.success(), "{}: {}", program.display(), String::from_utf8_lossy(&said.stderr));
    let text = String::from_utf8_lossy(&said.stdout);
    let versions = text.split("GLIBC_").skip(1).filter_map(|rest| {
        let version: String =
            rest.chars().take_while(|character| character.is_ascii_digit() || *character == '.').collect();
        let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
        Some((parts.next()??, parts.next()??))
    });
    versions.max().with_context(|| format!("{} names no version of glibc", program.display()))
}
