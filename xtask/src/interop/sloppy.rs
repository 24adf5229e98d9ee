//! Owns the visits to two servers written in an afternoon: what can be made sense of is used, and the rest fails at once with
//! words that say whose fault it is.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::process::{self, MARK};

const CHATTY: &str = include_str!("../../interop/sloppy-chatty.py");
const CARELESS: &str = include_str!("../../interop/sloppy-careless.py");

/// How long a call may take; an answer that helve can read the id of has to fail well before.
const TIMEOUT: Duration = Duration::from_secs(8);

/// What a call of the careless server comes to: the tool, the code or none, and part of what is said.
const ANSWERS: &[(&str, Option<&str>, &str)] = &[
    ("bare", Some("PROTOCOL_ERROR"), "jsonrpc"),
    ("worded", Some("PROTOCOL_ERROR"), "a string, where the request had the number"),
    ("stringy", Some("PROTOCOL_ERROR"), "not an object"),
    ("well", None, "well done"),
];

/// Visits both; says in a few words what was seen.
pub(crate) fn visit(helve: &Path, directory: &Path, mark: &str) -> Result<String> {
    let place = Place::prepare(helve, &directory.join("sloppy"), mark)?;
    // What is not declared is not asked for: clients of the official SDKs do not even connect to a server that declares nothing.
    let shouted = said(&place.helve(&["call", "chatty/shout", "text=quiet"])?);
    ensure!(shouted.contains("has no tool `shout`"), "what a server does not declare: {shouted}");
    let doctor = said(&place.helve(&["doctor", "chatty"])?);
    for part in ["capabilities", "stdout"] {
        ensure!(doctor.contains(part), "doctor does not speak of {part}: {doctor}");
    }
    for (tool, code, part) in ANSWERS {
        let began = Instant::now();
        let answer = place.call(tool)?;
        ensure!(answer["code"].as_str() == *code && answer.to_string().contains(part), "{tool}: {answer}");
        ensure!(began.elapsed() < TIMEOUT, "{tool} only failed when its time was over");
    }
    // Nothing says which request the line was for: its time runs out, and the line is named.
    let garbled = place.call("garbled")?;
    ensure!(garbled["code"] == "TIMEOUT" && garbled.to_string().contains("oops"), "garbled: {garbled}");
    process::gone(mark)?;
    Ok("explained: nothing is declared; failed at once: no jsonrpc, id as a text, a result that is not an object; named: not JSON".to_owned())
}

struct Place<'run> {
    program: &'run Path,
    home: PathBuf,
    mark: &'run str,
}

impl<'run> Place<'run> {
    fn prepare(program: &'run Path, home: &Path, mark: &'run str) -> Result<Self> {
        if home.exists() {
            fs_err::remove_dir_all(home)?;
        }
        fs_err::create_dir_all(home)?;
        let mut text = String::from("[[rules]]\ntool = \"*/*\"\naction = \"allow\"\n");
        for (name, script) in [("chatty", CHATTY), ("careless", CARELESS)] {
            let path = home.join(format!("{name}.py"));
            fs_err::write(&path, script)?;
            // Texts and lists of texts are written in TOML as they are in JSON.
            let (command, mark) = (json!(["python3", "-u", path]), json!(mark));
            text.push_str(&format!("\n[servers.{name}]\ncommand = {command}\nenv = {{ {MARK} = {mark} }}\n"));
        }
        fs_err::write(home.join("helve.toml"), text)?;
        Ok(Self { program, home: home.to_owned(), mark })
    }

    fn call(&self, tool: &str) -> Result<Value> {
        let timeout = format!("{}s", TIMEOUT.as_secs());
        let output = self.helve(&["call", &format!("careless/{tool}"), "--json", "--timeout", &timeout])?;
        serde_json::from_slice(&output.stdout).with_context(|| format!("{tool}: {}", said(&output)))
    }

    fn helve(&self, words: &[&str]) -> Result<Output> {
        let path = std::env::var("PATH").context("no PATH")?;
        let mut command = Command::new(self.program);
        command.args(["--no-discover", "--config", "helve.toml"]).args(words).current_dir(&self.home).env_clear();
        command.env("HOME", &self.home).env("PATH", path).env(MARK, self.mark);
        command.output().context("helve cannot be started")
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
