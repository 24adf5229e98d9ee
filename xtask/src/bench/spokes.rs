//! Owns `cargo xtask bench spokes`: what a hub in between costs, how a hub that is away is noticed, and how fast what it
//! lists is shown. Whole programs in release, each in a home of its own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::{Value, json};
use xtask::table;

use crate::programs::{Profile, build, build_unless};

/// Servers of the hub, and tools of each: two thousand in all.
const SERVERS: usize = 40;
const TOOLS: usize = 50;

/// Calls of one round, by either way.
const CALLS: usize = 400;

/// How long a program may take to be there, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Spokes: the tools of a hub listed, a call through it, the hub killed and back
///
/// Medians over rounds in which both sides take turns. Fails when a goal is missed.
#[derive(Debug, Args)]
pub(crate) struct Spokes {
    /// The program to measure, instead of the one that is built from this tree
    #[arg(long, value_name = "FILE")]
    helve: Option<PathBuf>,
    /// The fake peer behind the hub, instead of the one that is built from this tree
    #[arg(long, value_name = "FILE")]
    peer: Option<PathBuf>,
    /// End with one line of JSON: {"measures": [{"name", "value", "goal", "met"}]}
    #[arg(long)]
    json: bool,
    /// Rounds to take medians over
    #[arg(long, value_name = "N", default_value_t = 15)]
    rounds: usize,
}

/// A measure and its goal, both in the same unit.
struct Measure {
    name: &'static str,
    found: f64,
    goal: f64,
    unit: &'static str,
}

