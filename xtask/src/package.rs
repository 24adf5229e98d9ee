//! Owns the packages that people install: what is in each, how it is made, and that each is tried where nothing else is.
//!
//! Everything lands in `target/package/`. Nothing here is published, and nothing asks a registry for a package of ours.

mod archive;
mod deb;
mod npm;
mod portable;
mod tree;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

use crate::programs::build_unless;

/// Make the packages that people install, and try each in a clean place
#[derive(Debug, Args)]
pub(crate) struct Package {
    /// Which packages; all of them when none is named
    #[arg(value_enum)]
    kinds: Vec<Kind>,
    /// Build for trying, not for people: quickly, and for this machine alone
    #[arg(long)]
    quick: bool,
    /// A program that is built already
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Install what was made where nothing else is, and try it
    #[arg(long)]
    test: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// For Python: `import helve`, and the program
    Wheel,
    /// For any Linux of this architecture
    Tar,
    /// For Debian and what is made of it
    Deb,
    /// For npm: the program
    Npm,
}

/// What packages are made of.
struct Materials<'a> {
    root: &'a Path,
    /// Where packages land.
    output: PathBuf,
    /// The program that all of them carry.
    program: PathBuf,
    quick: bool,
}

impl Package {
    pub(crate) fn run(self, root: &Path) -> Result<()> {
        let output = root.join("target/package");
        fs_err::create_dir_all(&output)?;
        let program = match (&self.program, self.quick) {
            (given @ Some(_), _) | (given @ None, true) => build_unless(given.as_deref(), root, "helve-cli", "helve")?,
            (None, false) => portable::program(root, &output)?,
        };
        let materials = Materials { root, output, program, quick: self.quick };
        let kinds = if self.kinds.is_empty() { Kind::value_variants() } else { &self.kinds };
        for kind in kinds {
            let package = kind.make(&materials)?;
            let sum = checksum(&package)?;
            made(&package, &sum)?;
            if self.test {
                let again = checksum(&kind.make(&materials)?)?;
                ensure!(sum == again, "{} is another file when it is made twice", package.display());
                kind.try_out(&materials, &package)?;
            }
        }
        Ok(())
    }
}

impl Kind {
    /// Makes the package, and says where it is.
    fn make(self, materials: &Materials<'_>) -> Result<PathBuf> {
        match self {
            Self::Wheel => wheel::make(materials),
            Self::Tar => archive::make(materials),
            Self::Deb => deb::make(materials),
            Self::Npm => npm::make(materials),
        }
    }

    /// Installs it where nothing else is, tries it there, and takes it away again.
    fn try_out(self, materials: &Materials<'_>, package: &Path) -> Result<()> {
        match self {
            Self::Wheel => wheel::try_out(materials, package),
            Self::Tar => archive::try_out(materials, package),
            Self::Deb => deb::try_out(materials, package),
            Self::Npm => npm::try_out(materials, package),
        }
    }
}

/// The version of everything that is packaged.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What all packages are dated with, so that the same sources make the same files: the last commit.
fn date(root: &Path) -> Result<String> {
    let said = Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root).output().context("git")?;
    let seconds = String::from_utf8(said.stdout)?.trim().to_owned();
    Ok(if seconds.is_empty() { "0".to_owned() } else { seconds })
}

/// Tries an installed program as a person would: it reads a file, and serves a client that speaks the protocol.
fn try_program(program: &Path, scratch: &Path) -> Result<()> {
    empty(scratch)?;
    fs_err::write(scratch.join("note.txt"), "a note")?;
    let mut call = Command::new(program);
    call.args(["call", "filesystem/read_file", "path=note.txt"]).current_dir(scratch).env("HOME", scratch);
    let said = call.output().with_context(|| format!("{} cannot be started", program.display()))?;
    let text = String::from_utf8_lossy(&said.stdout);
    ensure!(said.status.success() && text.contains("a note"), "{text}{}", String::from_utf8_lossy(&said.stderr));
    serves(program, scratch)
}

/// A client of the official Rust SDK lists the tools of `helve serve`.
fn serves(program: &Path, scratch: &Path) -> Result<()> {
    use rmcp::ServiceExt as _;
    use rmcp::transport::TokioChildProcess;
    let mut serve = tokio::process::Command::new(program);
    serve.arg("serve").current_dir(scratch).env("HOME", scratch);
    let runtime = tokio::runtime::Runtime::new()?;
    let tools = runtime.block_on(async {
        let client = ().serve(TokioChildProcess::new(serve)?).await?;
        let tools = client.list_all_tools().await?;
        client.cancel().await?;
        Ok::<_, anyhow::Error>(tools.len())
    })?;
    ensure!(tools > 0, "`helve serve` offers no tools");
    Ok(())
}

/// Runs something whose output is of no interest unless it fails.
fn quietly(command: &mut Command) -> Result<()> {
    let said = command.output().with_context(|| format!("{} cannot be started", command.get_program().display()))?;
    ensure!(said.status.success(), "{command:?}: {}", String::from_utf8_lossy(&said.stderr));
    Ok(())
}

fn checksum(path: &Path) -> Result<String> {
    let said = Command::new("sha256sum").arg(path).output().context("sha256sum cannot be started")?;
    let sum = String::from_utf8(said.stdout)?.split_whitespace().next().unwrap_or_default().to_owned();
    ensure!(!sum.is_empty(), "sha256sum says nothing of {}", path.display());
    Ok(sum)
}

#[expect(clippy::print_stdout, reason = "what a chore made is its output")]
fn made(path: &Path, sum: &str) -> Result<()> {
    let name = path.file_name().unwrap_or_default().display().to_string();
    fs_err::write(format!("{}.sha256", path.display()), format!("{sum}  {name}\n"))?;
    println!("{} ({} bytes, sha256 {sum})", path.display(), fs_err::metadata(path)?.len());
    Ok(())
}

/// An empty directory.
fn empty(directory: &Path) -> Result<()> {
    if directory.exists() {
        fs_err::remove_dir_all(directory)?;
    }
    Ok(fs_err::create_dir_all(directory)?)
}
