//! Owns the machine the runs happen on: a person's home with one server in it that wants a login.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use helve_testkit::Scenario;
use helve_testkit::authority::{Authority, Switches, visit};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A home, and a server elsewhere that wants a login.
#[derive(Debug)]
pub(super) struct World {
    pub(super) runtime: Runtime,
    pub(super) authority: Authority,
    home: TempDir,
    helve: PathBuf,
}

impl World {
    pub(super) fn new(helve: &Path) -> Result<Self> {
        let runtime = Runtime::new()?;
        let authority = runtime.block_on(Authority::start(&Scenario::modern(), Switches::default()))?;
        let home = tempfile::tempdir()?;
        let configuration = home.path().join(".config/helve");
        fs_err::create_dir_all(&configuration)?;
        let url = authority.url();
        let text = format!("[servers.far]\nurl = \"{url}\"\n\n[[rules]]\ntool = \"*/*\"\naction = \"allow\"\n");
        fs_err::write(configuration.join("helve.toml"), text)?;
        Ok(Self { runtime, authority, home, helve: helve.to_owned() })
    }

    /// The program, with nothing of this machine's own.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.helve);
        command.args(arguments).env_clear().env("HOME", self.home.path()).current_dir(self.home.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Signs in as a script does: one process prints the page, another takes the address.
    pub(super) fn login(&self) -> Result<()> {
        let begun = self.command(&["login", "far", "--start", "--json"]).output()?;
        let begun: Value = serde_json::from_slice(&begun.stdout).context("no page")?;
        let visit = self.runtime.block_on(visit(begun["page"].as_str().context("no page")?))?;
        let done = self.command(&["login", "far", "--paste", &visit.url]).output()?;
        ensure!(done.status.success(), "no login: {}", String::from_utf8_lossy(&done.stderr));
        Ok(())
    }

    /// Makes a call; gives the exit status and what was said.
    pub(super) fn call(&self) -> Result<(Option<i32>, String)> {
        let output = self.command(&["call", "far/echo", "text=hello"]).output()?;
        Ok((output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()))
    }

    pub(super) fn vault(&self) -> PathBuf {
        self.home.path().join(".local/state/helve/credentials.vault")
    }
}
