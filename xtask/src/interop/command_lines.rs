//! Owns the visits of the agents people run in a terminal: each adds helve to its own configuration by its own command, looks
//! whether it is well, and helve then finds itself there and leaves itself alone. Without a network, and with nothing in the
//! environment.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fs_err::File;
use serde_json::{Value, json};

use super::process::{Peak, lines_of};
use crate::install::{Pin, npm};
use crate::listening::Listening;

const COMMAND_LINES: &[Pin] =
    &[("@anthropic-ai/claude-code", "2.1.326"), ("@google/gemini-cli", "0.61.0"), ("@openai/codex", "0.169.0")];

/// Seconds for one command on a busy machine.
const PATIENCE: &str = "120";
/// Time for a namespace to come up.
const START: Duration = Duration::from_secs(30);

/// The agents, installed.
#[derive(Debug)]
pub(crate) struct CommandLines {
    bin: PathBuf,
    directory: PathBuf,
}

/// One agent.
struct CommandLine {
    name: &'static str,
    program: &'static str,
    /// The words that add a server, behind the program's name: `{NAME}`, `{URL}`.
    stdio: &'static [&'static str],
    http: &'static [&'static str],
    sse: Option<&'static [&'static str]>,
    /// What the line of a server that is well has in it, in the list.
    well: &'static str,
    remark: &'static str,
}

const AGENTS: &[CommandLine] = &[
    CommandLine {
        name: "Claude Code",
        program: "claude",
        stdio: &["mcp", "add", "{NAME}", "--", "helve", "serve"],
        http: &["mcp", "add", "--scope", "user", "--transport", "http", "{NAME}", "{URL}"],
        sse: Some(&["mcp", "add", "--scope", "user", "--transport", "sse", "{NAME}", "{URL}"]),
        well: "Connected",
        remark: "",
    },
    CommandLine {
        name: "Codex",
        program: "codex",
        stdio: &["mcp", "add", "{NAME}", "--", "helve", "serve"],
        http: &["mcp", "add", "{NAME}", "--url", "{URL}"],
        sse: None,
        well: "enabled",
        remark: "lists without connecting, has no HTTP+SSE",
    },
    CommandLine {
        name: "Gemini CLI",
        program: "gemini",
        stdio: &["mcp", "add", "--scope", "user", "{NAME}", "helve", "serve"],
        http: &["mcp", "add", "--scope", "user", "--transport", "http", "{NAME}", "{URL}"],
        sse: Some(&["mcp", "add", "--scope", "user", "--transport", "sse", "{NAME}", "{URL}"]),
        well: "Connected",
        remark: "",
    },
];

impl CommandLines {
    pub(crate) fn install(directory: &Path) -> Result<Self> {
        let bin = npm(&directory.join("command-lines"), COMMAND_LINES)?.join(".bin");
        Ok(Self { bin, directory: directory.join("command-line-homes") })
    }

    /// Has each visit, and tells about it.
    pub(crate) fn visit(&self, helve: &Path, mut tell: impl FnMut(&str, &str, Result<String>)) -> Result<()> {
        let network = match Network::without() {
            Ok(network) => network,
            Err(reason) => {
                let words = format!("skipped: there can be no network of its own here ({reason:#})");
                tell("agents' command lines", "all", Ok(words));
                return Ok(());
            }
        };
        for agent in AGENTS {
            let home = self.directory.join(agent.program);
            if home.exists() {
                fs_err::remove_dir_all(&home)?;
            }
            fs_err::create_dir_all(home.join("project/.git"))?;
            fs_err::create_dir_all(home.join("bin"))?;
            std::os::unix::fs::symlink(helve, home.join("bin/helve"))?;
            let place = Place { network: &network, bin: &self.bin, helve, home };
            let means = if agent.sse.is_some() { "stdio, Streamable HTTP, HTTP+SSE" } else { "stdio, Streamable HTTP" };
            tell(&format!("agent {}", agent.name), means, place.visit(agent));
        }
        Ok(())
    }
}

/// A network namespace that holds nothing but its own loopback; gone when dropped.
#[derive(Debug)]
struct Network {
    holder: Child,
}

impl Network {
    fn without() -> Result<Self> {
        let mut holder = Command::new("unshare")
            .args(["--user", "--map-root-user", "--net", "sh", "-c", "ip link set lo up && echo up && exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("unshare cannot be started")?;
        let lines = lines_of(holder.stdout.take().context("no stdout")?);
        let complaints = lines_of(holder.stderr.take().context("no stderr")?);
        let network = Self { holder };
        match lines.recv_timeout(START) {
            Ok(line) if line == "up" => Ok(network),
            _ => bail!("{}", complaints.recv_timeout(START).unwrap_or_else(|_| "it does not come up".to_owned())),
        }
    }

    /// A program inside of it.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.holder.id().to_string(), "--user", "--net", "--preserve-credentials", "--"]);
        command.args(words);
        command
    }

    /// True for the processes inside of it, by their directory below `/proc`.
    fn has(&self) -> impl Fn(&Path) -> bool + Send + 'static {
        let network = |process: &Path| fs_err::read_link(process.join("ns/net")).ok();
        let own = network(&Path::new("/proc").join(self.holder.id().to_string()));
        move |process| own.is_some() && network(process) == own
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        drop(self.holder.kill());
        drop(self.holder.wait());
    }
}