impl Spokes {
    #[expect(clippy::print_stdout, reason = "the table of measures is what this chore is run for")]
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        let helve = match self.helve.as_deref() {
            Some(program) => build_unless(Some(program), root, "helve-cli", "helve")?,
            None => build(root, "helve-cli", Profile::Release, &["helve"])?.remove(0),
        };
        let peer = match self.peer.as_deref() {
            Some(program) => build_unless(Some(program), root, "helve-testkit", "helve-testkit-peer")?,
            None => build(root, "helve-testkit", Profile::Release, &["helve-testkit-peer"])?.remove(0),
        };
        let place = tempfile::tempdir()?;
        let mut world = World { helve, root: place.path().to_owned(), token: None };
        let mut hub = world.start_hub(&peer)?;
        world.join(&hub.url)?;
        let mut measures = vec![self.listing(&world)?];
        let mut spoke = world.start_spoke()?;
        measures.push(self.calls(&world, &hub, &spoke)?);
        measures.extend(self.outages(&world, &mut hub, &mut spoke)?);
        let row = |measure: &Measure| {
            let met = if measure.found <= measure.goal { "met" } else { "MISSED" };
            let shown = |number: f64| format!("{number:.2} {}", measure.unit);
            vec![measure.name.to_owned(), shown(measure.found), shown(measure.goal), met.to_owned()]
        };
        println!(
            "{}",
            table::render(&["measure", "found", "at most", ""], &[], &measures.iter().map(row).collect::<Vec<_>>())
        );
        if self.json {
            let line = |measure: &Measure| {
                let met = measure.found <= measure.goal;
                json!({ "name": measure.name, "value": measure.found, "goal": measure.goal, "met": met })
            };
            println!("{}", json!({ "measures": measures.iter().map(line).collect::<Vec<Value>>() }));
        }
        let missed = measures.iter().filter(|measure| measure.found > measure.goal).count();
        if missed > 0 {
            bail!("{missed} of {} missed", measures.len());
        }
        Ok(())
    }

    /// `helve tools` with everything kept, beside a program that does nothing.
    fn listing(&self, world: &World) -> Result<Measure> {
        let tools = || world.output("spoke", &["tools"], "");
        let listed = tools()?.lines().filter(|line| line.starts_with("hub/")).count();
        ensure!(listed >= SERVERS * TOOLS, "{listed} tools of the hub are listed");
        let (mut own, mut floor) = (Vec::new(), Vec::new());
        for _ in 0..self.rounds.max(5) * 3 {
            let started = Instant::now();
            drop(tools()?);
            own.push(started.elapsed());
            let started = Instant::now();
            Command::new("/bin/true").status()?;
            floor.push(started.elapsed());
        }
        let goal = 5.0 * milliseconds(median(&mut floor)) + 10.0;
        Ok(Measure {
            name: "`helve tools`, 40 servers of a hub, 2,000 tools",
            found: milliseconds(median(&mut own)),
            goal,
            unit: "ms",
        })
    }

    /// A call at the spoke over HTTP, above the same call at the hub.
    fn calls(&self, world: &World, hub: &Running, spoke: &Running) -> Result<Measure> {
        let token = world.token.as_deref();
        let mut direct = Agent::new(&hub.url, "/s/s00/mcp", token, "gen_0")?;
        let mut through = Agent::new(&spoke.url, "/mcp", None, "hub__s00__gen_0")?;
        let until = Instant::now() + PATIENCE;
        while !through.call()? {
            ensure!(Instant::now() < until, "the spoke serves nothing of the hub");
            std::thread::sleep(Duration::from_millis(50));
        }
        ensure!(direct.call()?, "the hub does not answer: {}", direct.last);
        let mut above = Vec::new();
        for _ in 0..self.rounds.max(5) {
            let (mut at_hub, mut at_spoke) = (Vec::new(), Vec::new());
            for _ in 0..CALLS {
                for (agent, took) in [(&mut direct, &mut at_hub), (&mut through, &mut at_spoke)] {
                    let started = Instant::now();
                    ensure!(agent.call()?, "a call failed: {}", agent.last);
                    took.push(started.elapsed());
                }
            }
            above.push(median(&mut at_spoke).saturating_sub(median(&mut at_hub)));
        }
        let found = median(&mut above).as_secs_f64() * 1e6;
        Ok(Measure { name: "a call through spoke and hub above one at the hub, p50", found, goal: 120.0, unit: "us" })
    }

    /// The hub is killed, and is back at the same address.
    fn outages(&self, world: &World, hub: &mut Running, spoke: &mut Running) -> Result<Vec<Measure>> {
        let (mut refused, mut served) = (Vec::new(), Vec::new());
        let mut agent = Agent::new(&spoke.url, "/mcp", None, "hub__s00__gen_0")?;
        for _ in 0..self.rounds.clamp(3, 7) {
            hub.kill()?;
            // What is on its way when the hub goes may break off; what comes then is refused at once.
            let killed = Instant::now();
            while agent.call()? {
                ensure!(killed.elapsed() < PATIENCE, "the hub is gone, and is served");
            }
            refused.push(killed.elapsed());
            for _ in 0..20 {
                let started = Instant::now();
                ensure!(!agent.call()?, "the hub is gone, and is served");
                refused.push(started.elapsed());
            }
            *hub = world.run_hub(&hub.address())?;
            let back = Instant::now();
            while !agent.call()? {
                ensure!(back.elapsed() < PATIENCE, "the hub is back, and is not served");
                std::thread::sleep(Duration::from_millis(5));
            }
            served.push(back.elapsed());
        }
        let worst = |times: &[Duration]| milliseconds(times.iter().copied().max().unwrap_or_default());
        Ok(vec![
            Measure { name: "hub away: calls refused, slowest", found: worst(&refused), goal: 50.0, unit: "ms" },
            Measure { name: "hub back: served again, slowest", found: worst(&served), goal: 2_000.0, unit: "ms" },
        ])
    }
}

/// Two homes, and the program.
struct World {
    helve: PathBuf,
    root: PathBuf,
    token: Option<String>,
}

/// A program that listens; killed when dropped.
struct Running {
    child: Child,
    url: String,
}

/// Somebody who calls one tool over one connection.
struct Agent {
    stream: BufReader<TcpStream>,
    head: String,
    call: String,
    /// What was answered last.
    last: String,
}

impl World {
    fn command(&self, home: &str, arguments: &[&str]) -> Command {
        let home = self.root.join(home);
        let mut command = Command::new(&self.helve);
        command.args(arguments).env_clear().env("HOME", &home).env("PATH", "/usr/bin:/bin").current_dir(home);
        command
    }

    fn write(&self, home: &str, text: &str) -> Result<()> {
        let directory = self.root.join(home).join(".config/helve");
        fs_err::create_dir_all(&directory)?;
        Ok(fs_err::write(directory.join("helve.toml"), text)?)
    }

