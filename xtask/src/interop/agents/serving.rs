//! Owns how `helve serve` is set up for a visit: a home of its own, three real servers, and a copy of all that is said to
//! the one that agents ask most of. The servers are its own, or those of a hub that it has joined.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};
use fs_err::File;
use serde_json::{Value, json};

use crate::interop::process::MARK;
use crate::interop::servers::{Server, Transport};
use crate::listening::Listening;

/// The servers behind helve.
const BEHIND: &[&str] = &["everything", "filesystem", "time"];

/// Everything may be called.
const RULES: &str = "[[rules]]\ntool = \"*/*\"\naction = \"allow\"\n";

/// A place that `helve serve` can be started in.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) helve: PathBuf,
    home: PathBuf,
    pub(crate) scratch: PathBuf,
    /// Where all of it lies.
    pub(crate) directory: PathBuf,
    pub(crate) mark: String,
    /// The hub that has the servers, where they are not its own.
    hub: Mutex<Option<Listening>>,
}

/// Whose the servers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behind {
    /// Those of `helve serve`.
    Itself,
    /// Those of a hub, and `helve serve` is a spoke of it.
    Hub,
}

impl Serving {
    /// Makes the place anew and writes the configuration.
    pub(crate) fn prepare(
        helve: &Path,
        directory: &Path,
        servers: &[Server],
        mark: &str,
        behind: Behind,
    ) -> Result<Self> {
        if directory.exists() {
            fs_err::remove_dir_all(directory)?;
        }
        let (home, scratch) = (directory.join("home"), directory.join("scratch"));
        fs_err::create_dir_all(&home)?;
        fs_err::create_dir_all(&scratch)?;
        let (helve, directory, mark) = (helve.to_owned(), directory.to_owned(), mark.to_owned());
        let serving = Self { helve, home, scratch, directory, mark, hub: Mutex::default() };
        let configuration = serving.configuration();
        fs_err::create_dir_all(configuration.parent().context("no directory")?)?;
        match behind {
            Behind::Itself => fs_err::write(configuration, serving.servers(servers)?)?,
            Behind::Hub => {
                fs_err::write(configuration, RULES)?;
                serving.join_hub(servers)?;
            }
        }
        Ok(serving)
    }

    /// Starts a hub with the servers, and joins it.
    fn join_hub(&self, servers: &[Server]) -> Result<()> {
        let home = self.directory.join("hub-home");
        fs_err::create_dir_all(&home)?;
        let configuration = home.join("helve.toml");
        fs_err::write(&configuration, self.servers(servers)?)?;
        let at_hub = |arguments: &[&str]| -> Result<Command> {
            let mut command = Command::new(&self.helve);
            let path = std::env::var("PATH").context("no PATH")?;
            command.args(arguments).env_clear().env("HOME", &home).env("PATH", path).env(MARK, &self.mark);
            command.args(["--no-discover", "--config"]).arg(&configuration);
            Ok(command)
        };
        let log = File::create(self.directory.join("hub.log"))?.into_parts().0;
        let mut hub = at_hub(&["hub", "--http", "127.0.0.1:0", "--no-link", "--no-browser"])?;
        let hub = Listening::start(hub.stderr(log))?;
        let made = at_hub(&["hub", "token", "make", "spoke"])?.output()?;
        ensure!(made.status.success(), "no token: {}", String::from_utf8_lossy(&made.stderr));
        let environment = self.environment()?;
        let variables = environment.as_object().into_iter().flatten();
        let mut join = Command::new(&self.helve)
            .args(["join", &hub.url])
            .env_clear()
            .envs(variables.filter_map(|(name, value)| Some((name, value.as_str()?))))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        join.stdin.take().context("no stdin")?.write_all(&made.stdout)?;
        let joined = join.wait_with_output()?;
        ensure!(joined.status.success(), "not joined: {}", String::from_utf8_lossy(&joined.stderr));
        *self.hub.lock().map_err(|_| anyhow::anyhow!("somebody panicked"))? = Some(hub);
        Ok(())
    }

    /// Ends the hub, if there is one.
    pub(crate) fn stop_hub(&self) -> Result<()> {
        let hub = self.hub.lock().map_err(|_| anyhow::anyhow!("somebody panicked"))?.take();
        hub.map_or(Ok(()), Listening::stop)
    }

    pub(crate) fn arguments(&self) -> Vec<String> {
        let configuration = self.configuration().display().to_string();
        ["serve", "--wait", "30s", "--no-discover", "--config", &configuration].map(str::to_owned).to_vec()
    }

    /// All that `helve` gets to see of the environment.
    pub(crate) fn environment(&self) -> Result<Value> {
        let path = std::env::var("PATH").context("no PATH")?;
        Ok(json!({"HOME": self.home, "PATH": path, MARK: self.mark}))
    }

    /// Starts it, and waits until it says where.
    pub(crate) fn listen(&self) -> Result<Listening> {
        let environment = self.environment()?;
        let variables = environment.as_object().into_iter().flatten();
        let mut command = Command::new(&self.helve);
        command
            .args(self.arguments())
            .args(["--http", "127.0.0.1:0"])
            .env_clear()
            .envs(variables.filter_map(|(name, value)| Some((name, value.as_str()?))))
            .stderr(File::create(self.directory.join("helve.log"))?.into_parts().0);
        Listening::start(&mut command)
    }

    /// All that was said to `everything`, by line.
    pub(crate) fn wire(&self) -> Result<Vec<Value>> {
        let text = fs_err::read_to_string(self.copy())?;
        text.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
    }

    fn servers(&self, servers: &[Server]) -> Result<String> {
        let mut text = String::from(RULES);
        for name in BEHIND {
            let mut among = servers.iter().filter(|server| server.transport == Transport::Stdio);
            let server =
                among.find(|server| server.name == *name).with_context(|| format!("{name} is not installed"))?;
            let mut command = vec![server.program.display().to_string()];
            command.extend(self.arguments_of(server));
            if *name == "everything" {
                // The copy proves what arrived, which no client can tell.
                let script = r#"copy="$1"; shift; tee -a "$copy" | exec "$@""#;
                let shell = ["sh", "-c", script, "sh", &self.copy().display().to_string()].map(str::to_owned);
                command.splice(0..0, shell);
            }
            // Texts and lists of texts are written in TOML as they are in JSON.
            let (command, mark) = (json!(command), json!(self.mark));
            text.push_str(&format!("\n[servers.{name}]\ncommand = {command}\nenv = {{ {MARK} = {mark} }}\n"));
        }
        Ok(text)
    }

    /// The file server may write where the agents do.
    fn arguments_of(&self, server: &Server) -> Vec<String> {
        if server.name != "filesystem" {
            return server.arguments.clone();
        }
        let script = server.arguments.first().cloned();
        script.into_iter().chain([self.scratch.display().to_string()]).collect()
    }

    fn configuration(&self) -> PathBuf {
        self.home.join(".config/helve/helve.toml")
    }

    fn copy(&self) -> PathBuf {
        self.directory.join("said-to-everything.jsonl")
    }
}
