//! Owns the session a person would have: the program `helve` with one configuration of all the real servers, from
//! listing to wrong arguments, refusals, a dead server and one that never starts.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};

use super::process::{self, Listening, MARK};
use super::servers::{Server, Transport};

/// What one run of the program has to come to.
struct Step {
    /// The words behind `helve`, none of which has a blank in it.
    line: String,
    input: &'static str,
    status: i32,
    /// What stdout or stderr has to contain.
    says: &'static str,
}

fn step(line: &str, status: i32, says: &'static str) -> Step {
    Step { line: line.to_owned(), input: "", status, says }
}

/// Holds the session; says in a few words what was done.
pub(crate) fn session(program: &Path, servers: &[Server], directory: &Path, mark: &str) -> Result<String> {
    let place = Place::make(program, directory, mark)?;
    let listening = place.configure(servers)?;

    let listed = place.json(&["servers", "--json"])?;
    let listed = listed.as_array().context("a list of servers")?;
    for server in servers {
        let name = name(server);
        let found = listed.iter().find(|found| found["name"] == name.as_str()).with_context(|| name.clone())?;
        ensure!(found["state"] == "connected", "{name} is not connected: {found}");
    }
    ensure!(listed.iter().any(|found| found["name"] == "never" && found["state"] == "failed"), "{listed:?}");

    let tools = place.json(&["tools", "--json"])?;
    let count = tools.as_array().map_or(0, Vec::len);
    ensure!(count > 30, "{count} tools are too few");

    let scratch = place.scratch.display().to_string();
    let note = format!("path={scratch}/note.txt");
    let steps = [
        step("call everything-stdio/echo message=hello --yes", 0, "Echo: hello"),
        step("call everything-http/echo message=hello --yes", 0, "Echo: hello"),
        step("call everything-sse/echo message=hello --yes", 0, "Echo: hello"),
        step("call everything-stdio/get-sum a=2 b=40 --yes", 0, "42"),
        step("call everything-stdio/get-tiny-image --yes", 0, "[image image/png"),
        step("call everything-stdio/get-structured-content location=Chicago --yes --raw", 0, "structuredContent"),
        step(&format!("call filesystem-stdio/write_file {note} content=written --yes"), 0, "note.txt"),
        step(&format!("call filesystem-stdio/read_text_file {note}"), 0, "written"),
        step("call filesystem-stdio/read_text_file path=/etc/passwd", 5, "says that it failed"),
        step("call time-stdio/get_current_time timezone=UTC --yes", 0, "UTC"),
        step("call sqlite-stdio/list_tables --yes", 0, ""),
        // Wrong arguments, refusals, names that do not exist.
        step("call everything-stdio/get-sum a=2 b=many --yes", 2, "expected a number"),
        step("call everything-stdio/get-sum a=2 --yes", 2, "missing property `b`"),
        step("call everything-stdio/echo message=x", 7, "needs an approval"),
        step("call filesystem-stdio/move_file source=a destination=b --yes", 7, "helve.toml:6"),
        step("call everything-stdio/ecco --yes", 5, "did you mean"),
        step("call never/echo --yes", 3, "cannot find the program"),
        step("call everything-stdio/trigger-long-running-operation duration=60 --yes --timeout 3s", 4, "3 s"),
        step("tool everything-stdio/get-sum", 0, "mcp__everything-stdio__get-sum"),
        step("explain filesystem-stdio/move_file", 0, "deny"),
        step("tools --format typescript", 0, "get_u2d_sum"),
    ];
    let expand = Step {
        input: "It is [use-mcp:time-stdio/get_current_time:{\"timezone\": \"UTC\"}] and [use-mcp:never/x] is not there.",
        ..step("expand --yes", 0, "[mcp-error never/x")
    };
    for step in steps.iter().chain([&expand]) {
        place.take(step)?;
    }
    drop(listening);
    place.take(&step("call everything-http/echo message=x --yes", 3, "everything-http"))?;
    let leftovers = process::leftovers(mark)?;
    ensure!(leftovers.is_empty(), "left behind: {}", leftovers.join(", "));
    Ok(format!("{} servers, {count} tools, {} commands", servers.len() + 1, steps.len() + 4))
}

