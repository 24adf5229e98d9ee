//! Owns where attacks take place: a home and a project that vanish afterwards, and the program run in them with nothing else
//! around it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use helve_testkit::Scenario;
use serde_json::{Value, json};

use crate::interop::process::lines_of;

/// Time for an answer on a busy machine. An attack that waits so long has found a hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What every group is given.
#[derive(Debug)]
pub(crate) struct Arena {
    /// The program under attack.
    pub(crate) helve: PathBuf,
    /// The scriptable server that records what reaches it.
    pub(crate) peer: PathBuf,
    /// Few tries, for every day.
    pub(crate) is_quick: bool,
}

/// A home and a project with a repository around it.
#[derive(Debug)]
pub(crate) struct Place {
    directory: tempfile::TempDir,
    helve: PathBuf,
    peer: PathBuf,
}

/// `helve serve` on a pipe, with the attack as its agent; killed when dropped.
#[derive(Debug)]
pub(crate) struct Piped {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
}

impl Arena {
    /// `quick` tries every day, `full` where time does not matter.
    pub(crate) const fn tries(&self, quick: usize, full: usize) -> usize {
        if self.is_quick { quick } else { full }
    }

    pub(crate) fn place(&self) -> Result<Place> {
        let directory = tempfile::tempdir()?;
        fs_err::create_dir_all(directory.path().join("home"))?;
        fs_err::create_dir_all(directory.path().join("project/.git"))?;
        Ok(Place { directory, helve: self.helve.clone(), peer: self.peer.clone() })
    }
}

impl Place {
    pub(crate) fn root(&self) -> &Path {
        self.directory.path()
    }

    /// The program of the scriptable server.
    pub(crate) fn peer(&self) -> &Path {
        &self.peer
    }

    /// A file below the root: `home/.config/helve/helve.toml`, `project/.mcp.json`.
    pub(crate) fn write(&self, path: &str, text: &str) -> Result<&Self> {
        let path = self.root().join(path);
        fs_err::create_dir_all(path.parent().context("a file has a parent")?)?;
        fs_err::write(path, text)?;
        Ok(self)
    }

    /// A server for `helve.toml` that plays this scenario and writes what reaches it to `record`, a file below the root.
    pub(crate) fn server(&self, name: &str, scenario: Scenario, record: &str) -> String {
        let scenario = scenario.record_to(self.root().join(record)).to_json();
        format!("[servers.{name}]\ncommand = {}\nargs = [{}]\n", json!(self.peer), json!(scenario))
    }

    /// The requests and notifications that reached a recording server, as they came. What it wrote last may be cut.
    pub(crate) fn frames(&self, record: &str) -> Vec<Value> {
        let text = fs_err::read_to_string(self.root().join(record)).unwrap_or_default();
        let entries = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        entries.filter_map(|entry| serde_json::from_str(entry["frame"].as_str()?).ok()).collect()
    }

    /// The program in this home and project, with no variables but `HOME` and `PATH`.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.helve);
        command.args(arguments).current_dir(self.root().join("project")).env_clear();
        command.env("HOME", self.root().join("home")).env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command
    }

    /// `helve serve` with these further arguments, which the attack speaks to.
    pub(crate) fn serve(&self, arguments: &[&str]) -> Result<Piped> {
        let mut command = self.command(&["serve"]);
        let child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.context("cannot start helve serve")?;
        let input = child.stdin.take();
        let lines = lines_of(child.stdout.take().context("no stdout")?);
        Ok(Piped { child, input, lines, next: 1 })
    }
}

impl Piped {
    /// The program's process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Sends one line as it is.
    pub(crate) fn send(&mut self, line: &str) -> Result<()> {
        let input = self.input.as_mut().context("the input is closed")?;
        input.write_all(line.as_bytes())?;
        input.write_all(b"\n")?;
        Ok(())
    }

    /// Sends a request and waits for its answer; what comes before it is dropped.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string())?;
        self.answer(&json!(id)).with_context(|| format!("no answer to {method}"))
    }

    /// Waits for the answer to a request.
    pub(crate) fn answer(&self, id: &Value) -> Result<Value> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let line = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()))?;
            let message: Value = serde_json::from_str(&line).with_context(|| format!("not JSON: {line}"))?;
            if message["id"] == *id && message.get("method").is_none() {
                return Ok(message);
            }
        }
    }

    /// Waits for the answers to all of these requests.
    pub(crate) fn answers(&self, mut open: std::collections::HashSet<Value>) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !open.is_empty() {
            let line = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()));
            let line = line.with_context(|| format!("no answers to {open:?}"))?;
            let message: Value = serde_json::from_str(&line).with_context(|| format!("not JSON: {line}"))?;
            if message.get("method").is_none() {
                open.remove(&message["id"]);
            }
        }
        Ok(())
    }

    /// The handshake of the legacy era.
    pub(crate) fn initialize(&mut self, capabilities: &Value) -> Result<Value> {
        let client = json!({"name": "attack", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client});
        let answer = self.request("initialize", &params)?;
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        Ok(answer)
    }

    /// Closes the input and waits until the program has ended by itself.
    pub(crate) fn finish(mut self) -> Result<()> {
        drop(self.input.take());
        let deadline = Instant::now() + PATIENCE;
        while self.child.try_wait()?.is_none() {
            ensure!(Instant::now() < deadline, "helve serve does not end when its input is closed");
            // Its output has to be taken, or it waits for us; the end of it is its end.
            if self.lines.recv_timeout(Duration::from_millis(50)).is_err() {
                std::thread::yield_now();
            }
        }
        Ok(())
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
