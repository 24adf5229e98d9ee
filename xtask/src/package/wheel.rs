//! Owns the wheel: the extension module and the program in one file, built by maturin, tried by pytest in an environment that has nothing
//! but it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::{Materials, date, empty, portable, tree};
use crate::install::{self, Pin};
use crate::programs::{as_typed, run};

/// Where the licences of everything inside lie, below an environment.
const DOCUMENTS: &str = "share/doc/helve";

/// What the tests need beside the wheel: the frameworks are those that `helve.integrations` has tools for.
const FOR_TESTS: &[Pin] = &[
    ("pytest", "9.2.0"),
    ("uvloop", "0.23.0"),
    ("mypy", "2.4.1"),
    ("pyright", "1.1.414"),
    ("langchain-core", "1.7.2"),
    ("openai-agents", "0.24.0"),
    ("pydantic-ai-slim", "2.66.0"),
];

pub(super) fn make(materials: &Materials<'_>) -> Result<PathBuf> {
    let tools = if materials.quick { portable::quick_tools } else { portable::tools }(&materials.output)?;
    let binding = materials.root.join("bindings/python");
    tree::put_program(materials, &binding.join("data/scripts/helve"))?;
    let documents = binding.join("data/data").join(DOCUMENTS);
    fs_err::create_dir_all(&documents)?;
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs_err::copy(materials.root.join(name), documents.join(name))?;
    }
    fs_err::write(documents.join("THIRD-PARTY-LICENSES"), tree::licences(materials.root)?)?;
    let wheels = materials.output.join(if materials.quick { "quick" } else { "wheel" });
    empty(&wheels)?;
    let mut maturin = as_typed(tools.join("maturin"));
    maturin.args(["build", "--quiet", "--locked", "--manifest-path"]).arg(binding.join("Cargo.toml"));
    maturin.args(["--interpreter", "python3", "--out"]).arg(&wheels);
    maturin.env("SOURCE_DATE_EPOCH", date(materials.root)?).env("PATH", portable::path_with(&tools)?);
    if materials.quick {
        maturin.args(["--profile", "dev", "--compatibility", "linux"]);
    } else {
        let (major, minor) = portable::GLIBC;
        // maturin looks at the module alone.
        let needed = portable::needed_glibc(&materials.program)?;
        ensure!(needed <= portable::GLIBC, "the program needs glibc {}.{}: too new for a wheel", needed.0, needed.1);
        maturin.args(["--profile", "release", "--zig", "--target", &portable::target()]);
        maturin.args(["--compatibility", &format!("manylinux_{major}_{minor}")]);
    }
    run(&mut maturin, "see maturin's message above")?;
    only_file(&wheels)
}

/// Installs the wheel where nothing else is, and runs its tests there: nothing of the sources can be imported.
pub(super) fn try_out(materials: &Materials<'_>, wheel: &Path) -> Result<()> {
    let place = materials.output.join("wheel-test");
    let bin = install::python(&place, FOR_TESTS)?;
    let mut pip = Command::new(bin.join("python"));
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--force-reinstall"]).arg(wheel);
    run(&mut pip, "the wheel cannot be installed: see pip's message above")?;
    ensure!(place.join(DOCUMENTS).join("THIRD-PARTY-LICENSES").is_file(), "the wheel has no licences");
    let tests = materials.root.join("bindings/python/tests");
    let mut pytest = Command::new(bin.join("python"));
    pytest.args(["-P", "-m", "pytest", "-q", "-p", "no:cacheprovider"]).arg(&tests).current_dir(&place);
    run(&mut pytest, "the tests of the wheel failed")?;
    let mut uninstall = Command::new(bin.join("python"));
    uninstall.args(["-m", "pip", "uninstall", "--quiet", "--yes", "helve-mcp"]);
    run(&mut uninstall, "the wheel cannot be uninstalled")?;
    for left in [bin.join("helve"), place.join(DOCUMENTS)] {
        ensure!(!left.exists(), "{} is left after the wheel was uninstalled", left.display());
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