/// A home of its own, and the program in it.
struct Place {
    program: PathBuf,
    home: PathBuf,
    scratch: PathBuf,
    mark: String,
}

impl Place {
    fn make(program: &Path, directory: &Path, mark: &str) -> Result<Self> {
        let home = directory.join("home");
        if home.exists() {
            fs_err::remove_dir_all(&home)?;
        }
        fs_err::create_dir_all(home.join(".config/helve"))?;
        fs_err::create_dir_all(home.join("files"))?;
        Ok(Self { program: program.to_owned(), home, scratch: directory.join("scratch"), mark: mark.to_owned() })
    }

    /// Writes one `.mcp.json` with all servers and a `helve.toml` with the rules; what listens is started here.
    fn configure(&self, servers: &[Server]) -> Result<Vec<Listening>> {
        let mut entries = Map::new();
        let mut listening = Vec::new();
        for server in servers {
            let entry = match server.transport {
                Transport::Stdio => json!({
                    "command": server.program,
                    "args": server.arguments,
                    "env": {MARK: self.mark},
                }),
                Transport::Http(path) | Transport::Sse(path) => {
                    let started = Listening::start(server, &self.mark)?;
                    let url = format!("http://127.0.0.1:{}{path}", started.port);
                    listening.push(started);
                    json!({"url": url})
                }
            };
            entries.insert(name(server), entry);
        }
        entries.insert("never".to_owned(), json!({"command": "a-program-that-does-not-exist"}));
        let text = serde_json::to_string_pretty(&json!({"mcpServers": entries}))?;
        fs_err::write(self.home.join(".mcp.json"), text)?;
        let rules = "\
            [[rules]]\ntool = \"filesystem-stdio/read_*\"\naction = \"allow\"\n\n\
            [[rules]]\ntool = \"*/move_file\"\naction = \"deny\"\n";
        fs_err::write(self.home.join(".config/helve/helve.toml"), rules)?;
        Ok(listening)
    }

    fn take(&self, step: &Step) -> Result<()> {
        let arguments: Vec<&str> = step.line.split_whitespace().collect();
        let output = self.run(&arguments, step.input)?;
        let shown = words(&output);
        let asked = &step.line;
        if output.status.code() != Some(step.status) {
            bail!("`helve {asked}` ended with {} instead of {}:\n{shown}", output.status, step.status);
        }
        ensure!(shown.contains(step.says), "`helve {asked}` does not say {:?}:\n{shown}", step.says);
        Ok(())
    }

    fn json(&self, arguments: &[&str]) -> Result<Value> {
        let output = self.run(arguments, "")?;
        serde_json::from_slice(&output.stdout).with_context(|| format!("{arguments:?}:\n{}", words(&output)))
    }

    fn run(&self, arguments: &[&str], input: &str) -> Result<Output> {
        use std::io::Write as _;
        use std::process::Stdio;
        let path = std::env::var_os("PATH").context("no PATH")?;
        let mut child = Command::new(&self.program)
            .args(arguments)
            .current_dir(self.home.join("files"))
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", path)
            .env(MARK, &self.mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        // A command that does not read its input may be gone already.
        drop(child.stdin.take().context("no stdin")?.write_all(input.as_bytes()));
        Ok(child.wait_with_output()?)
    }
}

/// The name a server is configured under.
fn name(server: &Server) -> String {
    let transport = match server.transport {
        Transport::Stdio => "stdio",
        Transport::Http(_) => "http",
        Transport::Sse(_) => "sse",
    };
    format!("{}-{transport}", server.name)
}

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
