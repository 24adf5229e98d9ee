//! Owns `cargo xtask confined-servers`: servers that people use, from the registries, started by `npx` and `uvx` in the sandbox
//! `standard`, once with an empty cache and once more; and two of them with the network limited to the hosts that they need.

mod list;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::programs;
use list::{Runner, SERVERS, Server};

/// How many of them must start and list their tools.
const GOAL: usize = 18;

/// Seconds that a server may take with an empty cache.
const STARTUP_SECONDS: u32 = 240;

/// Servers that start at the same time.
const AT_ONCE: usize = 2;

/// How often a host that was refused is added to the list before it is given up.
const MAX_HOSTS: usize = 6;

/// The package that brings `uvx`.
const UV: crate::install::Pin = ("uv", "0.13.8");

/// Start real servers in their sandbox
///
/// Twenty and more from npm and PyPI, cold and warm; then one of each with named hosts only. Needs npm, Python and the registries.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfinedServers {
    /// The program to try [default: built from this tree]
    #[arg(long)]
    helve: Option<PathBuf>,
    /// Only this server
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
}

/// What `helve sandbox check --json` says.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Checked {
    state: String,
    tools: Vec<String>,
    refused_hosts: Vec<String>,
    hints: Vec<String>,
    stderr: Option<String>,
}

/// One server, tried twice.
struct Outcome {
    name: &'static str,
    cold: (Checked, Duration),
    warm: (Checked, Duration),
}

/// What all of them are started with.
struct Place {
    directory: tempfile::TempDir,
    helve: PathBuf,
    uvx: PathBuf,
    search_path: String,
}

impl ConfinedServers {
    #[expect(clippy::print_stdout, reason = "a chore tells its person what came of it")]
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        let helve = programs::build_unless(self.helve.as_deref(), root, "helve-cli", "helve")?;
        let bin = crate::install::python(&programs::interop_directory(root)?.join("uv"), &[UV])?;
        let place = Place::new(helve, bin.join("uvx"))?;
        let servers: Vec<&Server> =
            SERVERS.iter().filter(|server| self.only.as_deref().is_none_or(|only| only == server.name)).collect();
        let mut outcomes = place.all(&servers)?;
        outcomes.sort_by_key(|outcome| outcome.name);
        let mut good = 0;
        let mut wrong = Vec::new();
        for Outcome { name, cold, warm } in &outcomes {
            let word = |(checked, took): &(Checked, Duration)| {
                let tools =
                    if checked.is_up() { format!("{} tools", checked.tools.len()) } else { checked.state.clone() };
                format!("{tools} after {:.1} s", took.as_secs_f64())
            };
            println!("{name}: cold {}, warm {}", word(cold), word(warm));
            let failed = [&cold.0, &warm.0].into_iter().find(|checked| !checked.is_up());
            match failed {
                None => good += 1,
                Some(checked) => {
                    for line in checked.hints.iter().chain(checked.stderr.iter()) {
                        println!("    {}", line.replace('\n', "\n    "));
                    }
                    // Whatever a sandbox refused is named.
                    if !checked.hints.iter().any(|hint| hint.contains("its sandbox does not let it")) {
                        wrong.push(format!("{name}: no hint says what its sandbox refused"));
                    }
                }
            }
        }
        println!("{good} of {} start and list their tools, cold and warm", outcomes.len());
        if self.only.is_none() {
            for runner in [Runner::Npx, Runner::Uvx] {
                let (hosts, checked) = place.by_hosts(runner)?;
                println!("{}, held to {}: {}", runner.word(), hosts.join(" "), checked.state);
                if !checked.is_up() {
                    wrong.push(format!("{} does not start with named hosts", runner.word()));
                }
            }
            if good < GOAL {
                wrong.push(format!("{good} start, of which there must be {GOAL}"));
            }
        }
        if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n")) }
    }
}

impl Checked {
    fn is_up(&self) -> bool {
        self.state == "connected" && !self.tools.is_empty()
    }
}