    fn output(&self, home: &str, arguments: &[&str], input: &str) -> Result<String> {
        let mut child = self
            .command(home, arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("helve cannot be started")?;
        child.stdin.take().context("no stdin")?.write_all(input.as_bytes())?;
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// A hub with all its servers, which have listed their tools.
    fn start_hub(&mut self, peer: &Path) -> Result<Running> {
        let mut text = String::from(RULES);
        let scenario = json!({ "generated_tools": TOOLS, "generated_tool_bytes": 300, "hide_builtin_tools": true });
        let (program, scenario) = (json!(peer), json!(scenario.to_string()));
        for server in 0..SERVERS {
            text.push_str(&format!("[servers.s{server:02}]\ncommand = {program}\nargs = [{scenario}]\n"));
        }
        self.write("hub", &text)?;
        let hub = self.run_hub("127.0.0.1:0")?;
        let until = Instant::now() + PATIENCE;
        loop {
            let status: Value = serde_json::from_str(&self.output("hub", &["hub", "status"], "")?)?;
            if status["servers"]["connected"] == SERVERS {
                break;
            }
            ensure!(Instant::now() < until, "not all servers come: {status}");
            std::thread::sleep(Duration::from_millis(100));
        }
        self.token = Some(self.output("hub", &["hub", "token", "make", "spoke"], "")?.trim().to_owned());
        Ok(hub)
    }

    fn run_hub(&self, address: &str) -> Result<Running> {
        Running::start(self.command("hub", &["hub", "--http", address, "--no-link", "--no-browser"]))
    }

    fn join(&self, url: &str) -> Result<()> {
        self.write("spoke", RULES)?;
        let token = self.token.clone().unwrap_or_default();
        drop(self.output("spoke", &["join", url], &token)?);
        Ok(())
    }

    fn start_spoke(&self) -> Result<Running> {
        Running::start(self.command("spoke", &["serve", "--http", "127.0.0.1:0"]))
    }
}

/// Everything may be called.
const RULES: &str = "[[rules]]\ntool = \"*/*\"\naction = \"allow\"\n";

impl Running {
    fn start(mut command: Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no stdout")?).read_line(&mut line)?;
        let url = line.trim().trim_end_matches("/mcp").to_owned();
        ensure!(url.starts_with("http://"), "it does not say where it listens: {line:?}");
        Ok(Self { child, url })
    }

    fn address(&self) -> String {
        self.url.trim_start_matches("http://").to_owned()
    }

    fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Agent {
    fn new(url: &str, path: &str, token: Option<&str>, tool: &str) -> Result<Self> {
        let address = url.trim_start_matches("http://");
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let bearer = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{bearer}"
        );
        let call = json!({
            "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": tool, "arguments": { "text": "hello" } },
        });
        let mut agent = Self { stream: BufReader::new(stream), head, call: call.to_string(), last: String::new() };
        let hello = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" },
            },
        });
        let (head, _) = agent.post(&hello.to_string())?;
        let session = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
        });
        let session = session.context("no session")?;
        agent.head.push_str(&format!("mcp-session-id: {session}\r\nmcp-protocol-version: 2025-11-25\r\n"));
        drop(agent.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string())?);
        Ok(agent)
    }

    /// Calls the tool; false when it was refused.
    fn call(&mut self) -> Result<bool> {
        let call = self.call.clone();
        (_, self.last) = self.post(&call)?;
        Ok(self.last.contains("\"result\"") && !self.last.contains("\"isError\":true"))
    }

    fn post(&mut self, body: &str) -> Result<(String, String)> {
        let request = format!("{}content-length: {}\r\n\r\n{body}", self.head, body.len());
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            ensure!(self.stream.read_line(&mut head)? > 0, "the connection was closed");
        }
        let field = |name: &str| {
            let mut fields = head.lines().filter_map(|line| line.split_once(':'));
            fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
        };
        let mut body = Vec::new();
        if let Some(length) = field("content-length") {
            body.resize(length.parse()?, 0);
            self.stream.read_exact(&mut body)?;
        } else if field("transfer-encoding").is_some() {
            loop {
                let mut line = String::new();
                self.stream.read_line(&mut line)?;
                let length = usize::from_str_radix(line.trim(), 16)?;
                let mut piece = vec![0; length + 2];
                self.stream.read_exact(&mut piece)?;
                if length == 0 {
                    break;
                }
                body.extend_from_slice(piece.get(..length).unwrap_or_default());
            }
        }
        Ok((head, String::from_utf8_lossy(&body).into_owned()))
    }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
