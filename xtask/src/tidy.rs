//! Owns `cargo xtask tidy`: which files are looked at, by which rules, and how a finding reads.

mod graph;
mod promises;
mod rules;
mod source;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;

use self::graph::Graph;

/// Check the table of absences, file sizes, module docs and other house rules
#[derive(Debug, Args)]
pub(crate) struct Tidy {}

impl Tidy {
    #[expect(clippy::print_stderr, reason = "findings are talk for the person at the terminal")]
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        let findings = check(root, &Graph::of_workspace(root)?)?;
        for finding in &findings {
            eprintln!("{finding}");
        }
        match findings.len() {
            0 => Ok(()),
            1 => bail!("1 thing to tidy"),
            count => bail!("{count} things to tidy"),
        }
    }
}

/// Something to tidy: where, what, and what to do.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: PathBuf,
    line: Option<usize>,
    what: String,
    advice: String,
}

impl Finding {
    fn new(path: &Path, what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { path: path.to_path_buf(), line: None, what: what.into(), advice: advice.into() }
    }

    fn at(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
        }
        write!(formatter, ": {}\n    help: {}", self.what, self.advice)
    }
}

fn check(root: &Path, graph: &Graph) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    graph.check(root, &mut findings);
    for file in text_files(root)? {
        let path = file.strip_prefix(root)?;
        let text = fs_err::read_to_string(&file)?;
        rules::check_machine_paths(path, &text, &mut findings);
        if path.extension().is_some_and(|extension| extension == "rs") {
            rules::check_rust(path, &text, &mut findings);
        }
        if is_package_manifest(path) {
            rules::check_manifest(path, &text, &mut findings);
        }
    }
    promises::check(root, &mut findings)?;
    findings.sort();
    Ok(findings)
}

/// Everything written by hand, in a fixed order. `Cargo.lock` is cargo's.
fn text_files(root: &Path) -> Result<Vec<PathBuf>> {
    const WRITTEN: &[&str] = &["rs", "toml", "md", "yml", "yaml", "mjs", "js", "sh", "py", "json", "html", "css"];
    const NOT_OURS: &[&str] = &["target", "node_modules", ".git"];
    let mut files = Vec::new();
    let mut directories = vec![root.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in fs_err::read_dir(&directory)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if !NOT_OURS.contains(&name.as_str()) {
                    directories.push(path);
                }
            } else if path.extension().is_some_and(|extension| WRITTEN.iter().any(|known| extension == *known))
                || directory.ends_with(".ci")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn is_package_manifest(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "Cargo.toml") && path.components().count() > 1
}

#[cfg(test)]
#[path = "tidy_tests.rs"]
mod tests;
