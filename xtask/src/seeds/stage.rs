//! Owns where a scene is played: a home and a project of its own, an environment that holds nothing else, the servers it may name, and
//! the end of everything that was started.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fs_err::File;

use super::library;
use super::script::{Run, Step};
use crate::interop::process::{self, MARK};
use crate::interop::servers::{Server, Transport};

/// For one command, on a busy machine; `timeout` ends it.
const PATIENCE: &str = "120";

/// How much of what a command said is shown when it was not what it should be.
const SHOWN: usize = 600;

/// A scene's place.
pub(crate) struct Stage {
    home: PathBuf,
    project: PathBuf,
    /// What stands for `{name}`.
    names: Vec<(&'static str, String)>,
    path: String,
    /// Sockets go there: their paths have to be short.
    runtime: tempfile::TempDir,
    mark: String,
    running: Vec<Child>,
}

impl Stage {
    pub(crate) fn make(root: &Path, directory: &Path, helve: &Path, peer: &Path, servers: &[Server]) -> Result<Self> {
        if directory.exists() {
            fs_err::remove_dir_all(directory)?;
        }
        let (home, project, bin) = (directory.join("home"), directory.join("project"), directory.join("bin"));
        // A project ends where its repository does.
        for place in [&home, &project.join(".git"), &bin] {
            fs_err::create_dir_all(place)?;
        }
        std::os::unix::fs::symlink(helve, bin.join("helve"))?;
        let show = |path: PathBuf| path.display().to_string();
        let stdio = |name: &str| {
            let found = servers.iter().find(|server| server.name == name && server.transport == Transport::Stdio);
            found.with_context(|| format!("{name} is not installed"))
        };
        let script = |name: &str| Ok::<_, anyhow::Error>(stdio(name)?.arguments.first().cloned().unwrap_or_default());
        let names = vec![
            ("home", show(home.clone())),
            ("project", show(project.clone())),
            ("fake", show(root.join("xtask/seeds/fake.py"))),
            ("agent", format!("python3 {}", root.join("xtask/seeds/mcp.py").display())),
            ("peer", show(peer.to_owned())),
            ("everything", script("everything")?),
            ("filesystem", script("filesystem")?),
            ("sqlite", show(stdio("sqlite")?.program.clone())),
            ("time", show(stdio("time")?.program.clone())),
        ];
        let path = std::env::var("PATH").context("no PATH")?;
        Ok(Self {
            home,
            project,
            names,
            path: format!("{}:{path}", bin.display()),
            runtime: tempfile::tempdir()?,
            mark: process::mark(),
            running: Vec::new(),
        })
    }

    /// Takes the steps one after another; the first that is not as it should be is the error.
    pub(crate) fn take(&mut self, steps: &[Step]) -> Result<()> {
        for step in steps {
            match step {
                Step::File { path, text } => {
                    let path = PathBuf::from(self.filled(path));
                    let path = if path.is_absolute() { path } else { self.project.join("..").join(path) };
                    fs_err::create_dir_all(path.parent().unwrap_or(&path))?;
                    fs_err::write(&path, self.filled(text))?;
                }
                Step::Background(line) => {
                    let log = File::create(self.home.join(format!("background-{}.log", self.running.len())))?;
                    let command = format!("exec {}", self.filled(line));
                    let mut command = self.shell(&command);
                    self.running.push(command.stdout(Stdio::null()).stderr(log.into_parts().0).spawn()?);
                }
                Step::Run(run) => self.run(run)?,
                Step::Check(name) => {
                    let check = library::find(name).with_context(|| format!("there is no check {name}"))?;
                    check(self).with_context(|| name.clone())?;
                }
            }
        }
        Ok(())
    }

    /// Ends what runs in the background; nothing else may be left.
    pub(crate) fn end(mut self) -> Result<()> {
        self.stop();
        process::gone(&self.mark)
    }

    /// What a name stands for.
    pub(crate) fn name(&self, name: &str) -> &str {
        self.names.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    pub(crate) fn project(&self) -> &Path {
        &self.project
    }

    pub(crate) fn mark(&self) -> &str {
        &self.mark
    }

    fn run(&self, run: &Run) -> Result<()> {
        let began = Instant::now();
        let line = self.filled(&run.command);
        let output = self.shell(&line).output().context("the shell cannot be started")?;
        let took = began.elapsed();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let shown = || said.chars().take(SHOWN).collect::<String>();
        let status = output.status.code().unwrap_or(-1);
        let at = format!("line {}: `{}`", run.line, run.command);
        ensure!(status == run.status, "{at} ended with {status}, not {}: {}", run.status, shown());
        for part in run.says.iter().map(|part| self.filled(part)) {
            ensure!(said.contains(&part), "{at} does not say `{part}`: {}", shown());
        }
        for part in run.never_says.iter().map(|part| self.filled(part)) {
            ensure!(!said.contains(&part), "{at} says `{part}`: {}", shown());
        }
        if let Some(milliseconds) = run.milliseconds {
            ensure!(took < Duration::from_millis(milliseconds), "{at} took {} ms", took.as_millis());
        }
        Ok(())
    }

    fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after", "5", PATIENCE, "sh", "-c", line]);
        command.current_dir(&self.project).env_clear().stdin(Stdio::null());
        command.env("HOME", &self.home).env("PATH", &self.path).env(MARK, &self.mark);
        command.env("XDG_RUNTIME_DIR", self.runtime.path());
        command
    }

    fn filled(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }

    fn stop(&mut self) {
        for mut child in self.running.drain(..) {
            // It may be gone already. `timeout` hands the signal on to what it runs.
            drop(Command::new("kill").arg(child.id().to_string()).stderr(Stdio::null()).status());
            drop(child.wait());
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.stop();
    }
}
