//! Owns a `helve hub` that chores look at: a home that vanishes, the servers in it, and the program asked as a person would.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::http::Http;

/// Time for a start or an answer on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How it is started: at a port that is free, with nobody in front.
const HUB: [&str; 4] = ["hub", "--http", "127.0.0.1:0", "--no-browser"];

/// A home for a hub, and the program to run in it.
#[derive(Debug)]
pub(crate) struct HubHome {
    directory: tempfile::TempDir,
    helve: PathBuf,
}

/// A hub that runs; killed when dropped.
#[derive(Debug)]
pub(crate) struct RunningHub {
    child: Child,
    /// `127.0.0.1:4711`.
    pub(crate) address: String,
    /// The path of the link that signs in.
    pub(crate) link: String,
}

impl HubHome {
    /// A home with this `helve.toml` of the person's own.
    pub(crate) fn new(helve: &Path, configuration: &str) -> Result<Self> {
        let home = Self { directory: tempfile::tempdir()?, helve: helve.to_owned() };
        for part in ["config", "state", "cache", "data", "work"] {
            fs_err::create_dir_all(home.path(part))?;
        }
        home.configure(configuration)?;
        Ok(home)
    }

    /// A path in the home.
    pub(crate) fn path(&self, part: &str) -> PathBuf {
        self.directory.path().join(part)
    }

    /// The file that the person's servers are in.
    pub(crate) fn configuration(&self) -> PathBuf {
        self.path("config/helve/helve.toml")
    }

    /// Replaces the person's `helve.toml`.
    pub(crate) fn configure(&self, text: &str) -> Result<()> {
        let file = self.configuration();
        fs_err::create_dir_all(file.parent().context("a file has a parent")?)?;
        fs_err::write(file, text)?;
        Ok(())
    }

    /// The directory of the hub's store.
    pub(crate) fn store(&self) -> PathBuf {
        self.path("state/helve/hub")
    }

    /// The program in this home.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.helve);
        command.args(arguments).current_dir(self.path("work")).env_clear();
        command.env("HOME", self.directory.path()).env("PATH", "/usr/local/bin:/usr/bin:/bin");
        for (name, part) in [
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_DATA_HOME", "data"),
        ] {
            command.env(name, self.path(part));
        }
        command.stdin(Stdio::null());
        command
    }

    /// Starts the hub at a port that is free, and waits for its link.
    pub(crate) fn start(&self, options: &[&str]) -> Result<RunningHub> {
        self.started(self.command(&HUB), options)
    }

    /// The same where no file may become larger than so many KiB: its disk is full then.
    pub(crate) fn start_limited(&self, kibibytes: u64, options: &[&str]) -> Result<RunningHub> {
        let mut command = self.command(&[]);
        let mut shell = Command::new("bash");
        shell.args(["-c", &format!("trap '' XFSZ; ulimit -f {kibibytes}; exec \"$@\"")]).arg("bash");
        shell.arg(command.get_program()).args(HUB).current_dir(self.path("work")).env_clear();
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                shell.env(name, value);
            }
        }
        std::mem::swap(&mut command, &mut shell);
        self.started(command, options)
    }

    fn started(&self, mut command: Command, options: &[&str]) -> Result<RunningHub> {
        let log = fs_err::File::options().create(true).append(true).open(self.path("hub.log"))?;
        let mut child = command
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log.into_parts().0)
            .spawn()
            .context("helve hub cannot be started")?;
        let output = child.stdout.take().context("no stdout")?;
        let mut hub = RunningHub { child, address: String::new(), link: String::new() };
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let mut first = String::new();
            drop(BufReader::new(output).read_line(&mut first));
            drop(sender.send(first));
        });
        let first = lines.recv_timeout(PATIENCE).context("helve hub prints no link")?;
        let Some((address, link)) = first.trim().strip_prefix("http://").and_then(|rest| rest.split_once('/')) else {
            bail!("this is not a link: {first:?}\n{}", self.log());
        };
        hub.address = address.to_owned();
        hub.link = format!("/{link}");
        Ok(hub)
    }

    /// What the hub said on stderr.
    pub(crate) fn log(&self) -> String {
        fs_err::read_to_string(self.path("hub.log")).unwrap_or_default()
    }

    /// Asks the running hub from a shell: what it prints.
    pub(crate) fn ask(&self, words: &[&str]) -> Result<String> {
        let mut all = vec!["hub"];
        all.extend(words);
        let output = self.command(&all).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "helve hub {}: {said}", words.join(" "));
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// The same where it answers with JSON.
    pub(crate) fn ask_json(&self, words: &[&str]) -> Result<Value> {
        serde_json::from_str(&self.ask(words)?).context("the hub did not answer with JSON")
    }
}

impl RunningHub {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// A connection to it.
    pub(crate) fn connect(&self) -> Http {
        Http::new(&self.address, PATIENCE)
    }

    /// Ends it in the middle of whatever it does.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for RunningHub {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
