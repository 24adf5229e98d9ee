//! Owns `cargo xtask soak sessions`: what sessions cost that nobody comes back to, beside those that are somebody's work.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use helve_testkit::descendants_of;
use serde_json::{Value, json};

use crate::attack::client::Client;
use crate::listening::Listening;
use crate::programs::{Profile, build};

/// The server: plain, as most are.
const SERVER: &str = include_str!("../../soak/plain_server.py");

/// Sessions that stay connected and ask nothing, half of them by a stream.
const CONNECTED: usize = 10;

/// How long after the last session vanished nothing of it may be left.
const GONE_WITHIN: Duration = Duration::from_secs(60);

/// How much more memory of its own the program may have then, and how much a warden may have.
const MEMORY: u64 = 2 << 20;
const WARDEN_MEMORY: u64 = 1 << 20;

/// How long the program may take to have started or ended what it has to.
const PATIENCE: Duration = Duration::from_secs(120);

/// Sessions over HTTP that call a tool of a plain Python server and vanish, beside ten that stay connected and one each with
/// an open task, a subscription and a question
///
/// Fails when a minute after the last of them the vanished ones have a process, the others have none, or the program has
/// grown by more than 2 MB.
#[derive(Debug, Args)]
pub(super) struct Sessions {
    /// Sessions that vanish
    #[arg(long, value_name = "N", default_value_t = 100)]
    sessions: usize,
    /// The program to look at, instead of one that is built for it
    #[arg(long, value_name = "FILE")]
    helve: Option<PathBuf>,
}

impl Sessions {
    pub(super) fn run(&self, root: &Path) -> Result<()> {
        let built = match &self.helve {
            Some(helve) => vec![helve.clone()],
            None => build(root, "helve-cli", Profile::Release, &["helve"])?,
        };
        let [helve] = built.as_slice() else { bail!("the program was not built") };
        let serving = Serving::start(helve)?;
        // What everybody needs is there before it is measured.
        serving.visit(&json!({}))?.delete()?;
        serving.until("the first visitor's server is gone", |servers| servers == 1)?;
        let memory_before = anonymous_bytes(serving.id())?;

        let held = serving.hold()?;
        serving.until("those that stay have their servers", |servers| servers == 1 + held.len())?;
        for _ in 0..self.sessions {
            drop(serving.visit(&json!({}))?);
        }
        let (vanished, at_most) = (Instant::now(), serving.servers()?.len());
        let left = 1 + held.len();
        let gone = loop {
            if serving.servers()?.len() == left {
                break Some(vanished.elapsed());
            }
            if vanished.elapsed() > GONE_WITHIN {
                break None;
            }
            std::thread::sleep(Duration::from_millis(200));
        };
        // The others are looked at when the time is over, and not before.
        std::thread::sleep(GONE_WITHIN.saturating_sub(vanished.elapsed()));
        let servers = serving.servers()?.len();
        let memory_after = anonymous_bytes(serving.id())?;
        let grown = memory_after.saturating_sub(memory_before);
        let warden = serving.largest_warden()?;
        let count = self.sessions;
        tell(&format!("{count} sessions vanished: {at_most} servers then, {servers} after a minute"));
        match gone {
            Some(time) => tell(&format!("the vanished ones' servers were gone after {:.1} s", time.as_secs_f64())),
            None => tell("the vanished ones' servers were never gone"),
        }
        tell(&format!(
            "helve's own memory: {:.2} MB, before {:.2} MB; the largest warden: {:.2} MB",
            megabytes(memory_after),
            megabytes(memory_before),
            megabytes(warden)
        ));
        ensure!(
            servers == left,
            "{servers} servers run; one for lists and {} for those who stayed were expected",
            held.len()
        );
        ensure!(grown <= MEMORY, "helve has grown by {:.2} MB", megabytes(grown));
        ensure!(warden <= WARDEN_MEMORY, "a warden has {:.2} MB", megabytes(warden));
        drop(held);
        serving.listening.stop()
    }
}

/// The program with one server behind it, in a home that vanishes afterwards.
struct Serving {
    listening: Listening,
    script: String,
    _home: tempfile::TempDir,
}