/// A home of an agent's own.
struct Place<'run> {
    network: &'run Network,
    bin: &'run Path,
    helve: &'run Path,
    home: PathBuf,
}

impl Place<'_> {
    fn visit(&self, agent: &CommandLine) -> Result<String> {
        // Gemini connects in directories alone that the person trusts.
        let trusted = json!({ self.project().display().to_string(): "TRUST_FOLDER" });
        fs_err::create_dir_all(self.home.join(".gemini"))?;
        fs_err::write(self.home.join(".gemini/trustedFolders.json"), trusted.to_string())?;

        let program = self.bin.join(agent.program).display().to_string();
        let add = |words: &[&str], name: &str, url: &str| {
            let words = words.iter().map(|word| word.replace("{NAME}", name).replace("{URL}", url));
            let words: Vec<String> = std::iter::once(program.clone()).chain(words).collect();
            self.said(&words.iter().map(String::as_str).collect::<Vec<_>>())
        };
        add(agent.stdio, "helve", "")?;
        let mut command = self.prepared(&[&self.helve.display().to_string(), "serve", "--http", "127.0.0.1:0"])?;
        let log = File::create(self.home.join("helve.log"))?.into_parts().0;
        let listening = Listening::start(command.stderr(log))?;
        add(agent.http, "web", &listening.url)?;
        let mut names = vec!["helve", "web"];
        if let Some(sse) = agent.sse {
            add(sse, "old", &listening.sse_url())?;
            names.push("old");
        }

        // What listens, and what the agent itself starts to look at it.
        let peak = Peak::watch(self.helve, self.network.has());
        let list = self.said(&[&program, "mcp", "list"])?;
        for name in &names {
            let is_well = |line: &str| line.contains(name) && line.contains(agent.well);
            ensure!(list.lines().any(is_well), "`{name}` is not well:\n{list}");
        }
        let most = peak.end();
        ensure!((1..=2).contains(&most), "{most} processes serve while {} looks at two", agent.name);

        let peak = Peak::watch(self.helve, self.network.has());
        let found = self.json(&["servers", "--json"])?;
        let state = |name: &str| {
            let found = found.as_array().and_then(|servers| servers.iter().find(|server| server["name"] == name));
            found.map(|server| format!("{} {}", server["state"], server["reason"]))
        };
        ensure!(
            state("helve").as_deref() == Some(r#""disabled" "helve itself""#),
            "helve does not know itself: {found}"
        );
        for name in names.iter().skip(1) {
            ensure!(state(name).as_deref() == Some(r#""connected" """#), "`{name}` is not connected: {found}");
        }
        let tools = self.json(&["tools", "--json"])?;
        let has_clock = |tool: &Value| tool.to_string().contains("time__");
        ensure!(tools.as_array().is_some_and(|tools| tools.iter().any(has_clock)), "no built-in tools: {tools}");
        let most = peak.end();
        ensure!(most == 1, "{most} processes serve where one listens");
        listening.stop()?;
        let remark = if agent.remark.is_empty() { String::new() } else { format!(" ({})", agent.remark) };
        Ok(format!("{} entries well, helve knows itself, 1 process serves{remark}", names.len()))
    }

    fn project(&self) -> PathBuf {
        self.home.join("project")
    }

    /// With nothing but these two variables.
    fn prepared(&self, words: &[&str]) -> Result<Command> {
        let path = std::env::var("PATH").context("no PATH")?;
        let mut command = self.network.command(words);
        command.current_dir(self.project()).env_clear().env("HOME", &self.home).stdin(Stdio::null());
        command.env("PATH", format!("{}:{path}", self.home.join("bin").display()));
        Ok(command)
    }

    /// Everything a command says; it must end well.
    fn said(&self, words: &[&str]) -> Result<String> {
        let words: Vec<&str> = ["timeout", PATIENCE].into_iter().chain(words.iter().copied()).collect();
        let output = self.prepared(&words)?.output().context("nsenter cannot be started")?;
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "{} ended with {}:\n{text}", words.join(" "), output.status);
        Ok(text)
    }

    /// What helve says in this home.
    fn json(&self, arguments: &[&str]) -> Result<Value> {
        let helve = self.helve.display().to_string();
        let words: Vec<&str> = std::iter::once(helve.as_str()).chain(arguments.iter().copied()).collect();
        let output = self.prepared(&words)?.output().context("nsenter cannot be started")?;
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)))
    }
}
