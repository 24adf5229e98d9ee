//! Owns the attack on the moment between looking and running: a project's file is swapped while its server starts. A program
//! must not run as swapped; a script that was swapped must not get a call.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use helve_testkit::Scenario;
use serde_json::json;

use super::Figure;
use super::arena::{Arena, Place};

/// Tries of each kind, every day and where time does not matter.
const QUICK_TRIES: usize = 8;
const TRIES: usize = 200;

/// What the swapped program ends with, and how it is known while it runs.
const MARK: &str = "EVIL";

/// What is swapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Program,
    Python,
    Node,
    Shell,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Program, Self::Python, Self::Node, Self::Shell];

    const fn name(self) -> &'static str {
        match self {
            Self::Program => "ELF",
            Self::Python => "python",
            Self::Node => "node",
            Self::Shell => "shell script",
        }
    }

    const fn file(self) -> &'static str {
        match self {
            Self::Program => "tool",
            Self::Python => "server.py",
            Self::Node => "server.js",
            Self::Shell => "server.sh",
        }
    }
}

/// A trusted project, and the file in its two states.
struct Target {
    place: Place,
    kind: Kind,
    good: Vec<u8>,
    evil: Vec<u8>,
}

pub(super) fn run(arena: &Arena) -> Result<Vec<Figure>> {
    let tries = arena.tries(QUICK_TRIES, TRIES);
    let mut figures = Vec::new();
    let mut arrived = 0;
    for kind in Kind::ALL {
        let target = Target::new(arena, kind)?;
        // Nothing swapped: how long a call takes, and that it arrives.
        let started = Instant::now();
        target.call(Duration::ZERO, None)?;
        let whole = started.elapsed();
        arrived += usize::from(target.calls("good") > 0);
        let mut found = 0;
        for number in 0..tries {
            let delay = whole.mul_f64(number as f64 / tries as f64);
            found += usize::from(target.attack(delay, number)?);
        }
        let what = match kind {
            Kind::Program => format!("{}: swapped while it starts, and run", kind.name()),
            _ => format!("{}: swapped while it starts, and called", kind.name()),
        };
        figures.push(Figure::none_of(&what, tries, found));
    }
    figures.push(Figure::all_of("calls that arrive where nothing is swapped", Kind::ALL.len(), arrived));
    Ok(figures)
}

impl Target {
    fn new(arena: &Arena, kind: Kind) -> Result<Self> {
        let place = arena.place()?;
        let root = place.root().to_path_buf();
        let (good, evil) = (content(arena, kind, &root, "good")?, content(arena, kind, &root, "evil")?);
        let words = match kind {
            Kind::Program => vec![format!("./{}", kind.file()), "-c".to_owned(), program_line(arena, &root)],
            Kind::Python => {
                vec![interpreter("python3", "import sys; print(sys.executable)", "-c")?, kind.file().to_owned()]
            }
            Kind::Node => vec![interpreter("node", "process.execPath", "-p")?, kind.file().to_owned()],
            Kind::Shell => vec!["/bin/sh".to_owned(), kind.file().to_owned()],
        };
        let rules = "[[rules]]\ntool = \"*/*\"\naction = \"allow\"\n";
        place.write("project/helve.toml", &format!("[servers.s]\ncommand = {}\n\n{rules}", json!(words)))?;
        let target = Self { place, kind, good, evil };
        target.restore()?;
        let mut trust = target.place.command(&["trust", "--yes", "--sandbox", "off"]);
        let trusted = trust.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        ensure!(trusted.success(), "the project cannot be trusted");
        Ok(target)
    }

    fn path(&self) -> PathBuf {
        self.place.root().join("project").join(self.kind.file())
    }

    /// The file as it was trusted, and nothing left of the last try.
    fn restore(&self) -> Result<()> {
        replace(&self.path(), &self.good)?;
        for name in ["ran", "good", "evil"] {
            drop(fs_err::remove_file(self.place.root().join(name)));
        }
        Ok(())
    }

    /// One try: true when the swapped program ran, or the swapped script got a call.
    fn attack(&self, delay: Duration, number: usize) -> Result<bool> {
        self.restore()?;
        self.call(delay, Some(number))?;
        Ok(match self.kind {
            Kind::Program => self.place.root().join("ran").exists(),
            _ => self.calls("evil") > 0,
        })
    }

    /// Calls a tool; `swap` after `delay`, by another file of the name or in place.
    fn call(&self, delay: Duration, swap: Option<usize>) -> Result<()> {
        let mut command = self.place.command(&["call", "s/echo", "text=hello", "--timeout", "30s"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        if let Some(number) = swap {
            std::thread::sleep(delay);
            match number % 3 {
                // Nobody can write a program that runs.
                0 => drop(fs_err::write(self.path(), &self.evil)),
                1 => replace(&self.path(), &self.evil)?,
                _ => {
                    replace(&self.path(), &self.evil)?;
                    std::thread::sleep(delay / 4);
                    replace(&self.path(), &self.good)?;
                }
            }
        }
        child.wait()?;
        Ok(())
    }

    fn calls(&self, record: &str) -> usize {
        self.place.frames(record).iter().filter(|frame| frame["method"] == "tools/call").count()
    }
}

/// Another file takes the name, in one step.
fn replace(path: &Path, content: &[u8]) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let next = path.with_extension("next");
    fs_err::write(&next, content)?;
    fs_err::set_permissions(&next, std::fs::Permissions::from_mode(0o755))?;
    fs_err::rename(&next, path)?;
    Ok(())
}

fn scenario(root: &Path, record: &str) -> String {
    Scenario::legacy().record_to(root.join(record)).to_json()
}

/// What the file holds: a server that records what it is told to a file called `record`.
fn content(arena: &Arena, kind: Kind, root: &Path, record: &str) -> Result<Vec<u8>> {
    let (peer, scenario) = (json!(arena.peer), json!(scenario(root, record)));
    Ok(match kind {
        Kind::Program => {
            let mut program = fs_err::read(fs_err::canonicalize("/bin/sh")?)?;
            program.extend_from_slice(if record == "evil" { MARK.as_bytes() } else { b"good" });
            program
        }
        Kind::Python => format!("import os\nos.execv({peer}, [{peer}, {scenario}])\n").into_bytes(),
        Kind::Node => {
            format!("require('child_process').spawnSync({peer}, [{scenario}], {{stdio: 'inherit'}})\n").into_bytes()
        }
        Kind::Shell => {
            let quoted = scenario.as_str().context("a text")?.replace('\'', "'\\''");
            format!("exec {peer} '{quoted}'\n").into_bytes()
        }
    })
}

/// What the shell is told to do: to say so if it is the swapped one, by the end of its own program.
fn program_line(arena: &Arena, root: &Path) -> String {
    let (ran, peer, good) = (root.join("ran"), arena.peer.display(), scenario(root, "good").replace('\'', "'\\''"));
    format!("case \"$(tail -c 4 /proc/$$/exe)\" in {MARK}) echo > '{}';; esac; exec '{peer}' '{good}'", ran.display())
}

/// Where an interpreter really lies: wrappers of version managers take their time.
fn interpreter(name: &str, question: &str, option: &str) -> Result<String> {
    let output = Command::new(name).args([option, question]).output().with_context(|| format!("{name} is needed"))?;
    ensure!(output.status.success(), "{name} does not say where it is");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
