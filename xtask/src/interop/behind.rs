//! Owns a place where `helve serve` has one server behind it, and the scripts that visit it: a home of its own, nothing else in the
//! environment, and one line of JSON for what was seen.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fs_err::File;
use serde_json::{Value, json};

use super::process::{self, MARK, lines_of};
use super::workshop::{NOTES, Workshop, noted};
use crate::listening::Listening;

/// What stands before the names of the server's tools.
pub(crate) const PREFIX: &str = "own__";

/// The place.
#[derive(Debug)]
pub(crate) struct Behind<'run> {
    helve: &'run Path,
    pub(crate) directory: PathBuf,
    pub(crate) mark: String,
}

/// What the server behind helve is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Upstream<'run> {
    /// A program that helve starts.
    Program(&'run Workshop),
    /// One that listens already.
    Url(&'run str),
}

impl<'run> Behind<'run> {
    /// Makes the place anew.
    pub(crate) fn prepare(helve: &'run Path, directory: PathBuf) -> Result<Self> {
        if directory.exists() {
            fs_err::remove_dir_all(&directory)?;
        }
        fs_err::create_dir_all(directory.join("home"))?;
        Ok(Self { helve, directory, mark: process::mark() })
    }

    /// Writes the configuration: one server, and everything is allowed.
    pub(crate) fn configure(&self, upstream: Upstream<'_>) -> Result<()> {
        // Texts and lists of texts are written in TOML as they are in JSON.
        let server = match upstream {
            Upstream::Url(url) => format!("url = {}\n", json!(url)),
            Upstream::Program(workshop) => {
                let mut words = vec![workshop.python.display().to_string()];
                words.extend(workshop.arguments("stdio"));
                let (words, mark, notes) = (json!(words), json!(self.mark), json!(self.notes()));
                format!("command = {words}\nenv = {{ {MARK} = {mark}, {NOTES} = {notes} }}\n")
            }
        };
        let text = format!("[[rules]]\ntool = \"*/*\"\naction = \"allow\"\n\n[servers.own]\n{server}");
        fs_err::write(self.configuration(), text)?;
        Ok(())
    }

    /// Tells a plan to come in by standard input and output.
    pub(crate) fn on_stdio(&self, plan: &mut Value) -> Result<()> {
        plan["prefix"] = json!(PREFIX);
        plan["command"] = json!(self.helve);
        plan["args"] = json!(self.arguments());
        plan["env"] = self.environment()?;
        Ok(())
    }

    /// Starts `helve serve --http` and tells a plan to come there.
    pub(crate) fn on_http(&self, plan: &mut Value) -> Result<Listening> {
        let environment = self.environment()?;
        let variables = environment.as_object().into_iter().flatten();
        let mut command = Command::new(self.helve);
        command
            .args(self.arguments())
            .args(["--http", "127.0.0.1:0"])
            .env_clear()
            .envs(variables.filter_map(|(name, value)| Some((name, value.as_str()?))))
            .stderr(File::create(self.directory.join("helve.log"))?.into_parts().0);
        let listening = Listening::start(&mut command)?;
        plan["prefix"] = json!(PREFIX);
        plan["url"] = json!(listening.url);
        Ok(listening)
    }

    /// All that a program gets to see of the environment.
    pub(crate) fn environment(&self) -> Result<Value> {
        let path = std::env::var("PATH").context("no PATH")?;
        Ok(json!({"HOME": self.directory.join("home"), "PATH": path, MARK: self.mark}))
    }

    /// Runs a script with a plan; gives what it saw. What it says besides goes to files.
    pub(crate) fn run(&self, command: &[PathBuf], plan: &Value, visit: &str, patience: Duration) -> Result<Value> {
        let log = self.directory.join(format!("{visit}.log"));
        let (program, arguments) = command.split_first().context("no program")?;
        let mut child = Command::new(program)
            .args(arguments)
            .arg(plan.to_string())
            .env(MARK, &self.mark)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?.into_parts().0)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let lines = lines_of(child.stdout.take().context("no stdout")?);
        let end = Instant::now() + patience;
        // Some say something else first.
        let seen = loop {
            let Ok(line) = lines.recv_timeout(end.saturating_duration_since(Instant::now())) else { break None };
            if line.starts_with(['{', '[']) {
                break Some(line);
            }
        };
        if seen.is_none() {
            // It may be gone already.
            drop(child.kill());
        }
        let status = child.wait()?;
        let line = seen.with_context(|| format!("it said nothing ({status}): see {}", log.display()))?;
        fs_err::write(self.directory.join(format!("{visit}.json")), &line)?;
        serde_json::from_str(&line).with_context(|| format!("it said {line}"))
    }

    /// The file for the notes of the server behind helve.
    pub(crate) fn notes(&self) -> PathBuf {
        self.directory.join("notes")
    }

    /// How many processes of the server were started.
    pub(crate) fn processes(&self) -> usize {
        noted(&self.notes(), "started")
    }

    fn arguments(&self) -> Vec<String> {
        let configuration = self.configuration().display().to_string();
        let words = ["serve", "--prefix", "server", "--wait", "30s", "--no-discover", "--config", &configuration];
        words.map(str::to_owned).to_vec()
    }

    fn configuration(&self) -> PathBuf {
        self.directory.join("home/helve.toml")
    }
}