impl Place {
    fn new(helve: PathBuf, uvx: PathBuf) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("helve-confined-").tempdir()?;
        for path in ["config/helve", "project"] {
            fs_err::create_dir_all(directory.path().join(path))?;
        }
        let project = directory.path().join("project");
        fs_err::write(project.join("readme.md"), "# A project\n")?;
        let git = Command::new("git").args(["init", "--quiet"]).current_dir(&project).status().context("git")?;
        if !git.success() {
            bail!("git cannot make a repository");
        }
        // The home is another one here, where a shim would look for its versions in vain.
        let mut python = Command::new("python3");
        let python = python.args(["-c", "import os, sys; print(os.path.dirname(os.path.realpath(sys.executable)))"]);
        let python = String::from_utf8(python.output()?.stdout)?;
        let search_path = format!("{}:{}", python.trim(), std::env::var("PATH")?);
        let place = Self { directory, helve, uvx, search_path };
        place.write_configuration()?;
        Ok(place)
    }

    fn write_configuration(&self) -> Result<()> {
        let mut text = format!("[settings]\nstartup_timeout_seconds = {STARTUP_SECONDS}\n");
        for server in SERVERS {
            text.push_str(&self.entry(server.name, server, "\"standard\""));
        }
        fs_err::write(self.directory.path().join("config/helve/helve.toml"), text)?;
        Ok(())
    }

    fn entry(&self, name: &str, server: &Server, sandbox: &str) -> String {
        let project = self.directory.path().join("project");
        let project = project.display().to_string();
        let (command, flags) = match server.runner {
            Runner::Npx => ("npx".to_owned(), vec!["-y"]),
            Runner::Uvx => (self.uvx.display().to_string(), Vec::new()),
        };
        let words = flags.into_iter().chain([server.package]).chain(server.arguments.iter().copied());
        let words: Vec<String> = words.map(|word| format!("{:?}", word.replace("PROJECT", &project))).collect();
        // Certificates of the system, where a registry has others than those that uv brings.
        let mut variables = vec!["SSL_CERT_FILE = \"/etc/ssl/certs/ca-certificates.crt\"".to_owned()];
        variables.extend(server.variables.iter().map(|(name, value)| format!("{name} = {value:?}")));
        format!(
            "\n[servers.{name}]\ncommand = {command:?}\nargs = [{}]\ncwd = {project:?}\nsandbox = {sandbox}\nenv = {{ {} }}\n",
            words.join(", "),
            variables.join(", ")
        )
    }

    fn all(&self, servers: &[&'static Server]) -> Result<Vec<Outcome>> {
        let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        std::thread::scope(|scope| -> Result<()> {
            let work = || -> Result<()> {
                while let Some(server) = servers.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome =
                        Outcome { name: server.name, cold: self.check(server.name)?, warm: self.check(server.name)? };
                    outcomes.lock().map_err(|_| anyhow::Error::msg("a thread was lost"))?.push(outcome);
                }
                Ok(())
            };
            let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
            for thread in threads {
                thread.join().map_err(|_| anyhow::Error::msg("a thread was lost"))??;
            }
            Ok(())
        })?;
        outcomes.into_inner().map_err(|_| anyhow::Error::msg("a thread was lost"))
    }

    /// With an empty cache and no host at all to begin with: each one that is refused is named by the hint, and added.
    fn by_hosts(&self, runner: Runner) -> Result<(Vec<String>, Checked)> {
        let server = SERVERS.iter().find(|server| server.runner == runner).context("there is none")?;
        let mut hosts = vec!["nothing.example".to_owned()];
        for round in 0.. {
            let name = format!("hosts-{}-{round}", runner.word());
            let quoted: Vec<String> = hosts.iter().map(|host| format!("{host:?}")).collect();
            let sandbox = format!("{{ profile = \"standard\", network = [{}] }}", quoted.join(", "));
            let file = self.directory.path().join("config/helve/helve.toml");
            let mut text = fs_err::read_to_string(&file)?;
            text.push_str(&self.entry(&name, server, &sandbox));
            fs_err::write(file, text)?;
            let (checked, _) = self.check(&name)?;
            let refused: Vec<String> =
                checked.refused_hosts.iter().filter_map(|host| Some(host.split(' ').next()?.to_owned())).collect();
            if checked.is_up() || refused.is_empty() || round >= MAX_HOSTS {
                return Ok((hosts, checked));
            }
            let is_named = |host: &String| checked.hints.iter().any(|hint| hint.contains(host));
            if let Some(unnamed) = refused.iter().find(|host| !is_named(host)) {
                bail!("{unnamed} was refused, and no hint names it");
            }
            hosts.retain(|host| host != "nothing.example");
            hosts.extend(refused);
        }
        bail!("no round was the last")
    }

    fn check(&self, name: &str) -> Result<(Checked, Duration)> {
        let own = self.directory.path();
        let started = Instant::now();
        let mut command = Command::new(&self.helve);
        command
            .args(["sandbox", "check", name, "--json"])
            .env_clear()
            .env("PATH", &self.search_path)
            .env("HOME", own)
            .env("XDG_CONFIG_HOME", own.join("config"))
            .env("XDG_CACHE_HOME", own.join("cache"))
            .env("XDG_STATE_HOME", own.join("state"))
            .current_dir(own.join("project"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn()?;
        let mut said = String::new();
        child.stdout.take().context("it has no output")?.read_to_string(&mut said)?;
        child.wait()?;
        let checked = serde_json::from_str(&said).with_context(|| format!("{name}: {said}"))?;
        Ok((checked, started.elapsed()))
    }
}
