//! Owns what is installed beside the program, the same in every package for a system: man pages, completions, licences, the unit of a
//! hub. Made twice on one machine it is the same, byte for byte.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Materials;
use crate::programs::run;

/// A service for everybody on a machine: the hub, as a user of its own. It keeps what helve's own sandboxes need (user namespaces,
/// Landlock, seccomp) and takes away what they do not.
pub(super) const UNIT: &str = include_str!("helve.service");

/// Puts everything below `prefix` of an empty `root`: `usr` for a system, nothing for an archive.
pub(super) fn stage(materials: &Materials<'_>, root: &Path, prefix: &str) -> Result<()> {
    if root.exists() {
        fs_err::remove_dir_all(root)?;
    }
    let below = root.join(prefix);
    let program = below.join("bin/helve");
    put_program(materials, &program)?;
    let mans = below.join("share/man/man1");
    fs_err::create_dir_all(&mans)?;
    run(
        Command::new(&program).args(["--quiet", "man", "--dir"]).arg(&mans),
        "the program could not write its man pages",
    )?;
    let shells = [
        ("bash", "share/bash-completion/completions/helve"),
        ("zsh", "share/zsh/site-functions/_helve"),
        ("fish", "share/fish/vendor_completions.d/helve.fish"),
    ];
    for (shell, path) in shells {
        let said =
            Command::new(&program).args(["completions", shell]).output().context("the program cannot be started")?;
        ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        write(&below.join(path), &said.stdout)?;
    }
    let documents = below.join("share/doc/helve");
    for name in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        write(&documents.join(name), &fs_err::read(materials.root.join(name))?)?;
    }
    write(&documents.join("THIRD-PARTY-LICENSES"), licences(materials.root)?.as_bytes())?;
    write(&below.join("lib/systemd/system/helve.service"), UNIT.as_bytes())
}

/// What has to lie below a prefix where a package was installed.
pub(super) fn check(below: &Path) -> Result<()> {
    for path in [
        "bin/helve",
        "share/man/man1/helve.1",
        "share/man/man1/helve-call.1",
        "share/man/man1/helve-hub.1",
        "share/bash-completion/completions/helve",
        "share/zsh/site-functions/_helve",
        "share/fish/vendor_completions.d/helve.fish",
        "share/doc/helve/LICENSE-MIT",
        "share/doc/helve/THIRD-PARTY-LICENSES",
        "lib/systemd/system/helve.service",
    ] {
        let length = fs_err::metadata(below.join(path))?.len();
        ensure!(length > 0, "{path} is empty");
    }
    Ok(())
}

/// The program without what debuggers read.
pub(super) fn put_program(materials: &Materials<'_>, target: &Path) -> Result<()> {
    let directory = target.parent().context("a program lies in a directory")?;
    fs_err::create_dir_all(directory)?;
    let mut strip = Command::new("strip");
    strip.arg("--strip-debug").arg("-o").arg(target).arg(&materials.program);
    run(&mut strip, "packages need `strip` (Debian: apt-get install binutils)")?;
    fs_err::set_permissions(target, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(directory) = path.parent() {
        fs_err::create_dir_all(directory)?;
    }
    Ok(fs_err::write(path, bytes)?)
}

/// What everything inside is licensed under, with the texts that came with it.
pub(super) fn licences(root: &Path) -> Result<String> {
    let mut metadata = Command::new(env!("CARGO"));
    metadata.args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform"]);
    metadata.arg(format!("{}-unknown-linux-gnu", std::env::consts::ARCH));
    let said = metadata.current_dir(root).output().context("cargo cannot be started")?;
    let metadata: Value = serde_json::from_slice(&said.stdout).context("cargo metadata says no JSON")?;
    let inside = inside(&metadata);
    let mut text = "helve contains these packages:\n\n".to_owned();
    let mut texts = String::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let id = package["id"].as_str().unwrap_or_default();
        if package["source"].is_null() || !inside.contains(id) {
            continue;
        }
        let word = |key: &str| package[key].as_str().unwrap_or("unknown").to_owned();
        writeln!(text, "{} {}: {}", word("name"), word("version"), word("license"))?;
        let directory = Path::new(package["manifest_path"].as_str().unwrap_or_default()).parent().map(Path::to_owned);
        for file in directory.map(|directory| licence_files(&directory)).transpose()?.into_iter().flatten() {
            writeln!(
                texts,
                "\n==== {} {}: {}\n",
                word("name"),
                word("version"),
                file.file_name().unwrap_or_default().display()
            )?;
            texts.push_str(&String::from_utf8_lossy(&fs_err::read(&file)?));
        }
    }
    text.push_str(&texts);
    Ok(text)
}

/// The packages that the program and the module for Python are made of, build scripts and tests left out.
fn inside(metadata: &Value) -> BTreeSet<String> {
    let nodes = || metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let find = |id: &str| nodes().find(|node| node["id"] == id);
    let is_ours = |package: &&Value| package["name"] == "helve-cli" || package["name"] == "helve-python";
    let roots = metadata["packages"].as_array().into_iter().flatten().filter(is_ours);
    let mut open: Vec<String> = roots.filter_map(|package| package["id"].as_str().map(str::to_owned)).collect();
    let mut inside = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !inside.insert(id.clone()) {
            continue;
        }
        for dependency in find(&id).and_then(|node| node["deps"].as_array()).into_iter().flatten() {
            let is_normal = |kind: &Value| kind["kind"].is_null();
            if dependency["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(is_normal))
                && let Some(id) = dependency["pkg"].as_str()
            {
                open.push(id.to_owned());
            }
        }
    }
    inside
}

fn licence_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = fs_err::read_dir(directory)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().to_ascii_uppercase();
        file.is_file() && ["LICENSE", "LICENCE", "COPYING", "NOTICE"].iter().any(|start| name.starts_with(start))
    });
    files.sort();
    Ok(files)
}