impl Serving {
    fn start(helve: &Path) -> Result<Self> {
        let home = tempfile::tempdir()?;
        let script = home.path().join("plain_server.py");
        fs_err::write(&script, SERVER)?;
        let script = script.to_str().context("a path that is text")?.to_owned();
        let configuration = home.path().join("helve.toml");
        let text = format!(
            "[servers.plain]\ncommand = \"python3\"\nargs = [{script:?}]\n\n[[rules]]\ntool = \"*\"\naction = \"allow\"\n\n[[rules]]\ntool = \"*\"\nkind = \"resource\"\naction = \"allow\"\n"
        );
        fs_err::write(&configuration, text)?;
        // A copy: pages of a program that others run as well would not count as a warden's own.
        let own = home.path().join("helve");
        fs_err::copy(helve, &own)?;
        let mut command = Command::new(own);
        command.arg("--no-discover").arg("--config").arg(&configuration);
        command.args(["serve", "--http", "127.0.0.1:0", "--prefix", "server", "--wait", "30s"]);
        command.current_dir(home.path()).env_clear().env("HOME", home.path());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        Ok(Self { listening: Listening::start(&mut command)?, script, _home: home })
    }

    fn id(&self) -> u32 {
        self.listening.id()
    }

    fn connect(&self) -> Result<Client> {
        let address = self.listening.url.strip_prefix("http://").and_then(|url| url.split_once('/'));
        Client::connect(address.context("an address")?.0, "none")
    }

    /// A session that has called a tool.
    fn visit(&self, capabilities: &Value) -> Result<Client> {
        let mut client = self.connect()?;
        client.initialize_with(capabilities)?;
        let answer = client.request("tools/call", &json!({"name": "plain__echo", "arguments": {"x": 1}}))?;
        ensure!(answer["result"]["content"].is_array(), "the call failed: {answer}");
        Ok(client)
    }

    /// Sessions that are somebody's work. What they are held by ends with what this gives.
    fn hold(&self) -> Result<Vec<Client>> {
        let mut held = Vec::new();
        for number in 0..CONNECTED {
            let mut client = self.visit(&json!({}))?;
            if number % 2 == 1 {
                client = client.again()?;
                client.listen()?;
            }
            held.push(client);
        }
        let mut with_task = self.visit(&json!({}))?;
        let made = with_task
            .request("tools/call", &json!({"name": "plain__job", "arguments": {}, "task": {"ttl": 600_000}}))?;
        ensure!(made["result"]["task"]["taskId"].is_string(), "no task was made: {made}");
        // Nothing holds this one but its task.
        held.push(with_task.elsewhere()?);
        let mut subscribed = self.visit(&json!({}))?;
        let answer = subscribed.request("resources/subscribe", &json!({"uri": "plain://one"}))?;
        ensure!(answer["result"].is_object(), "not subscribed: {answer}");
        let mut reading = subscribed.again()?;
        reading.listen()?;
        drop(subscribed);
        held.push(reading);
        let mut asked = self.visit(&json!({"elicitation": {}}))?;
        let call = json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {"name": "plain__ask"}});
        asked.send(&call, &[])?;
        held.push(asked);
        Ok(held)
    }

    /// The processes of the server, wardens apart.
    fn servers(&self) -> Result<Vec<u32>> {
        let is_server = |process: &u32| {
            let line = command_line(*process);
            line.first().is_some_and(|program| program.contains("python")) && line.contains(&self.script)
        };
        Ok(descendants_of(self.id()).into_iter().filter(is_server).collect())
    }

    fn until(&self, what: &str, is_so: impl Fn(usize) -> bool) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let servers = self.servers()?.len();
            if is_so(servers) {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "never: {what}; {servers} servers run");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn largest_warden(&self) -> Result<u64> {
        let wardens = descendants_of(self.id()).into_iter();
        let wardens = wardens.filter(|process| command_line(*process).iter().any(|word| word == "__warden"));
        // One may just have ended.
        Ok(wardens.filter_map(|process| private_bytes(process).ok()).max().unwrap_or_default())
    }
}

fn command_line(process: u32) -> Vec<String> {
    let line = fs_err::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Memory that no file stands behind: heap, stacks, data that was written. Pages of the program's own file are left out: the
/// kernel reads them in when code first runs and drops them when it likes, so they swing by megabytes whatever sessions do.
fn anonymous_bytes(process: u32) -> Result<u64> {
    bytes_of(process, "Anonymous:")
}

/// All memory that is this process' alone, pages of its file too: a warden shares those with the program.
fn private_bytes(process: u32) -> Result<u64> {
    bytes_of(process, "Private_")
}

fn bytes_of(process: u32, kind: &str) -> Result<u64> {
    let text = fs_err::read_to_string(format!("/proc/{process}/smaps_rollup"))?;
    let kilobytes = text.lines().filter(|line| line.starts_with(kind));
    let kilobytes = kilobytes.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    Ok(kilobytes.sum::<u64>() << 10)
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[expect(clippy::print_stdout, reason = "what was measured is the chore's result")]
fn tell(line: &str) {
    println!("{line}");
}
